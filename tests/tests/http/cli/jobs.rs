//! `lessor jobs skip`: giving a job up for good.

use lessor_tests::{Server, run, text};
use serde_json::json;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_skipped_with_a_reason_and_what_stands_behind_it_goes_on() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.product(json!({})).await;
    let listed = server.cli(&["jobs", "list"]);
    assert_eq!(
        (&listed["inDoubt"], &listed["dead"]),
        (&json!(0), &json!(0)),
        "{listed}"
    );
    let id = text(&listed["results"][0]["id"]);
    assert!(!id.is_empty(), "{listed}");
    let skip = ["jobs", "skip", &id, "--reason", "told by hand"];

    // Somebody is at it.
    let claim = |until: &str| {
        format!("UPDATE jobs SET claimed_until = {until}, attempts = 1 WHERE id = '{id}'")
    };
    server.query(&claim("now() + interval '1 hour'")).await;
    let (status, said) = server.refused(&skip);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("a worker is at the job"), "{said}");
    server.query(&claim("NULL")).await;

    let before = server.contents().await;
    for (wrong, status, word) in [
        (&["jobs", "skip", &id][..], 2, "--reason"),
        (&["jobs", "skip", &id, "--reason", ""][..], 2, "reason"),
        (&["jobs", "skip", "x", "--reason", "y"][..], 2, "x"),
        (&["jobs", "skip", "--reason", "y"][..], 2, "ID"),
        (
            &[
                "jobs",
                "skip",
                "0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20",
                "--reason",
                "y",
            ][..],
            1,
            "no such pending, held or dead job",
        ),
    ] {
        let (code, said) = server.refused(wrong);
        assert_eq!(code, status, "{wrong:?}: {said}");
        assert!(said.contains(word), "{wrong:?}: {said}");
    }
    assert_eq!(server.contents().await, before, "nothing was written");

    let dead = format!("UPDATE jobs SET state = 'dead', last_error = 'no' WHERE id = '{id}'");
    server.query(&dead).await;
    let skipped = server.cli(&skip);
    assert_eq!(skipped["skipped"], json!(id));
    let kept = server.cli(&["jobs", "list", "--state", "skipped"]);
    assert_eq!(kept["results"][0]["lastError"], "told by hand", "{kept}");
    let (status, said) = server.refused(&skip);
    assert_eq!(status, 1, "{said}");
    let output = run(&mut server.command(&["jobs", "list"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("0 of them in doubt, 0 dead"), "{said}");
}

/// A job that was given up is shown at its checkout, until it is skipped.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_has_to_look_because_of_a_job_that_is_skipped() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client
        .checkout_at("BIKE", "grace@example.com", "identityProcessing")
        .await;
    let jobs = server.cli(&["jobs", "list", "--state", "held"]);
    let job = jobs["results"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|job| job["subject"] == made["id"])
        .cloned()
        .unwrap_or_default();
    let id = text(&job["id"]);
    let bury = format!("UPDATE jobs SET state = 'dead', last_error = 'no' WHERE id = '{id}'");
    server.query(&bury).await;
    let raise = format!(
        "UPDATE checkouts SET attention = '[{{\"reason\": \"processorRefused\", \
         \"since\": \"2026-01-01T00:00:00Z\", \"detail\": \"{}: no\"}}]'",
        text(&job["effect"])
    );
    server.query(&raise).await;
    let now = client.reread(&made).await;
    assert_eq!(
        now["progress"]["attention"][0]["reason"],
        "processorRefused"
    );
    server.cli(&["jobs", "skip", &id, "--reason", "seen to"]);
    let now = client.reread(&made).await;
    assert_eq!(now["progress"]["attention"], json!([]), "{now:#}");
}
