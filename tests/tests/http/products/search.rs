//! Products by a part of their texts.

use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn products_are_found_by_name_sku_external_id_and_the_skus_of_variants() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let bike = client
        .product(json!({ "name": "Rennrad Ärmel 50%", "sku": "RR_01" }))
        .await;
    let helmet = client
        .product(json!({ "name": "Helm", "externalId": "gid://Shop/7\\x" }))
        .await;
    let plain = client.product(json!({ "name": "Trailer" })).await;
    client.variant_of(&plain, "TR-äöü", json!({})).await;
    let other = server.client().await;
    other.product(json!({ "name": "Rennrad" })).await;
    for (q, expected) in [
        ("RENN", vec![&bike]),
        ("%20%C3%84rMEL%20", vec![&bike]),
        ("%25", vec![&bike]),
        ("_", vec![&bike]),
        ("r_01", vec![&bike]),
        ("rr%2501", vec![]),
        ("%5C", vec![&helmet]),
        ("GID://shop", vec![&helmet]),
        ("tr-%C3%84%C3%96", vec![&plain]),
        ("nobody", vec![]),
    ] {
        let found = client.get(&format!("/v1/products?q={q}")).await.ok();
        let results = found["results"].as_array().into_iter().flatten();
        let ids: Vec<String> = results.map(|record| text(&record["id"])).collect();
        let expected: Vec<String> = expected.iter().map(|it| text(&it["id"])).collect();
        assert_eq!(ids, expected, "{q}");
        assert_eq!(found["total"], json!(expected.len()), "{q}");
    }
    let long = "x".repeat(101);
    for wrong in ["", "%20", "a%0Ab", "a%E2%80%AEb", &long] {
        let refused = client.get(&format!("/v1/products?q={wrong}")).await;
        refused.refused(400, "invalid_parameter", "q");
    }
}
