//! A database that hangs: its connections stay open, and nothing passes.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_tests::client::Client;
use lessor_tests::server::PATIENCE;
use lessor_tests::tap::Tap;
use lessor_tests::{Server, raw, text};
use serde_json::{Value, json};

use crate::BINARY;

/// The longest that any request may take, with what a machine under load takes itself.
const LONGEST: Duration = Duration::from_secs(20);

/// A request as it goes over the wire, under an idempotency key.
fn post(path: &str, client: &Client, key: &str, body: &Value) -> String {
    let request = raw::request("POST", path, &client.key, &body.to_string());
    request.replacen("\r\n", &format!("\r\nidempotency-key: {key}\r\n"), 1)
}

/// Checks that nobody could be asked, and that the client is told when to come again.
#[track_caller]
fn assert_unavailable(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    for part in [
        "\r\nretry-after: 1\r\n",
        "\r\nrequest-id: req_",
        "\"code\":\"unavailable\"",
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
}

/// Repeats the request until it is carried out; what came of it.
async fn repeated(client: &Client, request: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = raw::exchange(&client.url, request.as_bytes()).await;
        if answer.starts_with("HTTP/1.1 200 ") {
            return answer;
        }
        // The transaction that was cut off ends when the database notices.
        let comes_again = ["HTTP/1.1 409 ", "HTTP/1.1 503 "];
        assert!(
            comes_again.iter().any(|status| answer.starts_with(status)),
            "{answer}"
        );
        assert!(Instant::now() < deadline, "{answer}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// How many products the client has.
async fn products(client: &Client) -> Value {
    client.get("/v1/products").await.ok()["total"].clone()
}

/// A server, a client of it that was there before, and a product of its.
async fn begun() -> (Server, Tap, Client, String) {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker", "--database-wait", "1s"]).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    client.get(&path).await.ok();
    (server, tap, client, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_answered_in_time_and_carried_out_once() {
    let (_server, tap, client, path) = begun().await;
    tap.freeze();
    let body = client.product_body();
    let posts: Vec<String> = (0..4)
        .map(|number| post("/v1/products", &client, &format!("hang-{number}"), &body))
        .collect();
    let gets = vec![raw::request("GET", &path, &client.key, ""); 8];
    let asked = Instant::now();
    let requests = posts.iter().chain(&gets);
    let answers = join_all(requests.map(|request| raw::exchange(&client.url, request.as_bytes())));
    for answer in answers.await {
        assert_unavailable(&answer);
    }
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    // Whoever comes later finds no connection that is worth waiting for.
    let asked = Instant::now();
    assert_unavailable(&raw::exchange(&client.url, gets[0].as_bytes()).await);
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());

    tap.thaw();
    for request in &posts {
        repeated(&client, request).await;
    }
    assert_eq!(products(&client).await, 1 + posts.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_without_anybody_hearing_of_it_is_there_once() {
    let (_server, tap, client, _) = begun().await;
    let request = post("/v1/products", &client, "in-doubt", &client.product_body());
    tap.freeze_at_commit("products");
    let asked = Instant::now();
    assert_unavailable(&raw::exchange(&client.url, request.as_bytes()).await);
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    tap.thaw();
    let again = repeated(&client, &request).await;
    assert!(
        again.contains("\r\nidempotent-replayed: true\r\n"),
        "{again}"
    );
    assert_eq!(products(&client).await, 2);
}
