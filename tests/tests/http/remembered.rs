//! Reads whose answers are remembered: they are what is read anew, whoever changed what.

use std::sync::Arc;

use lessor_tests::client::{Client, Reply};
use lessor_tests::{Server, refuse, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::lists::copy_the_product;

/// An answer of nobody's memory.
const ANEW: (&str, &str) = ("cache-control", "no-cache");
/// How often everything is asked for until all of it is remembered. A second has to pass after a change was seen.
const LOOKS: u32 = 10_000;

/// A read, and what it carries.
type Read = (String, Option<Value>);

async fn ask(client: &Client, (path, body): &Read, headers: &[(&str, &str)]) -> Reply {
    let Some(body) = body else {
        return client.send("GET", path, headers, None).await;
    };
    let mut headers = headers.to_vec();
    headers.push(("content-type", "application/json"));
    let body = body.to_string().into_bytes();
    client.send("POST", path, &headers, Some(body)).await
}

/// How many answers the server has remembered so far.
async fn hits(client: &Client) -> usize {
    const HITS: &str = "lessor_remembered_reads_total{result=\"hit\"} ";
    let metrics = client.with_key("").get("/metrics").await;
    let metrics = String::from_utf8_lossy(&metrics.bytes).into_owned();
    let counted = metrics.lines().find_map(|line| line.strip_prefix(HITS));
    counted.map_or(0, |hits| hits.parse().unwrap_or_default())
}

/// Asks until each answer is one that the server remembered.
async fn learn(client: &Client, reads: &[Read]) {
    for _ in 0..LOOKS {
        let before = hits(client).await;
        for read in reads {
            ask(client, read, &[]).await.has(200);
        }
        if hits(client).await == before + reads.len() {
            return;
        }
    }
    refuse("not all is remembered");
}

/// Everything of an answer that may be remembered.
fn told(reply: &Reply) -> (u16, [String; 3], String) {
    let headers = ["content-type", "link", "x-total-count"];
    (
        reply.status,
        headers.map(|name| reply.header(name).to_owned()),
        String::from_utf8_lossy(&reply.bytes).into_owned(),
    )
}

/// A shop whose records are changed by one server and read from another.
struct Shop {
    reader: Client,
    writer: Client,
    live: Client,
    product: String,
    variant: String,
    checkout: Value,
    term: String,
}

impl Shop {
    async fn new(reading: &Server, writing: &Server) -> Self {
        let reader = reading.client().await;
        let writer = Client::new(
            writing.url.clone(),
            Arc::clone(writing.contract()),
            reader.organization.clone(),
            reader.organization_number,
            reader.key.clone(),
        );
        let product = writer.product(json!({})).await;
        let stock = json!({ "inventoryQuantity": 9 });
        let variant = writer.variant_of(&product, "BIKE", stock).await;
        let checkout = writer.checkout("BIKE", "grace@example.com").await;
        let terms = writer.get("/v1/lease-terms").await.ok();
        let live = writing.key(&reader.organization, "live", "all");
        reading.cli(&[
            "org",
            "update",
            &reader.organization,
            "--sandbox-writes-catalog",
            "on",
        ]);
        Self {
            live: writer.with_key(&live),
            product: text(&product["id"]),
            variant: text(&variant["id"]),
            term: text(&terms[0]["id"]),
            checkout,
            reader,
            writer,
        }
    }

    fn path(&self, what: &str) -> String {
        match what {
            "product" => format!("/v1/products/{}", self.product),
            "variant" => format!("/v1/product-variants/{}", self.variant),
            "customer" => format!("/v1/customers/{}", text(&self.checkout["customerId"])),
            _ => format!("/v1/checkouts/{}", text(&self.checkout["id"])),
        }
    }

    /// Every read whose answer may be remembered.
    fn reads(&self) -> Vec<Read> {
        let of_product = format!("{}/variants", self.path("product"));
        let of_products = format!("/v1/product-variants/bulk?productIds={}", self.product);
        let paths = [
            self.path("product"),
            self.path("variant"),
            self.path("checkout"),
            self.path("customer"),
            "/v1/product-variants/by-sku/BIKE".to_owned(),
            "/v1/products".to_owned(),
            "/v1/products?sortBy=updatedAt&limit=1".to_owned(),
            of_product,
            of_products,
            "/v1/checkouts".to_owned(),
            "/v1/checkouts?lifecycles=created,orderConfirmed,shipped,leaseActive".to_owned(),
            "/v1/customers".to_owned(),
        ];
        let mut reads: Vec<Read> = paths.into_iter().map(|path| (path, None)).collect();
        reads.push((
            "/v1/product-variants/bulk/fetch".to_owned(),
            Some(json!({ "ids": [self.variant] })),
        ));
        reads
    }

    /// Changes something by the other server.
    async fn change(&self, what: &str, server: &Server) {
        let Self {
            writer, checkout, ..
        } = self;
        match what {
            "a product" => {
                let body = json!({ "name": "Gravel bike" });
                writer.put(&self.path("product"), body).await.ok();
            }
            "a variant" => {
                let body = json!({ "price": "1499.00" });
                writer.put(&self.path("variant"), body).await.ok();
            }
            "the stock of the other mode" => {
                let body = json!({ "inventoryQuantity": 4 });
                self.live.put(&self.path("variant"), body).await.ok();
            }
            "a lease term" => {
                let path = format!("/v1/lease-terms/{}", self.term);
                writer
                    .put(&path, json!({ "depositPercentage": 7 }))
                    .await
                    .ok();
            }
            "a new lease term" => {
                let body = json!({ "termInMonths": 47, "method": "annualRate", "annualRate": 6 });
                writer.post("/v1/lease-terms", body).await.ok();
            }
            "the organization" => {
                let organization = &self.reader.organization;
                server.cli(&["org", "update", organization, "--discount", "7.5"]);
            }
            "its partner" => {
                let organization = &self.reader.organization;
                server.cli(&["org", "update", organization, "--offtake-partner", "77"]);
            }
            "a customer" => {
                let body = json!({ "firstName": "Grace", "metadata": { "tier": "gold" } });
                writer.put(&self.path("customer"), body).await.ok();
            }
            "a key and its user" => {
                let organization = &self.reader.organization;
                let of = ["key", "create", "--org", organization, "--mode", "sandbox"];
                let its = ["--permissions", "all", "--user", "ada@example.com"];
                server.cli(&[&of[..], &its[..]].concat());
            }
            "a checkout" => {
                let body = json!({ "metadata": { "line": "gravel" } });
                writer.put(&self.path("checkout"), body).await.ok();
            }
            "its link" => {
                writer.act(checkout, "link", json!({})).await.ok();
            }
            "a new checkout" => {
                writer.checkout("BIKE", "ada@example.com").await;
            }
            "its shipment" => {
                let body = json!({ "trackingNumber": "1Z999AA10123456784" });
                writer.act(checkout, "fulfill", body).await.ok();
            }
            "a new product" => {
                let product = writer.product(json!({ "name": "Touring bike" })).await;
                writer.variant_of(&product, "TOUR", json!({})).await;
            }
            "an erased customer" => {
                let path = format!("{}/erase", self.path("customer"));
                writer.post(&path, json!({})).await.ok();
            }
            "a product that is gone" => {
                writer.delete(&self.path("product")).await.ok();
            }
            state => {
                writer.advance(checkout, state).await.ok();
            }
        }
    }
}

const CHANGES: [&str; 18] = [
    "a product",
    "a variant",
    "a new product",
    "the stock of the other mode",
    "a lease term",
    "a new lease term",
    "the organization",
    "its partner",
    "a customer",
    "a key and its user",
    "a checkout",
    "its link",
    "a new checkout",
    "orderConfirmed",
    "its shipment",
    "leaseActive",
    "an erased customer",
    "a product that is gone",
];

/// Also where another server made the change, and at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_is_what_is_read_anew() {
    let reading = Server::start(BINARY, &["--no-worker"]).await;
    let writing = reading.beside(&["--no-worker"]).await;
    let shop = Shop::new(&reading, &writing).await;
    let reads = shop.reads();
    for what in CHANGES {
        learn(&shop.reader, &reads).await;
        let mut before = Vec::new();
        for read in &reads {
            before.push(told(&ask(&shop.reader, read, &[]).await));
        }
        shop.change(what, &writing).await;
        let mut differs = false;
        for (read, before) in reads.iter().zip(&before) {
            let first = told(&ask(&shop.reader, read, &[]).await);
            let anew = told(&ask(&shop.reader, read, &[ANEW]).await);
            assert_eq!(first, anew, "{what}: {read:?}");
            differs |= first != *before;
        }
        assert!(differs, "{what}: nothing shows that it changed");
    }
    drop(writing);
}

/// Where an organization's records change all the time, those that do not are remembered.
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_has_nothing_else_forgotten() {
    let reading = Server::start(BINARY, &["--no-worker"]).await;
    let writing = reading.beside(&["--no-worker"]).await;
    let shop = Shop::new(&reading, &writing).await;
    let other = shop.writer.product(json!({ "name": "City bike" })).await;
    shop.writer.variant_of(&other, "CITY", json!({})).await;
    shop.writer
        .advance(&shop.checkout, "orderConfirmed")
        .await
        .ok();
    let [product, variant, customer, checkout] =
        ["product", "variant", "customer", "checkout"].map(|what| (shop.path(what), None));
    let list = ("/v1/products?limit=1".to_owned(), None);
    let all = [&product, &variant, &customer, &checkout, &list];
    let reads = all.map(Read::clone);
    for (what, still) in [
        ("a new checkout", &all[..]),
        ("a customer", &[&product, &variant, &list]),
        ("a checkout", &[&product, &variant, &customer, &list]),
        ("a lease term", &all),
        ("a variant", &[&product, &customer, &checkout, &list]),
        ("a product", &[&customer, &checkout]),
        ("a new product", &[&product, &variant, &customer, &checkout]),
    ] {
        learn(&shop.reader, &reads).await;
        let before = hits(&shop.reader).await;
        if what == "a new checkout" {
            shop.writer.checkout("CITY", "ada@example.com").await;
        } else {
            shop.change(what, &writing).await;
        }
        for (number, read) in still.iter().enumerate() {
            ask(&shop.reader, read, &[]).await.has(200);
            let known = hits(&shop.reader).await - before;
            assert_eq!(known, number + 1, "{what}: {read:?}");
        }
    }
    drop(writing);
}

/// Of more than 10,000 products the total is told for a while: so long the list is remembered, as long as it is the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_whose_total_is_told_is_remembered_until_it_changes() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.product(json!({})).await;
    copy_the_product(&server).await;
    let list = ("/v1/products?limit=1".to_owned(), None);
    learn(&client, std::slice::from_ref(&list)).await;
    let made = client.product(json!({})).await;
    let page = ask(&client, &list, &[]).await;
    assert_eq!(page.ok()["results"][0]["id"], made["id"]);
}
