//! Being told to stop while waiting for a database: at the start, and with something under way.

use std::time::Instant;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::server::PATIENCE;
use lessor_tests::tap::Tap;
use lessor_tests::{Begun, Folder, answer, lessor, raw, text};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::BINARY;

/// What goes on until it is told to stop.
const GO_ON: [&[&str]; 2] = [
    &["serve", "--listen", "127.0.0.1:0"],
    &["worker", "--ops-listen", "127.0.0.1:0"],
];

/// Tells it to stop: it ends in order, and has nothing to complain of.
fn stops(mut process: Begun, name: &str) {
    process.stop();
    let (status, log) = process.ended();
    assert_eq!(status, Some(0), "{name}: {log}");
    assert!(
        !log.contains("{\"error\"") && !log.contains("panicked"),
        "{name}: {log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn for_a_database_that_takes_connections_and_says_nothing() {
    let folder = Folder::new("silent");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "postgres://lessor@{}/lessor",
        listener.local_addr().unwrap()
    );
    for arguments in GO_ON {
        let process = Begun::on(BINARY, &url, &folder, arguments[0], arguments);
        // It waits for an answer from now on.
        let _asking = listener.accept().await.unwrap();
        stops(process, arguments[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn for_tables_that_another_has_locked() {
    let database = TestDatabase::create().await;
    let folder = Folder::new("locked");
    let holds = "BEGIN; LOCK TABLE __diesel_schema_migrations IN ACCESS EXCLUSIVE MODE; \
         SELECT pg_sleep(600); COMMIT";
    let others = async {
        for arguments in GO_ON {
            let process = Begun::on(BINARY, database.url(), &folder, arguments[0], arguments);
            let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock')";
            let deadline = Instant::now() + PATIENCE;
            while database.query(waits).await != ["t"] {
                assert!(Instant::now() < deadline, "{}", process.log());
            }
            stops(process, arguments[0]);
            // The database would not notice before it has the lock.
            let ended = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
            assert_eq!(database.query(ended).await, ["t"]);
        }
    };
    tokio::select! {
        held = database.query(holds) => assert_eq!(held, [""], "it holds on until then"),
        () = others => {}
    }
}

/// There is no wait: whoever looks after the process begins it again.
#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_listens_there_is_none() {
    let folder = Folder::new("refused");
    for arguments in GO_ON {
        let url = "postgres://lessor@127.0.0.1:1/lessor";
        let (status, log) = Begun::on(BINARY, url, &folder, arguments[0], arguments).ended();
        assert_eq!(status, Some(1), "{log}");
        assert!(log.contains("the database cannot be reached"), "{log}");
    }
}

/// The embedded database is being made meanwhile; nothing of it is left running.
#[tokio::test(flavor = "multi_thread")]
async fn for_a_database_of_its_own_that_is_being_made() {
    for arguments in GO_ON {
        let folder = Folder::new("making");
        let process = Begun::embedded(BINARY, &folder, arguments[0], arguments);
        let begun = folder.path().join("data/data.init");
        let made = folder.path().join("data/data");
        let deadline = Instant::now() + PATIENCE;
        while !begun.exists() && !made.exists() {
            assert!(Instant::now() < deadline, "{}", process.log());
        }
        stops(process, arguments[0]);
    }
}

/// With a request under way, and the worker's own questions, that will never be answered.
#[tokio::test(flavor = "multi_thread")]
async fn for_answers_that_do_not_come_any_more() {
    let database = TestDatabase::create().await;
    let tap = Tap::on(database.url()).await;
    let folder = Folder::new("draining");
    let mut begun = GO_ON.map(|arguments| {
        let limits = ["--shutdown-timeout", "3s"];
        let arguments = [arguments, &limits].concat();
        Begun::on(BINARY, &tap.url, &folder, arguments[0], &arguments)
    });
    let url = text(&begun[0].said()["url"]);
    assert_eq!(begun[1].said()["status"], "working");
    let run = |arguments: &str| {
        let mut command = lessor(BINARY, &folder);
        command.env("DATABASE_URL", database.url());
        answer(command.args(arguments.split(' ')))
    };
    run("org create --name Bikes");
    let key = run("key create --org 1 --mode sandbox --permissions all");
    tap.freeze();
    let mut stream = raw::connect(&url).await;
    let request = raw::request("GET", "/v1/products", &text(&key["key"]), "");
    stream.write_all(request.as_bytes()).await.unwrap();
    // Whatever they do by themselves is under way too.
    for process in &begun {
        process.stop();
    }
    for mut process in begun {
        let (status, log) = process.ended();
        assert_eq!(status, Some(0), "{log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}
