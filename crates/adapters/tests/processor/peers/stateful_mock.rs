//! Idempotency, against `stripe-stateful-mock` (npm), which has customers, products and
//! prices, but no payments by hand, subscriptions that end, identity or search, and which
//! forgets nothing. The double is asked the same, and answers the same.

use std::process::{Command, Stdio};

use lessor_adapters::processor::HttpProcessor;
use lessor_domain::access::Mode;
use lessor_domain::ports::{Attempt, PaymentProcessor as _};
use lessor_processor_double::Double;
use serde_json::Value;

use super::{Running, free_port, installed, listening};
use crate::support::{ManualPacing, NOON, customer, done, scope, settings, time};

async fn start() -> Option<(String, Running)> {
    let script = installed(
        "node_modules/stripe-stateful-mock/autostart.js",
        "npm's stripe-stateful-mock",
    )?;
    let port = free_port();
    let mut command = Command::new("node");
    command
        .arg(script)
        .env("PORT", port.to_string())
        .env("LOG_LEVEL", "silent");
    let running = Running::start(command.stdout(Stdio::null()));
    listening(port).await;
    Some((format!("http://127.0.0.1:{port}"), running))
}

/// What is compared of an answer.
#[derive(Debug, PartialEq)]
struct Seen {
    status: u16,
    replayed: bool,
    error: Value,
    /// Whether the object is the first one that was made.
    first: bool,
}

/// Asks for these in turn.
async fn asked(url: &str, requests: &[(&str, &str, &str)]) -> Vec<Seen> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut first = None;
    let mut seen = Vec::new();
    for (path, form, key) in requests {
        let request = http
            .post(format!("{url}{path}"))
            .bearer_auth("sk_test_1")
            .header("idempotency-key", *key)
            .header("content-type", "application/x-www-form-urlencoded")
            .body((*form).to_owned());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let replayed = answer.headers().get("idempotent-replayed");
        let replayed = replayed.is_some_and(|value| value == "true");
        let body: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let id = body["id"].clone();
        let known = first.get_or_insert_with(|| id.clone());
        seen.push(Seen {
            status,
            replayed,
            error: body["error"]["type"].clone(),
            first: *known == id && !id.is_null(),
        });
    }
    seen
}

#[tokio::test]
async fn the_double_keeps_keys_as_the_mock_does() {
    let Some((url, _running)) = start().await else {
        return;
    };
    let requests = [
        (
            "/v1/customers",
            "email=a%40example.com&metadata[a]=1",
            "one",
        ),
        (
            "/v1/customers",
            "email=a%40example.com&metadata[a]=1",
            "one",
        ),
        // The order of the form does not count.
        (
            "/v1/customers",
            "metadata[a]=1&email=a%40example.com",
            "one",
        ),
        (
            "/v1/customers",
            "email=a%40example.com&metadata[a]=2",
            "one",
        ),
        (
            "/v1/customers",
            "email=a%40example.com&metadata[a]=1",
            "two",
        ),
    ];
    let double = Double::start().unwrap();
    let ours = asked(&double.url(), &requests).await;
    let theirs = asked(&url, &requests).await;
    assert_eq!(ours, theirs);
    let mismatch = &theirs[3];
    assert_eq!(
        (mismatch.status, &mismatch.error),
        (400, &"idempotency_error".into())
    );
    assert!(theirs[2].replayed && theirs[2].first && !theirs[4].first);
}

#[tokio::test]
async fn the_client_makes_a_customer_once_at_the_mock() {
    let Some((url, _running)) = start().await else {
        return;
    };
    let processor = HttpProcessor::paced(&settings(&url), ManualPacing::of(1.0)).unwrap();
    let attempt = Attempt {
        organization_id: scope().organization_id,
        mode: Mode::Sandbox,
        idempotency_key: "work".to_owned(),
        first_tried_at: time(NOON),
        now: time(NOON),
    };
    let lessee = customer(9);
    let first = done(processor.push_customer(&attempt, &lessee).await);
    for _ in 0..3 {
        assert_eq!(
            done(processor.push_customer(&attempt, &lessee).await),
            first
        );
    }
    // The name changed between two tries: the key is another request's, the customer is
    // found by address, and brought up to date.
    let mut renamed = lessee.clone();
    renamed.name = Some("Ada Lovelace".to_owned());
    let attempt = Attempt {
        now: attempt.now + chrono::TimeDelta::minutes(1),
        ..attempt
    };
    assert_eq!(
        done(processor.push_customer(&attempt, &renamed).await),
        first
    );
    let answer = reqwest::Client::new()
        .get(format!("{url}/v1/customers"))
        .bearer_auth("sk_test_1")
        .send()
        .await
        .unwrap();
    let page: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    let customers = page["data"].as_array().unwrap();
    assert_eq!(customers.len(), 1, "{page:#}");
    assert_eq!(customers[0]["name"], "Ada Lovelace");
}
