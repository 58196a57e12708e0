//! Reads and updates of many variants.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

fn ids(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|one| text(&one["id"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_reads_keep_the_order_and_leave_out_what_is_not_there() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let mut products = Vec::new();
    let mut variants = Vec::new();
    for number in 0..4 {
        let product = client.product(json!({})).await;
        let variant = client
            .variant_of(&product, &format!("SKU-{number}"), json!({}))
            .await;
        products.push(text(&product["id"]));
        variants.push(text(&variant["id"]));
    }
    let gone = format!("/v1/product-variants/{}", variants[3]);
    client
        .put(&gone, json!({ "status": "archived" }))
        .await
        .ok();
    let asked = format!(
        "{},{},prod_0000000000000000000001,{},{}",
        products[2], products[0], products[2], products[3]
    );
    let read = client
        .get(&format!("/v1/product-variants/bulk?productIds={asked}"))
        .await
        .ok();
    assert_eq!(ids(&read), [variants[2].clone(), variants[0].clone()]);
    let repeated = format!(
        "/v1/product-variants/bulk?productIds={}&productIds={}",
        products[1], products[0]
    );
    assert_eq!(
        ids(&client.get(&repeated).await.ok()),
        [variants[1].clone(), variants[0].clone()]
    );
    let unknown = "pvar_0000000000000000000001";
    let fetch = json!({ "ids": [variants[2], unknown, variants[0], variants[2], variants[3]] });
    let fetched = client
        .post("/v1/product-variants/bulk/fetch", fetch)
        .await
        .ok();
    assert_eq!(
        ids(&fetched["results"]),
        [
            variants[2].clone(),
            variants[0].clone(),
            variants[3].clone()
        ],
        "archived ones too: they are named by id"
    );
    let missing: Vec<String> = fetched["notFound"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    assert!(missing.contains(&unknown.to_owned()), "{missing:?}");
    let many: Vec<String> = vec![variants[0].clone(); 100];
    client
        .post("/v1/product-variants/bulk/fetch", json!({ "ids": many }))
        .await
        .ok();
    let more: Vec<String> = vec![variants[0].clone(); 101];
    let refused = client
        .post("/v1/product-variants/bulk/fetch", json!({ "ids": more }))
        .await;
    refused.refused(400, "invalid_parameter", "ids");
    let of_another_kind = json!({ "ids": [products[0]] });
    let refused = client
        .post("/v1/product-variants/bulk/fetch", of_another_kind)
        .await;
    refused.refused(400, "invalid_parameter", "ids[0]");
    let refused = client
        .get(&format!(
            "/v1/product-variants/bulk?productIds={}",
            variants[0]
        ))
        .await;
    refused.refused(400, "invalid_parameter", "productIds");
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_updates_stand_each_for_itself() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let a = client.variant("A", Some(1)).await;
    let b = client.variant("B", Some(1)).await;
    let updates = json!({ "updates": [
        { "id": a, "inventoryQuantity": 10 },
        { "id": b, "sku": "A" },
        { "id": b, "inventoryQuantity": -2 },
        { "id": b, "inventoryQuantity": null, "discountPercentage": "2.5" },
        { "id": "nonsense" },
    ] });
    let done = client.put("/v1/product-variants/bulk", updates).await.ok();
    assert_eq!(
        (&done["succeeded"], &done["failed"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(ids(&done["results"]), [a.clone(), b.clone()]);
    assert_eq!(done["results"][0]["inventoryQuantity"], 10);
    assert_eq!(done["results"][1]["discountPercentage"], "2.5");
    let told: Vec<_> = done["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| {
            (
                error["index"].as_u64().unwrap_or_default(),
                text(&error["param"]),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (1, "sku".to_owned()),
            (2, "inventoryQuantity".to_owned()),
            (4, String::new())
        ]
    );
}
