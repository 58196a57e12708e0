//! Traces: what a collector is told of, and what the payment processor is.

use lessor_processor_double::Double;
use lessor_tests::receiver::{Answer, Received, Receiver};
use lessor_tests::{Folder, Server, text};
use rustix::process::Signal;
use serde_json::json;

use super::accounts::{self, BLUE};
use crate::BINARY;

/// The example of the recommendation, <https://www.w3.org/TR/trace-context/#examples-of-http-traceparent-headers>.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn bytes_of(id: &str) -> Vec<u8> {
    let digits = id.as_bytes().chunks(2);
    let bytes = digits.map(|two| u8::from_str_radix(&String::from_utf8_lossy(two), 16));
    bytes.collect::<Result<_, _>>().unwrap_or_default()
}

/// Whether something stands in what was sent. In protobuf bytes and texts stand as they are.
fn tells(sent: &[Received], what: &[u8]) -> bool {
    let mut bodies = sent.iter().map(|sent| &sent.body);
    bodies.any(|body| body.windows(what.len()).any(|window| window == what))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_part_of_its_callers_trace_and_so_is_what_the_processor_is_asked() {
    let collector = Receiver::start([Answer::Raw(200, "", "")]).await;
    let double = Double::start().unwrap();
    let files = Folder::new("traces");
    let (processor, url) = (double.url(), collector.url.clone());
    let flags = [
        "--no-worker",
        "--log",
        "off",
        "--processor-url",
        &processor,
        "--otlp-endpoint",
        &url,
    ];
    let mut server = Server::start(BINARY, &flags).await;
    let client = server.client().await;
    accounts::set(&server, &files, &client, BLUE);
    client.variant("ONE", Some(3)).await;
    let made = client.checkout("ONE", "ada@example.com").await;
    let path = format!("/v1/sandbox/checkouts/{}/advance", text(&made["id"]));
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [
        ("content-type", "application/json"),
        ("traceparent", traceparent.as_str()),
        // Else the request is called as the trace is.
        ("x-request-id", "req_4bf92f3577b34da6a3ce929d0e0e4736"),
    ];
    let body = json!({ "to": "documentsPending" }).to_string();
    let advanced = client
        .send("POST", &path, &headers, Some(body.into()))
        .await;
    advanced.has(200);
    let asked = double.journal();
    let in_trace = asked
        .iter()
        .filter_map(|asked| asked.traceparent.as_deref());
    let in_trace = in_trace.filter(|trace| trace.starts_with(&format!("00-{TRACE}-")));
    let in_trace: Vec<&str> = in_trace.collect();
    assert!(!in_trace.is_empty(), "{asked:?}");
    for trace in &in_trace {
        assert!(!trace.contains(PARENT), "a part of its own: {trace}");
    }

    // What was not sent yet is sent at the end.
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let sent = collector.left().await;
    assert!(!sent.is_empty(), "nothing was sent");
    for sent in &sent {
        assert_eq!(sent.header("content-type"), "application/x-protobuf");
    }
    let names = [
        "POST /v1/sandbox/checkouts/{id}/advance",
        "POST /v1/checkouts",
        "processor",
        "POST payment_intents",
        "lessor",
        "http.response.status_code",
    ];
    for name in names {
        assert!(tells(&sent, name.as_bytes()), "{name}");
    }
    assert!(tells(&sent, &bytes_of(TRACE)) && tells(&sent, &bytes_of(PARENT)));
    let span = in_trace.first().and_then(|trace| trace.split('-').nth(2));
    assert!(
        tells(&sent, &bytes_of(span.unwrap_or_default())),
        "its span"
    );
}

/// Whatever a collector does, requests are answered.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_collector() {
    let silent = Receiver::start([Answer::Never]).await;
    let gone = "http://127.0.0.1:1".to_owned();
    for collector in [silent.url, gone] {
        let mut server = Server::start(BINARY, &["--otlp-endpoint", &collector]).await;
        let client = server.client().await;
        for _ in 0..20 {
            client.product(json!({})).await;
        }
        server.signal(Signal::TERM);
        assert_eq!(server.wait(), Some(0), "{collector}");
    }
}
