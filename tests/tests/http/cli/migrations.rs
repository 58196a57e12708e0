//! Beginning on a database whose tables are not there, or are another process's to migrate.

use std::time::{Duration, Instant};

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_tests::server::PATIENCE;
use lessor_tests::{Begun, Folder, text};

use crate::BINARY;

/// The lock of migrations: "lessor" in ASCII.
const LOCK: i64 = 0x6c_65_73_73_6f_72;

fn begun(url: &str, folder: &Folder, name: &str, arguments: &[&str]) -> Begun {
    Begun::on(BINARY, url, folder, name, arguments)
}

async fn until(database: &TestDatabase, condition: &str) {
    let deadline = Instant::now() + PATIENCE;
    while database.query(&format!("SELECT {condition}")).await != ["t"] {
        assert!(Instant::now() < deadline, "{condition}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_migrations_ends_when_it_is_told_to() {
    let database = TestDatabase::create_empty().await;
    let folder = Folder::new("waiting");
    let holds = format!("SELECT pg_advisory_lock({LOCK}), pg_sleep(600)");
    let others = async {
        until(
            &database,
            "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = \
             (SELECT oid FROM pg_database WHERE datname = current_database()))",
        )
        .await;
        let mut waiting: Vec<Begun> = [("serve", &SERVE[..]), ("worker", &["worker"][..])]
            .into_iter()
            .map(|(name, arguments)| begun(database.url(), &folder, name, arguments))
            .collect();
        until(
            &database,
            "2 = (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND query LIKE 'SELECT pg_try_advisory_lock(%')",
        )
        .await;
        for process in &mut waiting {
            process.stop();
            let (status, log) = process.ended();
            assert_eq!(status, Some(0), "{log}");
            assert!(
                !log.contains("{\"error\"") && !log.contains("panicked"),
                "{log}"
            );
        }

        // Nobody tells this one.
        let hasty = [&SERVE[..], &["--migration-wait", "1s"]].concat();
        let (status, log) = begun(database.url(), &folder, "hasty", &hasty).ended();
        assert_eq!(status, Some(1), "{log}");
        assert!(
            log.contains("session ") && log.contains("has held the lock of migrations"),
            "{log}"
        );
    };
    tokio::select! {
        held = database.query(&holds) => assert_eq!(held, [""], "it holds on until then"),
        () = others => {}
    }
}

/// It works on the tables, and neither makes nor changes any.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_migrate_serves_what_is_migrated() {
    if is_cluster() {
        println!("SKIPPED a role that may not migrate: it would be the cluster's");
        return;
    }
    let folder = Folder::new("waiter");
    let (migrated, empty) = (
        TestDatabase::create().await,
        TestDatabase::create_empty().await,
    );
    migrated
        .execute(
            "CREATE ROLE waiter LOGIN PASSWORD 'secret'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO waiter; \
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO waiter",
        )
        .await;
    empty
        .execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        .await;
    let as_waiter = |database: &TestDatabase| {
        let (_, place) = database.url().rsplit_once('@').unwrap();
        format!("postgres://waiter:secret@{place}")
    };

    let mut serving = begun(&as_waiter(&migrated), &folder, "serving", &SERVE);
    let url = text(&serving.said()["url"]);
    assert!(!url.is_empty(), "{}", serving.log());
    let ready = reqwest::get(format!("{url}/readyz")).await.unwrap();
    assert_eq!(ready.status(), 200);
    serving.stop();
    assert_eq!(serving.ended().0, Some(0));

    let (status, log) = begun(&as_waiter(&empty), &folder, "refused", &SERVE).ended();
    assert_eq!(status, Some(1), "{log}");
    assert!(
        log.contains("waiter has no right to run") && log.contains("lessor migrate"),
        "{log}"
    );
}
