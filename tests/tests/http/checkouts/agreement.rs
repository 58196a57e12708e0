//! The document that is signed, and the record of it.

use lessor_tests::Server;
use lessor_tests::client::{Client, Reply};
use serde_json::Value;

use crate::BINARY;

async fn document(client: &Client, id: &str) -> Reply {
    client.get(&format!("/v1/checkouts/{id}/agreement")).await
}

async fn record(client: &Client, id: &str) -> Value {
    let path = format!("/v1/checkouts/{id}/agreement");
    let headers = [("accept", "application/json")];
    client.send("GET", &path, &headers, None).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agreement_is_there_from_documents_pending_on_and_stays_the_same() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let early = client
        .checkout_at("BIKE", "ada@example.com", "depositPending")
        .await;
    let id = early["id"].as_str().unwrap();
    let refused = document(&client, id).await;
    assert_eq!(
        refused.status,
        400,
        "{}",
        String::from_utf8_lossy(&refused.bytes)
    );

    let signed = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let id = signed["id"].as_str().unwrap();
    let first = document(&client, id).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("content-type"), "application/pdf");
    assert!(first.bytes.starts_with(b"%PDF-"));
    assert_eq!(document(&client, id).await.bytes, first.bytes);

    let record = record(&client, id).await;
    assert_eq!(record["documentId"], signed["leaseDocumentId"]);
    let hash = record["sha256"].as_str().unwrap();
    assert_eq!(first.header("etag"), format!("\"{hash}\""));
    assert_eq!(
        lessor_domain::agreement::Sha256::of(&first.bytes).to_string(),
        hash
    );
    assert!(record["signedAt"].is_string() && record["signerName"].is_string());
    let events: Vec<&str> = record["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["created", "consented", "signed"]);
}
