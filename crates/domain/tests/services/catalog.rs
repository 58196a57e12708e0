//! Rules of the catalog that need its stores.

use lessor_domain::catalog::{Inventory, OptionSelection, ProductStatus};
use lessor_domain::services::catalog::{
    OptionInput, UpdateProduct, delete_product, update_product,
};
use lessor_domain::services::variants::{
    CreateVariant, UpdateVariant, create_variant, delete_variant, update_variant,
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
        metadata: lessor_domain::metadata::Metadata::default(),
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
