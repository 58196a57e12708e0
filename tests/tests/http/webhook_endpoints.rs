//! `/v1/webhook-endpoints`: who is told of events, and what they are told.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use lessor_tests::client::Client;
use lessor_tests::receiver::{Answer, Received, Receiver};
use lessor_tests::{Server, text};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::BINARY;

pub(crate) const PATH: &str = "/v1/webhook-endpoints";
/// How long it is waited for what becomes of a delivery.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that tells systems on this machine.
pub(crate) async fn server() -> Server {
    Server::start(BINARY, &["--allow-loopback-targets"]).await
}

fn taken() -> [Answer; 1] {
    [Answer::Raw(204, "", "")]
}

async fn endpoint(client: &Client, receiver: &Receiver, types: &[&str]) -> Value {
    let body = json!({ "url": receiver.url, "types": types });
    client.post(PATH, body).await.ok()
}

pub(crate) fn of(endpoint: &Value, rest: &str) -> String {
    format!("{PATH}/{}{rest}", text(&endpoint["id"]))
}

async fn deliveries(client: &Client, endpoint: &Value) -> Vec<Value> {
    let listed = client.get(&of(endpoint, "/deliveries?limit=100")).await;
    listed.ok().as_array().cloned().unwrap_or_default()
}

/// The deliveries, once they are as they are to be.
pub(crate) async fn deliveries_until(
    client: &Client,
    endpoint: &Value,
    are_done: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = deliveries(client, endpoint).await;
        if are_done(&found) {
            return found;
        }
        assert!(Instant::now() < end, "{found:#?}");
        sleep(Duration::from_millis(50)).await;
    }
}

fn are_over(found: &[Value]) -> bool {
    !found.is_empty() && found.iter().all(|one| one["status"] != "pending")
}

pub(crate) async fn product(client: &Client, name: &str) -> Value {
    client.product(json!({ "name": name })).await
}

/// Nothing more comes: whatever happened has its deliveries when the feed shows it.
async fn is_quiet(client: &Client, endpoint: &Value, receiver: &Receiver) {
    client.get("/v1/events?limit=1").await.ok();
    deliveries_until(client, endpoint, |found| {
        found.iter().all(|one| one["status"] != "pending")
    })
    .await;
    let left = receiver.left().await;
    assert!(left.is_empty(), "{left:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_comes_signed_as_its_get_answers_it() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start(taken()).await;
    let before = product(&client, "Before").await;
    let made = endpoint(&client, &receiver, &["product.*"]).await;
    let secret = text(&made["secret"]);
    assert!(secret.starts_with("whsec_"), "{made}");
    assert!(text(&made["id"]).starts_with("whe_"), "{made}");
    assert_eq!(
        (&made["status"], &made["types"], &made["mode"]),
        (&json!("enabled"), &json!(["product.*"]), &json!("sandbox"))
    );
    let bike = product(&client, "Bike").await;
    let got: Received = receiver.next().await;
    assert!(got.is_signed_with(&secret), "{got:?}");
    assert_eq!(got.header("content-type"), "application/json");
    assert!(got.header("user-agent").starts_with("lessor/"));
    let told = got.json();
    assert_eq!(
        (&told["type"], &told["data"]["object"]["id"]),
        (&json!("product.created"), &bike["id"])
    );
    assert_eq!(got.id(), text(&told["id"]));
    let read = client.get(&format!("/v1/events/{}", got.id())).await;
    assert_eq!(got.body, read.bytes, "byte for byte");
    let found = deliveries_until(&client, &made, are_over).await;
    let [delivery] = found.as_slice() else {
        panic!("what was before nobody is told of: {before} {found:#?}");
    };
    assert_eq!(
        (
            &delivery["status"],
            &delivery["attempts"],
            &delivery["responseStatus"],
            &delivery["eventId"],
            &delivery["type"]
        ),
        (
            &json!("succeeded"),
            &json!(1),
            &json!(204),
            &told["id"],
            &json!("product.created")
        )
    );
    assert!(delivery["durationMs"].is_u64(), "{delivery}");
    assert!(delivery.get("nextAttemptAt").is_none(), "{delivery}");
    is_quiet(&client, &made, &receiver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_shown_once() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start(taken()).await;
    let body = json!({ "url": receiver.url });
    let first = client.post_once(PATH, "key-1", &body).await;
    let made = first.ok();
    assert_eq!(made["types"], json!(["*"]));
    let again = client.post_once(PATH, "key-1", &body).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    let again = again.ok();
    assert_eq!(again["id"], made["id"]);
    assert!(again.get("secret").is_none(), "{again}");
    let read = client.get(&of(&made, "")).await.ok();
    assert!(read.get("secret").is_none(), "{read}");
    assert_eq!(read, again);
    let listed = client.get(PATH).await;
    assert_eq!(listed.header("x-total-count"), "1");
    assert_eq!(listed.ok(), json!([read]));
    let rolled = client
        .post_once(&of(&made, "/roll"), "key-2", &json!({}))
        .await
        .ok();
    assert_ne!(rolled["secret"], made["secret"]);
    let again = client
        .post_once(&of(&made, "/roll"), "key-2", &json!({}))
        .await
        .ok();
    assert!(again.get("secret").is_none(), "{again}");
    // Nowhere in the database, whatever it is kept in.
    let places = server.tables_with(&receiver.url).await;
    assert!(
        places.contains(&"webhook_endpoints".to_owned()),
        "{places:?}"
    );
    for secret in [&made["secret"], &rolled["secret"]] {
        let secret = text(secret).replace("whsec_", "");
        assert_eq!(server.tables_with(&secret).await, Vec::<String>::new());
        let bytes = format!("SELECT encode(decode('{secret}', 'base64'), 'hex')");
        for bytes in server.query(&bytes).await {
            assert_eq!(server.tables_with(&bytes).await, Vec::<String>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_told_of_its_types_and_mode() {
    let server = server().await;
    let client = server.client().await;
    let (products, leases) = (
        Receiver::start(taken()).await,
        Receiver::start(taken()).await,
    );
    let made = [
        endpoint(&client, &products, &["product.created", "product.deleted"]).await,
        endpoint(&client, &leases, &["checkout.*"]).await,
    ];
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    let of_live = Receiver::start(taken()).await;
    endpoint(&live, &of_live, &["*"]).await;
    let bike = live.product(json!({})).await;
    let got = products.next().await.json();
    assert_eq!(
        (&got["type"], &got["mode"]),
        (&json!("product.created"), &json!("sandbox"))
    );
    let got = of_live.next().await.json();
    assert_eq!(
        (&got["type"], &got["mode"]),
        (&json!("product.created"), &json!("live"))
    );
    let path = format!("/v1/products/{}", text(&bike["id"]));
    live.put(&path, json!({ "name": "Gravel bike" })).await.ok();
    assert_eq!(of_live.next().await.json()["type"], "product.updated");
    is_quiet(&client, &made[0], &products).await;
    is_quiet(&client, &made[1], &leases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_comes_again_and_others_go_ahead() {
    let server = server().await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let receiver =
        Receiver::start([Answer::Raw(500, "", "not now"), Answer::Raw(204, "", "")]).await;
    let made = endpoint(&client, &receiver, &["checkout.*"]).await;
    let checkout = client.checkout("BIKE", "grace@example.com").await;
    let first = receiver.next().await;
    let begun = Instant::now();
    let failed = deliveries_until(&client, &made, |found| found[0]["attempts"] == 1).await;
    let failed = failed.last().unwrap();
    assert_eq!(
        (
            &failed["status"],
            &failed["responseStatus"],
            &failed["responseBody"]
        ),
        (&json!("pending"), &json!(500), &json!("not now"))
    );
    assert_eq!(failed["error"], "the endpoint answered 500");
    assert!(failed["nextAttemptAt"].is_string(), "{failed}");
    // Of the same checkout, and later.
    let path = format!("/v1/checkouts/{}", text(&checkout["id"]));
    let noted = json!({ "metadata": { "clerk": "7" } });
    client.put(&path, noted).await.ok();
    let second = receiver.next().await;
    assert_ne!(second.id(), first.id(), "it does not wait for what failed");
    let again = receiver.next().await;
    let waited = begun.elapsed();
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    assert!(waited >= Duration::from_millis(3_900), "{waited:?}");
    assert!(waited <= Duration::from_secs(12), "{waited:?}");
    let found = deliveries_until(&client, &made, are_over).await;
    assert!(
        found.iter().all(|one| one["status"] == "succeeded"),
        "{found:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn those_of_a_checkout_come_in_order() {
    let server = server().await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let receiver = Receiver::start(taken()).await;
    let made = endpoint(&client, &receiver, &["checkout.*", "payment.*"]).await;
    let mut checkouts = Vec::new();
    for number in 0..3 {
        let email = format!("ada{number}@example.com");
        checkouts.push(client.checkout_at("BIKE", &email, "orderConfirmed").await);
    }
    deliveries_until(&client, &made, |found| found.len() > 15 && are_over(found)).await;
    let got = receiver.left().await;
    for checkout in &checkouts {
        let of_it: Vec<u64> = got
            .iter()
            .map(Received::json)
            .filter(|told| told["subject"]["id"] == checkout["id"])
            .filter_map(|told| told["sequence"].as_u64())
            .collect();
        assert!(of_it.len() > 3, "{of_it:?}");
        assert!(of_it.is_sorted_by(|one, next| one < next), "{of_it:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_obeyed() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start([
        Answer::Raw(429, "retry-after: 7200\r\n", ""),
        Answer::Raw(503, "retry-after: 999999\r\n", ""),
    ])
    .await;
    let made = endpoint(&client, &receiver, &["product.*"]).await;
    product(&client, "One").await;
    receiver.next().await;
    let found = deliveries_until(&client, &made, |found| {
        !found.is_empty() && found[0]["attempts"] == 1
    })
    .await;
    let seconds = |delivery: &Value| {
        let at = |member: &str| {
            let at = text(&delivery[member]);
            chrono::DateTime::parse_from_rfc3339(&at).unwrap()
        };
        (at("nextAttemptAt") - at("updatedAt")).num_seconds()
    };
    assert_eq!(seconds(&found[0]), 7_200, "{}", found[0]);
    product(&client, "Two").await;
    receiver.next().await;
    let found = deliveries_until(&client, &made, |found| {
        found.len() == 2 && found[0]["attempts"] == 1
    })
    .await;
    assert_eq!(
        seconds(&found[0]),
        86_400,
        "a day at the most: {}",
        found[0]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_gone_is_disabled() {
    let server = server().await;
    let client = server.client().await;
    let gone = Receiver::start([Answer::Raw(410, "", "")]).await;
    let other = Receiver::start(taken()).await;
    let made = endpoint(&client, &gone, &["product.*"]).await;
    endpoint(&client, &other, &["webhook_endpoint.*"]).await;
    product(&client, "One").await;
    gone.next().await;
    let told = other.next().await.json();
    assert_eq!(told["type"], "webhook_endpoint.disabled");
    assert_eq!(
        told["subject"],
        json!({ "type": "webhook_endpoint", "id": made["id"] })
    );
    let read = client.get(&of(&made, "")).await.ok();
    assert_eq!(told["data"]["object"], read);
    assert_eq!(
        (&read["status"], &read["disabledReason"]),
        (&json!("disabled"), &json!("gone"))
    );
    let previous = &told["data"]["previous"];
    assert_eq!(previous["status"], "enabled");
    let audit = format!("/v1/audit?subject={}", text(&made["id"]));
    let audit = client.get(&audit).await.ok();
    assert_eq!(
        (&audit[0]["action"], &audit[0]["actor"]["type"]),
        (&json!("webhook_endpoint.disabled"), &json!("system"))
    );
    // Nothing is told while it is disabled.
    product(&client, "Two").await;
    is_quiet(&client, &made, &gone).await;
    client
        .post(&of(&made, "/test"), json!({}))
        .await
        .refused(400, "invalid_request", "");
    let replay = json!({ "from": "2020-01-01T00:00:00Z" });
    client
        .post(&of(&made, "/replay"), replay.clone())
        .await
        .refused(400, "invalid_request", "");
    // It comes back, and is brought what it missed.
    gone.answers(taken());
    let enabled = client
        .put(&of(&made, ""), json!({ "status": "enabled" }))
        .await
        .ok();
    assert!(enabled.get("disabledReason").is_none(), "{enabled}");
    is_quiet(&client, &made, &gone).await;
    let replayed = client.post(&of(&made, "/replay"), replay).await.ok();
    assert_eq!(replayed, json!({ "queued": 2 }));
    let names: Vec<Value> = [gone.next().await, gone.next().await]
        .iter()
        .map(|got| got.json()["data"]["object"]["name"].clone())
        .collect();
    assert!(names.contains(&json!("One")) && names.contains(&json!("Two")));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_secrets_sign_during_a_roll() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start(taken()).await;
    let made = endpoint(&client, &receiver, &["product.*"]).await;
    let rolled = client.post(&of(&made, "/roll"), json!({})).await.ok();
    let (old, new) = (text(&made["secret"]), text(&rolled["secret"]));
    assert_ne!(old, new);
    assert!(rolled["oldSecretUntil"].is_string(), "{rolled}");
    product(&client, "One").await;
    let got = receiver.next().await;
    assert!(got.is_signed_with(&old) && got.is_signed_with(&new));
    assert_eq!(got.header("webhook-signature").split(' ').count(), 2);
    let at_once = json!({ "overlap": "0s" });
    let last = client.post(&of(&made, "/roll"), at_once).await.ok();
    assert!(last.get("oldSecretUntil").is_none(), "{last}");
    product(&client, "Two").await;
    let got = receiver.next().await;
    assert!(got.is_signed_with(&text(&last["secret"])));
    assert!(!got.is_signed_with(&old) && !got.is_signed_with(&new));
    for overlap in [
        "",
        "1",
        "h",
        "8d",
        "-1h",
        "1.5h",
        "1w",
        "99999999999999999999d",
    ] {
        client
            .post(&of(&made, "/roll"), json!({ "overlap": overlap }))
            .await
            .refused(400, "invalid_parameter", "overlap");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_tried_out() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start(taken()).await;
    let made = endpoint(&client, &receiver, &["payment.failed"]).await;
    let delivery = client.post(&of(&made, "/test"), json!({})).await.ok();
    assert_eq!(
        (
            &delivery["type"],
            &delivery["status"],
            &delivery["attempts"]
        ),
        (
            &json!("webhook_endpoint.test"),
            &json!("pending"),
            &json!(0)
        )
    );
    let got = receiver.next().await;
    assert!(got.is_signed_with(&text(&made["secret"])));
    let told = got.json();
    assert_eq!(
        (&told["type"], &told["id"], &told["sequence"]),
        (
            &json!("webhook_endpoint.test"),
            &delivery["eventId"],
            &json!(0)
        )
    );
    let read = client.get(&of(&made, "")).await.ok();
    assert_eq!(told["data"]["object"], read, "without its secret");
    client
        .get(&format!("/v1/events/{}", text(&told["id"])))
        .await
        .refused(404, "not_found", "");
    let found = deliveries_until(&client, &made, are_over).await;
    assert_eq!(found[0]["id"], delivery["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_replayed() {
    let server = server().await;
    let client = server.client().await;
    let receiver = Receiver::start([Answer::Raw(400, "", "")]).await;
    let early = product(&client, "Early").await;
    let made = endpoint(&client, &receiver, &["product.*"]).await;
    let first = product(&client, "First").await;
    receiver.next().await;
    deliveries_until(&client, &made, |found| found[0]["attempts"] == 1).await;
    receiver.answers(taken());
    let second = product(&client, "Second").await;
    receiver.next().await;
    deliveries_until(&client, &made, |found| found[0]["status"] == "succeeded").await;
    let replay = async |body: Value| client.post(&of(&made, "/replay"), body).await.ok();
    let names = async |count: usize| {
        let mut names = Vec::new();
        for _ in 0..count {
            let told = receiver.next().await.json();
            names.push(text(&told["data"]["object"]["name"]));
        }
        names.sort();
        is_quiet(&client, &made, &receiver).await;
        names
    };
    let always = json!({ "from": "2020-01-01T00:00:00Z", "onlyFailed": true });
    assert_eq!(replay(always).await["queued"], 2);
    assert_eq!(
        names(2).await,
        ["Early", "First"],
        "from before the endpoint too"
    );
    let none = json!({ "from": "2020-01-01T00:00:00Z", "onlyFailed": true });
    assert_eq!(
        replay(none).await["queued"],
        0,
        "all are acknowledged by now"
    );
    let from = json!({ "from": first["createdAt"] });
    assert_eq!(replay(from).await["queued"], 2, "from is inclusive");
    assert_eq!(names(2).await, ["First", "Second"]);
    let to = json!({ "from": early["createdAt"], "to": first["createdAt"] });
    assert_eq!(replay(to).await["queued"], 1);
    assert_eq!(names(1).await, ["Early"]);
    let others = json!({ "from": early["createdAt"], "types": ["checkout.*"] });
    assert_eq!(replay(others).await["queued"], 0);
    let path = of(&made, "/replay");
    for (body, code, param) in [
        (json!({}), "parameter_missing", "from"),
        (json!({ "from": "yesterday" }), "invalid_parameter", "from"),
        (
            json!({ "from": second["createdAt"], "to": first["createdAt"] }),
            "invalid_parameter",
            "to",
        ),
        (
            json!({ "from": second["createdAt"], "types": ["webhook_endpoint.test"] }),
            "invalid_parameter",
            "types[0]",
        ),
        (
            json!({ "from": second["createdAt"], "onlyFailed": "yes" }),
            "invalid_parameter",
            "onlyFailed",
        ),
    ] {
        client.post(&path, body).await.refused(400, code, param);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_redelivered() {
    let server = server().await;
    let client = server.client().await;
    let (listens, idle) = (
        Receiver::start(taken()).await,
        Receiver::start(taken()).await,
    );
    let made = endpoint(&client, &listens, &["product.*"]).await;
    let other = endpoint(&client, &idle, &["payment.*"]).await;
    product(&client, "One").await;
    let first = listens.next().await;
    deliveries_until(&client, &made, are_over).await;
    let path = format!("/v1/events/{}/redeliver", first.id());
    let queued = client.post(&path, json!({})).await.ok();
    assert_eq!(queued, json!({ "queued": 1 }));
    let again = listens.next().await;
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    let named = json!({ "endpointId": other["id"] });
    let queued = client.post(&path, named.clone()).await.ok();
    assert_eq!(queued, json!({ "queued": 1 }));
    assert_eq!(idle.next().await.body, first.body, "whatever it is told of");
    let found = deliveries_until(&client, &made, are_over).await;
    assert_eq!(found.len(), 2, "{found:#?}");
    client
        .put(&of(&other, ""), json!({ "status": "disabled" }))
        .await
        .ok();
    client
        .post(&path, named)
        .await
        .refused(400, "invalid_request", "");
    let event = first.id();
    let organization = client.organization.as_str();
    let reply = server.cli(&[
        "events",
        "redeliver",
        event,
        "--org",
        organization,
        "--mode",
        "sandbox",
    ]);
    assert_eq!(reply["queued"], 1, "{reply}");
    assert_eq!(listens.next().await.body, first.body);
    let unknown = "/v1/events/evt_0000000000000000000001/redeliver";
    client
        .post(unknown, json!({}))
        .await
        .refused(404, "not_found", "");
    let nobody = json!({ "endpointId": "whe_0000000000000000000001" });
    client
        .post(&path, nobody)
        .await
        .refused(404, "not_found", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_sixteen_of_a_mode() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let body = json!({ "url": "https://hooks.example.com/" });
    let mut last = Value::Null;
    for number in 0..16 {
        last = client.post(PATH, body.clone()).await.ok();
        if number < 8 {
            let off = json!({ "status": "disabled" });
            client.put(&of(&last, ""), off).await.ok();
        }
    }
    let more = client.post(PATH, body.clone()).await;
    more.refused_with(400, "invalid_request", "", &["16"]);
    let live = client.with_key(&server.key(&client.organization, "live", "WebhookWrite"));
    live.post(PATH, body.clone()).await.ok();
    let deleted = client.delete(&of(&last, "")).await.ok();
    assert_eq!(deleted["id"], last["id"]);
    client.post(PATH, body).await.ok();
    client
        .delete(&of(&last, ""))
        .await
        .refused(404, "not_found", "");
    let listed = client.get(&format!("{PATH}?limit=10")).await;
    assert_eq!(listed.header("x-total-count"), "16");
    let next = listed.next_page().unwrap();
    assert_eq!(listed.ok().as_array().map(Vec::len), Some(10));
    let next = next.strip_prefix(&client.url).unwrap_or(&next);
    let rest = client.get(next).await.ok();
    assert_eq!(rest.as_array().map(Vec::len), Some(6));
}

/// They race for the last place, and one of them has it.
#[tokio::test(flavor = "multi_thread")]
async fn the_sixteenth_place_is_taken_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let body = json!({ "url": "https://hooks.example.com/" });
    for _ in 0..15 {
        client.post(PATH, body.clone()).await.ok();
    }
    let racers = (0..4).map(|_| client.post(PATH, body.clone()));
    let replies = futures::future::join_all(racers).await;
    let made = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(made, 1, "{replies:?}");
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        reply.refused(400, "invalid_request", "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_url_shows_is_judged_at_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let made = client
        .post(PATH, json!({ "url": "https://hooks.example.com/" }))
        .await
        .ok();
    for url in [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "hooks.example.com",
        "https://user:word@hooks.example.com/",
        "https://localhost/",
        "http://localhost:3000/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::10.0.0.1]/",
        "https://[2002:a00:1::]/",
    ] {
        let body = json!({ "url": url });
        for reply in [
            client.post(PATH, body.clone()).await,
            client.put(&of(&made, ""), body).await,
        ] {
            reply.refused(400, "invalid_parameter", "url");
        }
    }
    for (body, code, param) in [
        (json!({}), "parameter_missing", "url"),
        (
            json!({ "url": "https://a.example.com/", "types": [] }),
            "invalid_parameter",
            "types",
        ),
        (
            json!({ "url": "https://a.example.com/", "types": ["*", "shop.*"] }),
            "invalid_parameter",
            "types[1]",
        ),
        (
            json!({ "url": "https://a.example.com/", "description": "x".repeat(256) }),
            "invalid_parameter",
            "description",
        ),
        (
            json!({ "url": "https://a.example.com/", "secret": "whsec_x" }),
            "invalid_parameter",
            "secret",
        ),
    ] {
        client.post(PATH, body).await.refused(400, code, param);
    }
    let changed = json!({ "types": ["payment.*", "payment.*"], "description": "Till" });
    let changed = client.put(&of(&made, ""), changed).await.ok();
    assert_eq!(
        (&changed["types"], &changed["description"]),
        (&json!(["payment.*"]), &json!("Till"))
    );
    let cleared = json!({ "description": null });
    let cleared = client.put(&of(&made, ""), cleared).await.ok();
    assert!(cleared.get("description").is_none(), "{cleared}");
    let same = client.put(&of(&made, ""), json!({})).await.ok();
    assert_eq!(same["updatedAt"], cleared["updatedAt"], "nothing changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_stands_for_this_machine_is_not_asked() {
    let server = server().await;
    let client = server.client().await;
    // The name shows nothing, and no name server knows it.
    let body = json!({ "url": "https://rebound.invalid/" });
    let made = client.post(PATH, body).await.ok();
    client.post(&of(&made, "/test"), json!({})).await.ok();
    let found = deliveries_until(&client, &made, |found| found[0]["attempts"] == 1).await;
    assert_eq!(found[0]["status"], "pending", "{}", found[0]);
    assert!(found[0].get("responseStatus").is_none(), "{}", found[0]);
    assert!(!text(&found[0]["error"]).is_empty(), "{}", found[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_endpoints_are_not_there() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let made = client
        .post(PATH, json!({ "url": "https://hooks.example.com/" }))
        .await
        .ok();
    let stranger = server.client().await;
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    for other in [&stranger, &live] {
        for rest in ["", "/deliveries"] {
            other
                .get(&of(&made, rest))
                .await
                .refused(404, "not_found", "");
        }
        for rest in ["/roll", "/test"] {
            other
                .post(&of(&made, rest), json!({}))
                .await
                .refused(404, "not_found", "");
        }
        let replay = json!({ "from": "2020-01-01T00:00:00Z" });
        other
            .post(&of(&made, "/replay"), replay)
            .await
            .refused(404, "not_found", "");
        other
            .put(&of(&made, ""), json!({ "status": "disabled" }))
            .await
            .refused(404, "not_found", "");
        other
            .delete(&of(&made, ""))
            .await
            .refused(404, "not_found", "");
        assert_eq!(other.get(PATH).await.ok(), json!([]));
        let after = format!("{PATH}?startingAfter={}", text(&made["id"]));
        other
            .get(&after)
            .await
            .refused(400, "invalid_parameter", "startingAfter");
    }
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "EventRead"));
    reader.get(&of(&made, "")).await.ok();
    reader
        .delete(&of(&made, ""))
        .await
        .refused_with(403, "forbidden", "", &["WebhookWrite"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_endpoint_holds_back_nobody() {
    let server = server().await;
    let client = server.client().await;
    let dead = Receiver::start([Answer::Never]).await;
    let made = endpoint(&client, &dead, &["product.*"]).await;
    for number in 0..40 {
        product(&client, &format!("Bike {number}")).await;
    }
    deliveries_until(&client, &made, |found| found.len() == 40).await;
    // Of the same organization, and of another.
    let neighbour = server.client().await;
    for client in [&client, &neighbour] {
        let receiver = Receiver::start(taken()).await;
        endpoint(client, &receiver, &["product.*"]).await;
        let begun = Instant::now();
        product(client, "Last").await;
        receiver.next().await;
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(5), "{waited:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_forwards_what_happens() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let receiver = Receiver::start(taken()).await;
    let arguments = [
        "listen",
        "--org",
        &client.organization,
        "--mode",
        "sandbox",
        "--types",
        "product.created",
        "--forward-to",
        &receiver.url,
        "--json",
    ];
    let mut command = server.command(&arguments);
    let mut listening = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(listening.stdout.take().unwrap()).lines();
    let mut next = || -> Value {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let begun = next();
    assert_eq!(begun["forwardTo"], json!(receiver.url));
    let secret = text(&begun["secret"]);
    client.product(json!({})).await;
    let got = receiver.next().await;
    assert!(got.is_signed_with(&secret), "{got:?}");
    let read = client.get(&format!("/v1/events/{}", got.id())).await;
    assert_eq!(got.body, read.bytes);
    let told = next();
    assert_eq!(
        (&told["eventId"], &told["responseStatus"]),
        (&json!(got.id()), &json!(204))
    );
    listening.kill().unwrap();
    listening.wait().unwrap();
}
