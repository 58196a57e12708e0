//! Views that are no transactions: what a session shows by itself, and to whom.

use lessor_adapters::postgres::PgDatabase;
use lessor_domain::catalog::Product;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Database as _, Reach, StoreError};

use super::support::{Shop, pool, skipped_on_a_cluster};

/// One session that never writes.
fn reads(shop: &Shop) -> PgDatabase {
    pool(&shop.test, |settings| {
        settings.max_connections = 1;
        settings.reads_alone = true;
    })
}

/// Whether the product is there for whoever reads in that name, as one of the other.
async fn is_there(
    database: &PgDatabase,
    reach: Reach,
    (organization, product): (OrganizationId, &Product),
) -> bool {
    let mut view = database.read(reach).await.unwrap();
    let found = view.products().get(organization, product.id).await.unwrap();
    found.is_some()
}

#[tokio::test]
async fn a_session_shows_each_organization_its_own() {
    let shop = Shop::open().await;
    let neighbour = shop.neighbour().await;
    let own = shop.product().await;
    let others = shop.make.product(&neighbour).build();
    let mut uow = shop.database().begin(neighbour.id.into()).await.unwrap();
    uow.products().insert(&others).await.unwrap();
    uow.commit().await.unwrap();

    let database = reads(&shop);
    let (a, b) = (shop.organization.id, neighbour.id);
    let (own, others) = ((a, &own), (b, &others));
    // Each in turn, and often enough in a row that the session shows it by itself.
    for times in [1, 2, 3, 1, 1, 3] {
        for (reach, sees_own, sees_others) in [
            (Reach::from(a), true, false),
            (Reach::Server, false, false),
            (Reach::from(b), false, true),
            (Reach::Server, false, false),
        ] {
            for _ in 0..times {
                let seen = (
                    is_there(&database, reach, own).await,
                    is_there(&database, reach, others).await,
                );
                assert_eq!(seen, (sees_own, sees_others), "{reach:?} {times}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_view_reads_after_somebody_elses_commit_is_what_was_committed() {
    let shop = Shop::open().await;
    let database = reads(&shop);
    let mut product = shop.product().await;
    for _ in 0..4 {
        product.updated_at = shop.make.tick();
        shop.run(async |uow| uow.products().update(&mut product).await)
            .await
            .unwrap();
        let mut view = database.read(shop.reach()).await.unwrap();
        let found = view.products().get(shop.organization.id, product.id);
        assert_eq!(found.await.unwrap().as_ref(), Some(&product));
    }
}

#[tokio::test]
async fn nothing_is_written_by_a_session_that_reads_alone() {
    let shop = Shop::open().await;
    let database = reads(&shop);
    let known = shop.product().await;
    let new = shop.make.product(&shop.organization).build();
    for _ in 0..4 {
        // A view that is refused leaves a session that shows what it showed.
        let mut view = database.read(shop.reach()).await.unwrap();
        let refused = view.products().insert(&new).await;
        assert!(refused.is_err(), "{refused:?}");
        drop(view);
        let seen = (shop.organization.id, &known);
        assert!(is_there(&database, shop.reach(), seen).await);
    }
    let mut work = database.begin(shop.reach()).await.unwrap();
    let refused = work.products().insert(&new).await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test]
async fn a_view_that_was_given_up_leaves_its_session_to_nobody() {
    if skipped_on_a_cluster("a session shows nobody's rows by itself") {
        return;
    }
    let shop = Shop::open().await;
    let database = reads(&shop);
    let product = shop.product().await;
    let seen = (shop.organization.id, &product);
    for _ in 0..3 {
        assert!(is_there(&database, shop.reach(), seen).await);
    }
    let mut view = database.read(shop.reach()).await.unwrap();
    let get = view.products().get(shop.organization.id, product.id);
    // Put on the line, and not waited for.
    assert!(futures_util::FutureExt::now_or_never(get).is_none());
    drop(view);
    assert_eq!(database.pool_status().open, 0);
    assert!(is_there(&database, shop.reach(), seen).await);
    let nobody: Result<_, StoreError> = database.read(Reach::Server).await;
    let found = nobody.unwrap().products().get(seen.0, product.id).await;
    assert_eq!(found.unwrap(), None);
}
