//! What a variant is, and what the catalog allows of variants.

use std::collections::BTreeSet;

use lessor_tests::shop::merged;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

const ALWAYS: [&str; 12] = [
    "createdAt",
    "description",
    "id",
    "isWaitlisted",
    "name",
    "options",
    "price",
    "processorId",
    "productImages",
    "sku",
    "status",
    "updatedAt",
];

fn names(record: &Value, but: &[&str]) -> BTreeSet<String> {
    let members = record
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys().cloned());
    members
        .filter(|name| !but.contains(&name.as_str()))
        .collect()
}

/// Each answer has the members that it is said to have, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn members_depend_on_the_endpoint() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let always: BTreeSet<String> = ALWAYS.map(str::to_owned).into();
    let made = client.variant_of(&product, "BIKE", json!({})).await;
    let path = format!("/v1/product-variants/{}", text(&made["id"]));
    let owned = ["organizationId", "productId"];
    let read = client.get(&path).await.ok();
    let by_sku = client.get("/v1/product-variants/by-sku/BIKE").await.ok();
    assert_eq!((&read, &by_sku), (&made, &made));
    assert_eq!(made["organizationId"], json!(client.organization));
    assert_eq!(made["productId"], product["id"]);
    assert_eq!(names(&made, &owned), always);
    assert_eq!(names(&made, &[]).len(), always.len() + owned.len());
    assert_eq!(
        names(&client.put(&path, json!({ "name": "x" })).await.ok(), &[]),
        always
    );
    let bulk = client
        .get(&format!(
            "/v1/product-variants/bulk?productIds={}",
            text(&product["id"])
        ))
        .await
        .ok();
    assert_eq!(names(&bulk[0], &["pricing", "productId"]), always);
    assert_eq!(names(&bulk[0], &[]).len(), always.len() + 2);
    let fetched = client
        .post(
            "/v1/product-variants/bulk/fetch",
            json!({ "ids": [made["id"]] }),
        )
        .await
        .ok();
    assert_eq!(names(&fetched["results"][0], &["pricing"]), always);
    let listed = client
        .get(&format!("/v1/products/{}/variants", text(&product["id"])))
        .await
        .ok();
    assert_eq!(names(&listed[0], &["pricing"]), always);
    assert_eq!(listed[0]["pricing"], bulk[0]["pricing"]);
    let full = client
        .variant_of(
            &product,
            "FULL",
            json!({
                "discountPercentage": "7.25", "externalId": "V-1", "inventoryQuantity": 5, "productYear": 2026,
                "productImages": ["https://example.com/a.png", "https://example.com/b.png"]
            }),
        )
        .await;
    let optional = [
        "discountPercentage",
        "externalId",
        "inventoryQuantity",
        "productYear",
    ];
    assert_eq!(
        names(&full, &owned),
        always
            .iter()
            .cloned()
            .chain(optional.map(str::to_owned))
            .collect()
    );
    assert_eq!(
        (&full["discountPercentage"], &full["inventoryQuantity"]),
        (&json!("7.25"), &json!(5))
    );
    let deleted = client
        .delete(&format!("/v1/product-variants/{}", text(&full["id"])))
        .await
        .ok();
    assert_eq!(names(&deleted, &[]), names(&full, &[]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_chooses_each_option_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client
        .product(json!({ "options": [{ "name": "Size", "values": ["S", "M"] }, { "name": "Color", "values": ["red"] }] }))
        .await;
    let body = |sku: &str, options: Value| {
        json!({
            "productId": product["id"], "name": "n", "description": "d", "price": 1, "sku": sku, "options": options,
            "productImages": []
        })
    };
    let size = json!({ "name": "Size", "value": "S" });
    let color = json!({ "name": "Color", "value": "red" });
    for (options, param) in [
        (json!([]), "options"),
        (json!([size]), "options"),
        (
            json!([size, { "name": "Color", "value": "blue" }]),
            "options[1].value",
        ),
        (
            json!([size, { "name": "Weight", "value": "1" }]),
            "options[1].name",
        ),
        (json!([size, color, size]), "options[2].name"),
    ] {
        client
            .post("/v1/product-variants", body("A", options))
            .await
            .refused(400, "invalid_parameter", param);
    }
    // In any case and order; written as the product writes it.
    let made = client
        .post(
            "/v1/product-variants",
            body(
                "A",
                json!([{ "name": "COLOR", "value": "RED" }, { "name": "size", "value": "s" }]),
            ),
        )
        .await
        .ok();
    let chosen: BTreeSet<String> = made["options"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| text(&one["value"]))
        .collect();
    assert_eq!(chosen, ["S".to_owned(), "red".to_owned()].into());
    let twin = client
        .post("/v1/product-variants", body("B", json!([size, color])))
        .await;
    twin.refused(400, "invalid_parameter", "options");
    // Another model year is another variant, and an archived one is in nobody's way.
    client
        .post(
            "/v1/product-variants",
            merged(
                body("B", json!([size, color])),
                json!({ "productYear": 2025 }),
            ),
        )
        .await
        .ok();
    let path = format!("/v1/product-variants/{}", text(&made["id"]));
    client
        .put(&path, json!({ "status": "archived" }))
        .await
        .ok();
    client
        .post("/v1/product-variants", body("A", json!([size, color])))
        .await
        .ok();
    let back = client.put(&path, json!({ "status": "active" })).await;
    assert_eq!(
        (back.status, &back.body["error"]["code"]),
        (400, &json!("invalid_parameter")),
        "{}",
        back.body
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn skus_and_external_ids_are_the_organizations_own() {
    let server = Server::shared(BINARY).await;
    let (client, other) = (server.client().await, server.client().await);
    let product = client.product(json!({})).await;
    let a = client
        .variant_of(
            &product,
            "BIKE",
            json!({ "externalId": "V-1", "productYear": 2001 }),
        )
        .await;
    let b = client
        .variant_of(&product, "CAR", json!({ "productYear": 2002 }))
        .await;
    other.variant("BIKE", None).await;
    let new = json!({
        "productId": product["id"], "name": "n", "description": "d", "price": 1, "sku": "BIKE", "options": [],
        "productImages": [], "productYear": 2003
    });
    client
        .post("/v1/product-variants", new.clone())
        .await
        .refused(400, "invalid_parameter", "sku");
    let external = merged(new.clone(), json!({ "sku": "NEW", "externalId": "V-1" }));
    client.post("/v1/product-variants", external).await.refused(
        400,
        "invalid_parameter",
        "externalId",
    );
    let path = |variant: &Value| format!("/v1/product-variants/{}", text(&variant["id"]));
    client
        .put(&path(&b), json!({ "sku": "BIKE" }))
        .await
        .refused(400, "invalid_parameter", "sku");
    client.put(&path(&b), json!({ "sku": "CAR" })).await.ok();
    // An archived variant frees both.
    client
        .put(&path(&a), json!({ "status": "archived" }))
        .await
        .ok();
    client
        .get("/v1/product-variants/by-sku/BIKE")
        .await
        .refused(404, "not_found", "");
    assert_eq!(client.get(&path(&a)).await.ok()["status"], "archived");
    let again = client
        .post(
            "/v1/product-variants",
            merged(new, json!({ "externalId": "V-1" })),
        )
        .await
        .ok();
    assert_eq!(
        client.get("/v1/product-variants/by-sku/BIKE").await.ok()["id"],
        again["id"]
    );
    client
        .put(&path(&a), json!({ "status": "active" }))
        .await
        .refused(400, "invalid_parameter", "sku");
    // Signs that addresses must escape.
    let odd = client
        .variant_of(&product, "a/b c%2F?ü", json!({ "productYear": 2004 }))
        .await;
    let found = client
        .get("/v1/product-variants/by-sku/a%2Fb%20c%252F%3F%C3%BC")
        .await
        .ok();
    assert_eq!(found["id"], odd["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_is_a_number_or_not_counted() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let id = client.variant("BIKE", Some(3)).await;
    let path = format!("/v1/product-variants/{id}");
    for (sent, stock) in [
        (json!(7), Some(7)),
        (json!(-1), None),
        (json!(0), Some(0)),
        (Value::Null, None),
        (json!(2_147_483_647), Some(2_147_483_647)),
    ] {
        let updated = client
            .put(&path, json!({ "inventoryQuantity": sent }))
            .await
            .ok();
        assert_eq!(
            updated.get("inventoryQuantity").and_then(Value::as_i64),
            stock,
            "{sent}"
        );
    }
    for wrong in [json!(-2), json!(2_147_483_648_i64), json!(1.5), json!("7")] {
        let refused = client
            .put(&path, json!({ "inventoryQuantity": wrong }))
            .await;
        refused.refused(400, "invalid_parameter", "inventoryQuantity");
    }
    // A member that is left out stays.
    client
        .put(&path, json!({ "inventoryQuantity": 9 }))
        .await
        .ok();
    assert_eq!(
        client.put(&path, json!({ "name": "x" })).await.ok()["inventoryQuantity"],
        9
    );
    for member in [
        "name",
        "description",
        "price",
        "sku",
        "options",
        "productImages",
        "status",
        "isWaitlisted",
    ] {
        let refused = client.put(&path, json!({ member: null })).await;
        refused.refused(400, "invalid_parameter", member);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leased_variant_is_archived_and_another_removed() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let (free, leased) = (
        client.variant("FREE", None).await,
        client.variant("LEASED", None).await,
    );
    let made = client.checkout("LEASED", "grace@example.com").await;
    client.act(&made, "cancel", json!({})).await.ok();
    let path = |id: &str| format!("/v1/product-variants/{id}");
    let before = client.get(&path(&free)).await.ok();
    let removed = client.delete(&path(&free)).await.ok();
    assert_eq!(removed["status"], "active", "as it was");
    assert_eq!(removed["updatedAt"], before["updatedAt"]);
    client.get(&path(&free)).await.refused(404, "not_found", "");
    assert_eq!(
        client.delete(&path(&leased)).await.ok()["status"],
        "archived"
    );
    assert_eq!(client.get(&path(&leased)).await.ok()["status"], "archived");
    client
        .delete(&path(&leased))
        .await
        .refused(404, "not_found", "");
    // By its sku it is not found: the name is free again.
    let refused = client
        .try_checkout("LEASED", "ada@example.com", json!({}))
        .await;
    refused.refused(404, "not_found", "");
    let by_id = json!({ "productVariantId": leased, "customer": { "email": "ada@example.com" } });
    client
        .post("/v1/checkouts", by_id)
        .await
        .refused(400, "invalid_parameter", "productVariantId");
}

/// What was bought along stays readable too.
#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_that_was_bought_is_archived() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let add_ons = client.product(json!({ "productType": "add-on" })).await;
    let lock = client.variant_of(&add_ons, "LOCK", json!({})).await;
    let bell = client
        .variant_of(&add_ons, "BELL", json!({ "productYear": 2004 }))
        .await;
    let bought = json!({ "purchaseItems": [{ "productVariantId": lock["id"], "quantity": 1 }] });
    let made = client
        .try_checkout("BIKE", "grace@example.com", bought)
        .await
        .ok();
    let path = |variant: &Value| format!("/v1/product-variants/{}", text(&variant["id"]));
    assert_eq!(client.delete(&path(&bell)).await.ok()["status"], "active");
    assert_eq!(client.delete(&path(&lock)).await.ok()["status"], "archived");
    assert_eq!(client.get(&path(&lock)).await.ok()["sku"], "LOCK");
    let product = format!("/v1/products/{}", text(&add_ons["id"]));
    assert_eq!(client.delete(&product).await.ok()["status"], "archived");
    assert_eq!(
        client.reread(&made).await["purchaseItems"][0]["productVariantId"],
        lock["id"]
    );
    // Nothing is silently dropped: neither of these has a body.
    for method in ["GET", "DELETE"] {
        client
            .send_json(method, &path(&bell), "{}")
            .await
            .refused(400, "invalid_request", "");
    }
}
