//! `lessor doctor`: what is found, what is not, and that nothing is changed by looking.

use std::process::Command;

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_tests::{Folder, Server, answer, lessor, run, text};
use serde_json::{Value, json};

use crate::BINARY;

/// Fewer connections than any machine has descriptors for.
const CONNECTIONS: (&str, &str) = ("LESSOR_MAX_CONNECTIONS", "100");

/// What the doctor finds: the names in order, and all that it says.
fn findings(command: &mut Command) -> (Vec<String>, Value) {
    let (name, value) = CONNECTIONS;
    let output = run(command.env(name, value).args(["doctor", "--json"]));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said} {complaint}");
    assert_eq!(said["healthy"], false, "{said} {complaint}");
    assert!(complaint.contains("findings"), "{complaint}");
    let found = said["findings"].as_array().cloned().unwrap_or_default();
    for finding in &found {
        assert!(!text(&finding["problem"]).is_empty(), "{finding}");
        assert!(!text(&finding["advice"]).is_empty(), "{finding}");
    }
    let names = found.iter().map(|finding| text(&finding["name"]));
    (names.collect(), said)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_as_it_should_be_is_healthy() {
    if is_cluster() {
        println!("SKIPPED a role that is no superuser: it would be the cluster's");
        return;
    }
    let (database, folder) = (TestDatabase::create().await, Folder::new("doctor"));
    database
        .execute(
            "CREATE ROLE physician LOGIN PASSWORD 'secret'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO physician; \
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO physician",
        )
        .await;
    let place = database.url().rsplit('@').next().unwrap_or_default();
    let url = format!("postgres://physician:secret@{place}");
    let looking = || {
        let mut command = lessor(BINARY, &folder);
        command
            .env("DATABASE_URL", &url)
            .env(CONNECTIONS.0, CONNECTIONS.1);
        command
    };
    let said = answer(looking().arg("doctor"));
    let checks = [
        "publicUrl",
        "processorSecrets",
        "descriptors",
        "pooling",
        "database",
        "clock",
        "role",
        "migrations",
        "serverKey",
        "jobs",
        "messages",
        "mails",
        "checkouts",
        "events",
    ];
    assert_eq!(
        said,
        json!({ "healthy": true, "findings": [], "checks": checks, "notes": [] })
    );
    let output = run(looking().arg("doctor"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("14 checks, 0 findings"), "{said}");
    assert!(!folder.path().join("data").exists());

    // The settings alone; as flags too, since `serve` may have been given them so.
    let (names, said) = findings(
        looking()
            .env("LESSOR_PROCESSOR_LIVE_KEY", "sk_live_of_the_tests")
            .args(["--log", "off"]),
    );
    assert_eq!(names, ["processorSecrets"], "{said}");
    let advice = text(&said["findings"][0]["advice"]);
    let variable = "LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS";
    assert!(advice.contains(variable), "{advice}");
    let output = run(looking().args(["doctor", "--listen", "0.0.0.0:8080"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("LESSOR_PUBLIC_URL"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_somebody_is_named_with_what_to_do() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.product(json!({})).await;
    server
        .query("UPDATE jobs SET state = 'dead', last_error = 'no'")
        .await;
    let before = server.contents().await;
    // The tests' own role is a superuser.
    let (names, said) = findings(&mut server.command(&[]));
    assert_eq!(names, ["role", "jobs"], "{said}");
    let job = &said["findings"][1];
    assert!(text(&job["problem"]).contains("given up: "), "{job}");
    assert!(text(&job["advice"]).contains("lessor jobs skip"), "{job}");

    let mut keyless = server.command(&[]);
    let (names, said) = findings(keyless.env_remove("LESSOR_SERVER_SECRET"));
    assert_eq!(names, ["role", "serverKey", "jobs"], "{said}");
    let mut stranger = server.command(&[]);
    let key = "some other key of thirty-two letters";
    let (names, said) = findings(stranger.env("LESSOR_SERVER_SECRET", key));
    assert_eq!(names, ["role", "serverKey", "jobs"], "{said}");
    assert_eq!(server.contents().await, before, "nothing was written");
}

/// What stands behind a trouble is not told as well, and nothing is made.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_a_finding() {
    let folder = Folder::new("doctor");
    let (names, said) = findings(&mut lessor(BINARY, &folder));
    assert_eq!(names, ["database"], "{said}");
    let problem = text(&said["findings"][0]["problem"]);
    assert!(problem.contains("no database in "), "{problem}");
    assert!(!folder.path().join("data").exists());

    let nobody = "postgres://nobody:hunter2@127.0.0.1:1/nothing";
    let (names, said) = findings(lessor(BINARY, &folder).env("DATABASE_URL", nobody));
    assert_eq!(names, ["database"], "{said}");
    assert!(!said.to_string().contains("hunter2"), "{said}");

    let empty = TestDatabase::create_empty().await;
    let (names, said) = findings(lessor(BINARY, &folder).env("DATABASE_URL", empty.url()));
    assert!(names.contains(&"migrations".to_owned()), "{said}");
    let tables = "SELECT to_regclass('__diesel_schema_migrations') IS NULL";
    assert_eq!(empty.query(tables).await, ["t"]);
}
