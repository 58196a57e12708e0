//! Products that wait for a review.

use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn a_review_opens_a_product_and_a_change_closes_it_again() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Reviewed", "--requires-review"])
        .await;
    client.variant("BIKE", None).await;
    let product = client.get("/v1/products").await.ok()["results"][0].clone();
    let id = text(&product["id"]);
    let path = format!("/v1/products/{id}");
    let waiting = client.checkout("BIKE", "grace@example.com").await;
    assert_eq!(
        (&waiting["lifecycle"], &waiting["waitlistReason"]),
        (&json!("waitlistedAfterProfile"), &json!("inventory"))
    );
    for status in ["rejected", "changesRequested", "approved"] {
        server.cli(&["product", "review", &id, "--status", status]);
        assert_eq!(client.get(&path).await.ok()["reviewStatus"], status);
    }
    // What waited for it goes on.
    client.comes_to(&waiting, "identityRequired").await;
    assert_eq!(
        client
            .put(&path, json!({ "isWaitlisted": false, "sku": "x" }))
            .await
            .ok()["reviewStatus"],
        "approved"
    );
    for change in [
        json!({ "name": "New" }),
        json!({ "description": "New" }),
        json!({ "price": 7 }),
        json!({ "mainProductImage": "https://example.com/new.png" }),
    ] {
        assert_eq!(
            client.put(&path, change.clone()).await.ok()["reviewStatus"],
            "pending",
            "{change}"
        );
        server.cli(&["product", "review", &id, "--status", "approved"]);
    }
    // Without the setting everything is approved from the first.
    let open = server.client().await;
    assert_eq!(open.product(json!({})).await["reviewStatus"], "approved");
}
