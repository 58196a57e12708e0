//! What the catalog allows of products.

use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn options_are_unique_and_variants_must_still_fit() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let with = |options: serde_json::Value| {
        let mut body = client.product_body();
        body["options"] = options;
        body
    };
    for (options, param) in [
        (
            json!([{ "name": "Size", "values": ["S"] }, { "name": "SIZE", "values": ["M"] }]),
            "options[1].name",
        ),
        (
            json!([{ "name": "Size", "values": ["S", "s"] }]),
            "options[0].values[1]",
        ),
        (
            json!([{ "id": "a", "name": "A", "values": ["1"] }, { "id": "a", "name": "B", "values": ["1"] }]),
            "options[1].id",
        ),
    ] {
        client
            .post("/v1/products", with(options))
            .await
            .refused(400, "invalid_parameter", param);
    }
    let product = client
        .product(json!({ "options": [{ "name": "Size", "values": ["S", "M"] }] }))
        .await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let choice = json!({ "options": [{ "name": "size", "value": "m" }] });
    let variant = client.variant_of(&product, "BIKE-M", choice).await;
    for options in [
        json!([{ "name": "Size", "values": ["S"] }]),
        json!([{ "name": "Color", "values": ["red"] }]),
        json!([]),
        json!([{ "name": "Size", "values": ["M"] }, { "name": "Color", "values": ["red"] }]),
    ] {
        let refused = client.put(&path, json!({ "options": options })).await;
        refused.refused_with(
            400,
            "invalid_parameter",
            "options",
            &[&text(&variant["id"])],
        );
    }
    let wider = json!({ "options": [{ "name": "Size", "values": ["S", "M", "L"] }] });
    client.put(&path, wider).await.ok();
    // A variant that is gone does not count.
    client
        .delete(&format!("/v1/product-variants/{}", text(&variant["id"])))
        .await
        .ok();
    client.put(&path, json!({ "options": [] })).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn is_active_is_a_status() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    for (sent, status) in [
        (
            json!({ "isActive": false, "price": "99.90", "description": "x" }),
            "inactive",
        ),
        (json!({ "isActive": true }), "active"),
        (
            json!({ "isActive": false, "status": "inactive" }),
            "inactive",
        ),
        (json!({ "status": "active" }), "active"),
    ] {
        assert_eq!(client.put(&path, sent).await.ok()["status"], status);
    }
    for contradiction in [
        json!({ "isActive": true, "status": "inactive" }),
        json!({ "isActive": false, "status": "active" }),
        json!({ "isActive": true, "status": "archived" }),
    ] {
        let refused = client.put(&path, contradiction).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (400, &json!("invalid_parameter"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_removes_what_nobody_leased_and_archives_the_rest() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({ "externalId": "X-1" })).await;
    let variant = client.variant_of(&product, "BIKE", json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let variant_path = format!("/v1/product-variants/{}", text(&variant["id"]));
    assert_eq!(client.delete(&path).await.ok()["id"], product["id"]);
    for gone in [&path, &variant_path] {
        client.get(gone).await.refused(404, "not_found", "");
        client.delete(gone).await.refused(404, "not_found", "");
        client
            .put(gone, json!({ "name": "x" }))
            .await
            .refused(404, "not_found", "");
    }
    // Leased ones stay for history, and free their sku and external id.
    let product = client.product(json!({ "externalId": "X-1" })).await;
    let variant = client
        .variant_of(&product, "BIKE", json!({ "externalId": "V-1" }))
        .await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let variant_path = format!("/v1/product-variants/{}", text(&variant["id"]));
    assert_eq!(client.delete(&path).await.ok()["status"], "archived");
    client.delete(&path).await.refused(404, "not_found", "");
    client
        .delete(&variant_path)
        .await
        .refused(404, "not_found", "");
    assert_eq!(client.get(&path).await.ok()["status"], "archived");
    assert_eq!(client.get(&variant_path).await.ok()["status"], "archived");
    assert_eq!(client.get("/v1/products").await.ok()["total"], 0);
    let archived = client.get("/v1/products?status=archived").await.ok();
    assert_eq!(archived["results"][0]["id"], product["id"]);
    assert_eq!(
        client.get(&format!("{path}/variants")).await.ok(),
        json!([])
    );
    for (path, change) in [
        (&path, json!({ "name": "x" })),
        (&variant_path, json!({ "price": 1 })),
    ] {
        let refused = client.put(path, change).await;
        refused.has(400);
    }
    assert_eq!(
        client.reread(&made).await["lifecycle"],
        "created",
        "checkouts go on"
    );
    let again = client.product(json!({ "externalId": "X-1" })).await;
    client
        .variant_of(&again, "BIKE", json!({ "externalId": "V-1" }))
        .await;
    // To come back the archived one needs its sku and external id, which others have now.
    let refused = client.put(&path, json!({ "status": "active" })).await;
    refused.refused(400, "invalid_parameter", "externalId");
    client
        .delete(&format!("/v1/products/{}", text(&again["id"])))
        .await
        .ok();
    assert_eq!(
        client.put(&path, json!({ "status": "active" })).await.ok()["status"],
        "active"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_must_be_unique_are_unique_in_the_organization_only() {
    let server = Server::shared(BINARY).await;
    let (client, other) = (server.client().await, server.client().await);
    client.product(json!({ "externalId": "X-1" })).await;
    other.product(json!({ "externalId": "X-1" })).await;
    let mut twice = client.product_body();
    twice["externalId"] = json!("X-1");
    client
        .post("/v1/products", twice)
        .await
        .refused(400, "invalid_parameter", "externalId");
    client
        .post("/v1/product-categories", json!({ "name": "Bikes" }))
        .await
        .ok();
    let refused = client
        .post("/v1/product-categories", json!({ "name": "BIKES" }))
        .await;
    refused.refused(400, "invalid_parameter", "name");
    let mut foreign = other.product_body();
    foreign["productCategoryId"] = json!("cat_0000000000000000000001");
    let refused = other.post("/v1/products", foreign).await;
    assert!(matches!(refused.status, 400 | 404), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_from_upstream_can_be_kept_out() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({ "productSource": "shopify" })).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let from = |source: &str| json!({ "name": source, "productSource": source });
    assert_eq!(
        client.put(&path, from("shopify")).await.ok()["name"],
        "shopify"
    );
    client
        .put(&path, json!({ "ignoreUpstreamUpdates": true }))
        .await
        .ok();
    let refused = client.put(&path, from("woocommerce")).await;
    refused.has(400);
    assert_eq!(
        client.put(&path, from("manual")).await.ok()["name"],
        "manual"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_updates_stand_each_for_itself() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let a = client.product(json!({})).await;
    let b = client.product(json!({})).await;
    let updates = json!({ "updates": [
        { "id": a["id"], "name": "first" },
        { "id": b["id"], "price": -1 },
        { "id": "prod_0000000000000000000001", "name": "x" },
        { "id": b["id"], "name": "second", "isWaitlisted": true },
        { "id": a["id"], "name": "third" },
        { "name": "nobody" },
        { "id": b["id"], "colour": "red" },
    ] });
    let done = client.put("/v1/products/bulk", updates).await.ok();
    assert_eq!(
        (&done["succeeded"], &done["failed"]),
        (&json!(3), &json!(4))
    );
    let names: Vec<_> = done["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| text(&one["name"]))
        .collect();
    assert_eq!(names, ["first", "second", "third"]);
    let told: Vec<_> = done["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| {
            (
                error["index"].as_u64().unwrap_or_default(),
                text(&error["code"]),
                text(&error["param"]),
            )
        })
        .collect();
    let expected = [
        (1, "invalid_parameter", "price"),
        (2, "not_found", ""),
        (5, "parameter_missing", "id"),
        (6, "invalid_parameter", "colour"),
    ];
    assert_eq!(
        told,
        expected.map(|(index, code, param)| (index, code.to_owned(), param.to_owned()))
    );
    assert_eq!(done["errors"][1]["id"], "prod_0000000000000000000001");
    assert!(
        done["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|error| error["error"].is_string())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn names_hold_nothing_that_is_not_seen() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for hidden in ["\u{202E}", "\u{200B}", "\u{FEFF}", "\u{AD}"] {
        let mut body = client.product_body();
        body["name"] = json!(format!("Road{hidden}bike"));
        client
            .post("/v1/products", body)
            .await
            .refused(400, "invalid_parameter", "name");
    }
    let joined = json!({ "name": "می\u{200C}خواهم" });
    client.product(joined).await;
}
