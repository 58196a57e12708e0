//! Clients that reset the connection in the middle of a mutation: no half-done work, no lock left.

use futures::future::join_all;
use lessor_tests::client::Client;
use lessor_tests::server::PATIENCE;
use lessor_tests::{Server, raw, text};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::BINARY;

/// Sends a whole request and resets the connection before the answer.
async fn send_and_reset(client: &Client, method: &str, path: &str, body: &Value) {
    let mut stream = raw::connect(&client.url).await;
    let request = raw::request(method, path, &client.key, &body.to_string());
    let sent = stream.write_all(request.as_bytes()).await;
    assert!(sent.is_ok(), "{sent:?}");
    raw::reset(stream);
}

/// Asks until it is so.
async fn until(client: &Client, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let body = client.get(path).await.ok();
        if is_so(&body) {
            return body;
        }
        assert!(std::time::Instant::now() < deadline, "{what}: {body}");
    }
}

/// A checkout that is fulfilled by a client that does not wait: it is fulfilled as a whole, and what
/// comes after is not kept waiting.
#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_without_its_client_is_done_as_a_whole_or_not_at_all() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", Some(50)).await;
    for number in 0..8 {
        let email = format!("reset{number}@example.com");
        let ready = client.checkout_at("BIKE", &email, "orderConfirmed").await;
        let path = format!("/v1/checkouts/{}", text(&ready["id"]));
        send_and_reset(&client, "POST", &format!("{path}/fulfill"), &json!({})).await;
        // The same again, at once: it is done, or done now.
        let again = client.act(&ready, "fulfill", json!({})).await.ok();
        assert!(
            matches!(again["lifecycle"].as_str(), Some("leaseActive" | "shipped")),
            "{again}"
        );
        let lease = until(&client, &path, "the lease is active", |now| {
            now["lifecycle"] == "leaseActive"
        })
        .await;
        assert!(lease["processorSubscriptionId"].is_string(), "{lease}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_100_resets_everything_is_there_once_and_the_server_answers() {
    let server = Server::start(BINARY, &["--pool-size", "5"]).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(1_000)).await;
    let path = format!("/v1/product-variants/{variant}");
    let resets = (0..100).map(|number| {
        let (client, path) = (&client, &path);
        async move {
            let email = json!({ "email": format!("c{}@example.com", number % 25) });
            match number % 4 {
                0 => send_and_reset(client, "PUT", path, &json!({ "price": 1000 + number })).await,
                1 => send_and_reset(client, "POST", "/v1/checkouts", &json!({ "sku": "BIKE", "customer": email })).await,
                2 => send_and_reset(client, "POST", "/v1/products", &client.product_body()).await,
                _ => send_and_reset(client, "PUT", "/v1/product-variants/bulk", &json!({ "updates": [{ "id": variant_of(path), "name": format!("n{number}") }] })).await,
            }
        }
    });
    join_all(resets).await;
    // More than there are connections, at once: none is lost, no row is locked.
    let after =
        join_all((0..20).map(|number| client.put(&path, json!({ "price": 2000 + number })))).await;
    assert!(after.iter().all(|answer| answer.status == 200), "{after:?}");
    for number in 0..25 {
        let email = json!({ "email": format!("c{number}@example.com") });
        client
            .post("/v1/checkouts", json!({ "sku": "BIKE", "customer": email }))
            .await
            .ok();
    }
    let checkouts = client.get("/v1/checkouts?limit=100").await;
    assert_eq!(
        checkouts.header("x-total-count"),
        "25",
        "one for each customer"
    );
    // The worker has transactions of its own, which end.
    let open = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let locked = server.query(open).await;
        if locked.is_empty() {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{locked:?}");
    }
    client.get("/readyz").await.ok();
}

fn variant_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
