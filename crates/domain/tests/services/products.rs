//! Rules of the catalog that need its stores.

use lessor_domain::catalog::{MAX_VARIANTS_OF_PRODUCT, OptionSelection, ProductStatus};
use lessor_domain::ids::LeaseTermRef;
use lessor_domain::lease_term::{LeaseTermStatus, MAX_ACTIVE};
use lessor_domain::ports::{Page, ProductFilter, ProductSort, SortOrder, Start};
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::lease_terms::{CreateLeaseTerm, LeaseTermChanges, UpdateLeaseTerm};
use lessor_domain::services::products::{
    CountedProducts, DeleteProduct, KnownTotal, ListProducts, OptionInput, ProductChanges,
    UpdateProduct,
};
use lessor_domain::services::variants::{
    CreateVariant, DeleteVariant, UpdateVariant, VariantChanges,
};
use lessor_domain::services::{Error, Patch, UseCase as _};

use crate::world::World;

fn sizes(values: &[&str]) -> Vec<OptionInput> {
    vec![OptionInput {
        id: None,
        name: "Size".parse().unwrap(),
        position: None,
        values: values.iter().map(|value| value.parse().unwrap()).collect(),
    }]
}

fn variant(world: &World, sku: &str, size: Option<&str>) -> CreateVariant {
    let options = size.into_iter().map(|size| OptionSelection {
        name: "Size".parse().unwrap(),
        value: size.parse().unwrap(),
    });
    CreateVariant {
        options: options.collect(),
        ..CreateVariant::new(
            world.product.id,
            "Bike".parse().unwrap(),
            "A bike".parse().unwrap(),
            "100".parse().unwrap(),
            sku.parse().unwrap(),
        )
    }
}

fn param_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(
            Error::Invalid { param, .. } | Error::Taken { param, .. } | Error::Missing { param },
        ) => param,
        other => panic!("no parameter is at fault: {other:?}"),
    }
}

#[tokio::test]
async fn skus_and_combinations_are_unique_while_they_live() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    assert_eq!(
        param_of(
            variant(&world, "BIKE", None)
                .run(uow.as_mut(), &world.ctx())
                .await
        ),
        "sku"
    );
    drop(uow);
    let mut uow = world.begin().await;
    assert_eq!(
        param_of(
            variant(&world, "OTHER", None)
                .run(uow.as_mut(), &world.ctx())
                .await
        ),
        "options"
    );
    drop(uow);
    let mut uow = world.begin().await;
    DeleteVariant {
        id: world.variant.id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    variant(&world, "BIKE", None)
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
}

#[tokio::test]
async fn options_that_a_live_variant_uses_stay() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let options = ProductChanges {
        options: Some(sizes(&["S", "M"])),
        ..ProductChanges::default()
    };
    let refused = UpdateProduct {
        id: world.product.id,
        changes: options.clone(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    let Err(Error::Invalid { param, message }) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        param == "options" && message.contains(&world.variant.id.to_string()),
        "{message}"
    );
    drop(uow);
    let mut uow = world.begin().await;
    DeleteVariant {
        id: world.variant.id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    let product = UpdateProduct {
        id: world.product.id,
        changes: options,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    variant(&world, "M", Some("m"))
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    assert_eq!(
        param_of(
            variant(&world, "L", Some("L"))
                .run(uow.as_mut(), &world.ctx())
                .await
        ),
        "options[0].value"
    );
    let again = ProductChanges {
        options: Some(sizes(&["S", "M", "L"])),
        ..ProductChanges::default()
    };
    let wider = UpdateProduct {
        id: world.product.id,
        changes: again,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(
        product.options[0].id, wider.options[0].id,
        "an option keeps its id"
    );
}

#[tokio::test]
async fn what_has_checkouts_is_archived_and_then_gone_for_deletes() {
    let world = World::new().await;
    world.order("a@example.com").await;
    let mut uow = world.begin().await;
    let archived = DeleteVariant {
        id: world.variant.id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(archived.status, ProductStatus::Archived);
    assert!(matches!(
        DeleteVariant {
            id: world.variant.id
        }
        .run(uow.as_mut(), &world.ctx())
        .await,
        Err(Error::NotFound { .. })
    ));
    let renamed = VariantChanges {
        name: Some("New".parse().unwrap()),
        ..VariantChanges::default()
    };
    assert!(matches!(
        UpdateVariant {
            id: world.variant.id,
            changes: renamed
        }
        .run(uow.as_mut(), &world.ctx())
        .await,
        Err(Error::Rule { .. })
    ));
    let product = DeleteProduct {
        id: world.product.id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(product.status, ProductStatus::Archived);
    assert!(
        uow.products()
            .get(world.organization.id, world.product.id)
            .await
            .unwrap()
            .is_some(),
        "kept for history"
    );
}

#[tokio::test]
async fn what_has_no_checkouts_is_removed() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    DeleteProduct {
        id: world.product.id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert!(
        uow.products()
            .get(world.organization.id, world.product.id)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        uow.variants()
            .get(world.organization.id, world.variant.id)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn contradictions_are_refused_and_optional_members_cleared() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let contradiction = ProductChanges {
        status: Some(ProductStatus::Active),
        is_active: Some(false),
        ..ProductChanges::default()
    };
    assert_eq!(
        param_of(
            UpdateProduct {
                id: world.product.id,
                changes: contradiction
            }
            .run(uow.as_mut(), &world.ctx())
            .await
        ),
        "isActive"
    );
    let set = ProductChanges {
        sku: Patch::Set("P".parse().unwrap()),
        ..ProductChanges::default()
    };
    assert!(
        UpdateProduct {
            id: world.product.id,
            changes: set
        }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap()
        .sku
        .is_some()
    );
    let clear = ProductChanges {
        sku: Patch::Clear,
        ..ProductChanges::default()
    };
    assert!(
        UpdateProduct {
            id: world.product.id,
            changes: clear
        }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap()
        .sku
        .is_none()
    );
}

/// The message of a rule that forbids it.
fn rule_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Rule { message }) => message,
        other => panic!("no rule forbids it: {other:?}"),
    }
}

#[tokio::test]
async fn a_product_has_so_many_variants() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let of_year = |year: i32| CreateVariant {
        product_year: Some(year),
        ..variant(&world, &format!("S{year}"), None)
    };
    // One is there already.
    let mut last = world.variant.id;
    for year in 1..i32::from(MAX_VARIANTS_OF_PRODUCT) {
        last = of_year(year)
            .run(uow.as_mut(), &world.ctx())
            .await
            .unwrap()
            .id;
    }
    let refused = of_year(9_999).run(uow.as_mut(), &world.ctx()).await;
    assert!(rule_of(refused).contains("2000"));
    // Archived ones leave room, and come back only while there is some.
    let status = |status: ProductStatus| VariantChanges {
        status: Some(status),
        ..VariantChanges::default()
    };
    let archived = status(ProductStatus::Archived);
    UpdateVariant {
        id: last,
        changes: archived,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    of_year(9_999)
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    let back = status(ProductStatus::Active);
    let refused = UpdateVariant {
        id: last,
        changes: back,
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    assert!(rule_of(refused).contains("2000"));
}

#[tokio::test]
async fn an_owner_has_so_many_active_terms() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let term = |months: usize, product: bool, status| CreateLeaseTerm {
        product_id: product.then_some(world.product.id),
        card: RateCard::new(
            months.to_string().parse().unwrap(),
            Rate::MoneyFactor("0.001".parse().unwrap()),
            "10".parse().unwrap(),
        ),
        status,
    };
    let known = uow.lease_terms().list(world.organization.id).await.unwrap();
    let common = known.iter().filter(|term| term.product_id.is_none());
    for number in common.count()..MAX_ACTIVE {
        let active = term(60 + number, false, LeaseTermStatus::Active);
        active.run(uow.as_mut(), &world.ctx()).await.unwrap();
    }
    let one_more = term(119, false, LeaseTermStatus::Active);
    let refused = one_more.run(uow.as_mut(), &world.ctx()).await;
    assert!(rule_of(refused).contains("24"));
    // A product has its own, and what is not offered does not count.
    let own = term(119, true, LeaseTermStatus::Active);
    own.run(uow.as_mut(), &world.ctx()).await.unwrap();
    let inactive = term(119, false, LeaseTermStatus::Inactive);
    let inactive = inactive.run(uow.as_mut(), &world.ctx()).await.unwrap();
    let id = LeaseTermRef::Public(inactive.id);
    let status = |status| LeaseTermChanges {
        status: Some(status),
        ..LeaseTermChanges::default()
    };
    let active = status(LeaseTermStatus::Active);
    let refused = UpdateLeaseTerm {
        id,
        changes: active.clone(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    assert!(rule_of(refused).contains("24"));
    let known = uow.lease_terms().list(world.organization.id).await.unwrap();
    let another = known
        .iter()
        .find(|term| term.product_id.is_none() && term.status == LeaseTermStatus::Active)
        .unwrap();
    let another = LeaseTermRef::Public(another.id);
    // One that is active stays so, and makes room when it is not.
    UpdateLeaseTerm {
        id: another,
        changes: active.clone(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    UpdateLeaseTerm {
        id: another,
        changes: status(LeaseTermStatus::Inactive),
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    UpdateLeaseTerm {
        id,
        changes: active,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
}

#[tokio::test]
async fn what_was_counted_is_told_until_the_catalog_changes() {
    let world = World::new().await;
    let second = world.fixtures.product(&world.organization).build();
    let mut uow = world.begin().await;
    uow.products().insert(&second).await.unwrap();
    uow.commit().await.unwrap();
    let list = |known| ListProducts {
        organizations: Vec::new(),
        categories: None,
        filter: ProductFilter::default(),
        sort: ProductSort::default(),
        order: SortOrder::Descending,
        // Which does not show how many there are.
        page: Page {
            start: Start::Offset(0),
            limit: 1,
        },
        known,
    };
    let ask = async |known| {
        let mut view = world.begin().await;
        let listed = list(known).run(view.as_mut(), &world.ctx()).await.unwrap();
        (listed.slice.total, listed.counted)
    };
    let (total, counted) = ask(KnownTotal::Nothing).await;
    let counted = counted.unwrap();
    assert_eq!((total, counted.total), (Some(2), 2));
    // That it is not counted anew is seen by what was said to be there.
    let said = CountedProducts {
        total: 99,
        ..counted
    };
    assert_eq!(ask(KnownTotal::Then(said)).await, (Some(99), None));
    assert_eq!(ask(KnownTotal::Enough).await, (None, None));
    let revision = counted.revision - 1;
    let before = CountedProducts { revision, ..said };
    assert_eq!(
        ask(KnownTotal::Then(before)).await,
        (Some(2), Some(counted))
    );
}
