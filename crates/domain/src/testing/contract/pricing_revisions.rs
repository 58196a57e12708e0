//! The count of what changes an organization's prices.

use super::shop::{Shop, must};
use crate::access::Mode;
use crate::catalog::{ProductStatus, ReviewStatus};
use crate::money::Money;
use crate::ports::{Database, StoreError, UnitOfWork};
use crate::quantity::Quantity;

/// The revision of an organization's prices, under which caches are kept.
///
/// # Panics
/// With the clause that is broken.
pub async fn pricing_revisions(database: &dyn Database) {
    let shop = Shop::open(database).await;
    assert_eq!(
        revision(&shop).await,
        0,
        "organizations.pricing_revision: zero before the first change"
    );
    let neighbour = shop.neighbour().await;
    what_prices_are_made_of_counts(&shop).await;
    what_prices_are_not_made_of_does_not(&shop).await;
    assert_eq!(
        revision(&neighbour).await,
        0,
        "organizations.pricing_revision: each organization's own"
    );
}

async fn revision(shop: &Shop<'_>) -> i64 {
    shop.seen("organizations.pricing_revision: reads", async |view| {
        view.organizations()
            .pricing_revision(shop.organization.id)
            .await
    })
    .await
}

/// Whether the work moves the revision on.
async fn moves(
    shop: &Shop<'_>,
    work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<(), StoreError>,
) -> bool {
    let before = revision(shop).await;
    must(shop.run(work).await, "the suite changes a record");
    let after = revision(shop).await;
    assert!(
        after >= before,
        "organizations.pricing_revision: never goes back"
    );
    after > before
}

async fn what_prices_are_made_of_counts(shop: &Shop<'_>) {
    let counts = "organizations.pricing_revision: counts a change of";
    let mut organization = shop.organization.clone();
    organization.discount = super::full::parsed("5");
    assert!(
        moves(shop, async |uow| uow
            .organizations()
            .update(&mut organization)
            .await)
        .await,
        "{counts} the organization's discount"
    );
    let mut product = shop.anything().await;
    product.discount = Some(super::full::parsed("7.5"));
    assert!(
        moves(shop, async |uow| uow.products().update(&mut product).await).await,
        "{counts} a product's discount"
    );
    product.status = ProductStatus::Inactive;
    assert!(
        moves(shop, async |uow| uow.products().update(&mut product).await).await,
        "{counts} a product's status"
    );
    product.review.status = ReviewStatus::Rejected;
    assert!(
        moves(shop, async |uow| uow.products().update(&mut product).await).await,
        "{counts} what a product's review says"
    );
    let mut variant = shop.make.variant(&product).stock(3).build();
    assert!(
        moves(shop, async |uow| uow.variants().insert(&variant).await).await,
        "{counts} the variants that there are"
    );
    variant.price = Money::from_minor(
        variant.price.minor().saturating_add(1),
        variant.price.currency(),
    );
    assert!(
        moves(shop, async |uow| uow.variants().update(&mut variant).await).await,
        "{counts} a variant's price"
    );
    variant.sku = super::full::parsed("REVISED");
    assert!(
        moves(shop, async |uow| uow.variants().update(&mut variant).await).await,
        "{counts} a variant's sku"
    );
    let new = shop.make.lease_term(&shop.organization).new_record();
    assert!(
        moves(shop, async |uow| uow
            .lease_terms()
            .insert(&new)
            .await
            .map(|_| ()))
        .await,
        "{counts} the lease terms that there are"
    );
    assert!(
        moves(shop, async |uow| uow.variants().delete(variant.id).await).await,
        "{counts} the variants that there are"
    );
}

async fn what_prices_are_not_made_of_does_not(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(3)).await;
    for mode in Mode::ALL {
        assert!(
            !moves(shop, async |uow| {
                uow.variants()
                    .take_stock(variant.id, mode, Quantity::ONE)
                    .await?;
                uow.variants()
                    .return_stock(variant.id, mode, Quantity::ONE)
                    .await
            })
            .await,
            "organizations.pricing_revision: stock does not count"
        );
    }
    let before = revision(shop).await;
    let mut uow = shop.begin().await;
    let another = shop.make.variant(&product).choose("Size", "L").build();
    must(
        uow.variants().insert(&another).await,
        "variants.insert: keeps a variant",
    );
    drop(uow);
    assert_eq!(
        revision(shop).await,
        before,
        "organizations.pricing_revision: a change that was dropped does not count"
    );
}
