//! What becomes of units of work, locks and connections when things go wrong.

use std::time::{Duration, Instant};

use lessor_adapters::postgres::{PgDatabase, PgSettings};
use lessor_domain::cause::chain;
use lessor_domain::ids::{OrganizationId, ProductPubId};
use lessor_domain::ports::{Database, Reach, StoreError, UniqueField, UnitOfWork};
use tokio::sync::oneshot;
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::support::{Shop, pool, skipped_on_a_cluster, until, until_somebody_waits};

/// How long a lock that nobody holds may take to be had.
const SOON: Duration = Duration::from_secs(3);

async fn lock(uow: &mut Box<dyn UnitOfWork>, id: OrganizationId) -> Result<(), StoreError> {
    let found = uow.organizations().lock(id).await?;
    assert!(found.is_some());
    Ok(())
}

/// Somebody else has the lock at once.
async fn can_lock(shop: &Shop) {
    let other = pool(&shop.test, |settings| settings.lock_timeout = SOON);
    let mut uow = other.begin(shop.reach()).await.unwrap();
    lock(&mut uow, shop.organization.id).await.unwrap();
}

const NOBODY_IS_IN_A_TRANSACTION: &str = "NOT EXISTS (SELECT FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)";

#[tokio::test]
async fn a_dropped_unit_leaves_no_lock() {
    let shop = Shop::open().await;
    let mut uow = shop.begin().await;
    lock(&mut uow, shop.organization.id).await.unwrap();
    drop(uow);
    can_lock(&shop).await;
    until(&shop.test, NOBODY_IS_IN_A_TRANSACTION).await;
}

#[tokio::test]
async fn a_unit_that_is_rolled_back_keeps_its_connection_and_no_lock() {
    let shop = Shop::open().await;
    let database = pool(&shop.test, |settings| settings.max_connections = 1);
    let mut uow = database.begin(shop.reach()).await.unwrap();
    lock(&mut uow, shop.organization.id).await.unwrap();
    uow.roll_back().await.unwrap();
    // Nobody has to wait until the server notices something.
    let at_once = pool(&shop.test, |settings| {
        settings.lock_timeout = Duration::from_millis(1);
    });
    let mut other = at_once.begin(shop.reach()).await.unwrap();
    lock(&mut other, shop.organization.id).await.unwrap();
    let pool = database.pool_status();
    assert_eq!((pool.open, pool.idle), (1, 1));
}

#[tokio::test]
async fn a_request_that_is_cancelled_in_a_transaction_leaves_no_lock() {
    let shop = Shop::open().await;
    let (locked, is_locked) = oneshot::channel();
    let database = shop.database().clone();
    let id = shop.organization.id;
    let request = tokio::spawn(async move {
        let mut uow = database.begin(id.into()).await.unwrap();
        lock(&mut uow, id).await.unwrap();
        locked.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(uow);
    });
    is_locked.await.unwrap();
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    can_lock(&shop).await;
}

#[tokio::test]
async fn a_request_that_is_cancelled_in_a_statement_leaves_no_lock() {
    if skipped_on_a_cluster("locks of one server") {
        return;
    }
    let shop = Shop::open().await;
    let variant = shop.variant(1).await;
    let mut holder = shop.begin().await;
    lock(&mut holder, shop.organization.id).await.unwrap();
    // Holds the variant, and waits for the organization.
    let database = shop.database().clone();
    let id = shop.organization.id;
    let request = tokio::spawn(async move {
        let mut uow = database.begin(id.into()).await.unwrap();
        uow.variants().lock(id, variant.id).await.unwrap();
        lock(&mut uow, id).await
    });
    until_somebody_waits(&shop.test).await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    let other = pool(&shop.test, |settings| settings.lock_timeout = SOON);
    let mut uow = other.begin(shop.reach()).await.unwrap();
    uow.variants().lock(id, variant.id).await.unwrap();
    drop(holder);
}

#[tokio::test]
async fn a_unit_in_which_a_statement_failed_is_not_committed() {
    let shop = Shop::open().await;
    let variant = shop.variant(1).await;
    let new = shop.make.customer(&shop.organization).new_record();
    let product = shop.product().await;
    let twin = shop
        .make
        .variant(&product)
        .sku(variant.sku.as_str())
        .build();
    let mut uow = shop.begin().await;
    uow.customers().insert(&new).await.unwrap();
    let refused = uow.variants().insert(&twin).await;
    assert!(
        matches!(refused, Err(StoreError::Conflict(UniqueField::Sku))),
        "{refused:?}"
    );
    let committed = uow.commit().await;
    assert!(
        matches!(committed, Err(StoreError::Internal(_))),
        "{committed:?}"
    );
    let mut view = shop.view().await;
    assert_eq!(view.customers().get(new.id).await.unwrap(), None);
}

/// What the domain decides by is the kind of error; what Postgres said is its cause.
#[tokio::test]
async fn what_postgres_says_is_the_cause() {
    let shop = Shop::open().await;
    shop.test
        .execute("DROP TABLE pickup_locations CASCADE")
        .await;
    let mut view = shop.view().await;
    let failed = view.pickup_locations().list(shop.organization.id).await;
    let Err(StoreError::Internal(cause)) = &failed else {
        panic!("{failed:?}");
    };
    assert!(
        matches!(
            cause.downcast_ref(),
            Some(diesel::result::Error::DatabaseError(..))
        ),
        "{cause:?}"
    );
    let error = failed.unwrap_err();
    assert_eq!(error.to_string(), "the store failed");
    assert_eq!(
        chain(&error).to_string(),
        r#"the store failed: relation "pickup_locations" does not exist"#
    );
}

#[tokio::test]
async fn without_a_free_connection_work_is_turned_away() {
    let shop = Shop::open().await;
    let narrow = pool(&shop.test, |settings| {
        settings.max_connections = 1;
        settings.wait_timeout = Duration::from_millis(50);
    });
    let held = narrow.begin(shop.reach()).await.unwrap();
    let refused = narrow.begin(shop.reach()).await.err();
    assert!(
        matches!(refused, Some(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    drop(held);
    narrow.begin(shop.reach()).await.unwrap();
}

/// A view is never tried again, so that what it waits is one wait on this machine.
#[tokio::test]
async fn work_without_a_free_connection_waits_once() {
    async fn waited(
        refused: impl Future<Output = Result<Box<dyn UnitOfWork>, StoreError>>,
    ) -> Duration {
        let begun = Instant::now();
        let refused = refused.await.err();
        assert!(
            matches!(refused, Some(StoreError::Unavailable(_))),
            "{refused:?}"
        );
        begun.elapsed()
    }
    let shop = Shop::open().await;
    let narrow = pool(&shop.test, |settings| {
        settings.max_connections = 1;
        settings.wait_timeout = Duration::from_millis(100);
    });
    let _held = narrow.begin(shop.reach()).await.unwrap();
    let (mut once, mut begin) = (Duration::ZERO, Duration::MAX);
    for _ in 0..3 {
        once = once.max(waited(narrow.read(shop.reach())).await);
        begin = begin.min(waited(narrow.begin(shop.reach())).await);
    }
    assert!(begin < once.mul_f64(1.5), "{begin:?} and {once:?}");
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_unavailable() {
    // Port 1 is nobody's.
    let nowhere = PgDatabase::new(&PgSettings::new("postgres://a@127.0.0.1:1/b")).unwrap();
    for refused in [
        nowhere.begin(Reach::Server).await.err(),
        nowhere.read(Reach::Server).await.err(),
        nowhere.ping().await.err(),
    ] {
        assert!(
            matches!(refused, Some(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn connections_that_the_server_closed_are_replaced() {
    let shop = Shop::open().await;
    let database = pool(&shop.test, |_| {});
    for _ in 0..3 {
        // Several lie idle in the pool, all of them dead then.
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(database.read(shop.reach()).await.unwrap());
        }
        drop(held);
        shop.test
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await;
        let mut uow = database.begin(shop.reach()).await.unwrap();
        lock(&mut uow, shop.organization.id).await.unwrap();
        uow.commit().await.unwrap();
        let mut view = database.read(shop.reach()).await.unwrap();
        view.organizations().list().await.unwrap();
    }
}

#[tokio::test]
async fn a_transaction_whose_connection_is_lost_is_unavailable() {
    let shop = Shop::open().await;
    let mut uow = shop.begin().await;
    lock(&mut uow, shop.organization.id).await.unwrap();
    shop.test
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    let lost = uow.organizations().list().await.err();
    assert!(matches!(lost, Some(StoreError::Unavailable(_))), "{lost:?}");
    let lost = uow.commit().await.err();
    assert!(matches!(lost, Some(StoreError::Unavailable(_))), "{lost:?}");
}

#[tokio::test]
async fn a_lock_that_takes_too_long_is_contended() {
    if skipped_on_a_cluster("locks of one server") {
        return;
    }
    let shop = Shop::open().await;
    let mut holder = shop.begin().await;
    lock(&mut holder, shop.organization.id).await.unwrap();
    let hasty = pool(&shop.test, |settings| {
        settings.lock_timeout = Duration::from_millis(50);
    });
    let mut uow = hasty.begin(shop.reach()).await.unwrap();
    let refused = lock(&mut uow, shop.organization.id).await;
    assert!(matches!(refused, Err(StoreError::Contended)), "{refused:?}");
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_unavailable() {
    let shop = Shop::open().await;
    let mut holder = shop.begin().await;
    lock(&mut holder, shop.organization.id).await.unwrap();
    let hasty = pool(&shop.test, |settings| {
        settings.statement_timeout = Duration::from_millis(50);
    });
    let mut uow = hasty.begin(shop.reach()).await.unwrap();
    let refused = lock(&mut uow, shop.organization.id).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_idle_transaction_is_ended_by_the_server() {
    let shop = Shop::open().await;
    let idle = pool(&shop.test, |settings| {
        settings.idle_in_transaction_timeout = Duration::from_millis(50);
    });
    let mut uow = idle.begin(shop.reach()).await.unwrap();
    lock(&mut uow, shop.organization.id).await.unwrap();
    until(&shop.test, NOBODY_IS_IN_A_TRANSACTION).await;
    let lost = uow.organizations().list().await.err();
    assert!(matches!(lost, Some(StoreError::Unavailable(_))), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_deadlock_one_is_contended() {
    if skipped_on_a_cluster("locks of one server") {
        return;
    }
    let shop = Shop::open().await;
    let one = shop.variant(1).await.id;
    let two = shop.variant(1).await.id;
    let organization = shop.organization.id;
    let (mut a, mut b) = (shop.begin().await, shop.begin().await);
    a.variants().lock(organization, one).await.unwrap();
    b.variants().lock(organization, two).await.unwrap();
    // The one that is refused lets go of what it has, as a caller does.
    let a = async move {
        let done = a.variants().lock(organization, two).await;
        drop(a);
        done
    };
    let b = async move {
        let done = b.variants().lock(organization, one).await;
        drop(b);
        done
    };
    let (a, b) = tokio::join!(a, b);
    let outcomes = [a, b];
    let contended = outcomes
        .iter()
        .filter(|done| matches!(done, Err(StoreError::Contended)))
        .count();
    let done = outcomes.iter().filter(|done| done.is_ok()).count();
    assert_eq!((contended, done), (1, 1), "{outcomes:?}");
}

#[tokio::test]
async fn a_view_leaves_no_transaction_and_keeps_its_connection() {
    let shop = Shop::open().await;
    for is_committed in [true, false] {
        let mut view = shop.view().await;
        view.organizations().list().await.unwrap();
        if is_committed {
            view.commit().await.unwrap();
        } else {
            drop(view);
        }
        until(&shop.test, NOBODY_IS_IN_A_TRANSACTION).await;
        let status = shop.database().pool_status();
        assert!(status.open >= 1 && status.idle == status.open, "{status:?}");
    }
}

#[tokio::test]
async fn a_view_changes_nothing() {
    let shop = Shop::open().await;
    let new = shop.make.customer(&shop.organization).new_record();
    let mut view = shop.view().await;
    let refused = view.customers().insert(&new).await;
    assert!(refused.is_err(), "{refused:?}");
    view.commit().await.unwrap();
    let mut view = shop.view().await;
    assert_eq!(view.customers().get(new.id).await.unwrap(), None);
}

/// What a view was asked when it was cut off is not waited for by whoever comes next.
#[tokio::test]
async fn a_view_that_is_cancelled_in_a_statement_is_left_to_itself() {
    let shop = Shop::open().await;
    let database = pool(&shop.test, |settings| settings.max_connections = 1);
    let connected = tokio_postgres::connect(shop.test.url(), NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("BEGIN; LOCK TABLE products")
        .await
        .unwrap();
    let (asking, id) = (database.clone(), shop.organization.id);
    let request = tokio::spawn(async move {
        let mut view = asking.read(id.into()).await.unwrap();
        view.products()
            .get(id, ProductPubId::from_uuid(Uuid::nil()))
            .await
    });
    until_somebody_waits(&shop.test).await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    let mut view = database.read(shop.reach()).await.unwrap();
    let at_once = tokio::time::timeout(SOON, view.organizations().list()).await;
    assert_eq!(at_once.unwrap().unwrap().len(), 1);
}
