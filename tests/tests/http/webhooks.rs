//! `POST /webhooks/processor`: whose messages are taken, and what becomes of those that mean nothing.

use lessor_processor_double::{SIGNATURE_HEADER, sign};
use lessor_tests::client::Reply;
use lessor_tests::server::{PROCESSOR_SANDBOX_SECRET, PROCESSOR_SECRET};
use lessor_tests::{Client, Server, text};
use serde_json::{Value, json};

use crate::BINARY;

async fn send(client: &Client, secret: &str, body: &str) -> Reply {
    let signature = sign(body.as_bytes(), &[secret], lessor_tests::now().timestamp());
    let headers = [
        ("content-type", "application/json"),
        (SIGNATURE_HEADER, signature.as_str()),
    ];
    let nobody = client.with_key("");
    let body = Some(body.as_bytes().to_vec());
    nobody
        .send("POST", "/webhooks/processor", &headers, body)
        .await
}

fn event(id: &str, livemode: bool, data: &Value) -> String {
    json!({
        "id": id, "object": "event", "type": "invoice.payment_failed", "livemode": livemode,
        "created": lessor_tests::now().timestamp(), "data": data
    })
    .to_string()
}

async fn counted(client: &Client, metric: &str) -> bool {
    let metrics = client.with_key("").get("/metrics").await;
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    told.lines()
        .filter_map(|line| line.strip_prefix(metric))
        .any(|count| count.trim() != "0")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_opens_its_own_mode_alone() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    let other = json!({ "object": { "object": "planet" } });
    for (secret, livemode, taken) in [
        (PROCESSOR_SECRET, true, true),
        (PROCESSOR_SANDBOX_SECRET, false, true),
        (PROCESSOR_SECRET, false, false),
        (PROCESSOR_SANDBOX_SECRET, true, false),
        ("whsec_of_somebody", true, false),
        ("whsec_of_somebody", false, false),
    ] {
        let id = format!("evt_{livemode}_{}", secret.len());
        let answered = send(&client, secret, &event(&id, livemode, &other)).await;
        let kept = format!("SELECT mode FROM inbox_messages WHERE id = '{id}'");
        let kept = server.query(&kept).await;
        if taken {
            assert_eq!(answered.ok()["received"], true);
            assert_eq!(kept, [if livemode { "live" } else { "sandbox" }]);
        } else {
            // Said no more than that: whoever asks has no secret of the mode.
            let message = answered.refused(401, "unauthorized", "");
            assert!(!message.contains("mode"), "{message}");
            assert_eq!(kept, Vec::<String>::new(), "{secret} {livemode}");
        }
    }
    let taken = "lessor_processor_messages_total{verdict=\"new\"}";
    assert!(counted(&client, taken).await);
    for why in ["otherMode", "unsigned"] {
        let metric = format!("lessor_processor_messages_refused_total{{why=\"{why}\"}}");
        assert!(counted(&client, &metric).await, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_kept_listed_and_tried_again() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    // Signed, and not even its head can be read: the processor keeps it and sends it again.
    for broken in ["{", "{}", r#"{"id":"evt_1"}"#] {
        let refused = send(&client, PROCESSOR_SECRET, broken).await;
        refused.refused(400, "invalid_request", "");
    }
    let metric = "lessor_processor_messages_refused_total{why=\"unreadable\"}";
    assert!(counted(&client, metric).await);
    let listed = server.cli(&["inbox", "list"]);
    assert_eq!(
        (&listed["total"], &listed["failed"]),
        (&json!(0), &json!(0))
    );

    // The rest cannot be read: acknowledged, so it is kept until somebody looks.
    let wrong = json!({ "object": { "object": "invoice", "id": 7 } });
    let body = event("evt_of_tomorrow", false, &wrong);
    assert_eq!(
        send(&client, PROCESSOR_SANDBOX_SECRET, &body).await.ok()["received"],
        true
    );
    let listed = server.cli(&["inbox", "list", "--state", "failed"]);
    assert_eq!(
        (&listed["total"], &listed["failed"], &listed["waiting"]),
        (&json!(1), &json!(1), &json!(0)),
        "{listed}"
    );
    let one = &listed["results"][0];
    assert_eq!(
        (&one["id"], &one["source"], &one["mode"], &one["state"]),
        (
            &json!("evt_of_tomorrow"),
            &json!("processor"),
            &json!("sandbox"),
            &json!("failed")
        )
    );
    assert!(!text(&one["problem"]).is_empty() && one["receivedAt"].is_string());
    assert!(counted(&client, "lessor_inbox_messages_failed_total ").await);
    let shown = lessor_tests::run(&mut server.command(&["inbox", "list"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("evt_of_tomorrow") && shown.contains("0 waiting, 1 failed"),
        "{shown}"
    );

    for retry in [
        &["inbox", "retry", "evt_of_tomorrow"][..],
        &["inbox", "retry", "--all"][..],
    ] {
        assert_eq!(server.cli(retry)["requeued"], 1, "{retry:?}");
        let waiting = server.cli(&["inbox", "list", "--state", "waiting"]);
        assert_eq!(waiting["total"], 1, "{waiting}");
    }
    for (wrong, status, word) in [
        (&["inbox", "retry", "evt_unknown"][..], 1, "message"),
        (&["inbox", "retry"][..], 2, "--all"),
        (&["inbox", "retry", "evt_1", "--all"][..], 2, "--all"),
        (
            &["inbox", "list", "--state", "handled"][..],
            2,
            "waiting or failed",
        ),
        (&["inbox", "list", "--limit", "0"][..], 2, "0"),
    ] {
        let (code, said) = server.refused(wrong);
        assert_eq!(code, status, "{wrong:?}: {said}");
        assert!(said.contains(word), "{wrong:?}: {said}");
    }
}
