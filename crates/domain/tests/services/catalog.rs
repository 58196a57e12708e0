//! Rules of the catalog that need its stores.

use lessor_domain::catalog::{Inventory, OptionSelection, ProductStatus};
use lessor_domain::ids::LeaseTermRef;
use lessor_domain::lease_term::{LeaseTermStatus, MAX_ACTIVE};
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::catalog::{
    OptionInput, UpdateProduct, delete_product, update_product,
};
use lessor_domain::services::lease_terms::{
    CreateLeaseTerm, UpdateLeaseTerm, create_lease_term, list_lease_terms, update_lease_term,
};
use lessor_domain::services::variants::{
    CreateVariant, MAX_OF_PRODUCT, UpdateVariant, create_variant, delete_variant, update_variant,
};
use lessor_domain::services::{Error, Patch};

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
    CreateVariant {
        product_id: world.product.id,
        name: "Bike".parse().unwrap(),
        description: "A bike".parse().unwrap(),
        price: "100".parse().unwrap(),
        sku: sku.parse().unwrap(),
        options: size
            .into_iter()
            .map(|size| OptionSelection {
                name: "Size".parse().unwrap(),
                value: size.parse().unwrap(),
            })
            .collect(),
        images: Vec::new(),
        discount: None,
        external_id: None,
        inventory: Inventory::Untracked,
        product_year: None,
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
        param_of(create_variant(uow.as_mut(), &world.ctx(), variant(&world, "BIKE", None)).await),
        "sku"
    );
    drop(uow);
    let mut uow = world.begin().await;
    assert_eq!(
        param_of(create_variant(uow.as_mut(), &world.ctx(), variant(&world, "OTHER", None)).await),
        "options"
    );
    drop(uow);
    let mut uow = world.begin().await;
    delete_variant(uow.as_mut(), &world.ctx(), world.variant.id)
        .await
        .unwrap();
    create_variant(uow.as_mut(), &world.ctx(), variant(&world, "BIKE", None))
        .await
        .unwrap();
}

#[tokio::test]
async fn options_that_a_live_variant_uses_stay() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let options = UpdateProduct {
        options: Some(sizes(&["S", "M"])),
        ..UpdateProduct::default()
    };
    let refused = update_product(
        uow.as_mut(),
        &world.ctx(),
        world.product.id,
        options.clone(),
    )
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
    delete_variant(uow.as_mut(), &world.ctx(), world.variant.id)
        .await
        .unwrap();
    let product = update_product(uow.as_mut(), &world.ctx(), world.product.id, options)
        .await
        .unwrap();
    create_variant(uow.as_mut(), &world.ctx(), variant(&world, "M", Some("m")))
        .await
        .unwrap();
    assert_eq!(
        param_of(create_variant(uow.as_mut(), &world.ctx(), variant(&world, "L", Some("L"))).await),
        "options[0].value"
    );
    let again = UpdateProduct {
        options: Some(sizes(&["S", "M", "L"])),
        ..UpdateProduct::default()
    };
    let wider = update_product(uow.as_mut(), &world.ctx(), world.product.id, again)
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
    let archived = delete_variant(uow.as_mut(), &world.ctx(), world.variant.id)
        .await
        .unwrap();
    assert_eq!(archived.status, ProductStatus::Archived);
    assert!(matches!(
        delete_variant(uow.as_mut(), &world.ctx(), world.variant.id).await,
        Err(Error::NotFound { .. })
    ));
    let renamed = UpdateVariant {
        name: Some("New".parse().unwrap()),
        ..UpdateVariant::default()
    };
    assert!(matches!(
        update_variant(uow.as_mut(), &world.ctx(), world.variant.id, renamed).await,
        Err(Error::Rule { .. })
    ));
    let product = delete_product(uow.as_mut(), &world.ctx(), world.product.id)
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
    delete_product(uow.as_mut(), &world.ctx(), world.product.id)
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
    let contradiction = UpdateProduct {
        status: Some(ProductStatus::Active),
        is_active: Some(false),
        ..UpdateProduct::default()
    };
    assert_eq!(
        param_of(update_product(uow.as_mut(), &world.ctx(), world.product.id, contradiction).await),
        "isActive"
    );
    let set = UpdateProduct {
        sku: Patch::Set("P".parse().unwrap()),
        ..UpdateProduct::default()
    };
    assert!(
        update_product(uow.as_mut(), &world.ctx(), world.product.id, set)
            .await
            .unwrap()
            .sku
            .is_some()
    );
    let clear = UpdateProduct {
        sku: Patch::Clear,
        ..UpdateProduct::default()
    };
    assert!(
        update_product(uow.as_mut(), &world.ctx(), world.product.id, clear)
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
    for year in 1..i32::try_from(MAX_OF_PRODUCT).unwrap() {
        last = create_variant(uow.as_mut(), &world.ctx(), of_year(year))
            .await
            .unwrap()
            .id;
    }
    let refused = create_variant(uow.as_mut(), &world.ctx(), of_year(9_999)).await;
    assert!(rule_of(refused).contains("2000"));
    // Archived ones leave room, and come back only while there is some.
    let status = |status: ProductStatus| UpdateVariant {
        status: Some(status),
        ..UpdateVariant::default()
    };
    let archived = status(ProductStatus::Archived);
    update_variant(uow.as_mut(), &world.ctx(), last, archived)
        .await
        .unwrap();
    create_variant(uow.as_mut(), &world.ctx(), of_year(9_999))
        .await
        .unwrap();
    let back = status(ProductStatus::Active);
    let refused = update_variant(uow.as_mut(), &world.ctx(), last, back).await;
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
    let known = list_lease_terms(uow.as_mut(), &world.ctx()).await.unwrap();
    let common = known.iter().filter(|term| term.product_id.is_none());
    for number in common.count()..MAX_ACTIVE {
        let active = term(60 + number, false, LeaseTermStatus::Active);
        create_lease_term(uow.as_mut(), &world.ctx(), active)
            .await
            .unwrap();
    }
    let one_more = term(119, false, LeaseTermStatus::Active);
    let refused = create_lease_term(uow.as_mut(), &world.ctx(), one_more).await;
    assert!(rule_of(refused).contains("24"));
    // A product has its own, and what is not offered does not count.
    let own = term(119, true, LeaseTermStatus::Active);
    create_lease_term(uow.as_mut(), &world.ctx(), own)
        .await
        .unwrap();
    let inactive = term(119, false, LeaseTermStatus::Inactive);
    let inactive = create_lease_term(uow.as_mut(), &world.ctx(), inactive)
        .await
        .unwrap();
    let id = LeaseTermRef::Public(inactive.id);
    let status = |status| UpdateLeaseTerm {
        status: Some(status),
        ..UpdateLeaseTerm::default()
    };
    let active = status(LeaseTermStatus::Active);
    let refused = update_lease_term(uow.as_mut(), &world.ctx(), id, active.clone()).await;
    assert!(rule_of(refused).contains("24"));
    let known = list_lease_terms(uow.as_mut(), &world.ctx()).await.unwrap();
    let another = known
        .iter()
        .find(|term| term.product_id.is_none() && term.status == LeaseTermStatus::Active)
        .unwrap();
    let another = LeaseTermRef::Public(another.id);
    // One that is active stays so, and makes room when it is not.
    update_lease_term(uow.as_mut(), &world.ctx(), another, active.clone())
        .await
        .unwrap();
    update_lease_term(
        uow.as_mut(),
        &world.ctx(),
        another,
        status(LeaseTermStatus::Inactive),
    )
    .await
    .unwrap();
    update_lease_term(uow.as_mut(), &world.ctx(), id, active)
        .await
        .unwrap();
}
