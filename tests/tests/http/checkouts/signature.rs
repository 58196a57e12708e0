//! Leases that are signed with the organization's own signer.

use lessor_domain::agreement::Sha256;
use lessor_tests::client::Client;
use lessor_tests::receiver::{Answer, Received, Receiver};
use lessor_tests::shop::merged;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::page::{Browser, until};

/// A server that asks systems on this machine.
async fn server() -> Server {
    Server::start(BINARY, &["--allow-loopback-targets"]).await
}

/// A client of an organization that has its leases signed there, and what requests are signed with.
async fn signed_at(server: &Server, receiver: &Receiver) -> (Client, String) {
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let set = json!({ "signer": "http", "signerUrl": receiver.url });
    let set = client.put("/v1/organization", set).await.ok();
    assert_eq!(
        (&set["signer"], &set["signerUrl"]),
        (&json!("http"), &json!(receiver.url))
    );
    let secret = text(&set["signerSecret"]);
    assert!(secret.starts_with("whsec_"), "{set}");
    (client, secret)
}

async fn record(client: &Client, checkout: &Value) -> Value {
    let path = format!("/v1/checkouts/{}/agreement", text(&checkout["id"]));
    let headers = [("accept", "application/json")];
    client.send("GET", &path, &headers, None).await.ok()
}

/// What the signer tells that was sent this.
fn signature(record: &Value) -> Value {
    json!({
        "documentId": record["documentId"], "sha256": record["sha256"], "signerName": "Grace Hopper",
        "signedAt": lessor_tests::now().to_rfc3339(), "reference": "envelope 7"
    })
}

/// How often what waits is made due.
const TRIES: usize = 500;

fn taken() -> [Answer; 1] {
    [Answer::Raw(204, "", "")]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_goes_out_and_the_signature_comes_back() {
    let server = server().await;
    let receiver = Receiver::start(taken()).await;
    let (client, secret) = signed_at(&server, &receiver).await;
    let checkout = client
        .checkout_at("BIKE", "grace@example.com", "documentsPending")
        .await;
    let asked: Received = receiver.next().await;
    assert!(asked.is_signed_with(&secret), "{asked:?}");
    assert!(!asked.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    assert_eq!(asked.header("content-type"), "application/json");
    let known = record(&client, &checkout).await;
    let body = asked.json();
    assert_eq!(
        (
            &body["type"],
            &body["checkoutId"],
            &body["documentId"],
            &body["sha256"],
            &body["signer"]["email"]
        ),
        (
            &json!("signature.requested"),
            &checkout["id"],
            &checkout["leaseDocumentId"],
            &known["sha256"],
            &json!("grace@example.com")
        )
    );
    assert!(!text(&body["signer"]["name"]).is_empty());
    let path = format!("/v1/checkouts/{}/agreement", text(&checkout["id"]));
    let pdf = client.get(&path).await.bytes;
    let hash = Sha256::of(&pdf).to_string();
    assert_eq!(body["sha256"], hash);
    assert_eq!(
        (known["signer"].as_str(), known.get("signedAt")),
        (Some("http"), None)
    );

    // The page has nothing to sign, and takes no signature.
    let browser = Browser::at(&client, &checkout);
    let page = browser.look().await;
    assert!(
        page.contains("signing service") && page.contains("Look again"),
        "{page}"
    );
    assert!(page.contains(&hash) && !page.contains("/sign\""), "{page}");
    let fields = [("consent", "yes"), ("name", "Grace Hopper")];
    let refused = browser.send("sign", &fields).await;
    assert_eq!(refused.status, 400);
    assert!(String::from_utf8_lossy(&refused.bytes).contains("signed elsewhere"));

    let told = signature(&known);
    for (member, wrong) in [
        ("documentId", json!("doc_0000000000000000000000")),
        ("sha256", json!("0".repeat(64))),
    ] {
        let wrong = merged(told.clone(), json!({ member: wrong }));
        let refused = client.act(&checkout, "signature", wrong).await;
        let message = refused.refused(400, "invalid_request", "");
        assert!(message.contains(member), "{message}");
    }
    let tomorrow = lessor_tests::now() + chrono::TimeDelta::days(1);
    for wrong in ["2020-01-01T00:00:00Z", &tomorrow.to_rfc3339()] {
        let wrong = merged(told.clone(), json!({ "signedAt": wrong }));
        let refused = client.act(&checkout, "signature", wrong).await;
        refused.refused(400, "invalid_parameter", "signedAt");
    }
    for missing in ["documentId", "sha256", "signerName", "signedAt"] {
        let wrong = merged(told.clone(), json!({ missing: null }));
        let refused = client.act(&checkout, "signature", wrong).await;
        refused.refused(400, "parameter_missing", missing);
    }
    let weak = server.key(
        &client.organization,
        "sandbox",
        "CheckoutRead,CheckoutWrite",
    );
    let refused = client.with_key(&weak);
    let refused = refused.act(&checkout, "signature", told.clone()).await;
    refused.refused_with(403, "forbidden", "", &["CheckoutSign"]);

    let signed = client.act(&checkout, "signature", told.clone()).await;
    signed.has(200);
    let confirmed = until(&client, &checkout, "orderConfirmed").await;
    let again = client.act(&checkout, "signature", told.clone()).await.ok();
    assert_eq!(again, confirmed, "the same again changes nothing");
    let other = merged(told.clone(), json!({ "signerName": "Mallory" }));
    let refused = client.act(&checkout, "signature", other).await;
    refused.refused(400, "invalid_request", "");
    let known = record(&client, &checkout).await;
    assert_eq!(
        (&known["signerName"], &known["reference"]),
        (&told["signerName"], &told["reference"])
    );
    let events: Vec<String> = known["audit"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| text(&entry["event"]))
        .collect();
    assert_eq!(events, ["created", "signed"]);
    assert_eq!(known["audit"][1]["at"], known["signedAt"]);
    assert!(receiver.left().await.is_empty(), "asked once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_for_documents_that_wait_for_one() {
    let server = server().await;
    let receiver = Receiver::start(taken()).await;
    let (client, _) = signed_at(&server, &receiver).await;
    let early = client
        .checkout_at("BIKE", "grace@example.com", "depositPending")
        .await;
    let any = json!({ "documentId": "doc_0000000000000000000000", "sha256": "0".repeat(64) });
    let told = signature(&any);
    let refused = client.act(&early, "signature", told).await;
    let message = refused.refused(400, "invalid_request", "");
    assert!(message.contains("depositPending"), "{message}");

    // What was made for the page is signed there.
    let on_page = json!({ "signer": "builtin" });
    let set = client.put("/v1/organization", on_page).await.ok();
    assert!(set.get("signerUrl").is_none(), "{set}");
    let checkout = client
        .checkout_at("BIKE", "ada@example.com", "documentsPending")
        .await;
    let known = record(&client, &checkout).await;
    let refused = client.act(&checkout, "signature", signature(&known)).await;
    let message = refused.refused(400, "invalid_request", "");
    assert!(message.contains("page"), "{message}");
    let page = Browser::at(&client, &checkout).look().await;
    assert!(page.contains("/sign\""), "{page}");
    assert!(receiver.left().await.is_empty());
}

/// A signer that is not there is asked by the same id again, and the sandbox does not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_signer_in_doubt_is_asked_by_the_same_id_again() {
    let server = server().await;
    let receiver = Receiver::start([
        Answer::Raw(500, "", "down"),
        Answer::Raw(307, "location: /elsewhere\r\n", ""),
        Answer::Raw(202, "", ""),
    ])
    .await;
    let (client, _) = signed_at(&server, &receiver).await;
    let checkout = client
        .checkout_at("BIKE", "grace@example.com", "documentsPending")
        .await;
    let first = receiver.next().await;
    for _ in 0..2 {
        let again = asked_again(&server, &receiver).await.unwrap();
        assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    }
    let played = client.advance(&checkout, "orderConfirmed").await.ok();
    assert_eq!(played["lifecycle"], "orderConfirmed");
}

/// What it is sent once what waits is due: `jobs retry` finds a job that is at work again later.
async fn asked_again(server: &Server, receiver: &Receiver) -> Option<Received> {
    for _ in 0..TRIES {
        server.cli(&["jobs", "retry"]);
        let received = receiver.left().await.pop();
        if received.is_some() {
            return received;
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signer_is_set_by_the_operator_alike() {
    let server = server().await;
    let client = server.client().await;
    let organization = client.organization.as_str();
    let update = ["org", "update", organization];
    let set = |flags: &[&str]| server.cli(&[&update[..], flags].concat());
    let url = "https://sign.example.com/leases";
    let made = set(&["--mode", "sandbox", "--signer", "http", "--signer-url", url]);
    assert_eq!(
        (&made["signer"], &made["signerUrl"], &made["mode"]),
        (&json!("http"), &json!(url), &json!("sandbox"))
    );
    let first = text(&made["signerSecret"]);
    let again = set(&["--mode", "sandbox", "--signer", "http"]);
    assert_ne!(text(&again["signerSecret"]), first, "another secret");
    assert_eq!(again["signerUrl"], url, "the URL stays");
    let read = client.get("/v1/organization").await.ok();
    assert_eq!(
        (&read["signer"], &read["signerUrl"]),
        (&json!("http"), &json!(url))
    );
    assert!(read.get("signerSecret").is_none(), "shown once");
    let live = client.with_key(&server.key(organization, "live", "all"));
    let live = live.get("/v1/organization").await.ok();
    assert_eq!(
        (&live["signer"], &live["credit"]),
        (&json!("builtin"), &json!("manual"))
    );
    for flags in [
        &["--signer", "http"][..],
        &["--mode", "live", "--signer", "http"],
        &["--mode", "live", "--signer", "builtin", "--signer-url", url],
        &[
            "--mode",
            "live",
            "--signer",
            "http",
            "--signer-url",
            "http://x.example/",
        ],
        &["--mode", "live", "--signer", "paper"],
    ] {
        let (status, _) = server.refused(&[&update[..], flags].concat());
        assert!(status == 1 || status == 2, "{flags:?}");
    }
    let sealed = "SELECT count(*)::text FROM signers WHERE position('whsec_' in encode(sealed_secret, 'escape')) = 0";
    assert_eq!(server.query(sealed).await, ["1"]);
    let told = "SELECT count(*)::text FROM audit_events WHERE action = 'organization.signer_set'";
    assert_eq!(server.query(told).await, ["2"]);
    let leaked = format!(
        "SELECT count(*)::text FROM audit_events a WHERE to_jsonb(a)::text LIKE '%{}%'",
        first
            .trim_start_matches("whsec_")
            .get(..20)
            .unwrap_or_default()
    );
    assert_eq!(server.query(&leaked).await, ["0"]);
}
