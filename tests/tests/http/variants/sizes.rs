//! Answers that would be too large: shorter pages, and refusals that say what to ask for.

use futures::StreamExt as _;
use futures::stream;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// More than an answer has room for: each is over 130 KB.
const MANY: usize = 66;
const LARGEST: usize = 8 * 1024 * 1024;

fn ids(records: &Value) -> Vec<String> {
    let records = records.as_array().into_iter().flatten();
    records.map(|record| text(&record["id"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn large_variants_come_in_shorter_pages() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let image = format!("https://example.com/{}", "i".repeat(2_000));
    let large =
        json!({ "description": "\u{1f6b2}".repeat(10_000), "productImages": vec![image; 50] });
    let (client_ref, product_ref, large_ref) = (&client, &product, &large);
    let made: Vec<String> = stream::iter(0..MANY)
        .map(|number| async move {
            let mut members = large_ref.clone();
            members["productYear"] = json!(1950 + number);
            let sku = format!("LARGE-{number}");
            text(&client_ref.variant_of(product_ref, &sku, members).await["id"])
        })
        .buffered(4)
        .collect()
        .await;

    let mut read: Vec<String> = Vec::new();
    let mut next = Some(format!("/v1/products/{}/variants", text(&product["id"])));
    let mut pages = 0;
    while let Some(path) = next {
        let page = client.get(&path).await;
        assert!(page.bytes.len() <= LARGEST, "{}", page.bytes.len());
        next = page
            .next_page()
            .map(|address| address.replacen(&client.url, "", 1));
        read.extend(ids(&page.ok()));
        pages += 1;
    }
    assert!(pages > 1, "{pages}");
    read.sort_unstable();
    let mut expected = made.clone();
    expected.sort_unstable();
    assert_eq!(read, expected, "each once");

    let of_product = format!(
        "/v1/product-variants/bulk?productIds={}",
        text(&product["id"])
    );
    client.get(&of_product).await.refused_with(
        400,
        "invalid_parameter",
        "productIds",
        &["8 MiB", "fewer products", "page through"],
    );
    let fetch = "/v1/product-variants/bulk/fetch";
    client
        .post(fetch, json!({ "ids": made }))
        .await
        .refused_with(
            400,
            "invalid_parameter",
            "ids",
            &["8 MiB", "fewer variants"],
        );
    let some = client.post(fetch, json!({ "ids": made[..10] })).await.ok();
    assert_eq!(ids(&some["results"]), made[..10]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_is_read_anew_under_any_key() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("FETCHED", None).await;
    let body = json!({ "ids": [variant] });
    let path = "/v1/product-variants/bulk/fetch";
    client.post_once(path, "fetch-1", &body).await.ok();
    let change = json!({ "name": "Renamed" });
    client
        .put(&format!("/v1/product-variants/{variant}"), change)
        .await
        .ok();
    let again = client.post_once(path, "fetch-1", &body).await;
    assert!(again.header("idempotent-replayed").is_empty());
    assert_eq!(again.ok()["results"][0]["name"], "Renamed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_25th_active_term_is_refused() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let term = |months: usize| {
        json!({
            "productId": product["id"], "termInMonths": months, "method": "moneyFactor",
            "moneyFactor": "0.001"
        })
    };
    for months in 1..=24 {
        client.post("/v1/lease-terms", term(months)).await.ok();
    }
    let refused = client.post("/v1/lease-terms", term(25)).await;
    refused.refused_with(400, "invalid_request", "", &["24", "inactive"]);
    let mut inactive = term(25);
    inactive["status"] = json!("inactive");
    client.post("/v1/lease-terms", inactive).await.ok();
}
