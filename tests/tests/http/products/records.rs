//! Which members a product has: the bare one and the full one.

use std::collections::BTreeSet;

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

const ALWAYS: [&str; 15] = [
    "createdAt",
    "description",
    "id",
    "ignoreUpstreamUpdates",
    "isWaitlisted",
    "name",
    "options",
    "organizationId",
    "price",
    "processorId",
    "productSource",
    "productType",
    "reviewStatus",
    "status",
    "updatedAt",
];
const OPTIONAL: [&str; 8] = [
    "discountPercentage",
    "externalId",
    "mainProductImage",
    "productCategoryId",
    "reviewNotes",
    "reviewedAt",
    "reviewedBy",
    "sku",
];

fn names(record: &Value) -> BTreeSet<&str> {
    record
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys().map(String::as_str))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_product_and_a_full_one() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Reviewed", "--requires-review"])
        .await;
    let bare = client.product(json!({})).await;
    assert_eq!(names(&bare), ALWAYS.into());
    assert_eq!(bare["organizationId"], client.organization_number);
    assert_eq!(
        (&bare["reviewStatus"], &bare["status"]),
        (&json!("pending"), &json!("active"))
    );
    assert!(text(&bare["id"]).starts_with("prod_"));
    let category = client
        .post("/v1/product-categories", json!({ "name": "Bikes" }))
        .await
        .ok();
    let full = client
        .product(json!({
            "name": "  Trimmed  ", "description": "two\r\nlines\tand a tab", "price": 1299.5, "discountPercentage": 12.50,
            "externalId": "X-1", "sku": "P-1", "productCategoryId": category["id"], "productSource": "shopify",
            "productType": "add-on", "organizationId": client.organization_number,
            "options": [{ "name": "Size", "values": ["S", "M"] }, { "id": "c", "name": "Color", "position": 7, "values": ["red"] }]
        }))
        .await;
    assert_eq!(full["name"], "Trimmed");
    assert_eq!(full["description"], "two\nlines\tand a tab");
    assert_eq!(
        (&full["price"], &full["discountPercentage"]),
        (&json!("1299.50"), &json!("12.5"))
    );
    assert_eq!(full["productCategoryId"], category["productCategoryId"]);
    assert_eq!(
        full["options"][1],
        json!({ "id": "c", "name": "Color", "position": 7, "values": ["red"] })
    );
    assert_eq!(
        (
            &full["options"][0]["position"],
            full["options"][0]["id"].is_string()
        ),
        (&json!(0), true)
    );
    let path = format!("/v1/products/{}", text(&full["id"]));
    let image =
        json!({ "mainProductImage": "https://example.com/a.png", "productSource": "manual" });
    client.put(&path, image).await.ok();
    let staff = server.key_record(&client.organization, "sandbox", "all", &[]);
    server.cli(&[
        "product",
        "review",
        &text(&full["id"]),
        "--status",
        "approved",
        "--notes",
        "fine",
        "--reviewer",
        &text(&staff["userPublicId"]),
    ]);
    let read = client.get(&path).await.ok();
    let all: BTreeSet<&str> = ALWAYS.into_iter().chain(OPTIONAL).collect();
    assert_eq!(names(&read), all);
    assert_eq!(
        (&read["reviewStatus"], &read["reviewNotes"]),
        (&json!("approved"), &json!("fine"))
    );
    assert_eq!(read["reviewedBy"], staff["userId"]);
    // The list has the same record.
    let listed = client.get("/v1/products?externalId=X-1").await.ok();
    assert_eq!(listed["results"][0], read);
    // null clears what is optional.
    let cleared = client
        .put(
            &path,
            json!({ "discountPercentage": null, "mainProductImage": null, "sku": null, "productCategoryId": null }),
        )
        .await
        .ok();
    for name in [
        "discountPercentage",
        "mainProductImage",
        "sku",
        "productCategoryId",
    ] {
        assert!(cleared.get(name).is_none(), "{name}");
    }
}

/// Amounts are read from their text: what a float would round stays.
#[tokio::test(flavor = "multi_thread")]
async fn amounts_and_percentages_are_exact() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for (sent, answered) in [
        ("999999999.99", "999999999.99"),
        ("0.01", "0.01"),
        ("0", "0.00"),
        ("1e2", "100.00"),
        ("\"10.50\"", "10.50"),
        ("1.10", "1.10"),
        ("72057594.03", "72057594.03"),
        ("100.000", "100.00"),
    ] {
        let body = client
            .product_body()
            .to_string()
            .replace("\"1299.00\"", sent);
        let made = client.send_json("POST", "/v1/products", body).await.ok();
        assert_eq!(made["price"], answered, "{sent}");
    }
    for wrong in [
        "1000000000.00",
        "-0.01",
        "0.001",
        "999999999.990001",
        "\"1e2x\"",
        "\"\"",
        "\" \"",
        "\"1,000\"",
        "true",
        "[]",
    ] {
        let body = client
            .product_body()
            .to_string()
            .replace("\"1299.00\"", wrong);
        let refused = client.send_json("POST", "/v1/products", body).await;
        refused.refused(400, "invalid_parameter", "price");
    }
    for (sent, answered) in [
        ("\"12.3456\"", "12.3456"),
        ("100", "100"),
        ("0", "0"),
        ("5.10", "5.1"),
    ] {
        let mut body = client.product_body();
        body["discountPercentage"] = json!("§");
        let body = body.to_string().replace("\"§\"", sent);
        let made = client.send_json("POST", "/v1/products", body).await.ok();
        assert_eq!(made["discountPercentage"], answered, "{sent}");
    }
    for wrong in ["100.0001", "-1", "0.00001", "\"ten\""] {
        let mut body = client.product_body();
        body["discountPercentage"] = json!("§");
        let body = body.to_string().replace("\"§\"", wrong);
        let refused = client.send_json("POST", "/v1/products", body).await;
        refused.refused(400, "invalid_parameter", "discountPercentage");
    }
    // A currency without cents takes none and shows none.
    let yen = server
        .client_of(&["--name", "Yen", "--currency", "JPY"])
        .await;
    assert_eq!(
        yen.product(json!({ "price": 129_900 })).await["price"],
        "129900"
    );
    let mut cents = yen.product_body();
    cents["price"] = json!("1.5");
    yen.post("/v1/products", cents)
        .await
        .refused(400, "invalid_parameter", "price");
}
