//! Variants made of a product's options.

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

async fn bike(client: &Client) -> (Value, String) {
    let options = json!([
        { "name": "Size", "values": ["S", "M", "L"] },
        { "name": "Colour", "values": ["Red", "Blue"] }
    ]);
    let product = client
        .product(json!({ "sku": "GRAVEL", "options": options }))
        .await;
    let path = format!("/v1/products/{}/variants/generate", text(&product["id"]));
    (product, path)
}

async fn skus(client: &Client, product: &Value) -> Vec<String> {
    let path = format!("/v1/products/{}/variants", text(&product["id"]));
    let listed = client.get(&path).await.ok();
    let mut skus: Vec<String> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|record| text(&record["sku"]))
        .collect();
    skus.sort_unstable();
    skus
}

#[tokio::test(flavor = "multi_thread")]
async fn the_matrix_is_made_and_filled_up() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let (product, path) = bike(&client).await;
    let body = json!({
        "sku": "{product}-{Size}-{Colour}", "price": "1000", "options": { "size": ["M", "L"] },
        "priceAdditions": { "Size": { "L": "49.50" } }, "inventoryQuantity": 2, "productYear": 2027,
        "metadata": { "line": "gravel" }
    });
    let made = client.post(&path, body.clone()).await.ok();
    assert_eq!((&made["created"], &made["skipped"]), (&json!(4), &json!(0)));
    let told: Vec<String> = made["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| {
            format!(
                "{} {} {}",
                text(&it["sku"]),
                text(&it["name"]),
                text(&it["price"])
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "GRAVEL-M-Red Road bike M / Red 1000.00",
            "GRAVEL-M-Blue Road bike M / Blue 1000.00",
            "GRAVEL-L-Red Road bike L / Red 1049.50",
            "GRAVEL-L-Blue Road bike L / Blue 1049.50",
        ]
    );
    let first = &made["results"][0];
    assert_eq!(first["inventoryQuantity"], 2);
    assert_eq!(first["metadata"], json!({ "line": "gravel" }));
    let again = client.post(&path, body).await.ok();
    assert_eq!(
        (&again["created"], &again["skipped"]),
        (&json!(0), &json!(4))
    );
    let rest = json!({ "sku": "{product}-{Size}-{Colour}", "productYear": 2027 });
    let rest = client.post(&path, rest).await.ok();
    assert_eq!((&rest["created"], &rest["skipped"]), (&json!(2), &json!(4)));
    assert_eq!(
        skus(&client, &product).await,
        [
            "GRAVEL-L-Blue",
            "GRAVEL-L-Red",
            "GRAVEL-M-Blue",
            "GRAVEL-M-Red",
            "GRAVEL-S-Blue",
            "GRAVEL-S-Red"
        ]
    );
    // They are leased like any other.
    client.checkout("GRAVEL-S-Red", "ada@example.com").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_is_answered_and_makes_nothing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let (product, path) = bike(&client).await;
    let body = json!({ "sku": "{product}-{Size}-{Colour}" }).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "generate-once"),
    ];
    let once = || client.send("POST", &path, &headers, Some(body.clone().into_bytes()));
    let first = once().await;
    let again = once().await;
    assert_eq!(first.body["created"], 6);
    assert_eq!(first.bytes, again.bytes);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(skus(&client, &product).await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_and_none_is_made() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let (product, path) = bike(&client).await;
    client.variant("TAKEN-L-Blue", None).await;
    let pattern = "{product}-{Size}-{Colour}";
    for (body, param) in [
        (json!({ "sku": "TAKEN-{Size}-{Colour}" }), "sku"),
        (json!({ "sku": "{Size}" }), "sku"),
        (json!({ "sku": "{Shape}" }), "sku"),
        (json!({ "sku": "{Size" }), "sku"),
        (json!({ "sku": pattern, "name": "}" }), "name"),
        (
            json!({ "sku": pattern, "options": { "Size": ["S", "XL"] } }),
            "options.Size[1]",
        ),
        (
            json!({ "sku": pattern, "options": { "Size": [] } }),
            "options.Size",
        ),
        (
            json!({ "sku": pattern, "options": { "Shape": ["S"] } }),
            "options.Shape",
        ),
        (
            json!({ "sku": pattern, "priceAdditions": { "Size": { "XL": "1" } } }),
            "priceAdditions.Size.XL",
        ),
        (
            json!({ "sku": pattern, "priceAdditions": { "Size": { "L": "-1" } } }),
            "priceAdditions.Size.L",
        ),
        (
            json!({ "sku": pattern, "priceAdditions": { "Size": { "L": "0.001" } } }),
            "priceAdditions.Size.L",
        ),
        (json!({ "sku": pattern, "price": "1.999" }), "price"),
    ] {
        let told = body.to_string();
        let refused = client.post(&path, body).await;
        refused.has(400);
        refused.refused(400, "invalid_parameter", param);
        assert!(skus(&client, &product).await.is_empty(), "{told}");
    }
    let missing = client.post(&path, json!({})).await;
    missing.refused(400, "parameter_missing", "sku");
    let other = server.client().await;
    let body = json!({ "sku": pattern });
    other.post(&path, body).await.has(404);
}
