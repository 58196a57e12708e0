//! What a publishable key may do, and what it is shown.

use std::fmt::Debug;

use lessor_domain::access::{Access, Denied, KeyHash, KeyKind, Mode, Permission, Permissions};
use lessor_domain::catalog::{
    Inventory, Product, ProductStatus, ProductVariant, ReviewStatus, Stock, VariantFilter,
};
use lessor_domain::ids::IdRef;
use lessor_domain::metadata::Metadata;
use lessor_domain::ports::{CustomerFilter, Page, Start};
use lessor_domain::services::checkouts::{CancelCheckout, GetCheckout, ViewCheckout};
use lessor_domain::services::customers::{GetCustomer, ListCustomers};
use lessor_domain::services::keys::{CreateKey, KeyUser, create_key};
use lessor_domain::services::lease_terms::ListLeaseTerms;
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::services::pricing::{
    Otherwise, PriceProducts, PriceSince, PriceVariant, PriceVariants, Prices,
};
use lessor_domain::services::products::{DeleteProduct, GetProduct, ProductChanges, UpdateProduct};
use lessor_domain::services::variants::{
    DeleteVariant, GetVariant, GetVariantBySku, ListVariants, UpdateVariant, VariantChanges,
};
use lessor_domain::services::{Context, Error, UseCase};

use crate::world::World;

fn publishable(world: &World) -> Access {
    Access {
        kind: KeyKind::Publishable,
        permissions: Permissions::default(),
        ..world.access.clone()
    }
}

/// What comes of the use case for the holder of the key.
async fn ask<U: UseCase>(world: &World, access: &Access, asked: U) -> Result<U::Output, Error> {
    let ctx = Context {
        access,
        ..world.ctx()
    };
    asked.run(world.begin().await.as_mut(), &ctx).await
}

/// The product and its variant, with everything that is not for everybody.
async fn furnish(world: &World) -> (Product, ProductVariant) {
    let mut uow = world.begin().await;
    let entry = ("supplier".parse().unwrap(), "Acme".parse().unwrap());
    let metadata = Metadata::new([entry].into()).unwrap();
    let mut product = world.product.clone();
    product.external_id = "P-1".parse().ok();
    product.metadata = metadata.clone();
    product.review.notes = "Cheap.".parse().ok();
    product.review.reviewed_at = Some(world.ctx().now);
    product.review.reviewed_by = Some(world.access.user_id);
    uow.products().update(&mut product).await.unwrap();
    let mut variant = world.variant.clone();
    variant.external_id = "V-1".parse().ok();
    variant.stock = Stock::both(Inventory::Tracked(3));
    variant.metadata = metadata;
    uow.variants().update(&mut variant).await.unwrap();
    uow.commit().await.unwrap();
    (product, variant)
}

#[tokio::test]
async fn a_window_tells_no_more_than_everybody_may_know() {
    let world = World::new().await;
    let (product, variant) = furnish(&world).await;
    let shown = publishable(&world);
    let own = &world.access;

    let get = GetProduct { id: product.id };
    assert_eq!(ask(&world, own, get.clone()).await.unwrap(), product);
    let seen = ask(&world, &shown, get).await.unwrap();
    let mut expected = product.clone();
    expected.external_id = None;
    expected.metadata = Metadata::default();
    expected.review.notes = None;
    expected.review.reviewed_at = None;
    expected.review.reviewed_by = None;
    assert_eq!(seen, expected);

    let mut expected = variant.clone();
    expected.external_id = None;
    expected.metadata = Metadata::default();
    expected.stock = Stock::both(Inventory::Untracked);
    let get = GetVariant { id: variant.id };
    assert_eq!(ask(&world, own, get.clone()).await.unwrap(), variant);
    assert_eq!(ask(&world, &shown, get).await.unwrap(), expected);
    let sku = variant.sku.clone();
    let by_sku = ask(&world, &shown, GetVariantBySku { sku }).await;
    assert_eq!(by_sku.unwrap(), expected);
    let price = PriceVariant {
        identifier: "V-1".to_owned(),
        otherwise: Otherwise::ExternalId,
    };
    let priced = ask(&world, &shown, price.clone()).await.unwrap();
    assert_eq!(priced.variant, expected);
    // The prices are those of everybody.
    let all = ask(&world, own, price).await.unwrap();
    assert_eq!(priced.prices, all.prices);
    assert!(!all.prices.is_empty());
}

/// Each state of a product, its review and its variant, and whether a window shows them.
#[tokio::test]
async fn what_is_not_offered_is_not_in_the_window() {
    let world = World::new().await;
    let shown = publishable(&world);
    let price = PriceVariant {
        identifier: "BIKE".to_owned(),
        otherwise: Otherwise::Sku,
    };
    for status in ProductStatus::ALL {
        for review in ReviewStatus::ALL {
            for variant_status in ProductStatus::ALL {
                for is_waitlisted in [false, true] {
                    let state = (*status, *review, *variant_status, is_waitlisted);
                    let mut uow = world.begin().await;
                    let organization = world.organization.id;
                    let found = uow.products().get(organization, world.product.id).await;
                    let mut product = found.unwrap().unwrap();
                    (product.status, product.review.status) = (*status, *review);
                    product.is_waitlisted = is_waitlisted;
                    uow.products().update(&mut product).await.unwrap();
                    let found = uow.variants().get(organization, world.variant.id).await;
                    let mut variant = found.unwrap().unwrap();
                    variant.status = *variant_status;
                    uow.variants().update(&mut variant).await.unwrap();
                    uow.commit().await.unwrap();

                    let of_product =
                        *status == ProductStatus::Active && *review == ReviewStatus::Approved;
                    let of_variant = of_product && *variant_status == ProductStatus::Active;
                    let get = GetProduct { id: product.id };
                    told(ask(&world, &shown, get).await, of_product, &state);
                    let get = GetVariant { id: variant.id };
                    told(ask(&world, &shown, get).await, of_variant, &state);
                    let sku = variant.sku.clone();
                    let by_sku = ask(&world, &shown, GetVariantBySku { sku }).await;
                    told(by_sku, of_variant, &state);
                    let priced = ask(&world, &shown, price.clone()).await;
                    told(priced, of_variant, &state);
                }
            }
        }
    }
}

/// Shown, or as if it did not exist.
fn told<T: Debug>(answer: Result<T, Error>, is_shown: bool, state: &impl Debug) {
    match (answer, is_shown) {
        (Ok(_), true) | (Err(Error::NotFound { .. }), false) => {}
        (answer, _) => panic!("{state:?}: {answer:?}"),
    }
}

/// A price that is known was shown under the same revision, which every change of what a window shows
/// moves on.
#[tokio::test]
async fn prices_that_are_known_are_told_until_something_changes() {
    let world = World::new().await;
    let shown = publishable(&world);
    let price = PriceVariant {
        identifier: "BIKE".to_owned(),
        otherwise: Otherwise::Sku,
    };
    let since = |known| PriceSince {
        price: price.clone(),
        known,
    };
    let Prices::New { revision, .. } = ask(&world, &shown, since(None)).await.unwrap() else {
        panic!("nothing was known")
    };
    let known = ask(&world, &shown, since(Some(revision))).await.unwrap();
    assert_eq!(known, Prices::Known);
    let mut uow = world.begin().await;
    let mut product = world.product.clone();
    product.review.status = ReviewStatus::ChangesRequested;
    uow.products().update(&mut product).await.unwrap();
    uow.commit().await.unwrap();
    let gone = ask(&world, &shown, since(Some(revision))).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
}

#[tokio::test]
async fn a_publishable_key_does_nothing_else() {
    let world = World::new().await;
    let checkout = world.order("grace@example.com").await;
    let shown = publishable(&world);
    let page = Page {
        start: Start::Offset(0),
        limit: 10,
    };
    let (product, variant) = (world.product.id, world.variant.id);
    let customer = checkout.customer_id;
    macro_rules! refused {
        ($($asked:expr => $permission:ident,)*) => {$(
            match ask(&world, &shown, $asked).await {
                Err(Error::Forbidden(denied)) => {
                    let missing = Denied::Permission(Permission::$permission);
                    assert_eq!(denied, missing, "{}", stringify!($asked));
                }
                other => panic!("{}: {other:?}", stringify!($asked)),
            }
        )*};
    }
    refused! {
        ListVariants { product, filter: VariantFilter::default(), page } => ProductVariantRead,
        PriceProducts { ids: vec![product] } => ProductVariantRead,
        PriceVariants { ids: vec![variant] } => ProductVariantRead,
        UpdateProduct { id: product, changes: ProductChanges::default() } => ProductWrite,
        DeleteProduct { id: product } => ProductDelete,
        UpdateVariant { id: variant, changes: VariantChanges::default() } => ProductVariantWrite,
        DeleteVariant { id: variant } => ProductVariantDelete,
        GetCustomer { id: customer } => CustomerRead,
        ListCustomers { filter: CustomerFilter::default(), page, is_long: false } => CustomerRead,
        GetCheckout { id: checkout.id } => CheckoutRead,
        ViewCheckout { id: checkout.id } => CheckoutRead,
        CancelCheckout { id: checkout.id, reason: None } => CheckoutCancel,
        ListLeaseTerms { page } => LeaseTermRead,
    }
}

#[tokio::test]
async fn a_publishable_key_is_made_without_permissions() {
    let world = World::new().await;
    let create = |permissions: &[Permission]| CreateKey {
        organization: IdRef::Public(world.organization.pub_id),
        user: KeyUser::Email("shop@example.com".parse().unwrap()),
        kind: KeyKind::Publishable,
        mode: Mode::Live,
        permissions: permissions.iter().copied().collect(),
        name: None,
        expires_at: None,
        hash: KeyHash([7; 32]),
        hint: "a1B2".to_owned(),
    };
    let (ids, now, operator) = (world.ids.as_ref(), world.ctx().now, world.operator());
    let mut uow = world.begin_for_server().await;
    let able = create(&[Permission::ProductRead]);
    let refused = create_key(uow.as_mut(), ids, now, &operator, able).await;
    let is_said = matches!(&refused, Err(Error::Invalid { param, .. }) if param == "permissions");
    assert!(is_said, "{refused:?}");
    let made = create_key(uow.as_mut(), ids, now, &operator, create(&[])).await;
    let (holder, _) = made.unwrap();
    let access = holder.access();
    assert_eq!(access.kind, KeyKind::Publishable);
    assert_eq!(access.permissions, Permissions::default());
}

/// Whom a key acts as is a user of the key's own organization: another's is not there for it.
#[tokio::test]
async fn a_key_is_made_for_no_other_organizations_user() {
    let world = World::new().await;
    let (ids, now, operator) = (world.ids.as_ref(), world.ctx().now, world.operator());
    let mut uow = world.begin_for_server().await;
    let input = CreateOrganization {
        name: "Elsewhere".parse().unwrap(),
        currency: "USD".parse().unwrap(),
        discount: "0".parse().unwrap(),
        service_area: "US".parse().unwrap(),
        requires_product_review: false,
        oftake_partner_id: None,
    };
    let elsewhere = create_organization(uow.as_mut(), ids, now, &operator, input)
        .await
        .unwrap();
    uow.commit().await.unwrap();
    for (organization, is_own) in [(&world.organization, true), (&elsewhere, false)] {
        let input = CreateKey {
            organization: IdRef::Public(organization.pub_id),
            user: KeyUser::Id(world.access.user_pub_id),
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            name: None,
            expires_at: None,
            hash: KeyHash([8; 32]),
            hint: "a1B2".to_owned(),
        };
        let mut uow = world.begin_for_server().await;
        match create_key(uow.as_mut(), ids, now, &operator, input).await {
            Ok((holder, _)) => {
                assert!(is_own, "it is another's user");
                assert_eq!(holder.user_pub_id, world.access.user_pub_id);
            }
            Err(Error::NotFound { .. }) => assert!(!is_own, "it is its own user"),
            Err(other) => panic!("{other}"),
        }
    }
}
