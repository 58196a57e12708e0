//! Receivers in other languages are told of events: verifiers that others wrote, and those of the examples, by which
//! whoever wants to be told begins. `tests/install peers` installs them; without them these tests say that they were
//! skipped, or fail when `LESSOR_REQUIRE_PEERS` is 1.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

mod programs;

use chrono::TimeDelta;
use lessor_domain::time::Timestamp;
use lessor_tests::client::Client;
use lessor_tests::{now, text};
use serde_json::{Value, json};

use crate::webhook_endpoints::{PATH, deliveries_until, of, product, server};
use programs::{Judge, Language, Message, Program};

/// The message that the reference libraries of Standard Webhooks are tested with.
const PUBLISHED_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLISHED_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const PUBLISHED_AT: i64 = 1_614_265_330;
const PUBLISHED_BODY: &[u8] = br#"{"test": 2432232314}"#;
const PUBLISHED_SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const OTHER_SECRET: &str = "whsec_c29tZWJvZHkgZWxzZSBtYWRlIHRoaXMgc2VjcmV0";
const HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// The deliveries to the endpoint, the last first, once there are so many and each was tried.
async fn tried(client: &Client, endpoint: &Value, count: usize) -> Vec<Value> {
    deliveries_until(client, endpoint, |found| {
        found.len() == count && found.iter().all(|one| one["attempts"] != 0)
    })
    .await
}

/// A verifier, the endpoint by which it is told, and the secret that it was given.
struct Told {
    judge: Judge,
    endpoint: Value,
    secret: String,
}

impl Told {
    async fn begin(client: &Client, judge: Judge) -> Self {
        let body = json!({ "url": judge.url, "types": ["product.created"] });
        let endpoint = client.post(PATH, body).await.ok();
        let secret = text(&endpoint["secret"]);
        judge.is_given(&secret).await;
        Self {
            judge,
            endpoint,
            secret,
        }
    }

    /// It was told so often, and believed it all.
    async fn believed(&self, client: &Client, count: usize) {
        for delivery in tried(client, &self.endpoint, count).await {
            assert_eq!(
                (&delivery["status"], &delivery["responseStatus"]),
                (&json!("succeeded"), &json!(204)),
                "{}: {delivery:#}",
                self.judge.name
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verifiers_of_others_believe_what_is_sent_and_nothing_else() {
    let languages = Language::installed("verifiers of webhooks");
    if languages.is_empty() {
        return;
    }
    let server = server().await;
    let client = server.client().await;
    let (mut programs, mut all) = (Vec::new(), Vec::new());
    for language in languages {
        let mut program = Program::judges(language);
        program.start("").await;
        for judge in Judge::of(language, &program) {
            all.push(Told::begin(&client, judge).await);
        }
        programs.push(program);
    }
    // Events, and what an endpoint is tried out with.
    product(&client, "Bike").await;
    for told in &all {
        told.believed(&client, 1).await;
        let path = of(&told.endpoint, "/test");
        client.post(&path, json!({})).await.ok();
        told.believed(&client, 2).await;
    }
    product(&client, "Fahrrad „Größe“ 自転車 🚲").await;
    for told in &all {
        told.believed(&client, 3).await;
        let last = told.judge.last().await;
        assert!(!last.body.is_ascii(), "{last:?}");
        judges_rightly(&told.judge, &told.secret, &last).await;
    }
    // While a secret is rolled, whoever has either. They have the old one still.
    for told in &mut all {
        let path = of(&told.endpoint, "/roll");
        let rolled = client.post(&path, json!({})).await.ok();
        told.secret = text(&rolled["secret"]);
    }
    product(&client, "Told by the old secret").await;
    for told in &all {
        told.believed(&client, 4).await;
        told.judge.is_given(&told.secret).await;
    }
    product(&client, "Told by the new secret").await;
    for told in &all {
        told.believed(&client, 5).await;
        let last = told.judge.last().await;
        let signatures = last.header("webhook-signature").split(' ').count();
        assert_eq!(signatures, 2, "{last:?}");
        told.judge.is_given(OTHER_SECRET).await;
        assert!(told.judge.refusal(&last).await.is_some(), "{last:?}");
    }
}

/// The verifier believes and refuses what it has to. It is left with the secret.
async fn judges_rightly(judge: &Judge, secret: &str, sent: &Message) {
    let id = sent.header("webhook-id");
    let signed = |at: Timestamp| Message::signed(id, &sent.body, secret, at);
    let ago = |seconds: i64| signed(now() - TimeDelta::seconds(seconds));
    let mut changed = sent.clone();
    let place = changed.body.iter().position(u8::is_ascii_digit).unwrap();
    changed.body[place] ^= 1;
    let of_other = Message::signed(id, &sent.body, OTHER_SECRET, now());
    let signature = sent.header("webhook-signature");
    let other = of_other.header("webhook-signature");
    let later = (now() + TimeDelta::seconds(7)).timestamp().to_string();
    let mut cases = vec![
        ("as it came", sent.clone(), None),
        ("four minutes old", ago(240), None),
        ("four minutes early", ago(-240), None),
        (
            "one of several signatures",
            sent.with("webhook-signature", &format!("{other} {signature}")),
            None,
        ),
        ("a changed byte", changed, Some("signature_wrong")),
        (
            "another id",
            sent.with("webhook-id", "evt_0000000000000000000001"),
            Some("signature_wrong"),
        ),
        (
            "another time",
            sent.with("webhook-timestamp", &later),
            Some("signature_wrong"),
        ),
        ("another secret", of_other.clone(), Some("signature_wrong")),
        (
            "a signature of another version",
            sent.with("webhook-signature", &signature.replace("v1,", "v2,")),
            Some("signature_wrong"),
        ),
        (
            "a time that is none",
            sent.with("webhook-timestamp", "yesterday"),
            Some("timestamp_invalid"),
        ),
        ("old", ago(301), Some("too_old")),
        // The clock goes on while it is sent.
        ("early", ago(-400), Some("too_new")),
    ];
    for header in HEADERS {
        let case = (
            "a header less",
            sent.without(header),
            Some("header_missing"),
        );
        cases.push(case);
    }
    if judge.is_ours {
        // The bytes are signed, whatever they are.
        let bytes = Message::signed(id, b"\xff\x00\xfe", secret, now());
        cases.push(("what is no text", bytes, None));
    }
    for (what, message, kind) in cases {
        let refusal = judge.refusal(&message).await;
        let name = &judge.name;
        match kind {
            // Others have words of their own for it.
            Some(_) if !judge.is_ours => assert!(refusal.is_some(), "{name}: {what}"),
            kind => assert_eq!(refusal.as_deref(), kind, "{name}: {what}"),
        }
    }
    judges_what_is_published(judge).await;
    judge.is_given(secret).await;
}

async fn judges_what_is_published(judge: &Judge) {
    let at = Timestamp::from_timestamp(PUBLISHED_AT, 0).unwrap();
    let message = Message::signed(PUBLISHED_ID, PUBLISHED_BODY, PUBLISHED_SECRET, at);
    assert_eq!(message.header("webhook-signature"), PUBLISHED_SIGNATURE);
    judge.is_given(PUBLISHED_SECRET).await;
    let refusal = judge.refusal_at(&message, PUBLISHED_AT).await;
    assert_eq!(refusal, None, "{}", judge.name);
    assert!(judge.refusal(&message).await.is_some(), "{}", judge.name);
    let mut changed = message.clone();
    changed.body = br#"{"test":2432232314}"#.to_vec();
    let refusal = judge.refusal_at(&changed, PUBLISHED_AT).await;
    assert!(refusal.is_some(), "{}", judge.name);
    if !judge.is_ours {
        return;
    }
    for (late, kind) in [
        (300, None),
        (301, Some("too_old")),
        (-300, None),
        (-301, Some("too_new")),
    ] {
        let refusal = judge.refusal_at(&message, PUBLISHED_AT + late).await;
        assert_eq!(refusal.as_deref(), kind, "{}: {late}", judge.name);
    }
    // Nobody's secret is one that anybody has.
    for secret in [
        "",
        "whsec_",
        "whsec_AAAA",
        "whsec_%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
    ] {
        judge.is_given(secret).await;
        let refusal = judge.refusal_at(&message, PUBLISHED_AT).await;
        let kind = refusal.as_deref();
        assert_eq!(kind, Some("secret_invalid"), "{}: {secret}", judge.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_of_the_examples_do_what_they_are_told_once() {
    let languages = Language::installed("receivers of webhooks");
    if languages.is_empty() {
        return;
    }
    let server = server().await;
    let client = server.client().await;
    for language in languages {
        let mut program = Program::receiver(language);
        let url = program.url();
        let body = json!({ "url": url, "types": ["product.created"] });
        let endpoint = client.post(PATH, body).await.ok();
        let secret = text(&endpoint["secret"]);
        program.start(&secret).await;
        product(&client, "Bike").await;
        let first = tried(&client, &endpoint, 1).await.remove(0);
        assert_eq!(first["responseBody"], "done", "{language:?}: {first:#}");
        let again = format!("/v1/events/{}/redeliver", text(&first["eventId"]));
        let named = json!({ "endpointId": endpoint["id"] });
        // It knows what it did after a new start too.
        for count in [2, 3] {
            client.post(&again, named.clone()).await.ok();
            let repeat = tried(&client, &endpoint, count).await.remove(0);
            assert_eq!(
                (&repeat["status"], &repeat["responseBody"]),
                (&json!("succeeded"), &json!("seen before")),
                "{language:?}: {repeat:#}"
            );
            program.start(&secret).await;
        }
        product(&client, "Another bike").await;
        let other = tried(&client, &endpoint, 4).await.remove(0);
        assert_eq!(other["responseBody"], "done", "{language:?}: {other:#}");

        let told = json!({ "type": "product.created", "subject": { "id": "prod_1" } });
        let told = told.to_string().into_bytes();
        let forged = Message::signed("evt_1", &told, OTHER_SECRET, now());
        let refused = Some((401, "signature_wrong".to_owned()));
        assert_eq!(forged.sent_to(&url).await, refused, "{language:?}");
        let message = Message::signed("evt_1", &told, &secret, now());
        if language != Language::TypeScript {
            // What they do with it fails, and is undone with what they have seen. In TypeScript it is one step.
            let broken = Message::signed("evt_1", b"no JSON", &secret, now());
            let answer = broken.sent_to(&url).await;
            assert!(
                answer.as_ref().is_none_or(|(status, _)| *status == 500),
                "{language:?}: {answer:?}"
            );
        }
        for expected in ["done", "seen before"] {
            let answer = message.sent_to(&url).await;
            let expected = Some((200, expected.to_owned()));
            assert_eq!(answer, expected, "{language:?}");
        }
        // Nobody listens there any more.
        client.delete(&of(&endpoint, "")).await.ok();
    }
}
