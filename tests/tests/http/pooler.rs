//! Behind a pooler that hands sessions on with each transaction.

use lessor_adapters::testing::TestDatabase;
use lessor_adapters::testing::pooler::{KNOWS_STATEMENTS, PgBouncer, SESSIONS};
use lessor_tests::{Begun, Folder, Server};

use crate::BINARY;

/// Whom a session acts as, what it may take, and what it holds.
const STATE: &str = "SELECT concat_ws(' ', current_user, current_setting('lock_timeout'), \
     current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'), \
     current_setting('plan_cache_mode'), current_setting('default_transaction_read_only'), \
     quote_literal(coalesce(current_setting('lessor.organization', true), '')), \
     (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'))";
const LISTENS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND query ILIKE 'LISTEN%'";

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_comes_about_and_nothing_is_left_in_sessions_that_others_have_next() {
    let Some(program) = PgBouncer::find_for_transactions() else {
        return;
    };
    let database = TestDatabase::create().await;
    let fresh = database.query(STATE).await.join("");
    let pooler = program
        .before(&database, "transaction", KNOWS_STATEMENTS)
        .await;
    let server = Server::pooled(BINARY, database, pooler).await;
    let worker = server.worker();
    let client = server.client().await;
    client.variant("BIKE", Some(10)).await;
    let lease = client
        .checkout_at("BIKE", "ada@example.com", "leaseActive")
        .await;
    assert_eq!(lease["recurringPaymentStatus"], "active", "{lease}");
    client.get("/v1/checkouts").await.ok();
    client.get("/v1/audit").await.ok();

    // Nobody listens: what is heard would be another client's.
    assert_eq!(server.query(LISTENS).await, ["0"]);
    let left = server.pooler().ask_each(STATE).await;
    assert_eq!(left, vec![fresh; SESSIONS]);
    drop(worker);
}

/// What would take role and limits along with a session does not even begin.
#[tokio::test(flavor = "multi_thread")]
async fn an_unfit_pooler_is_named_at_the_start() {
    let Some(program) = PgBouncer::find() else {
        return;
    };
    let folder = Folder::new("unfit");
    let forgets = if program.knows_statements {
        "max_prepared_statements = 0"
    } else {
        ""
    };
    let shares = "a pooler that hands sessions on with each transaction: set LESSOR_DATABASE_POOLING=transaction";
    let loses = "loses prepared statements";
    // Where statements are handed on as well a transaction has no session to itself: that is no way to work.
    for (mode, pooling, names) in [
        ("transaction", "session", &[shares, loses][..]),
        ("transaction", "transaction", &[loses]),
        ("statement", "session", &[shares, loses]),
        ("statement", "transaction", &[loses, "statement pooling"]),
    ] {
        let database = TestDatabase::create().await;
        let pooler = program.before(&database, mode, forgets).await;
        // Who comes later finds sessions in which others have prepared statements under the same names.
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"]] {
            let name = format!("{mode}-{pooling}-{}", command[0]);
            let arguments = [command, &["--database-pooling", pooling]].concat();
            let (status, log) = Begun::on(BINARY, pooler.url(), &folder, &name, &arguments).ended();
            assert_eq!(status, Some(1), "{name}: {log}");
            assert!(names.iter().any(|part| log.contains(part)), "{name}: {log}");
        }
    }
}
