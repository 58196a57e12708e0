//! The count of what changes how many products a list has.

use super::revisions::Revision;
use super::shop::{Shop, first};
use crate::catalog::ProductStatus;
use crate::money::Money;
use crate::ports::{Database, ProductFilter, ProductSort, SortOrder};

/// The revision of an organization's catalog, under which what was counted is kept.
///
/// # Panics
/// With the clause that is broken.
pub async fn catalog_revisions(database: &dyn Database) {
    let shop = Shop::open(database).await;
    assert_eq!(
        revision(&shop).await,
        0,
        "products.revision: zero before the first change"
    );
    let neighbour = shop.neighbour().await;
    what_products_are_found_by_counts(&shop).await;
    what_they_are_not_found_by_does_not(&shop).await;
    assert_eq!(
        revision(&neighbour).await,
        0,
        "products.revision: each organization's own"
    );
}

async fn revision(shop: &Shop<'_>) -> i64 {
    let filter = ProductFilter::default();
    let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
    let id = shop.organization.id;
    let read = shop.seen("products.revision: reads", async |view| {
        let products = view.products();
        let revision = products.revision(id).await?;
        let alone = products.list(id, &filter, sort, order, first(9)).await?;
        let page = products.list_with_revision(id, &filter, sort, order, first(9));
        let page = page.await?;
        assert_eq!(
            (page.products, page.revision),
            (alone, revision),
            "products.list_with_revision: the page, and the revision"
        );
        Ok(revision)
    });
    read.await
}

const fn revision_of<'s, 'd>(
    shop: &'s Shop<'d>,
) -> Revision<'s, 'd, impl AsyncFn(&Shop<'_>) -> i64> {
    Revision {
        shop,
        name: "products.revision",
        read: revision,
    }
}

async fn what_products_are_found_by_counts(shop: &Shop<'_>) {
    let its = revision_of(shop);
    let counts = "products.revision: counts";
    let mut product = shop.make.product(&shop.organization).build();
    let new = product.clone();
    assert!(
        its.moves(async |uow| uow.products().insert(&new).await)
            .await,
        "{counts} a new product"
    );
    product.is_waitlisted = !product.is_waitlisted;
    assert!(
        its.moves(async |uow| uow.products().update(&mut product).await)
            .await,
        "{counts} a change of a product"
    );
    let mut variant = shop.make.variant(&product).stock(3).build();
    assert!(
        its.moves(async |uow| uow.variants().insert(&variant).await)
            .await,
        "{counts} a new variant"
    );
    variant.sku = super::full::parsed("REVISED");
    assert!(
        its.moves(async |uow| uow.variants().update(&mut variant).await)
            .await,
        "{counts} a variant's sku"
    );
    variant.status = ProductStatus::Archived;
    assert!(
        its.moves(async |uow| uow.variants().update(&mut variant).await)
            .await,
        "{counts} a variant's state"
    );
    assert!(
        its.moves(async |uow| uow.variants().delete(variant.id).await)
            .await,
        "{counts} a variant that is gone"
    );
    // All in one transaction: the last is no less counted than the first.
    let (one, other) = (
        shop.make.variant(&product).build(),
        shop.make.variant(&product).choose("Size", "L").build(),
    );
    assert!(
        its.moves(async |uow| {
            uow.variants().insert(&one).await?;
            uow.variants().insert(&other).await
        })
        .await,
        "{counts} what is changed together"
    );
    assert!(
        its.moves(async |uow| uow.products().delete(product.id).await)
            .await,
        "{counts} a product that is gone"
    );
}

async fn what_they_are_not_found_by_does_not(shop: &Shop<'_>) {
    let its = revision_of(shop);
    let not = "products.revision: does not count";
    let product = shop.anything().await;
    let mut variant = shop.variant(shop.make.variant(&product).stock(3)).await;
    let price = variant.price;
    variant.price = Money::from_minor(price.minor().saturating_add(1), price.currency());
    assert!(
        !its.moves(async |uow| uow.variants().update(&mut variant).await)
            .await,
        "{not} prices"
    );
    its.stock_does_not_count(&variant).await;
    its.what_was_dropped_does_not_count(&product).await;
}
