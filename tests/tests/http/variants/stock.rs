//! Stock in one mode and in the other.

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// What the key reads of the variant, in each way in which it is read.
async fn read(client: &Client, variant: &str, product: &str) -> Vec<Value> {
    let fetch = json!({ "ids": [variant] });
    let fetched = client.post("/v1/product-variants/bulk/fetch", fetch).await;
    let mut read = vec![fetched.ok()["results"][0].clone()];
    for path in [
        format!("/v1/product-variants/{variant}"),
        "/v1/product-variants/by-sku/BIKE".to_owned(),
    ] {
        read.push(client.get(&path).await.ok());
    }
    for path in [
        format!("/v1/product-variants/bulk?productIds={product}"),
        format!("/v1/products/{product}/variants"),
    ] {
        read.push(client.get(&path).await.ok()[0].clone());
    }
    for record in &mut read {
        // That somebody has written it both modes may know.
        if let Some(members) = record.as_object_mut() {
            members.remove("updatedAt");
        }
    }
    read
}

fn quantities(read: &[Value]) -> Vec<&Value> {
    let mut quantities: Vec<&Value> = read.iter().map(|it| &it["inventoryQuantity"]).collect();
    quantities.dedup();
    quantities
}

/// A new variant's quantity counts for both modes; from then on each has its own, however it is set.
#[tokio::test(flavor = "multi_thread")]
async fn stock_is_set_and_read_in_the_keys_mode() {
    let server = Server::shared(BINARY).await;
    let sandbox = server.client().await;
    let variant = sandbox.variant("BIKE", Some(5)).await;
    let live = sandbox.with_key(&server.key(&sandbox.organization, "live", "all"));
    let path = format!("/v1/product-variants/{variant}");
    let product = text(&live.get(&path).await.ok()["productId"]);
    for client in [&sandbox, &live] {
        let read = read(client, &variant, &product).await;
        assert_eq!(quantities(&read), [&json!(5)]);
    }
    for (client, other, set) in [(&sandbox, &live, 7), (&live, &sandbox, 9)] {
        let before = read(other, &variant, &product).await;
        let put = json!({ "inventoryQuantity": set });
        let updated = client.put(&path, put).await.ok();
        assert_eq!(updated["inventoryQuantity"], set);
        assert_eq!(read(other, &variant, &product).await, before);
        let put = json!({ "updates": [{ "id": variant, "inventoryQuantity": null }] });
        let updated = client.put("/v1/product-variants/bulk", put).await.ok();
        let updated = &updated["results"][0];
        assert!(updated.get("inventoryQuantity").is_none(), "{updated}");
        assert_eq!(read(other, &variant, &product).await, before);
        let put = json!({ "inventoryQuantity": set });
        client.put(&path, put).await.ok();
        let own = read(client, &variant, &product).await;
        assert_eq!(quantities(&own), [&json!(set)]);
    }
    // All else is one variant's.
    live.put(&path, json!({ "name": "Gravel" })).await.ok();
    let seen = sandbox.get(&path).await.ok();
    assert_eq!(
        (&seen["name"], &seen["inventoryQuantity"]),
        (&json!("Gravel"), &json!(7))
    );
    let generate = format!("/v1/products/{product}/variants/generate");
    let body = json!({ "sku": "NEXT", "inventoryQuantity": 3, "productYear": 2031 });
    let made = live.post(&generate, body).await.ok();
    let made = &made["results"][0];
    assert_eq!(made["inventoryQuantity"], 3);
    let path = format!("/v1/product-variants/{}", text(&made["id"]));
    assert_eq!(sandbox.get(&path).await.ok()["inventoryQuantity"], 3);
}

/// What is taken, given back and added in one mode is nothing to those who wait in the other.
#[tokio::test(flavor = "multi_thread")]
async fn each_mode_has_its_own_stock_and_its_own_line() {
    let server = Server::shared(BINARY).await;
    let sandbox = server.client().await;
    let variant = sandbox.variant("BIKE", Some(1)).await;
    let live = sandbox.with_key(&server.key(&sandbox.organization, "live", "all"));
    let path = format!("/v1/product-variants/{variant}");
    let quantity = async |client: &Client| {
        let read = client.get(&path).await.ok();
        read["inventoryQuantity"].clone()
    };
    // A sandbox checkout takes the sandbox's unit, and the live one is still free.
    let holder = sandbox
        .checkout_at("BIKE", "a@example.com", "documentsPending")
        .await;
    assert_eq!(quantity(&sandbox).await, 0);
    assert_eq!(quantity(&live).await, 1);
    let waiting = sandbox.checkout("BIKE", "b@example.com").await;
    assert_eq!(waiting["lifecycle"], "waitlistedAfterProfile");
    let free = live.checkout("BIKE", "b@example.com").await;
    assert_eq!(free["lifecycle"], "created");

    // Live stock that runs out and comes back frees who waits in live mode, and nobody else.
    live.put(&path, json!({ "inventoryQuantity": 0 }))
        .await
        .ok();
    let behind = live.checkout("BIKE", "c@example.com").await;
    assert_eq!(behind["lifecycle"], "waitlistedAfterProfile");
    live.put(&path, json!({ "inventoryQuantity": 4 }))
        .await
        .ok();
    live.comes_to(&behind, "identityRequired").await;
    let still = sandbox.reread(&waiting).await;
    assert_eq!(still["lifecycle"], "waitlistedAfterProfile");
    assert_eq!(quantity(&sandbox).await, 0);

    // The sandbox's own unit, which comes back, does.
    sandbox.act(&holder, "cancel", json!({})).await.ok();
    sandbox.comes_to(&waiting, "identityRequired").await;
    assert_eq!(quantity(&sandbox).await, 1);
    assert_eq!(quantity(&live).await, 4);
}

/// A publishable key is not told how many there are, and its mode decides nothing of what it sees.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_shows_no_modes_stock() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(3)).await;
    let path = format!("/v1/product-variants/{variant}");
    let mut shown = Vec::new();
    for mode in ["sandbox", "live"] {
        let organization = client.organization.as_str();
        let create = ["key", "create", "--org", organization, "--mode", mode];
        let key = server.cli(&[&create[..], &["--publishable"]].concat());
        let window = client.with_key(&text(&key["key"]));
        shown.push(window.get(&path).await.ok());
    }
    assert!(shown[0].get("inventoryQuantity").is_none());
    assert_eq!(shown[0], shown[1]);
}
