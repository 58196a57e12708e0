//! `GET /v1/audit` and `lessor audit`: who did what, from where, and who may know.

use std::collections::BTreeSet;

use lessor_tests::client::{Client, Reply};
use lessor_tests::{Server, answer, text};
use serde_json::{Value, json};

use crate::BINARY;

/// What an operation leaves that says who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    /// An audit event of this action about what the answer is.
    Event(&'static str),
    /// The same about what the request names.
    Named(&'static str),
    /// A move of the checkout.
    Move,
}

use Trace::{Event, Move, Named};

/// A request that changes something, and what it leaves.
struct Asked {
    method: &'static str,
    path: String,
    body: Option<Value>,
    trace: Trace,
}

fn asked(method: &'static str, path: impl Into<String>, body: Value, trace: Trace) -> Asked {
    Asked {
        method,
        path: path.into(),
        body: (!body.is_null()).then_some(body),
        trace,
    }
}

/// The first events of the list.
async fn events(client: &Client, query: &str) -> Vec<Value> {
    let listed = client.get(&format!("/v1/audit?limit=100{query}")).await;
    listed.ok().as_array().cloned().unwrap_or_default()
}

/// Sends the request under an id of its own.
async fn send(client: &Client, asked: &Asked, id: &str) -> Reply {
    let mut headers = vec![("x-request-id", id)];
    if asked.body.is_some() {
        headers.push(("content-type", "application/json"));
    }
    let body = asked
        .body
        .as_ref()
        .map(|body| body.to_string().into_bytes());
    let reply = client.send(asked.method, &asked.path, &headers, body).await;
    reply.has(200);
    reply
}

/// The events that a request left.
async fn left(client: &Client, id: &str) -> Vec<Value> {
    let mut all = events(client, "").await;
    all.retain(|event| event["requestId"] == id);
    all
}

/// What the checkout of the path moved by a key.
async fn moves(client: &Client, path: &str, key: &str) -> usize {
    let mut parts = path.split('/');
    let id = parts.find(|part| part.starts_with("chk_"));
    let id = id.unwrap_or_default();
    let checkout = client.get(&format!("/v1/checkouts/{id}")).await.ok();
    let customer = text(&checkout["customerId"]);
    let export = client
        .get(&format!("/v1/customers/{customer}/export"))
        .await
        .ok();
    let checkouts = export["checkouts"].as_array().into_iter().flatten();
    let moved = checkouts
        .filter(|one| one["checkout"]["id"] == id)
        .filter_map(|one| one["history"].as_array())
        .flatten();
    moved.filter(|one| one["keyId"] == key).count()
}

/// An organization's client whose key has a name, and the key's id.
async fn shop(server: &Server) -> (Client, String) {
    let client = server.client().await;
    let key = server.key_record(
        &client.organization,
        "sandbox",
        "all",
        &["--name", "Back office"],
    );
    (client.with_key(&text(&key["key"])), text(&key["keyId"]))
}

/// What tells that the checkout's document was signed when it was made.
async fn signature_of(client: &Client, checkout: &Value) -> Value {
    let path = format!("/v1/checkouts/{}/agreement", text(&checkout["id"]));
    let headers = [("accept", "application/json")];
    let document = client.send("GET", &path, &headers, None).await.ok();
    json!({
        "documentId": document["documentId"], "sha256": document["sha256"], "signerName": "Grace Hopper",
        "signedAt": document["createdAt"]
    })
}

/// Every request that changes something, in an order in which each is carried out.
async fn story(client: &Client) -> Vec<Asked> {
    let product = client.product(json!({})).await;
    let bike = client.variant_of(&product, "BIKE", json!({})).await;
    let spare = client.product(json!({})).await;
    let alone = client.variant_of(&spare, "SPARE", json!({})).await;
    let term = json!({ "termInMonths": 48, "method": "annualRate", "annualRate": 6 });
    let term = client.post("/v1/lease-terms", term).await.ok();
    let fresh = client.checkout("BIKE", "fresh@example.com").await;
    let ready = client
        .checkout_at("BIKE", "ready@example.com", "orderConfirmed")
        .await;
    let shipped = client
        .checkout_at("BIKE", "shipped@example.com", "orderConfirmed")
        .await;
    let judged = client
        .checkout_at("BIKE", "judged@example.com", "qualificationPending")
        .await;
    let elsewhere = json!({ "signer": "http", "signerUrl": "https://sign.example.com/" });
    client.put("/v1/organization", elsewhere).await.ok();
    let to_sign = client
        .checkout_at("BIKE", "signs@example.com", "documentsPending")
        .await;
    let signature = signature_of(client, &to_sign).await;
    let number = json!({ "trackingNumber": "1Z999AA10123456784" });
    client.act(&shipped, "fulfill", number).await.ok();
    let email = "unpaid+firstpaymentfail@example.com";
    let unpaid = client.checkout_at("BIKE", email, "orderConfirmed").await;
    client.act(&unpaid, "fulfill", json!({})).await.ok();

    let hooks = json!({ "url": "https://hooks.example.com/", "types": ["payment.*"] });
    let endpoint = client
        .post("/v1/webhook-endpoints", hooks.clone())
        .await
        .ok();
    let happened = client.get("/v1/events?limit=1").await.ok();
    let of = |list: &str, record: &Value| format!("/v1/{list}/{}", text(&record["id"]));
    let step = |checkout: &Value, step: &str| format!("{}/{step}", of("checkouts", checkout));
    let played =
        |checkout: &Value, step: &str| format!("{}/{step}", of("sandbox/checkouts", checkout));
    let customer = |checkout: &Value, rest: &str| {
        format!("/v1/customers/{}{rest}", text(&checkout["customerId"]))
    };
    let new_variant = json!({
        "productId": product["id"], "name": "n", "description": "d", "price": "1", "sku": "NEW", "options": [],
        "productImages": [], "productYear": 2020
    });
    let cheaper =
        |record: &Value| json!({ "updates": [{ "id": record["id"], "price": "999.00" }] });
    let new_checkout = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "customer": { "email": "new@example.com" } });
    let new_term = json!({ "termInMonths": 60, "method": "moneyFactor", "moneyFactor": "0.001" });
    let number = json!({ "trackingNumber": "1Z999AA10123456793", "carrier": "ups" });
    let metadata = json!({ "metadata": { "clerk": "7" } });
    vec![
        asked(
            "POST",
            "/v1/products",
            client.product_body(),
            Event("product.created"),
        ),
        asked(
            "PUT",
            of("products", &product),
            json!({ "name": "Gravel bike" }),
            Event("product.updated"),
        ),
        asked(
            "PUT",
            "/v1/products/bulk",
            cheaper(&product),
            Event("product.updated"),
        ),
        asked(
            "POST",
            "/v1/product-variants",
            new_variant,
            Event("variant.created"),
        ),
        asked(
            "PUT",
            of("product-variants", &bike),
            json!({ "price": "1199.00" }),
            Event("variant.updated"),
        ),
        asked(
            "PUT",
            of("product-variants", &bike),
            json!({ "inventoryQuantity": 9 }),
            Event("variant.stock_set"),
        ),
        asked(
            "PUT",
            "/v1/product-variants/bulk",
            cheaper(&bike),
            Event("variant.updated"),
        ),
        asked(
            "POST",
            format!("{}/variants/generate", of("products", &product)),
            json!({ "sku": "MADE", "productYear": 2021 }),
            Event("variant.created"),
        ),
        asked(
            "POST",
            "/v1/product-categories",
            json!({ "name": "Bikes" }),
            Event("category.created"),
        ),
        asked(
            "POST",
            "/v1/lease-terms",
            new_term,
            Event("lease_term.created"),
        ),
        asked(
            "PUT",
            of("lease-terms", &term),
            json!({ "depositPercentage": 11 }),
            Event("lease_term.updated"),
        ),
        asked(
            "DELETE",
            of("lease-terms", &term),
            Value::Null,
            Event("lease_term.deleted"),
        ),
        asked(
            "PUT",
            customer(&fresh, ""),
            json!({ "firstName": "Ada" }),
            Event("customer.updated"),
        ),
        asked(
            "POST",
            "/v1/checkouts",
            new_checkout,
            Event("checkout.created"),
        ),
        asked(
            "PUT",
            of("checkouts", &fresh),
            metadata,
            Event("checkout.updated"),
        ),
        asked(
            "POST",
            played(&fresh, "advance"),
            json!({ "to": "leaseReviewPending" }),
            Move,
        ),
        asked(
            "PUT",
            of("checkouts", &fresh),
            json!({ "lifecycle": "depositPending" }),
            Move,
        ),
        asked(
            "POST",
            step(&judged, "qualification"),
            json!({ "decision": "approved" }),
            Move,
        ),
        asked("POST", step(&ready, "fulfill"), json!({}), Move),
        asked(
            "POST",
            step(&ready, "link"),
            json!({}),
            Event("checkout.relinked"),
        ),
        asked(
            "PUT",
            "/v1/organization",
            json!({ "displayName": "Better Bikes" }),
            Event("organization.updated"),
        ),
        asked(
            "PUT",
            "/v1/organization",
            json!({ "credit": "manual" }),
            Event("organization.credit_set"),
        ),
        asked(
            "POST",
            "/v1/webhook-endpoints",
            hooks,
            Event("webhook_endpoint.created"),
        ),
        asked(
            "PUT",
            of("webhook-endpoints", &endpoint),
            json!({ "types": ["checkout.*"] }),
            Event("webhook_endpoint.updated"),
        ),
        asked(
            "POST",
            format!("{}/roll", of("webhook-endpoints", &endpoint)),
            json!({}),
            Event("webhook_endpoint.rolled"),
        ),
        asked(
            "POST",
            format!("{}/test", of("webhook-endpoints", &endpoint)),
            json!({}),
            Named("webhook_endpoint.tested"),
        ),
        asked(
            "POST",
            format!("{}/replay", of("webhook-endpoints", &endpoint)),
            json!({ "from": "2026-01-01T00:00:00Z" }),
            Named("webhook_endpoint.replayed"),
        ),
        asked(
            "POST",
            format!("{}/redeliver", of("events", &happened[0])),
            json!({}),
            Named("event.redelivered"),
        ),
        asked(
            "DELETE",
            of("webhook-endpoints", &endpoint),
            Value::Null,
            Event("webhook_endpoint.deleted"),
        ),
        asked("POST", step(&to_sign, "signature"), signature, Move),
        asked(
            "POST",
            step(&shipped, "tracking"),
            number,
            Named("checkout.tracking_set"),
        ),
        asked(
            "POST",
            played(&shipped, "tracking-event"),
            json!({ "status": "inTransit" }),
            Named("checkout.tracking_played"),
        ),
        asked(
            "POST",
            step(&unpaid, "payments/retry"),
            json!({}),
            Event("checkout.payments_retried"),
        ),
        asked("POST", step(&fresh, "cancel"), json!({}), Move),
        asked(
            "POST",
            customer(&fresh, "/erase"),
            Value::Null,
            Named("customer.erased"),
        ),
        asked(
            "DELETE",
            of("product-variants", &alone),
            Value::Null,
            Event("variant.deleted"),
        ),
        asked(
            "DELETE",
            of("products", &spare),
            Value::Null,
            Event("product.deleted"),
        ),
    ]
}

/// The id that the events of the request are found by: of what was asked for, or of what came of it.
fn subject(asked: &Asked, reply: &Reply) -> String {
    let body = &reply.body;
    let kinds = ["chk_", "usr_", "whe_", "evt_"];
    let is_in_path = |part: &&str| kinds.iter().any(|kind| part.starts_with(kind));
    match asked.trace {
        Named(_) => asked
            .path
            .split('/')
            .find(is_in_path)
            .unwrap_or_default()
            .to_owned(),
        // Some answer with one of several.
        _ => [&body["id"], &body["results"][0]["id"]]
            .into_iter()
            .map(text)
            .find(|id| !id.is_empty())
            .unwrap_or_default(),
    }
}

/// Each operation that changes something is among the requests: one that is added and leaves nothing of who
/// asked for it fails here.
#[tokio::test(flavor = "multi_thread")]
async fn every_change_leaves_who_asked_for_it() {
    let server = Server::shared(BINARY).await;
    let (client, key) = shop(server).await;
    let mut covered = BTreeSet::new();
    for (number, asked) in story(&client).await.iter().enumerate() {
        let name = format!("{} {}", asked.method, asked.path);
        let id = format!("req_{}_{number}", client.organization);
        let moved_before = match asked.trace {
            Move => moves(&client, &asked.path, &key).await,
            Event(_) | Named(_) => 0,
        };
        let reply = send(&client, asked, &id).await;
        let left = left(&client, &id).await;
        for event in &left {
            let actor = json!({ "type": "key", "id": key, "name": "Back office" });
            assert_eq!(event["actor"], actor, "{name}: {event}");
            assert_eq!(event["address"], "127.0.0.1", "{name}: {event}");
        }
        match asked.trace {
            Move => {
                let moved = moves(&client, &asked.path, &key).await;
                assert!(moved > moved_before, "{name}: {reply}");
            }
            Event(action) | Named(action) => {
                let subject = subject(asked, &reply);
                let is_it =
                    |event: &&Value| event["action"] == action && event["subject"] == subject;
                assert!(
                    left.iter().any(|event| is_it(&event)),
                    "{name}: {action} of {subject:?} in {left:#?}"
                );
            }
        }
        let operation = client.contract().operation(asked.method, &asked.path);
        let (template, _) = operation.unwrap();
        covered.insert((asked.method.to_owned(), template.to_owned()));
    }
    let paths = client.contract().document["paths"].as_object();
    let documented: BTreeSet<(String, String)> = paths
        .into_iter()
        .flatten()
        // It reads.
        .filter(|(path, _)| path.starts_with("/v1/") && !path.ends_with("/bulk/fetch"))
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, _)| (method.to_uppercase(), path.clone()))
        })
        .filter(|(method, _)| method != "GET")
        .collect();
    assert_eq!(covered, documented, "every change is asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_is_told_and_nothing_else() {
    let server = Server::shared(BINARY).await;
    let (client, _) = shop(server).await;
    let product = client.product(json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let update = asked(
        "PUT",
        path.clone(),
        json!({ "name": "Gravel bike", "price": "1299.00" }),
        Event("product.updated"),
    );
    let mine = format!("req_{}_mine", client.organization);
    let updated = send(&client, &update, &mine).await;
    assert_eq!(updated.header("request-id"), mine);
    let left_by = left(&client, &mine).await;
    assert_eq!(left_by.len(), 1, "{left_by:#?}");
    assert_eq!(left_by[0]["before"], json!({ "name": "Road bike" }));
    assert_eq!(left_by[0]["after"], json!({ "name": "Gravel bike" }));
    // The same again differs in nothing, and what is refused did nothing.
    let again = format!("req_{}_again", client.organization);
    send(&client, &update, &again).await;
    assert_eq!(left(&client, &again).await, Vec::<Value>::new());
    let query = format!("&subject={}", text(&product["id"]));
    let before = events(&client, &query).await;
    client
        .put(&path, json!({ "status": "active", "isActive": false }))
        .await
        .has(400);
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    let refused = reader.put(&path, json!({ "name": "Mine" })).await;
    refused.has(403);
    assert_eq!(events(&client, &query).await, before);
    // What is new has no before, what is gone no after.
    client.delete(&path).await.ok();
    let of_it = events(&client, &query).await;
    let actions: Vec<String> = of_it.iter().map(|event| text(&event["action"])).collect();
    assert_eq!(
        actions,
        ["product.deleted", "product.updated", "product.created"]
    );
    for (event, missing) in [(&of_it[0], "after"), (&of_it[2], "before")] {
        assert!(event.get(missing).is_none(), "{event}");
    }
    assert_eq!(of_it[0]["before"]["name"], "Gravel bike");
    assert_eq!(of_it[2]["after"]["name"], "Road bike");
}

/// A live key sees all of its organization. A sandbox key sees its mode and the catalog, and nothing that
/// the command line did.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_see_what() {
    let server = Server::shared(BINARY).await;
    let (sandbox, key) = shop(server).await;
    let organization = sandbox.organization.as_str();
    let product = sandbox.product(json!({})).await;
    sandbox.variant_of(&product, "BIKE", json!({})).await;
    let played = sandbox.checkout("BIKE", "grace@example.com").await;
    let live = sandbox.with_key(&server.key(organization, "live", "all"));
    let real = live.checkout("BIKE", "grace@example.com").await;
    let mut terms = server.command(&["terms", "create", "--org", organization]);
    terms.args([
        "--months",
        "48",
        "--method",
        "annualRate",
        "--annual-rate",
        "6.9",
    ]);
    let term = answer(terms.env("LOGNAME", "ada"));

    let seen = |all: &[Value], action: &str, subject: &Value| {
        let is_it = |event: &&Value| event["action"] == action && event["subject"] == *subject;
        all.iter().any(|event| is_it(&event))
    };
    let (by_sandbox, by_live) = (events(&sandbox, "").await, events(&live, "").await);
    for (action, subject, is_shown) in [
        ("product.created", &product["id"], true),
        ("checkout.created", &played["id"], true),
        ("customer.created", &played["customerId"], true),
        ("checkout.created", &real["id"], false),
        ("customer.created", &real["customerId"], false),
        ("lease_term.created", &term["id"], false),
        ("organization.created", &json!(organization), false),
        ("key.created", &json!(key), false),
    ] {
        assert_eq!(seen(&by_sandbox, action, subject), is_shown, "{action}");
        assert!(seen(&by_live, action, subject), "{action} {subject}");
    }
    let of_cli = |event: &&Value| event["actor"]["type"] == "cli";
    assert!(!by_sandbox.iter().any(|event| of_cli(&event)));
    let ada = json!({ "type": "cli", "id": "cli:ada" });
    let made = events(&live, "&actor=cli:ada").await;
    assert_eq!(made.len(), 1, "{made:#?}");
    assert_eq!(
        (&made[0]["actor"], &made[0]["subject"]),
        (&ada, &term["id"])
    );
    assert!(made[0].get("requestId").is_none() && made[0].get("address").is_none());
    // No page begins after what is not seen.
    let hidden = format!("/v1/audit?startingAfter={}", text(&made[0]["id"]));
    live.get(&hidden).await.ok();
    let refused = sandbox.get(&hidden).await;
    refused.refused(400, "invalid_parameter", "startingAfter");
    // Another organization sees nothing of this one.
    let stranger = server.client().await;
    let stranger = stranger.with_key(&server.key(&stranger.organization, "live", "all"));
    let query = format!("/v1/audit?subject={}", text(&product["id"]));
    let nothing = stranger.get(&query).await;
    assert_eq!(nothing.header("x-total-count"), "0");
    assert_eq!(nothing.ok(), json!([]));
    stranger
        .get(&hidden)
        .await
        .refused(400, "invalid_parameter", "startingAfter");
    // The command line sees what a live key sees.
    let told = server.cli(&["audit", "--org", organization, "--limit", "100"]);
    assert_eq!(told["results"], json!(events(&live, "").await));
    assert_eq!(
        told["total"].to_string(),
        live.get("/v1/audit").await.header("x-total-count")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_filters() {
    let server = Server::shared(BINARY).await;
    let (client, key) = shop(server).await;
    let product = client.product(json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    for name in ["A", "B", "C", "D", "E"] {
        client.put(&path, json!({ "name": name })).await.ok();
    }
    client.product(json!({})).await;
    let all = events(&client, "").await;
    let ids = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| text(&event["id"])).collect()
    };
    let newest_first = {
        let mut sorted = ids(&all);
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted
    };
    assert_eq!(ids(&all), newest_first);
    assert!(newest_first.iter().all(|id| id.starts_with("aud_")));
    let total = all.len().to_string();
    for limit in [1, 3, 100] {
        let mut turned = Vec::new();
        let mut next = Some(format!("/v1/audit?limit={limit}"));
        while let Some(path) = next {
            let page = client.get(&path).await;
            // The first page says how many there are; who goes on from it was told.
            let is_first = !path.contains("startingAfter");
            let told = if is_first { total.as_str() } else { "" };
            assert_eq!(page.header("x-total-count"), told, "{path}");
            next = page.next_page().map(|address| {
                let path = address.strip_prefix(&client.url).map(str::to_owned);
                path.unwrap_or(address)
            });
            let events = page.ok();
            turned.extend(ids(events.as_array().unwrap()));
        }
        assert_eq!(turned, newest_first, "pages of {limit}");
    }
    let id = text(&product["id"]);
    for (query, expected) in [
        (format!("&subject={id}"), 6),
        (format!("&subject={id}&actor={key}"), 6),
        (format!("&actor={key}"), 7),
        (format!("&subject={id}&actor=lessor"), 0),
        ("&subject=nothing".to_owned(), 0),
        ("&actor=nobody".to_owned(), 0),
    ] {
        let listed = client.get(&format!("/v1/audit?limit=100{query}")).await;
        assert_eq!(
            listed.header("x-total-count"),
            expected.to_string(),
            "{query}"
        );
        assert_eq!(
            listed.ok().as_array().map(Vec::len),
            Some(expected),
            "{query}"
        );
    }
    let told = server.cli(&[
        "audit",
        "--org",
        &client.organization,
        "--subject",
        &id,
        "--actor",
        &key,
        "--limit",
        "2",
    ]);
    assert_eq!(ids(told["results"].as_array().unwrap()), newest_first[1..3]);
    assert_eq!(told["total"], 6);
    let told = server.cli(&[
        "audit",
        "--org",
        &client.organization,
        "--subject",
        &id,
        "--starting-after",
        &newest_first[5],
    ]);
    assert_eq!(ids(told["results"].as_array().unwrap()), newest_first[6..7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let long = "x".repeat(101);
    let longer = "x".repeat(256);
    for (query, param) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=1", "offset"),
        ("startingAfter=nonsense", "startingAfter"),
        ("startingAfter=prod_0000000000000000000001", "startingAfter"),
        ("startingAfter=aud_0000000000000000000001", "startingAfter"),
        ("subject=", "subject"),
        (&format!("subject={long}"), "subject"),
        ("actor=", "actor"),
        (&format!("actor={longer}"), "actor"),
        ("action=product.created", "action"),
    ] {
        let refused = client.get(&format!("/v1/audit?{query}")).await;
        refused.refused(400, "invalid_parameter", param);
    }
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    let refused = reader.get("/v1/audit").await;
    refused.refused_with(403, "forbidden", "", &["AuditRead"]);
    for (flag, value) in [
        ("--limit", "0"),
        ("--limit", "1001"),
        ("--subject", &long),
        ("--starting-after", "prod_1"),
    ] {
        let refused = server.refused(&["audit", "--org", &client.organization, flag, value]);
        assert_eq!(refused.0, 2, "{flag}: {refused:?}");
    }
    assert_eq!(server.refused(&["audit"]).0, 2, "whose, has to be said");
    let missing = ["audit", "--org", "999999"];
    assert_eq!(server.refused(&missing).0, 1);
}

/// What the customer does on the page is the customer's, with the address that it came from, until they are
/// erased.
#[tokio::test(flavor = "multi_thread")]
async fn a_customers_own_doings_are_told_until_they_are_erased() {
    let server = Server::shared(BINARY).await;
    let (client, _) = shop(server).await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let page = text(&made["checkoutUrl"]);
    let page = page.strip_prefix(&client.url).unwrap().to_owned();
    let nobody = client.with_key("");
    nobody.get(&page).await.has(200);
    let form = "firstName=Grace&lastName=Hopper&address1=1%20Market%20St&city=San%20Francisco&zip=94105&state=CA&country=US";
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("x-request-id", "req_of_the_page"),
    ];
    let body = Some(form.as_bytes().to_vec());
    let sent = nobody
        .send("POST", &format!("{page}/profile"), &headers, body)
        .await;
    sent.has(303);
    let customer = text(&made["customerId"]);
    let query = format!("&subject={customer}&actor={customer}");
    let own = events(&client, &query).await;
    assert_eq!(own.len(), 1, "{own:#?}");
    let told = &own[0];
    assert_eq!(told["actor"], json!({ "type": "customer", "id": customer }));
    assert_eq!(
        (&told["action"], &told["requestId"], &told["address"]),
        (
            &json!("customer.updated"),
            &json!("req_of_the_page"),
            &json!("127.0.0.1")
        )
    );
    assert_eq!(told["after"]["lastName"], "Hopper");
    let erase = format!("/v1/customers/{customer}/erase");
    client.send("POST", &erase, &[], None).await.ok();
    let own = events(&client, &query).await;
    assert_eq!(own.len(), 1, "events stay");
    for gone in ["before", "after", "address"] {
        assert!(own[0].get(gone).is_none(), "{}", own[0]);
    }
    assert_eq!(own[0]["id"], told["id"]);
    let all = events(&client, "").await;
    let erased = all
        .iter()
        .find(|event| event["action"] == "customer.erased");
    assert_eq!(erased.unwrap()["subject"], json!(customer));
    assert!(!json!(all).to_string().contains("Hopper"), "{all:#?}");
}
