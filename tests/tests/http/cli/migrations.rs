//! Beginning on a database whose tables are not there, or are another process's to migrate.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_tests::server::PATIENCE;
use lessor_tests::{Folder, answer, lessor, run, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::BINARY;

/// The lock of migrations: "lessor" in ASCII.
const LOCK: i64 = 0x6c_65_73_73_6f_72;

/// A process that was begun.
struct Begun {
    child: Child,
    log: PathBuf,
}

impl Begun {
    /// Begins on the database at this address.
    fn on(url: &str, folder: &Folder, name: &str, arguments: &[&str]) -> Self {
        let log = folder.path().join(format!("{name}.log"));
        let mut command = lessor(BINARY, folder);
        let child = command
            .env("DATABASE_URL", url)
            .arg("--json")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// What it says first; nothing when it ended.
    fn said(&mut self) -> Value {
        let mut line = String::new();
        let stdout = self.child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    fn signal(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.unwrap(), Signal::TERM).unwrap();
    }

    /// Its status once it has ended, and what it logged.
    fn ended(&mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(&self.log).unwrap();
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), log);
            }
            assert!(Instant::now() < deadline, "it does not end: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
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
            .map(|(name, arguments)| Begun::on(database.url(), &folder, name, arguments))
            .collect();
        until(
            &database,
            "2 = (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND query LIKE 'SELECT pg_try_advisory_lock(%')",
        )
        .await;
        for process in &mut waiting {
            process.signal();
            let (status, log) = process.ended();
            assert_eq!(status, Some(0), "{log}");
            assert!(
                !log.contains("{\"error\"") && !log.contains("panicked"),
                "{log}"
            );
        }

        // Nobody tells this one.
        let hasty = [&SERVE[..], &["--migration-wait", "1s"]].concat();
        let (status, log) = Begun::on(database.url(), &folder, "hasty", &hasty).ended();
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

    let mut serving = Begun::on(&as_waiter(&migrated), &folder, "serving", &SERVE);
    let url = text(&serving.said()["url"]);
    assert!(
        !url.is_empty(),
        "{}",
        fs::read_to_string(&serving.log).unwrap()
    );
    let ready = reqwest::get(format!("{url}/readyz")).await.unwrap();
    assert_eq!(ready.status(), 200);
    serving.signal();
    assert_eq!(serving.ended().0, Some(0));

    let (status, log) = Begun::on(&as_waiter(&empty), &folder, "refused", &SERVE).ended();
    assert_eq!(status, Some(1), "{log}");
    assert!(
        log.contains("waiter has no right to run") && log.contains("lessor migrate"),
        "{log}"
    );
}

/// Whoever mistypes a folder is told so, and finds no database there afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn other_commands_make_neither_a_database_nor_tables() {
    let folder = Folder::new("none");
    let commands = [
        &["org", "list"][..],
        &["org", "create", "--name", "Bikes"],
        &["jobs", "list"],
        &["reconcile", "--mode", "sandbox"],
    ];
    let refused = |arguments: &[&str], url: Option<&str>| {
        let mut command = lessor(BINARY, &folder);
        command.envs(url.map(|url| ("DATABASE_URL", url)));
        let output = run(command.args(arguments));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        said
    };
    for arguments in commands.into_iter().chain([&["migrate", "--dry-run"][..]]) {
        let said = refused(arguments, None);
        assert!(said.contains("no database in "), "{arguments:?}: {said}");
        assert!(!folder.path().join("data").exists(), "{arguments:?}");
    }

    let database = TestDatabase::create_empty().await;
    let on_it = |arguments: &[&str]| {
        let mut command = lessor(BINARY, &folder);
        command.env("DATABASE_URL", database.url()).args(arguments);
        answer(&mut command)
    };
    let pending = on_it(&["migrate", "--dry-run"])["pending"].clone();
    let count = pending.as_array().map_or(0, Vec::len);
    assert!(count > 0, "{pending}");
    for arguments in commands {
        let said = refused(arguments, Some(database.url()));
        let wanted = format!("lacks {count} migrations: run `lessor migrate`");
        assert!(said.contains(&wanted), "{arguments:?}: {said}");
    }
    let tables = "SELECT coalesce(to_regclass('__diesel_schema_migrations'), \
         to_regclass('organizations')) IS NULL";
    assert_eq!(database.query(tables).await, ["t"]);
    assert_eq!(on_it(&["migrate"])["applied"], pending);
    assert_eq!(on_it(&["org", "list"])["total"], 0);
}
