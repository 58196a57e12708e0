//! Wrong input to every operation that the OpenAPI document has: refused in the one shape, naming the
//! parameter, with nothing written. A new endpoint is covered by being documented.

mod bodies;
mod parameters;
mod requests;
mod sockets;

use lessor_adapters::processor::standard_webhooks::{SharedSecret, sign};
use lessor_processor_double::SIGNATURE_HEADER;
use lessor_tests::client::{Client, Reply};
use lessor_tests::server::{PROCESSOR_SECRET, TRACKING_SECRET};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A server on which nothing happens by itself, with one of everything.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) client: Client,
    product: String,
    variant: String,
    checkout: String,
    customer: String,
    term: String,
}

/// Where messages of an organization's own account are sent to.
const OWN_ACCOUNT: &str = "/webhooks/processor/{organizationId}";
/// What they are signed with.
const OWN_SECRET: &str = "whsec_of_the_own_account";

/// An operation of the document.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: String,
    /// The path with real ids.
    pub(crate) path: String,
    pub(crate) template: String,
    pub(crate) document: Value,
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = Server::start(BINARY, &["--no-worker"]).await;
        let client = server.client().await;
        let product = client
            .product(json!({ "options": [{ "name": "Size", "values": ["S", "M"] }] }))
            .await;
        let variant = client
            .variant_of(
                &product,
                "BIKE",
                json!({ "options": [{ "name": "Size", "value": "M" }] }),
            )
            .await;
        let checkout = client.checkout("BIKE", "grace@example.com").await;
        let terms = client.get("/v1/lease-terms").await.ok();
        set_account(&server, &client);
        Self {
            product: text(&product["id"]),
            variant: text(&variant["id"]),
            customer: text(&checkout["customerId"]),
            checkout: text(&checkout["id"]),
            term: text(&terms[0]["id"]),
            server,
            client,
        }
    }

    /// Good values by the names of members.
    pub(crate) fn hints(&self, template: &str) -> Value {
        let id = if template.contains("product-variants") {
            &self.variant
        } else {
            &self.product
        };
        json!({
            "id": id, "productId": self.product, "productVariantId": self.variant,
            "organizationId": self.client.organization, "ids": [self.variant], "email": "ada@example.com",
            "country": "US", "state": "CA", "zip": "94105", "phone": "+14155550100", "inventoryQuantity": 3,
            "serialNumbers": {}, "timestamp": "2026-01-01T00:00:00Z", "trackingNumber": "1Z999AA10123456784",
            "productCategoryId": 1, "leaseTermId": self.term, "documentId": "doc_0000000000000000000000",
            "sha256": "0".repeat(64), "signedAt": "2026-01-01T00:00:00Z",
            "creditSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "signerSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        })
    }

    /// Members that a request needs beside those that its schema requires.
    pub(crate) fn always(template: &str) -> Value {
        match template {
            "/v1/checkouts" => json!({ "sku": "BIKE" }),
            "/v1/lease-terms" => json!({ "moneyFactor": "0.002" }),
            _ => json!({}),
        }
    }

    /// What stands for the parameters of a path.
    pub(crate) fn fill(&self, template: &str) -> String {
        let id = match template {
            path if path.contains("/checkouts") => &self.checkout,
            path if path.contains("/customers") => &self.customer,
            path if path.contains("/lease-terms") => &self.term,
            path if path.contains("/product-variants") => &self.variant,
            _ => &self.product,
        };
        template
            .replace("{id}", id)
            .replace("{identifier}", &self.variant)
            .replace("{sku}", "BIKE")
            .replace("{organizationId}", &self.client.organization)
            .replace("{file}", "style.css")
    }

    /// Every operation but those of the checkout page, which speaks HTML.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let paths = self.client.contract().document["paths"].as_object();
        let mut operations = Vec::new();
        for (template, item) in paths.into_iter().flatten() {
            for (method, document) in item.as_object().into_iter().flatten() {
                if !template.starts_with("/c/") {
                    operations.push(Operation {
                        method: method.to_uppercase(),
                        path: self.fill(template),
                        template: template.clone(),
                        document: document.clone(),
                    });
                }
            }
        }
        assert!(operations.len() > 30, "the document has every operation");
        operations
    }

    /// Sends a body of an operation, signed where it must be.
    pub(crate) async fn send(&self, operation: &Operation, body: &str) -> Reply {
        let signed = signature(operation, body);
        let mut headers: Vec<(&str, &str)> = vec![("content-type", "application/json")];
        headers.extend(signed.iter().map(|(name, value)| (*name, value.as_str())));
        let body = Some(body.as_bytes().to_vec());
        self.client
            .send(&operation.method, &operation.path, &headers, body)
            .await
    }
}

impl Operation {
    /// The schema of its JSON body.
    pub(crate) fn body(&self) -> Option<&Value> {
        let schema = &self.document["requestBody"]["content"]["application/json"]["schema"];
        (!schema.is_null()).then_some(schema)
    }

    pub(crate) fn parameters(&self, place: &str) -> Vec<&Value> {
        let all = self.document["parameters"].as_array().into_iter().flatten();
        all.filter(|parameter| parameter["in"] == place).collect()
    }
}

fn signature(operation: &Operation, body: &str) -> Vec<(&'static str, String)> {
    match operation.template.as_str() {
        "/webhooks/tracking" | "/webhooks/mail" => signed_headers("msg_1", body),
        "/webhooks/processor" => processor_signature(PROCESSOR_SECRET, body),
        OWN_ACCOUNT => processor_signature(OWN_SECRET, body),
        _ => Vec::new(),
    }
}

/// The header of a message of the processor's.
fn processor_signature(secret: &str, body: &str) -> Vec<(&'static str, String)> {
    let now = lessor_tests::now().timestamp();
    let signature = lessor_processor_double::sign(body.as_bytes(), &[secret], now);
    vec![(SIGNATURE_HEADER, signature)]
}

/// Gives the organization a live account of its own, whose messages are signed with [`OWN_SECRET`].
fn set_account(server: &Server, client: &Client) {
    let folder = lessor_tests::Folder::new("own-account");
    let key = folder.file("key", "sk_live_of_the_tests_1234");
    let secret = folder.file("secret", OWN_SECRET);
    server.cli(&[
        "org",
        "processor",
        "set",
        &client.organization,
        "--mode",
        "live",
        "--key-file",
        &key,
        "--webhook-secret-file",
        &secret,
    ]);
}

/// The headers of a carrier's message.
pub(crate) fn signed_headers(id: &str, body: &str) -> Vec<(&'static str, String)> {
    let now = lessor_tests::now();
    let secrets: Vec<SharedSecret> = TRACKING_SECRET.parse().into_iter().collect();
    let signature = sign(body.as_bytes(), id, &secrets, now);
    vec![
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", now.timestamp().to_string()),
        ("webhook-signature", signature),
    ]
}
