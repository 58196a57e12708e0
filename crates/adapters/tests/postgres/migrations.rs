//! Migrations: run by several processes at once, taken back, run again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use lessor_adapters::postgres::{MigrateError, PgDatabase, PgSettings};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::ports::{Database, Reach};
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use super::leasing::somebody;
use super::support::{Shop, pool, run, skipped_on_a_cluster};

/// How long what waits for nobody may take.
const SOON: Duration = Duration::from_secs(20);

/// Whether anything was made to keep the history in.
const IS_BEGUN: &str = "SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL";

/// Folders of migrations, oldest first.
fn folders() -> Vec<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn names() -> Vec<String> {
    folders()
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_at_once_run_each_migration_once() {
    let test = TestDatabase::create_empty().await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let runs = (0..8).map(|_| {
        let database = pool(&test, |_| {});
        let told = Arc::clone(&told);
        async move {
            database
                .migrate(move |name| told.lock().unwrap().push(name.to_owned()))
                .await
                .unwrap()
        }
    });
    let ran: Vec<usize> = join_all(runs).await;
    assert_eq!(ran.iter().sum::<usize>(), names().len(), "{ran:?}");
    assert_eq!(*told.lock().unwrap(), names());
}

/// A session of somebody else's that has the lock of migrations, and its process.
async fn somebody_migrates(test: &TestDatabase) -> (Client, String) {
    let url = format!("{}?application_name=somebody", test.url());
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    // "lessor" in ASCII.
    let locked = client.query_one(
        "SELECT pg_backend_pid()::text FROM pg_advisory_lock(x'6c6573736f72'::bigint)",
        &[],
    );
    let process = locked.await.unwrap().get(0);
    (client, process)
}

/// The database, as a role of this name that may do this much.
async fn as_role(test: &TestDatabase, role: &str, granted: &str) -> PgDatabase {
    test.execute(&format!(
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
         CREATE ROLE {role} LOGIN PASSWORD 'secret'; {granted}"
    ))
    .await;
    let (_, place) = test.url().rsplit_once('@').unwrap();
    let url = format!("postgres://{role}:secret@{place}");
    PgDatabase::new(&PgSettings::new(url)).unwrap()
}

/// Nobody is waited for, and no right to migrate is needed.
#[tokio::test]
async fn where_nothing_is_pending_nothing_is_done() {
    if skipped_on_a_cluster("its role would be the cluster's") {
        return;
    }
    let test = TestDatabase::create().await;
    let _held = somebody_migrates(&test).await;
    let clerk = as_role(
        &test,
        "clerk",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk",
    )
    .await;
    for database in [test.database(), &clerk] {
        let ran = timeout(SOON, database.migrate(|_| {})).await.unwrap();
        assert_eq!(ran.unwrap(), 0);
    }
}

/// What was migrated and not granted is, although nothing is pending.
#[tokio::test]
async fn what_was_not_granted_is() {
    if skipped_on_a_cluster("locks of one server") {
        return;
    }
    let test = TestDatabase::create().await;
    let may = "SELECT has_table_privilege('lessor_app', 'customers', 'select')";
    test.execute("REVOKE SELECT ON customers FROM lessor_app")
        .await;
    assert_eq!(test.query(may).await, ["f"]);
    assert_eq!(test.database().migrate(|_| {}).await.unwrap(), 0);
    assert_eq!(test.query(may).await, ["t"]);
}

#[tokio::test]
async fn who_holds_on_for_too_long_is_named() {
    if skipped_on_a_cluster("locks of one server") {
        return;
    }
    let test = TestDatabase::create_empty().await;
    let (held, process) = somebody_migrates(&test).await;
    let hasty = pool(&test, |settings| {
        settings.migration_wait = Duration::from_millis(100);
    });
    let refused = timeout(SOON, hasty.migrate(|_| {})).await.unwrap();
    let Err(error @ MigrateError::Held { .. }) = &refused else {
        panic!("{refused:?}");
    };
    let said = error.to_string();
    assert!(
        said.starts_with(&format!("session {process} of ")) && said.contains("(somebody)"),
        "{said}"
    );
    assert_eq!(test.query(IS_BEGUN).await, ["f"]);
    // Whoever waits goes on when they end.
    let waits = tokio::spawn({
        let database = test.database().clone();
        async move { database.migrate(|_| {}).await }
    });
    drop(held);
    assert_eq!(waits.await.unwrap().unwrap(), names().len());
}

#[tokio::test]
async fn who_may_not_migrate_is_told_so() {
    if skipped_on_a_cluster("its role would be the cluster's") {
        return;
    }
    let test = TestDatabase::create_empty().await;
    let stranger = as_role(&test, "stranger", "").await;
    // Nobody waits to hear that.
    let _held = somebody_migrates(&test).await;
    let refused = timeout(SOON, stranger.migrate(|_| {})).await.unwrap();
    assert!(
        matches!(&refused, Err(MigrateError::Forbidden { pending, role })
            if *pending == names().len() && role == "stranger"),
        "{refused:?}"
    );
    assert_eq!(test.query(IS_BEGUN).await, ["f"]);
}

/// On a runtime of one thread too, which is what actix-web gives.
#[tokio::test]
async fn what_is_pending_is_told() {
    let test = TestDatabase::create_empty().await;
    let database = test.database();
    assert_eq!(database.pending_migrations().await.unwrap(), names());
    assert_eq!(database.migrate(|_| {}).await.unwrap(), names().len());
    assert_eq!(
        database.pending_migrations().await.unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(database.migrate(|_| {}).await.unwrap(), 0);
}

#[tokio::test]
async fn each_migration_can_be_taken_back() {
    if skipped_on_a_cluster("what is spread is not taken back") {
        return;
    }
    let test = TestDatabase::create().await;
    let objects = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace \
                   AND relname NOT LIKE '\\_\\_diesel%' \
                   UNION ALL SELECT proname FROM pg_proc \
                   WHERE pronamespace = 'public'::regnamespace ORDER BY 1";
    let before = test.query(objects).await;
    assert!(before.contains(&"product_variants".to_owned()));
    let script = |folder: &PathBuf, name| std::fs::read_to_string(folder.join(name)).unwrap();
    for folder in folders().iter().rev() {
        test.execute(&script(folder, "down.sql")).await;
    }
    let left = test.query(objects).await;
    // Of what Diesel keeps for itself.
    let own = |name: &String| name.starts_with("diesel_");
    assert_eq!(
        left.iter().filter(|name| !own(name)).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    for folder in &folders() {
        test.execute(&script(folder, "up.sql")).await;
    }
    assert_eq!(test.query(objects).await, before);
}

/// Who serves under another role than whom the tables belong to.
#[tokio::test]
async fn whom_the_tables_are_granted_to_works_on_them() {
    if skipped_on_a_cluster("its role would be the cluster's") {
        return;
    }
    let shop = Shop::open().await;
    let neighbour = shop.neighbour().await;
    let customer = somebody(&shop).await;
    shop.test
        .execute("CREATE ROLE \"the service\" LOGIN PASSWORD 'secret'")
        .await;
    for _ in 0..2 {
        shop.database().grant_to("the service").await.unwrap();
    }
    let (_, place) = shop.test.url().rsplit_once('@').unwrap();
    let url = format!("postgres://the%20service:secret@{place}");
    let service = PgDatabase::new(&PgSettings::new(url)).unwrap();
    assert_eq!(
        service.pending_migrations().await.unwrap(),
        Vec::<String>::new()
    );
    for (reach, is_theirs) in [
        (shop.reach(), true),
        (neighbour.id.into(), false),
        (Reach::Server, false),
    ] {
        let mut view = service.read(reach).await.unwrap();
        let found = view.customers().get(customer.id).await.unwrap();
        assert_eq!(found.is_some(), is_theirs, "{reach:?}");
    }
    // History and the audit are added to, and events until they are old.
    let may = shop
        .test
        .query(
            "SELECT concat_ws(' ', has_table_privilege('the service', name, 'insert'), \
                has_table_privilege('the service', name, 'update'), \
                has_table_privilege('the service', name, 'delete'), \
                has_table_privilege('the service', name, 'truncate'), \
                has_any_column_privilege('the service', name, 'update')) \
             FROM unnest(ARRAY['audit_events', 'checkout_transitions', 'agreement_events', \
                'unnumbered_events', 'events']) AS name",
        )
        .await;
    assert_eq!(
        may,
        [
            "t f f f f",
            "t f f f t",
            "t f f f t",
            "t f t f f",
            "t f t f f"
        ]
    );
    // A trigger counts the new prices.
    let product = shop.product().await;
    let variant = shop.make.variant(&product).stock(1).build();
    run(&service, shop.reach(), async |uow| {
        uow.variants().insert(&variant).await
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn whom_nobody_made_nothing_is_granted_to() {
    let test = TestDatabase::create().await;
    let refused = test.database().grant_to("nobody's \"role\"").await;
    assert!(
        matches!(&refused, Err(MigrateError::NoRole { role }) if role == "nobody's \"role\""),
        "{refused:?}"
    );
}
