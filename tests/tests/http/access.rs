//! Who may do what: keys, permissions, organizations, modes, and the order of refusals.

mod matrix;

use lessor_tests::client::{Client, Reply};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A request, and the permission that it takes.
pub(crate) type Asked = (&'static str, String, Option<Value>, &'static str);

/// An organization with one of everything.
pub(crate) struct Shop {
    pub(crate) client: Client,
    pub(crate) product: String,
    variant: String,
    pub(crate) checkout: String,
    customer: String,
    term: String,
    /// That the checkout was made.
    event: String,
    /// That is told of payments.
    endpoint: String,
    /// What tells its names from those of other shops of its organization.
    tag: String,
    /// The months of its term. One month more is offered by nobody yet.
    months: u16,
}

impl Shop {
    pub(crate) async fn new(server: &Server) -> Self {
        let client = server.client().await;
        Self::furnished(&client.clone(), client, "", 48).await
    }

    /// A shop whose catalog is written with one key, and whose checkout and customer come with another.
    async fn furnished(writer: &Client, client: Client, tag: &str, months: u16) -> Self {
        let product = writer.product(json!({})).await;
        let sku = format!("BIKE{tag}");
        let external_id = json!({ "externalId": format!("E-1{tag}") });
        let variant = writer.variant_of(&product, &sku, external_id).await;
        let term = json!({ "termInMonths": months, "method": "annualRate", "annualRate": 6 });
        let term = writer.post("/v1/lease-terms", term).await.ok();
        let checkout = client.checkout(&sku, "grace@example.com").await;
        let made = format!("/v1/events?limit=1&subject={}", text(&checkout["id"]));
        let events = client.get(&made).await.ok();
        let endpoint = json!({ "url": "https://hooks.example.com/", "types": ["payment.*"] });
        let endpoint = client.post("/v1/webhook-endpoints", endpoint).await.ok();
        Self {
            endpoint: text(&endpoint["id"]),
            event: text(&events[0]["id"]),
            product: text(&product["id"]),
            variant: text(&variant["id"]),
            customer: text(&checkout["customerId"]),
            checkout: text(&checkout["id"]),
            term: text(&term["id"]),
            tag: tag.to_owned(),
            months,
            client,
        }
    }

    /// Each operation with the permission that it takes. Requests that name an object stand with
    /// that of this shop; what they send can be read.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        let Self {
            product,
            variant,
            checkout,
            customer,
            term,
            event,
            endpoint,
            client,
            tag,
            months,
        } = self;
        let endpoint_path = |rest: &str| format!("/v1/webhook-endpoints/{endpoint}{rest}");
        let new_variant = json!({
            "productId": product, "name": "n", "description": "d", "price": "1", "sku": format!("NEW{tag}"),
            "options": [], "productImages": [], "productYear": 1999
        });
        let checkout_path = |action: &str| format!("/v1/checkouts/{checkout}{action}");
        let sandbox = |action: &str| format!("/v1/sandbox/checkouts/{checkout}/{action}");
        let variant_path = |rest: &str| format!("/v1/product-variants/{variant}{rest}");
        vec![
            (
                "POST",
                "/v1/products".into(),
                Some(client.product_body()),
                "ProductWrite",
            ),
            ("GET", "/v1/products".into(), None, "ProductRead"),
            (
                "GET",
                format!("/v1/products/{product}"),
                None,
                "ProductRead",
            ),
            (
                "PUT",
                format!("/v1/products/{product}"),
                Some(json!({ "name": "x" })),
                "ProductWrite",
            ),
            (
                "PUT",
                "/v1/products/bulk".into(),
                Some(json!({ "updates": [{ "id": product }] })),
                "ProductWrite",
            ),
            (
                "GET",
                format!("/v1/products/{product}/variants"),
                None,
                "ProductVariantRead",
            ),
            (
                "POST",
                format!("/v1/products/{product}/variants/generate"),
                Some(json!({ "sku": format!("GENERATED{tag}") })),
                "ProductVariantWrite",
            ),
            (
                "POST",
                "/v1/product-variants".into(),
                Some(new_variant),
                "ProductVariantWrite",
            ),
            ("GET", variant_path(""), None, "ProductVariantRead"),
            (
                "PUT",
                variant_path(""),
                Some(json!({ "name": "x" })),
                "ProductVariantWrite",
            ),
            (
                "PUT",
                "/v1/product-variants/bulk".into(),
                Some(json!({ "updates": [{ "id": variant }] })),
                "ProductVariantWrite",
            ),
            (
                "GET",
                format!("/v1/product-variants/by-sku/BIKE{tag}"),
                None,
                "ProductVariantRead",
            ),
            (
                "GET",
                format!("/v1/product-variants/bulk?productIds={product}"),
                None,
                "ProductVariantRead",
            ),
            (
                "POST",
                "/v1/product-variants/bulk/fetch".into(),
                Some(json!({ "ids": [variant] })),
                "ProductVariantRead",
            ),
            (
                "GET",
                variant_path("/pricing-summary"),
                None,
                "ProductVariantRead",
            ),
            ("GET", variant_path("/lowest"), None, "ProductVariantRead"),
            (
                "GET",
                format!("/v1/product-variants/BIKE{tag}/pricing-summary"),
                None,
                "ProductVariantRead",
            ),
            (
                "GET",
                format!("/v1/product-variants/E-1{tag}/lowest"),
                None,
                "ProductVariantRead",
            ),
            (
                "POST",
                "/v1/checkouts".into(),
                Some(json!({ "productVariantId": variant })),
                "CheckoutWrite",
            ),
            (
                "POST",
                "/v1/checkouts".into(),
                Some(
                    json!({ "productVariantId": variant, "customer": { "email": "a@example.com" } }),
                ),
                "CheckoutCreateWithCustomer",
            ),
            ("GET", "/v1/checkouts".into(), None, "CheckoutRead"),
            ("GET", checkout_path(""), None, "CheckoutRead"),
            ("GET", checkout_path("/tracking"), None, "CheckoutRead"),
            ("GET", checkout_path("/agreement"), None, "CheckoutRead"),
            (
                "PUT",
                checkout_path(""),
                Some(json!({ "leaseTermId": term })),
                "CheckoutWrite",
            ),
            (
                "POST",
                checkout_path("/fulfill"),
                Some(json!({})),
                "CheckoutFulfill",
            ),
            (
                "POST",
                checkout_path("/payments/retry"),
                Some(json!({})),
                "CheckoutWrite",
            ),
            (
                "POST",
                checkout_path("/link"),
                Some(json!({})),
                "CheckoutWrite",
            ),
            (
                "POST",
                checkout_path("/qualification"),
                Some(json!({ "decision": "approved" })),
                "CheckoutQualify",
            ),
            (
                "POST",
                checkout_path("/signature"),
                Some(json!({
                    "documentId": "doc_0000000000000000000000", "sha256": "0".repeat(64),
                    "signerName": "Grace Hopper", "signedAt": "2026-11-20T09:14:00Z"
                })),
                "CheckoutSign",
            ),
            (
                "POST",
                checkout_path("/tracking"),
                Some(json!({ "trackingNumber": "1Z999AA10123456784" })),
                "CheckoutFulfill",
            ),
            (
                "POST",
                sandbox("advance"),
                Some(json!({ "to": "orderConfirmed" })),
                "CheckoutWrite",
            ),
            (
                "POST",
                sandbox("tracking-event"),
                Some(json!({ "status": "delivered" })),
                "CheckoutWrite",
            ),
            ("GET", "/v1/customers".into(), None, "CustomerRead"),
            (
                "GET",
                format!("/v1/customers/{customer}"),
                None,
                "CustomerRead",
            ),
            (
                "PUT",
                format!("/v1/customers/{customer}"),
                Some(json!({ "city": "Berlin" })),
                "CustomerWrite",
            ),
            (
                "GET",
                format!("/v1/customers/{customer}/export"),
                None,
                "CustomerErase",
            ),
            ("GET", "/v1/audit".into(), None, "AuditRead"),
            ("GET", "/v1/events".into(), None, "EventRead"),
            ("GET", format!("/v1/events/{event}"), None, "EventRead"),
            (
                "POST",
                format!("/v1/events/{event}/redeliver"),
                Some(json!({})),
                "WebhookWrite",
            ),
            (
                "POST",
                "/v1/webhook-endpoints".into(),
                Some(json!({ "url": "https://hooks.example.com/" })),
                "WebhookWrite",
            ),
            ("GET", "/v1/webhook-endpoints".into(), None, "EventRead"),
            ("GET", endpoint_path(""), None, "EventRead"),
            ("GET", endpoint_path("/deliveries"), None, "EventRead"),
            (
                "PUT",
                endpoint_path(""),
                Some(json!({ "types": ["payment.*"] })),
                "WebhookWrite",
            ),
            (
                "POST",
                endpoint_path("/roll"),
                Some(json!({})),
                "WebhookWrite",
            ),
            (
                "POST",
                endpoint_path("/test"),
                Some(json!({})),
                "WebhookWrite",
            ),
            (
                "POST",
                endpoint_path("/replay"),
                Some(json!({ "from": "2026-01-01T00:00:00Z" })),
                "WebhookWrite",
            ),
            ("DELETE", endpoint_path(""), None, "WebhookWrite"),
            ("GET", "/v1/checkouts/summary".into(), None, "CheckoutRead"),
            ("GET", "/v1/organization".into(), None, "OrganizationRead"),
            (
                "PUT",
                "/v1/organization".into(),
                Some(json!({ "displayName": format!("Bikes{tag}") })),
                "OrganizationWrite",
            ),
            ("GET", "/v1/lease-terms".into(), None, "LeaseTermRead"),
            (
                "POST",
                "/v1/lease-terms".into(),
                Some(
                    json!({ "termInMonths": months + 1, "method": "annualRate", "annualRate": 6 }),
                ),
                "LeaseTermWrite",
            ),
            (
                "PUT",
                format!("/v1/lease-terms/{term}"),
                Some(json!({ "depositPercentage": 11 })),
                "LeaseTermWrite",
            ),
            ("GET", "/v1/product-categories".into(), None, "ProductRead"),
            (
                "POST",
                "/v1/product-categories".into(),
                Some(json!({ "name": format!("Bikes{tag}") })),
                "ProductWrite",
            ),
            // What ends things comes last.
            (
                "POST",
                checkout_path("/cancel"),
                Some(json!({})),
                "CheckoutCancel",
            ),
            (
                "POST",
                format!("/v1/customers/{customer}/erase"),
                None,
                "CustomerErase",
            ),
            (
                "DELETE",
                format!("/v1/lease-terms/{term}"),
                None,
                "LeaseTermWrite",
            ),
            ("DELETE", variant_path(""), None, "ProductVariantDelete"),
            (
                "DELETE",
                format!("/v1/products/{product}"),
                None,
                "ProductDelete",
            ),
        ]
    }

    /// Every operation of the document under /v1 is among the requests.
    pub(crate) fn asks_every_operation(&self, requests: &[Asked]) {
        let contract = self.client.contract();
        for (path, item) in contract.document["paths"].as_object().into_iter().flatten() {
            for (method, _) in item.as_object().into_iter().flatten() {
                let asked = requests.iter().any(|(verb, asked, _, _)| {
                    let found = contract.operation(verb, asked);
                    verb.eq_ignore_ascii_case(method)
                        && found.is_some_and(|(found, _)| found == path)
                });
                assert!(
                    asked || !path.starts_with("/v1/"),
                    "{method} {path} is not asked"
                );
            }
        }
    }
}

pub(crate) async fn send(client: &Client, method: &str, path: &str, body: Option<&Value>) -> Reply {
    match body {
        Some(body) => client.send_json(method, path, body.to_string()).await,
        None => client.send(method, path, &[], None).await,
    }
}

const PERMISSIONS: [&str; 23] = [
    "ProductRead",
    "ProductWrite",
    "ProductDelete",
    "ProductVariantRead",
    "ProductVariantWrite",
    "ProductVariantDelete",
    "CustomerRead",
    "CustomerWrite",
    "CheckoutRead",
    "CheckoutWrite",
    "CheckoutCreateWithCustomer",
    "CheckoutCancel",
    "CheckoutQualify",
    "CheckoutSign",
    "CheckoutFulfill",
    "LeaseTermRead",
    "LeaseTermWrite",
    "AuditRead",
    "EventRead",
    "WebhookWrite",
    "CustomerErase",
    "OrganizationRead",
    "OrganizationWrite",
];

/// What belongs to another organization is answered like what does not exist, byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn others_objects_do_not_exist() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let unknown = Shop::new(server).await;
    let stranger = server.client().await;
    // The other shop's things are gone for everybody.
    let gone = |path: &str| {
        path.replace(&shop.product, "prod_0000000000000000000001")
            .replace(&shop.variant, "pvar_0000000000000000000001")
            .replace(&shop.checkout, "chk_0000000000000000000001")
            .replace(&shop.customer, "usr_0000000000000000000001")
            .replace(&shop.term, "term_0000000000000000000001")
            .replace(&shop.event, "evt_0000000000000000000001")
            .replace(&shop.endpoint, "whe_0000000000000000000001")
            .replace("BIKE", "NONE")
            .replace("E-1", "E-0")
    };
    let mut asked = 0;
    for (method, path, body, _) in shop.requests() {
        let path_of_none = gone(&path);
        let none_body = body.as_ref().map(|body| {
            serde_json::from_str::<Value>(&gone(&body.to_string())).unwrap_or_default()
        });
        let is_about_one = path_of_none != path || none_body != body;
        if !is_about_one || path.contains("/bulk") || path == "/v1/products" {
            continue;
        }
        let theirs = send(&stranger, method, &path, body.as_ref()).await;
        let nothing = send(&stranger, method, &path_of_none, none_body.as_ref()).await;
        if path.starts_with("/v1/product-variants/BIKE")
            || path.contains("E-1")
            || path.contains("by-sku")
        {
            theirs.has(404);
        }
        theirs.has(404);
        assert_eq!(theirs.bytes, nothing.bytes, "{method} {path}");
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    // Bulk reads leave them out, bulk updates say so for each.
    let path = format!(
        "/v1/product-variants/bulk?productIds={},{}",
        shop.product, unknown.product
    );
    assert_eq!(stranger.get(&path).await.ok(), json!([]));
    let fetched = stranger
        .post(
            "/v1/product-variants/bulk/fetch",
            json!({ "ids": [shop.variant] }),
        )
        .await
        .ok();
    assert_eq!(
        fetched,
        json!({ "results": [], "notFound": [shop.variant] })
    );
    for (path, id) in [
        ("/v1/products/bulk", &shop.product),
        ("/v1/product-variants/bulk", &shop.variant),
    ] {
        let body = json!({ "updates": [{ "id": id, "name": "mine" }] });
        let bulk = stranger.put(path, body).await.ok();
        assert_eq!(
            (&bulk["failed"], &bulk["errors"][0]["code"]),
            (&json!(1), &json!("not_found")),
            "{bulk}"
        );
    }
    assert_eq!(
        shop.client
            .get(&format!("/v1/products/{}", shop.product))
            .await
            .ok()["name"],
        "Road bike"
    );
    // To act for an organization that is not the key's is forbidden, whether or not there is one.
    for organization in [
        json!(shop.client.organization),
        json!(shop.client.organization_number),
        json!(999_999),
    ] {
        let mut body = stranger.product_body();
        body["organizationId"] = organization.clone();
        stranger
            .post("/v1/products", body)
            .await
            .refused(403, "forbidden", "");
        let organization = organization
            .as_str()
            .map_or_else(|| organization.to_string(), str::to_owned);
        for list in ["products", "checkouts"] {
            let path = format!("/v1/{list}?organizationId={organization}");
            stranger.get(&path).await.refused(403, "forbidden", "");
            let path = format!(
                "/v1/{list}?organizationIds={},{organization}",
                stranger.organization
            );
            stranger.get(&path).await.refused(403, "forbidden", "");
        }
    }
    // One's own, by either id.
    for own in [
        stranger.organization.clone(),
        stranger.organization_number.to_string(),
    ] {
        stranger
            .get(&format!("/v1/products?organizationId={own}"))
            .await
            .ok();
        stranger
            .get(&format!("/v1/checkouts?organizationIds={own}"))
            .await
            .ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_and_live_are_apart() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let live = shop
        .client
        .with_key(&server.key(&shop.client.organization, "live", "all"));
    assert_eq!(live.get("/v1/checkouts").await.ok(), json!([]));
    let path = format!("/v1/checkouts/{}", shop.checkout);
    for (method, rest, body) in [
        ("GET", "", None),
        ("GET", "/tracking", None),
        ("PUT", "", Some(json!({ "lifecycle": "cancelled" }))),
        ("POST", "/cancel", Some(json!({}))),
        ("POST", "/fulfill", Some(json!({}))),
    ] {
        let answered = send(&live, method, &format!("{path}{rest}"), body.as_ref()).await;
        answered.refused(404, "not_found", "");
    }
    // The catalog is shared, the checkouts and customers of a mode are its own.
    live.get(&format!("/v1/product-variants/{}", shop.variant))
        .await
        .ok();
    let own = live.checkout("BIKE", "grace@example.com").await;
    assert_eq!(own["environment"], "live");
    assert_ne!(own["id"], json!(shop.checkout));
    assert_ne!(
        own["customerId"],
        json!(shop.customer),
        "who leases in both modes is a customer of each"
    );
    assert_eq!(
        live.get("/v1/checkouts")
            .await
            .ok()
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        shop.client
            .get("/v1/checkouts")
            .await
            .ok()
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    // The sandbox's own endpoints take sandbox keys only.
    for (action, body) in [
        ("advance", json!({ "to": "orderConfirmed" })),
        ("tracking-event", json!({ "status": "delivered" })),
    ] {
        let path = format!("/v1/sandbox/checkouts/{}/{action}", text(&own["id"]));
        live.post(&path, body).await.refused(403, "forbidden", "");
    }
    // An order id is used up in its mode only.
    for client in [&live, &shop.client] {
        let order = json!({ "externalOrderId": "order-1" });
        client
            .try_checkout("BIKE", "order@example.com", order)
            .await
            .ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_not_in_force_are_refused() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let mut flipped = client.key.clone();
    let last = if flipped.pop() == Some('a') { 'b' } else { 'a' };
    flipped.push(last);
    let long = "x".repeat(5_000);
    for junk in [
        "",
        "x",
        "lsk_sandbox_",
        "lsk_live_nonsense",
        &flipped,
        &long,
        &client.key.replace("sandbox", "live"),
    ] {
        let nobody = client.with_key(junk);
        let refused = nobody.get("/v1/products").await;
        refused.refused(401, "unauthorized", "");
        assert!(!refused.header("www-authenticate").is_empty(), "{junk}");
    }
    for header in ["Basic abc", "Bearer", "bearer", "Token x"] {
        let headers = [("authorization", header)];
        let refused = client
            .with_key("")
            .send("GET", "/v1/products", &headers, None)
            .await;
        refused.refused(401, "unauthorized", "");
    }
    let short = server.key_record(
        &client.organization,
        "sandbox",
        "all",
        &["--expires-in", "1s"],
    );
    let short = client.with_key(&text(&short["key"]));
    let deadline = std::time::Instant::now() + lessor_tests::server::PATIENCE;
    while short.get("/v1/products").await.status == 200 {
        assert!(
            std::time::Instant::now() < deadline,
            "the key never expires"
        );
    }
    short
        .get("/v1/products")
        .await
        .refused(401, "unauthorized", "");
    let record = server.key_record(&client.organization, "sandbox", "all", &[]);
    let held = client.with_key(&text(&record["key"]));
    held.get("/v1/products").await.ok();
    server.cli(&["key", "revoke", &text(&record["keyId"])]);
    held.comes_to_nothing("/v1/products").await;
    held.get("/v1/products")
        .await
        .refused(401, "unauthorized", "");
}

/// 401, then what is wrong with body and query, then what does not exist, then the permission, then
/// the rules.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_come_in_one_order() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let none = "/v1/product-variants/pvar_0000000000000000000001";
    let real = format!("/v1/product-variants/{}", shop.variant);
    let reader =
        shop.client
            .with_key(&server.key(&shop.client.organization, "sandbox", "ProductRead"));
    let nobody = shop.client.with_key("");
    nobody
        .put(none, json!({ "colour": 1 }))
        .await
        .refused(401, "unauthorized", "");
    reader
        .put(none, json!({ "colour": 1 }))
        .await
        .refused(400, "invalid_parameter", "colour");
    reader
        .put(none, json!({ "name": "x" }))
        .await
        .refused(404, "not_found", "");
    reader
        .put(&real, json!({ "name": "x" }))
        .await
        .refused(403, "forbidden", "");
    let contradiction = json!({ "status": "active", "isActive": false });
    reader
        .put(&real, contradiction.clone())
        .await
        .refused(403, "forbidden", "");
    let refused = shop.client.put(&real, contradiction).await;
    refused.has(400);
    reader
        .get("/v1/product-variants/bulk")
        .await
        .refused(400, "parameter_missing", "productIds");
    // A bulk request without the permission is refused as a whole.
    let bulk = json!({ "updates": [{ "id": "nonsense" }] });
    reader
        .put("/v1/product-variants/bulk", bulk)
        .await
        .refused(403, "forbidden", "");
    // A checkout: the body, the customer's e-mail in it, the variant, the permission, the rules.
    let checkout = |variant: &str, customer: Value| json!({ "productVariantId": variant, "selectedTermInMonths": 13, "customer": customer });
    let unknown = "pvar_0000000000000000000001";
    reader
        .post("/v1/checkouts", checkout(unknown, json!({})))
        .await
        .refused(400, "parameter_missing", "customer.email");
    let ada = json!({ "email": "ada@example.com" });
    reader
        .post("/v1/checkouts", checkout(unknown, ada.clone()))
        .await
        .refused(404, "not_found", "");
    reader
        .post("/v1/checkouts", checkout(&shop.variant, ada.clone()))
        .await
        .refused(403, "forbidden", "");
    let ruled = shop
        .client
        .post("/v1/checkouts", checkout(&shop.variant, ada))
        .await;
    ruled.refused(400, "invalid_parameter", "selectedTermInMonths");
}
