//! `GET /v1/events`: what happened, in the order in which it is told, with the record as its GET answered.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lessor_domain::events::EventType;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId};
use lessor_tests::client::Client;
use lessor_tests::receiver::{Answer, Receiver};
use lessor_tests::{Server, text};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::BINARY;
use crate::page::{Browser, PROFILE};

/// The events after this one.
async fn after(client: &Client, last: Option<&str>, query: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut last = last.map(str::to_owned);
    loop {
        let start = last.iter().map(|id| format!("&startingAfter={id}"));
        let path = format!("/v1/events?limit=100{query}{}", start.collect::<String>());
        let page = client.get(&path).await;
        let is_last = page.next_page().is_none();
        let events = page.ok().as_array().cloned().unwrap_or_default();
        last = events.last().map(|event| text(&event["id"])).or(last);
        all.extend(events);
        if is_last {
            return all;
        }
    }
}

/// The newest event, after which the test's own are: a new organization has lease terms already.
async fn newest(client: &Client) -> String {
    let events = after(client, None, "").await;
    text(&events.last().unwrap_or(&Value::Null)["id"])
}

async fn about(client: &Client, subject: &Value) -> Vec<Value> {
    after(client, None, &format!("&subject={}", text(subject))).await
}

fn types(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| text(&event["type"])).collect()
}

/// The newest event about the record shows what GET answers, byte for byte. What happens meanwhile is
/// waited for.
async fn is_told_as_it_is(client: &Client, path: &str, subject: &Value) {
    const LOOKS: usize = 200;
    for _ in 0..LOOKS {
        let before = client.get(path).await;
        let newest = about(client, subject).await.pop().unwrap();
        let event = client
            .get(&format!("/v1/events/{}", text(&newest["id"])))
            .await;
        let now = client.get(path).await;
        before.has(200);
        if before.bytes != now.bytes {
            continue;
        }
        let record = String::from_utf8(now.bytes).unwrap();
        let told = String::from_utf8(event.bytes).unwrap();
        assert!(
            told.contains(&format!("\"data\":{{\"object\":{record}")),
            "{told}\nis not about\n{record}"
        );
        return;
    }
    panic!("{path} does not stay as it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_shows_the_record_byte_for_byte() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client
        .product(json!({ "metadata": { "a": "\u{1F6B2} ' \\" } }))
        .await;
    let variant = client
        .variant_of(&product, "BIKE", json!({ "inventoryQuantity": 3 }))
        .await;
    let term = json!({ "termInMonths": 48, "method": "annualRate", "annualRate": 6 });
    let term = client.post("/v1/lease-terms", term).await.ok();
    // Shown without what opens the page, as to a key that is shown no links.
    let reader = "ProductRead,ProductVariantRead,CustomerRead,CheckoutRead,LeaseTermRead,EventRead";
    let reader = client.with_key(&server.key(&client.organization, "sandbox", reader));
    let checkout = client.checkout("BIKE", "grace@example.com").await;
    for to in ["leaseReviewPending", "depositPending", "orderConfirmed"] {
        let path = format!("/v1/checkouts/{}", text(&checkout["id"]));
        is_told_as_it_is(&reader, &path, &checkout["id"]).await;
        client.advance(&checkout, to).await.ok();
        is_told_as_it_is(&reader, &path, &checkout["id"]).await;
    }
    let product_path = format!("/v1/products/{}", text(&product["id"]));
    is_told_as_it_is(&reader, &product_path, &product["id"]).await;
    let renamed = json!({ "name": "Gravel bike", "discountPercentage": "12.5" });
    client.put(&product_path, renamed).await.ok();
    is_told_as_it_is(&reader, &product_path, &product["id"]).await;
    let variant_path = format!("/v1/product-variants/{}", text(&variant["id"]));
    is_told_as_it_is(&reader, &variant_path, &variant["id"]).await;
    let customer = format!("/v1/customers/{}", text(&checkout["customerId"]));
    is_told_as_it_is(&reader, &customer, &checkout["customerId"]).await;
    // Lease terms have a list alone.
    let terms = reader.get("/v1/lease-terms").await.ok();
    let listed = terms.as_array().unwrap().iter();
    let listed = listed.into_iter().find(|listed| listed["id"] == term["id"]);
    let told = about(&reader, &term["id"]).await;
    assert_eq!(&told[0]["data"]["object"], listed.unwrap());
    assert!(told[0]["data"].get("previous").is_none(), "{}", told[0]);
    // What was before is told of what changed alone.
    let told = about(&reader, &product["id"]).await;
    let updated = told.last().unwrap();
    assert_eq!(updated["type"], "product.updated");
    assert_eq!(
        updated["data"]["previous"],
        json!({ "name": "Road bike", "updatedAt": product["updatedAt"] })
    );
}

/// Whoever writes pays for every byte of what is sealed. It is made smaller by what checkouts and customers look like:
/// where they look like something else by now, there is to be another dictionary.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_sealed_of_events_takes_little_room() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let stock = json!({ "inventoryQuantity": 3 });
    client.variant_of(&product, "BIKE", stock).await;
    let checkout = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    client.act(&checkout, "fulfill", json!({})).await.ok();
    let id: CheckoutPubId = text(&checkout["id"]).parse().unwrap();
    let customer: CustomerPubId = text(&checkout["customerId"]).parse().unwrap();
    let mut shown = 0;
    for subject in [&checkout["id"], &checkout["customerId"]] {
        for event in about(&client, subject).await {
            shown += event["data"].to_string().len();
        }
    }
    let subjects = [id.as_uuid(), customer.as_uuid()].map(|id| format!("'{id}'"));
    let subjects = subjects.join(", ");
    let room = format!("select sum(length(sealed)) from events where subject_id in ({subjects})");
    let room: usize = server.query(&room).await[0].parse().unwrap();
    assert!(room > 0, "nothing is sealed");
    assert!(5 * room < 2 * shown, "{room} bytes of {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_says_whose_it_is_and_by_which_request() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let begin = newest(&client).await;
    let live = client.with_key(&server.key(&client.organization, "live", "EventRead"));
    let begin_of_live = newest(&live).await;
    let body = client.product_body().to_string().into_bytes();
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "req_of_the_product"),
    ];
    let made = client
        .send("POST", "/v1/products", &headers, Some(body))
        .await;
    let product = made.ok();
    let events = after(&client, Some(&begin), "").await;
    let [event] = events.as_slice() else {
        panic!("{events:#?}");
    };
    assert!(text(&event["id"]).starts_with("evt_"), "{event}");
    assert_eq!(
        (&event["type"], &event["mode"]),
        (&json!("product.created"), &json!("sandbox"))
    );
    assert_eq!(event["organizationId"], json!(client.organization));
    assert_eq!(
        event["subject"],
        json!({ "type": "product", "id": product["id"] })
    );
    assert_eq!(event["requestId"], "req_of_the_product");
    let alone = client
        .get(&format!("/v1/events/{}", text(&event["id"])))
        .await
        .ok();
    assert_eq!(&alone, event);
    // The same in the other mode's feed, as an event of its own.
    let of_live = after(&live, Some(&begin_of_live), "").await;
    assert_eq!(types(&of_live), ["product.created"]);
    assert_ne!(of_live[0]["id"], event["id"]);
    assert_eq!(of_live[0]["mode"], "live");
    live.get(&format!("/v1/events/{}", text(&event["id"])))
        .await
        .refused(404, "not_found", "");
    live.get(&format!("/v1/events?startingAfter={}", text(&event["id"])))
        .await
        .refused(400, "invalid_parameter", "startingAfter");
}

/// Each is what the reference says of its type.
fn check(client: &Client, event: &Value) {
    let document = &client.contract().document;
    let name = text(&event["type"]);
    let told = &document["webhooks"][&name]["post"]["requestBody"]["content"]["application/json"];
    assert!(told.is_object(), "{name} is not told of");
    let kind = &told["schema"]["allOf"][1]["properties"];
    assert_eq!(
        kind["subject"]["properties"]["type"]["const"],
        event["subject"]["type"]
    );
    let record = &kind["data"]["properties"]["object"];
    let fits = |value: &Value, schema: &Value| {
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|fault| format!("{fault} at {}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:?} of {value:#}");
    };
    fits(&event["data"]["object"], record);
    fits(event, &json!({ "$ref": "#/components/schemas/Event" }));
    fits(
        &told["example"],
        &json!({ "$ref": "#/components/schemas/Event" }),
    );
    fits(&told["example"]["data"]["object"], record);
}

/// What comes of deciding about credit, payments and time, and nothing of what is here: other tests make
/// it happen, where the processor or the clock can be played.
const ELSEWHERE: [EventType; 5] = [
    EventType::ProductArchived,
    EventType::ProductVariantArchived,
    EventType::PaymentRefunded,
    EventType::PaymentDisputed,
    EventType::CheckoutFulfillmentException,
];

#[tokio::test(flavor = "multi_thread")]
async fn every_type_happens_and_is_as_the_reference_says() {
    let server = Server::start(BINARY, &["--allow-loopback-targets"]).await;
    let client = server.client().await;
    // It wants to hear of nothing any more.
    let gone = Receiver::start([Answer::Raw(410, "", "")]).await;
    let gone = json!({ "url": gone.url, "types": ["lease_term.deleted"] });
    client.post("/v1/webhook-endpoints", gone).await.ok();
    let product = client.product(json!({})).await;
    let variant = client
        .variant_of(&product, "BIKE", json!({ "inventoryQuantity": 0 }))
        .await;
    let set_stock = async |quantity: u32| {
        let path = format!("/v1/product-variants/{}", text(&variant["id"]));
        let stock = json!({ "inventoryQuantity": quantity });
        client.put(&path, stock).await.ok();
    };
    let waits = client.checkout("BIKE", "waits@example.com").await;
    assert_eq!(waits["lifecycle"], "waitlistedAfterProfile");
    set_stock(50).await;
    client.comes_to(&waits, "identityRequired").await;
    set_stock(0).await;
    set_stock(51).await;
    set_stock(50).await;
    let term = json!({ "termInMonths": 48, "method": "annualRate", "annualRate": 6 });
    let term = client.post("/v1/lease-terms", term).await.ok();
    let term = format!("/v1/lease-terms/{}", text(&term["id"]));
    client.put(&term, json!({ "annualRate": 7 })).await.ok();
    client.delete(&term).await.ok();
    client
        .put(
            &format!("/v1/products/{}", text(&product["id"])),
            json!({ "name": "Gravel bike" }),
        )
        .await
        .ok();
    let other = client.product(json!({})).await;
    client.variant_of(&other, "OTHER", json!({})).await;
    client
        .delete(&format!("/v1/products/{}", text(&other["id"])))
        .await
        .ok();
    // A whole lease, with goods that are tracked.
    let lease = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let number = json!({ "trackingNumber": "1Z999AA10123456784" });
    client.act(&lease, "fulfill", number).await.ok();
    let delivered = format!(
        "/v1/sandbox/checkouts/{}/tracking-event",
        text(&lease["id"])
    );
    client
        .post(&delivered, json!({ "status": "delivered" }))
        .await
        .ok();
    client.comes_to(&lease, "leaseActive").await;
    client.advance(&lease, "returnPending").await.ok();
    client.advance(&lease, "returned").await.ok();
    // What is refused, called off, or left.
    let failed = client.checkout("BIKE", "a+identityfail@example.com").await;
    client.advance(&failed, "orderConfirmed").await.ok();
    let declined = client.checkout("BIKE", "b+creditfail@example.com").await;
    client.advance(&declined, "orderConfirmed").await.ok();
    let refused = client
        .checkout_at("BIKE", "c+depositfail@example.com", "depositPending")
        .await;
    client.advance(&refused, "orderConfirmed").await.ok();
    let held = client
        .checkout_at("BIKE", "d@example.com", "documentsPending")
        .await;
    client.act(&held, "cancel", json!({})).await.ok();
    let paid = client
        .checkout_at("BIKE", "e@example.com", "orderConfirmed")
        .await;
    client.act(&paid, "cancel", json!({})).await.ok();
    let left = client.checkout("BIKE", "f@example.com").await;
    client.move_to(&left, "expired").await.ok();
    let unpaid = client
        .checkout_at("BIKE", "g+firstpaymentfail@example.com", "orderConfirmed")
        .await;
    client.act(&unpaid, "fulfill", json!({})).await.ok();
    let manual = ["--mode", "sandbox", "--credit", "manual"];
    server.cli(&[&["org", "update", &client.organization], &manual[..]].concat());
    let asked = client.checkout("BIKE", "h@example.com").await;
    let browser = Browser::at(&client, &asked);
    browser.step("profile", &PROFILE).await;
    browser.step("identity", &[]).await;
    browser.step("identity-submit", &[]).await;

    let wanted: BTreeSet<&str> = EventType::ALL
        .iter()
        .filter(|known| !ELSEWHERE.contains(known))
        .map(|known| known.as_str())
        .collect();
    // The worker has a share in some of them.
    let deadline = Instant::now() + lessor_tests::server::PATIENCE;
    let mut events = Vec::new();
    loop {
        let last = events.last().map(|event: &Value| text(&event["id"]));
        let wait = if last.is_some() { "&wait=1" } else { "" };
        events.extend(after(&client, last.as_deref(), wait).await);
        let names = types(&events);
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let missing: Vec<&&str> = wanted.difference(&names).collect();
        if missing.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{missing:?} did not happen");
    }
    let sequences: Vec<u64> = events
        .iter()
        .filter_map(|event| event["sequence"].as_u64())
        .collect();
    let expected: Vec<u64> = (1..).take(events.len()).collect();
    assert_eq!(sequences, expected, "without a gap");
    let ids: BTreeSet<String> = events.iter().map(|event| text(&event["id"])).collect();
    assert_eq!(ids.len(), events.len(), "each once");
    for event in &events {
        check(&client, event);
    }
    // One that has a name of its own is not told as an update beside it.
    let mut last = None;
    for event in &events {
        let this = (
            text(&event["subject"]["id"]),
            event["data"]["object"].to_string(),
        );
        if text(&event["type"]).ends_with(".updated") {
            assert_ne!(last.as_ref(), Some(&this), "{event}");
        }
        last = Some(this);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_narrowed_and_read_on() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let begin = newest(&client).await;
    let product = client.product(json!({})).await;
    client.variant_of(&product, "BIKE", json!({})).await;
    let other = client.product(json!({})).await;
    let all = after(&client, Some(&begin), "").await;
    assert_eq!(
        types(&all),
        [
            "product.created",
            "product_variant.created",
            "product.created"
        ]
    );
    for (query, expected) in [
        ("&types=product.*", vec![0, 2]),
        ("&types=product.created,product_variant.*", vec![0, 1, 2]),
        ("&types=checkout.*", vec![]),
        ("&types=*", vec![0, 1, 2]),
        (
            "&types=product_variant.created&types=product.deleted",
            vec![1],
        ),
        (&format!("&subject={}", text(&other["id"])), vec![2]),
        (
            &format!("&subject={}&types=product_variant.*", text(&other["id"])),
            vec![],
        ),
    ] {
        let expected: Vec<&Value> = expected
            .into_iter()
            .map(|place: usize| &all[place])
            .collect();
        let found = after(&client, Some(&begin), query).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let first = client
        .get(&format!("/v1/events?limit=2&startingAfter={begin}"))
        .await;
    let next = first.next_page().unwrap();
    assert_eq!(first.ok(), json!(all[..2]));
    let next = client.get(next.strip_prefix(&client.url).unwrap()).await;
    assert_eq!(next.next_page(), None);
    assert_eq!(next.ok(), json!(all[2..]));
    // Another's are nobody's.
    let stranger = server.client().await;
    let theirs = text(&all[0]["id"]);
    stranger
        .get(&format!("/v1/events?startingAfter={theirs}"))
        .await
        .refused(400, "invalid_parameter", "startingAfter");
    let own = after(&stranger, None, "").await;
    assert!(own.iter().all(|event| !all.contains(event)), "{own:#?}");
    for (query, param) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("wait=31", "wait"),
        ("wait=-1", "wait"),
        ("types=shop.*", "types"),
        ("types=", "types"),
        ("subject=key_1", "subject"),
        ("startingAfter=nonsense", "startingAfter"),
        ("startingAfter=evt_0000000000000000000001", "startingAfter"),
        ("offset=1", "offset"),
    ] {
        let refused = client.get(&format!("/v1/events?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {refused}");
        let told = text(&refused.body["error"]["param"]);
        assert!(told.starts_with(param), "{query}: {refused}");
    }
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    let refused = reader.get("/v1/events").await;
    refused.refused_with(403, "forbidden", "", &["EventRead"]);
}

/// Long enough that a request that is not held would be over.
const HELD: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_answered_when_something_happens() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let last = newest(&client).await;
    let begun = Instant::now();
    let path = format!("/v1/events?wait=1&startingAfter={last}");
    let nothing = client.get(&path).await.ok();
    assert_eq!(nothing, json!([]));
    assert!(begun.elapsed() >= HELD, "it was not held");
    // The other request waits for what is begun after it, and is told of it if it comes late.
    let (waiting, maker) = (client.clone(), client.clone());
    let begun = Instant::now();
    let held = tokio::spawn(async move {
        let path = format!("/v1/events?wait=30&types=product_variant.*&startingAfter={last}");
        waiting.get(&path).await.ok()
    });
    // Of another kind: it waits on.
    let product = maker.product(json!({})).await;
    maker.variant_of(&product, "BIKE", json!({})).await;
    let told = held.await.unwrap();
    assert_eq!(types(told.as_array().unwrap()), ["product_variant.created"]);
    assert!(
        begun.elapsed() < Duration::from_secs(29),
        "it was answered by its end, and not by what happened"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_hears_of_commands_and_is_answered_when_the_server_stops() {
    let mut server = Server::start(BINARY, &["--request-deadline", "1s"]).await;
    let client = server.client().await;
    let last = newest(&client).await;
    // Longer than a request may take otherwise; what a command changes is numbered by the worker.
    let (waiting, path) = (
        client.clone(),
        format!("/v1/events?wait=30&startingAfter={last}"),
    );
    let held = tokio::spawn(async move { waiting.get(&path).await.ok() });
    let terms = ["terms", "create", "--org", &client.organization];
    let rest = [
        "--months",
        "48",
        "--method",
        "annualRate",
        "--annual-rate",
        "6",
    ];
    server.cli(&[&terms[..], &rest[..]].concat());
    let told = held.await.unwrap();
    let told = types(told.as_array().unwrap());
    assert!(
        told.iter().all(|name| name == "lease_term.created"),
        "{told:?}"
    );
    assert!(!told.is_empty(), "it was cut off");
    let last = after(&client, None, "").await.pop().unwrap();
    let waiting = client.clone();
    let path = format!("/v1/events?wait=30&startingAfter={}", text(&last["id"]));
    let held = tokio::spawn(async move { waiting.get(&path).await.ok() });
    // It is there before the signal: what is asked after it was sent is answered.
    client.get("/v1/lease-terms").await.has(200);
    let begun = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(held.await.unwrap(), json!([]));
    assert!(
        begun.elapsed() < Duration::from_secs(25),
        "it was not woken"
    );
    assert_eq!(server.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_erased_is_told_of_no_more() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace.hopper@example.com").await;
    let customer = text(&made["customerId"]);
    client
        .put(
            &format!("/v1/customers/{customer}"),
            json!({ "firstName": "Grace", "lastName": "Hopper" }),
        )
        .await
        .ok();
    let before = after(&client, None, "").await;
    assert!(json!(before).to_string().contains("Hopper"));
    let erase = format!("/v1/customers/{customer}/erase");
    client.send("POST", &erase, &[], None).await.ok();
    let events = after(&client, None, "").await;
    assert_eq!(events.len().min(before.len()), before.len(), "they stay");
    let told = json!(events).to_string().to_lowercase();
    assert!(!told.contains("hopper"), "{events:#?}");
    for (earlier, now) in before.iter().zip(&events) {
        assert_eq!(earlier["id"], now["id"]);
        let subject = text(&now["subject"]["id"]);
        if subject == customer || subject == text(&made["id"]) {
            assert_eq!(
                now["data"],
                json!({ "object": { "id": now["subject"]["id"] } })
            );
        } else {
            assert_eq!(earlier, now);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_sees_the_feed_too() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    client.variant_of(&product, "BIKE", json!({})).await;
    let feed = [
        "events",
        "list",
        "--org",
        &client.organization,
        "--mode",
        "sandbox",
    ];
    let told = server.cli(&feed);
    assert_eq!(told["results"], json!(after(&client, None, "").await));
    let narrowed = ["--types", "product.*,checkout.created", "--limit", "5"];
    let told = server.cli(&[&feed[..], &narrowed[..]].concat());
    assert_eq!(
        types(told["results"].as_array().unwrap()),
        ["product.created"]
    );
    let wrong = ["--types", "shop.*"];
    assert_eq!(server.refused(&[&feed[..], &wrong[..]].concat()).0, 2);
    assert_eq!(server.refused(&["events", "list", "--mode", "live"]).0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn checkouts_are_counted_by_their_states() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client.checkout("BIKE", "a@example.com").await;
    client.checkout("BIKE", "b@example.com").await;
    let unpaid = client
        .checkout_at("BIKE", "c+firstpaymentfail@example.com", "orderConfirmed")
        .await;
    let unpaid = client.act(&unpaid, "fulfill", json!({})).await.ok();
    let summary = client.get("/v1/checkouts/summary").await.ok();
    assert_eq!(summary["total"], 3);
    assert_eq!(summary["needsAttention"], 1);
    let states = summary["lifecycles"].as_object().unwrap();
    for (state, count) in states {
        let listed = client
            .get(&format!("/v1/checkouts?lifecycle={state}"))
            .await
            .ok();
        assert_eq!(count, listed.as_array().unwrap().len(), "{state}");
    }
    let document = &client.contract().document;
    let known = &document["components"]["schemas"]["CheckoutLifecycle"]["enum"];
    assert_eq!(known.as_array().unwrap().len(), states.len());
    let listed = client.get("/v1/checkouts?needsAttention=true").await.ok();
    assert_eq!(listed[0]["id"], unpaid["id"]);
    let live = client.with_key(&server.key(&client.organization, "live", "CheckoutRead"));
    assert_eq!(live.get("/v1/checkouts/summary").await.ok()["total"], 0);
}
