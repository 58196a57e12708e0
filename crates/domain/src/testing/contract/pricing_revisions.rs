//! The count of what changes an organization's prices.

use super::revisions::Revision;
use super::shop::Shop;
use crate::catalog::{ProductStatus, ReviewStatus};
use crate::money::Money;
use crate::ports::Database;

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

const fn revision_of<'s, 'd>(
    shop: &'s Shop<'d>,
) -> Revision<'s, 'd, impl AsyncFn(&Shop<'_>) -> i64> {
    Revision {
        shop,
        name: "organizations.pricing_revision",
        read: revision,
    }
}

async fn what_prices_are_made_of_counts(shop: &Shop<'_>) {
    let its = revision_of(shop);
    let counts = "organizations.pricing_revision: counts a change of";
    let mut organization = shop.organization.clone();
    organization.discount = super::full::parsed("5");
    assert!(
        its.moves(async |uow| uow.organizations().update(&mut organization).await)
            .await,
        "{counts} the organization's discount"
    );
    let mut product = shop.anything().await;
    product.discount = Some(super::full::parsed("7.5"));
    assert!(
        its.moves(async |uow| uow.products().update(&mut product).await)
            .await,
        "{counts} a product's discount"
    );
    product.status = ProductStatus::Inactive;
    assert!(
        its.moves(async |uow| uow.products().update(&mut product).await)
            .await,
        "{counts} a product's status"
    );
    product.review.status = ReviewStatus::Rejected;
    assert!(
        its.moves(async |uow| uow.products().update(&mut product).await)
            .await,
        "{counts} what a product's review says"
    );
    let mut variant = shop.make.variant(&product).stock(3).build();
    assert!(
        its.moves(async |uow| uow.variants().insert(&variant).await)
            .await,
        "{counts} the variants that there are"
    );
    variant.price = Money::from_minor(
        variant.price.minor().saturating_add(1),
        variant.price.currency(),
    );
    assert!(
        its.moves(async |uow| uow.variants().update(&mut variant).await)
            .await,
        "{counts} a variant's price"
    );
    variant.sku = super::full::parsed("REVISED");
    assert!(
        its.moves(async |uow| uow.variants().update(&mut variant).await)
            .await,
        "{counts} a variant's sku"
    );
    let new = shop.make.lease_term(&shop.organization).new_record();
    assert!(
        its.moves(async |uow| uow.lease_terms().insert(&new).await.map(|_| ()))
            .await,
        "{counts} the lease terms that there are"
    );
    assert!(
        its.moves(async |uow| uow.variants().delete(variant.id).await)
            .await,
        "{counts} the variants that there are"
    );
}

async fn what_prices_are_not_made_of_does_not(shop: &Shop<'_>) {
    let its = revision_of(shop);
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(3)).await;
    its.stock_does_not_count(&variant).await;
    its.what_was_dropped_does_not_count(&product).await;
}
