//! The document that is signed, and the record of it.

use lessor_tests::client::{Client, Reply};
use lessor_tests::process::Folder;
use lessor_tests::{Server, text};
use serde_json::Value;

use crate::BINARY;
use crate::page::Browser;

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

fn events(record: &Value) -> Vec<String> {
    let audit = record["audit"].as_array();
    audit
        .into_iter()
        .flatten()
        .map(|entry| text(&entry["event"]))
        .collect()
}

/// Who opens the document on the page is noted, who asks for its head, or by a key, is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_tells_who_opened_the_document() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let checkout = client
        .checkout_at("BIKE", "ada@example.com", "documentsPending")
        .await;
    let id = text(&checkout["id"]);
    let browser = Browser::at(&client, &checkout);
    let path = format!("{}/agreement", browser.path);
    let head = browser.client.send("HEAD", &path, &[], None).await;
    head.has(200);
    document(&client, &id).await.has(200);
    assert_eq!(events(&record(&client, &id).await), ["created"]);
    let agent = [("user-agent", "Reader/7 (test)")];
    let opened = browser.client.send("GET", &path, &agent, None).await;
    opened.has(200);
    assert_eq!(opened.bytes, document(&client, &id).await.bytes);
    let known = record(&client, &id).await;
    assert_eq!(events(&known), ["created", "viewed"]);
    let viewed = &known["audit"][1];
    assert_eq!(viewed["userAgent"], "Reader/7 (test)");
    assert_eq!(viewed["address"], "127.0.0.1");
    assert!(known["audit"][0].get("address").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_document_or_record_is_found_out() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let signed = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let id = text(&signed["id"]);
    let bytes = document(&client, &id).await.bytes;
    let folder = Folder::new("agreements");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = write("good.pdf", &bytes);
    let told = server.cli(&["agreement", "verify", &good]);
    assert_eq!(told["checkoutId"], signed["id"]);
    assert_eq!(told["documentId"], signed["leaseDocumentId"]);
    assert_eq!(told["entries"], 3);
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    for (name, bytes) in [
        ("changed.pdf", changed),
        ("cut.pdf", bytes[..middle].to_vec()),
    ] {
        let (status, said) = server.refused(&["agreement", "verify", &write(name, &bytes)]);
        assert_eq!(status, 1, "{name}: {said}");
    }
    let missing = folder.path().join("none.pdf");
    let missing = missing.to_str().unwrap();
    assert_eq!(server.refused(&["agreement", "verify", missing]).0, 1);
    // Whoever owns the tables can switch off what keeps them, and is found out all the same.
    let rewrite = |change: &str| {
        format!(
            "do $$ begin alter table agreement_events disable trigger user; {change}; \
             alter table agreement_events enable trigger user; end $$"
        )
    };
    let earlier = "update agreement_events set at = at - interval '1 day' where event = 'signed'";
    let later = earlier.replace("at - interval", "at + interval");
    server.query(&rewrite(earlier)).await;
    let (status, said) = server.refused(&["agreement", "verify", &good]);
    assert_eq!(status, 1);
    assert!(said.contains("entry 3"), "{said}");
    server.query(&rewrite(&later)).await;
    server.cli(&["agreement", "verify", &good]);
    let consent = "delete from agreement_events where event = 'consented'";
    server.query(&rewrite(consent)).await;
    let (status, said) = server.refused(&["agreement", "verify", &good]);
    assert_eq!(status, 1);
    assert!(said.contains("entry 2"), "{said}");
}
