//! Decisions about credit: who makes them, what they need, and what changes them.

use std::time::{Duration, Instant};

use lessor_tests::client::{Client, Reply};
use lessor_tests::receiver::{Answer, Receiver};
use lessor_tests::shop::{address, merged};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::page::{Browser, PROFILE};

/// Where a checkout stands whose credit is decided.
const NEXT: &str = "shippingAddressPending";
const WAITS: &str = "qualificationPending";

/// A client whose organization decides so in the sandbox.
async fn deciding(server: &Server, credit: Value) -> (Client, Value) {
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let set = client.put("/v1/organization", credit).await.ok();
    (client, set)
}

/// A checkout that was played as far as it comes.
async fn played(client: &Client, email: &str) -> Value {
    let made = client.checkout("BIKE", email).await;
    client.advance(&made, NEXT).await.ok()
}

async fn decide(client: &Client, checkout: &Value, body: Value) -> Reply {
    client.act(checkout, "qualification", body).await
}

fn attention(checkout: &Value) -> Vec<String> {
    let reasons = checkout["progress"]["attention"].as_array();
    let reasons = reasons.into_iter().flatten();
    reasons.map(|one| text(&one["reason"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves() {
    let server = Server::shared(BINARY).await;
    let (client, set) = deciding(server, json!({ "credit": "manual" })).await;
    assert_eq!(set["credit"], "manual");
    let checkout = played(&client, "grace@example.com").await;
    assert_eq!(checkout["lifecycle"], WAITS);
    assert_eq!(attention(&checkout), ["qualificationRequired"]);
    assert_eq!(checkout["progress"]["needsAttention"], true);
    let listed = client.get("/v1/checkouts?needsAttention=true").await.ok();
    assert_eq!(listed[0]["id"], checkout["id"]);
    let page = Browser::at(&client, &checkout).look().await;
    assert!(page.contains("The decision is pending"), "{page}");

    let limited = server.key(
        &client.organization,
        "sandbox",
        "CheckoutRead,CheckoutWrite",
    );
    let approved = json!({ "decision": "approved", "reference": "case 7" });
    let refused = decide(&client.with_key(&limited), &checkout, approved.clone()).await;
    refused.refused_with(403, "forbidden", "", &["CheckoutQualify"]);
    for (member, wrong) in [
        (
            "reasons",
            json!({ "decision": "approved", "reasons": ["other"] }),
        ),
        (
            "reasons",
            json!({ "decision": "declined", "reasons": ["other", "other"] }),
        ),
        (
            "reasons",
            json!({ "decision": "declined", "reasons": [
            "other", "bankruptcy", "recentInquiries", "noCreditFile", "garnishmentOrAttachment"
        ] }),
        ),
        (
            "reasons[0]",
            json!({ "decision": "declined", "reasons": ["ugly"] }),
        ),
        (
            "expiresAt",
            json!({ "decision": "approved", "expiresAt": "2020-01-01T00:00:00Z" }),
        ),
        (
            "expiresAt",
            json!({ "decision": "declined", "expiresAt": "2120-01-01T00:00:00Z" }),
        ),
        ("decision", json!({ "decision": "maybe" })),
    ] {
        let refused = decide(&client, &checkout, wrong).await;
        refused.refused(400, "invalid_parameter", member);
    }
    decide(&client, &checkout, json!({}))
        .await
        .refused(400, "parameter_missing", "decision");

    let qualified = decide(&client, &checkout, approved.clone()).await.ok();
    assert_eq!(qualified["lifecycle"], NEXT);
    assert_eq!(attention(&qualified), Vec::<String>::new());
    let made = &qualified["qualification"];
    assert_eq!(
        (&made["decision"], &made["reference"], &made["source"]),
        (&json!("approved"), &json!("case 7"), &json!("organization"))
    );
    assert!(made["expiresAt"].is_string());
    let customer = format!("/v1/customers/{}", text(&checkout["customerId"]));
    let customer = client.get(&customer).await.ok();
    assert_eq!(customer["creditStatus"], "passed");
    assert_eq!(customer["creditTimestamp"], made["decidedAt"]);
    assert_eq!(decide(&client, &checkout, approved).await.ok(), qualified);
    let other = decide(&client, &checkout, json!({ "decision": "declined" })).await;
    other.refused(400, "invalid_request", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_declines_and_the_page_tells_why() {
    let server = Server::shared(BINARY).await;
    let (client, _) = deciding(server, json!({ "credit": "manual" })).await;
    let early = client.checkout("BIKE", "early@example.com").await;
    let declined =
        json!({ "decision": "declined", "reasons": ["bankruptcy", "incomeInsufficient"] });
    let refused = decide(&client, &early, declined.clone()).await;
    let message = refused.refused(400, "invalid_request", "");
    assert!(message.contains("created"), "{message}");

    let checkout = played(&client, "grace@example.com").await;
    let ended = decide(&client, &checkout, declined.clone()).await.ok();
    assert_eq!(ended["lifecycle"], "qualificationFailed");
    assert_eq!(ended["qualification"]["reasons"], declined["reasons"]);
    assert_eq!(decide(&client, &checkout, declined).await.ok(), ended);
    let other = decide(&client, &checkout, json!({ "decision": "approved" })).await;
    other.refused(400, "invalid_request", "");
    let page = Browser::at(&client, &checkout).look().await;
    assert!(page.contains("Bankruptcy"), "{page}");
    assert!(
        page.to_lowercase().contains("income insufficient"),
        "{page}"
    );
    // A refusal holds for its checkout alone.
    let next = played(&client, "grace@example.com").await;
    assert_ne!(next["id"], checkout["id"]);
    assert_eq!(next["lifecycle"], WAITS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_decides_alike() {
    let server = Server::shared(BINARY).await;
    let (client, _) = deciding(server, json!({ "credit": "manual" })).await;
    let checkout = played(&client, "grace@example.com").await;
    let id = text(&checkout["id"]);
    let qualify = ["checkout", "qualify", &id, "--decision"];
    let wrong = server.refused(&[&qualify[..], &["approved", "--reasons", "other"]].concat());
    assert_eq!(wrong.0, 1, "{}", wrong.1);
    let told = server.cli(
        &[
            &qualify[..],
            &["declined", "--reasons", "other,noCreditFile"],
        ]
        .concat(),
    );
    assert_eq!(told["lifecycle"], "qualificationFailed");
    let now = client.reread(&checkout).await;
    assert_eq!(
        now["qualification"]["reasons"],
        json!(["other", "noCreditFile"])
    );
    let unknown = [
        "checkout",
        "qualify",
        "chk_0000000000000000000000",
        "--decision",
        "approved",
    ];
    assert_eq!(server.refused(&unknown).0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_or_limits_do() {
    let server = Server::shared(BINARY).await;
    let rules = |rules: Value| json!({ "credit": "rules", "creditRules": rules });
    for (credit, passes, source) in [
        (json!({ "credit": "none" }), true, "none"),
        (json!({ "credit": "simulated" }), true, "simulated"),
        (
            rules(json!({ "maxMonthlyPayment": "10000" })),
            true,
            "rules",
        ),
        (
            rules(json!({ "maxMonthlyPayment": "1.00" })),
            false,
            "maxMonthlyPayment",
        ),
        (rules(json!({ "maxOpenLeases": 1 })), true, "rules"),
        (rules(json!({ "maxOpenLeases": 0 })), false, "maxOpenLeases"),
        (rules(json!({ "maxTotalExposure": 99999 })), true, "rules"),
        (
            rules(json!({ "maxTotalExposure": "2.00" })),
            false,
            "maxTotalExposure",
        ),
        (rules(json!({ "countries": ["us", "CA"] })), true, "rules"),
        (rules(json!({ "countries": ["DE"] })), false, "countries"),
        (rules(json!({})), false, "no limit"),
    ] {
        let (client, _) = deciding(server, credit.clone()).await;
        let made = client
            .try_checkout(
                "BIKE",
                "grace@example.com",
                json!({
                    "customer": merged(address(), json!({ "email": "grace@example.com" }))
                }),
            )
            .await
            .ok();
        let checkout = client.advance(&made, NEXT).await.ok();
        if passes {
            assert_eq!(checkout["lifecycle"], NEXT, "{credit}: {checkout}");
            assert_eq!(checkout["qualification"]["source"], source, "{credit}");
        } else {
            assert_eq!(checkout["lifecycle"], WAITS, "{credit}: {checkout}");
            let detail = text(&checkout["progress"]["attention"][0]["detail"]);
            assert!(detail.contains(source), "{credit}: {detail}");
        }
    }
    let (client, _) = deciding(server, json!({ "credit": "simulated" })).await;
    let declined = played(&client, "grace+creditfail@example.com").await;
    assert_eq!(declined["lifecycle"], "qualificationFailed");
}

/// Both the limits and where the organization is asked are read back, and changed one by one.
#[tokio::test(flavor = "multi_thread")]
async fn settings_are_read_as_they_were_set() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let put = async |body: Value| client.put("/v1/organization", body).await;
    let limits = json!({ "maxMonthlyPayment": 120.5, "maxOpenLeases": 2, "countries": ["us"] });
    let set = put(json!({ "credit": "rules", "creditRules": limits }))
        .await
        .ok();
    let expected =
        json!({ "maxMonthlyPayment": "120.50", "maxOpenLeases": 2, "countries": ["US"] });
    assert_eq!(set["creditRules"], expected);
    assert_eq!(client.get("/v1/organization").await.ok(), set);
    let url = "https://decide.example.com/credit";
    put(json!({ "creditUrl": url }))
        .await
        .refused(400, "invalid_parameter", "creditUrl");
    put(json!({ "credit": "http" }))
        .await
        .refused(400, "invalid_parameter", "creditUrl");
    for wrong in [
        "http://decide.example.com/",
        "https://127.0.0.1/",
        "https://localhost/",
        "ftp://x.example/",
    ] {
        let refused = put(json!({ "credit": "http", "creditUrl": wrong })).await;
        refused.refused(400, "invalid_parameter", "creditUrl");
    }
    let made = put(json!({ "credit": "http", "creditUrl": url }))
        .await
        .ok();
    let first = text(&made["creditSecret"]);
    assert!(first.starts_with("whsec_"), "{made}");
    assert!(made.get("creditRules").is_none(), "{made}");
    let read = client.get("/v1/organization").await.ok();
    assert_eq!(
        (&read["credit"], &read["creditUrl"]),
        (&json!("http"), &json!(url))
    );
    assert!(read.get("creditSecret").is_none(), "{read}");
    // What is set again stays, and so does its secret.
    let same = put(json!({ "credit": "http", "creditUrl": url }))
        .await
        .ok();
    assert!(same.get("creditSecret").is_none(), "{same}");
    let rolled = put(json!({ "creditSecret": null })).await.ok();
    assert!(
        rolled["creditSecret"].is_string() && rolled["creditSecret"] != first,
        "{rolled}"
    );
    let own = json!({ "creditSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    assert!(
        put(own).await.ok().get("creditSecret").is_none(),
        "whoever gave it knows it"
    );
    for wrong in [json!("short"), json!(7)] {
        let refused = put(json!({ "creditSecret": wrong })).await;
        refused.refused(400, "invalid_parameter", "creditSecret");
    }
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    let refused = live
        .put("/v1/organization", json!({ "credit": "simulated" }))
        .await;
    refused.refused(400, "invalid_parameter", "credit");
    assert_eq!(live.get("/v1/organization").await.ok()["credit"], "manual");
    // There is a live key now: what both modes share is not a sandbox key's to change, its own mode is.
    put(json!({ "credit": "none" })).await.has(200);
    let begun = Instant::now();
    let refused = loop {
        // In force within six seconds: when it was asked counts, not when the answer came.
        let asked = begun.elapsed();
        let reply = put(json!({ "agreementTerms": "No smoking." })).await;
        if reply.status != 200 || asked > Duration::from_secs(6) {
            break reply;
        }
    };
    refused.refused(403, "forbidden", "");
    let terms = |terms: Value| json!({ "agreementTerms": terms });
    let set = live
        .put("/v1/organization", terms(json!("# Ours\n\nNo smoking.")))
        .await
        .ok();
    let version = set["agreementTermsVersion"].as_u64().unwrap();
    let again = live
        .put("/v1/organization", terms(json!("Smoking.")))
        .await
        .ok();
    assert_eq!(
        (&again["agreementTerms"], &again["agreementTermsVersion"]),
        (&json!("Smoking."), &json!(version + 1))
    );
    let refused = live.put("/v1/organization", terms(Value::Null)).await;
    refused.refused(400, "invalid_parameter", "agreementTerms");
}

/// The job's question is put once for each `advance`, so that nothing has to be waited for.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_decides() {
    let server = Server::start(BINARY, &["--allow-loopback-targets"]).await;
    let approved = json!({ "decision": "approved", "reference": "r-1" });
    let receiver = Receiver::start([Answer::Json(approved)]).await;
    let set = json!({ "credit": "http", "creditUrl": receiver.url });
    let (client, set) = deciding(&server, set).await;
    let secret = text(&set["creditSecret"]);

    let checkout = played(&client, "grace@example.com").await;
    assert_eq!(checkout["lifecycle"], NEXT);
    let made = &checkout["qualification"];
    assert_eq!(
        (&made["source"], &made["reference"]),
        (&json!("http"), &json!("r-1"))
    );
    let asked = receiver.next().await;
    assert!(asked.is_signed_with(&secret), "{asked:?}");
    let body = asked.json();
    let pricing = &checkout["pricing"];
    assert_eq!(
        (
            &body["type"],
            &body["checkoutId"],
            &body["organizationId"],
            &body["mode"],
            &body["currency"],
            &body["termInMonths"],
            &body["totalMonthlyPayment"],
            &body["customer"]["email"]
        ),
        (
            &json!("qualification.requested"),
            &checkout["id"],
            &json!(client.organization),
            &json!("sandbox"),
            &json!("USD"),
            &json!(12),
            &pricing["totalMonthlyPayment"],
            &json!("grace@example.com")
        )
    );
    assert_eq!(body["items"][0]["sku"], "BIKE");
    let cents = |money: &Value| text(money).replace('.', "").parse::<i64>().unwrap();
    assert_eq!(
        cents(&body["amount"]),
        cents(&pricing["totalOfPayments"]) + cents(&pricing["authorizedAtSigning"])
    );

    receiver.answers([Answer::Json(
        json!({ "decision": "declined", "reasons": ["noCreditFile"] }),
    )]);
    let declined = played(&client, "ada@example.com").await;
    assert_eq!(declined["lifecycle"], "qualificationFailed");
    assert_eq!(
        declined["qualification"]["reasons"],
        json!(["noCreditFile"])
    );

    receiver.answers([Answer::Json(json!({ "decision": "pending" }))]);
    let later = played(&client, "joan@example.com").await;
    assert_eq!(later["lifecycle"], WAITS);
    assert_eq!(attention(&later), Vec::<String>::new(), "no person has to");
    let decided = decide(&client, &later, json!({ "decision": "approved" }))
        .await
        .ok();
    assert_eq!(decided["lifecycle"], NEXT);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_no_answer_is_asked_again_by_the_same_id() {
    let server = Server::start(BINARY, &["--allow-loopback-targets"]).await;
    let receiver = Receiver::start([]).await;
    let set = json!({ "credit": "http", "creditUrl": receiver.url });
    let (client, _) = deciding(&server, set).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let made = client.advance(&made, WAITS).await.ok();
    let mut ids = std::collections::BTreeSet::new();
    for answer in [
        Answer::Raw(500, "", "down"),
        Answer::Raw(200, "", "<html>approved</html>"),
        Answer::Raw(200, "", "{\"decision\":\"maybe\"}"),
        Answer::Raw(
            200,
            "",
            "{\"decision\":\"declined\",\"reasons\":[\"ugly\"]}",
        ),
        Answer::Raw(
            302,
            "location: https://example.com/\r\n",
            "{\"decision\":\"approved\"}",
        ),
        Answer::Raw(410, "", ""),
        // Ten seconds are the longest that is waited for an answer.
        Answer::Never,
    ] {
        receiver.answers([answer.clone()]);
        let tried = client.advance(&made, NEXT).await;
        assert_eq!(tried.status, 502, "{answer:?}: {tried}");
        ids.insert(receiver.next().await.id().to_owned());
        assert_eq!(client.reread(&made).await["lifecycle"], WAITS, "{answer:?}");
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
    receiver.answers([Answer::Json(
        json!({ "decision": "approved", "score": 700 }),
    )]);
    let passed = client.advance(&made, NEXT).await.ok();
    assert_eq!(passed["lifecycle"], NEXT);
    assert!(ids.contains(receiver.next().await.id()));
}

/// The customer walks the page, so that a worker asks.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_busy_is_left_alone_for_as_long_as_it_says() {
    let server = Server::start(BINARY, &["--allow-loopback-targets"]).await;
    let busy = |seconds| Answer::Raw(503, seconds, "");
    let receiver = Receiver::start([busy("retry-after: 7200\r\n")]).await;
    let set = json!({ "credit": "http", "creditUrl": receiver.url });
    let (client, _) = deciding(&server, set).await;
    for (email, answer, least, most) in [
        (
            "grace@example.com",
            busy("retry-after: 7200\r\n"),
            7_000,
            7_200,
        ),
        (
            "ada@example.com",
            busy("retry-after: 9999999\r\n"),
            86_000,
            86_400,
        ),
        (
            "joan@example.com",
            Answer::Raw(500, "retry-after: 7200\r\n", ""),
            // At the job's own pace, however often it was tried when this is read.
            0,
            3_600,
        ),
    ] {
        receiver.answers([answer]);
        let made = client.checkout("BIKE", email).await;
        let browser = Browser::at(&client, &made);
        browser.step("profile", &PROFILE).await;
        browser.step("identity", &[]).await;
        browser.step("identity-submit", &[]).await;
        // On a slow machine one before is asked about twice.
        while receiver.next().await.json()["checkoutId"] != made["id"] {}
        let wait = format!(
            "SELECT extract(epoch FROM available_at - now())::bigint::text FROM jobs WHERE effect = 'checkCredit' \
             AND last_error IS NOT NULL AND subject_id = (SELECT id FROM checkouts WHERE customer_id = \
             (SELECT id FROM customers WHERE email = '{email}'))"
        );
        let mut waits = server.query(&wait).await;
        let deadline = Instant::now() + lessor_tests::server::PATIENCE;
        while waits.is_empty() && Instant::now() < deadline {
            waits = server.query(&wait).await;
        }
        let seconds: i64 = waits.first().unwrap().parse().unwrap();
        assert!(
            seconds >= least - 60 && seconds <= most,
            "{email}: {seconds}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_person_is_checked_again() {
    let server = Server::shared(BINARY).await;
    let (client, _) = deciding(server, json!({ "credit": "manual" })).await;
    for (change, back) in [
        (json!({ "lastName": "Murray" }), "identityRequired"),
        (json!({ "birthDate": "1906-12-09" }), "identityRequired"),
        (json!({ "address1": "2 Market St" }), WAITS),
        (json!({ "phone": "+14155550199" }), NEXT),
    ] {
        let email = format!("grace+{}@example.com", back.to_lowercase());
        let email = email.replacen('+', &format!(".{}.", change.to_string().len()), 1);
        let made = client
            .try_checkout(
                "BIKE",
                &email,
                json!({
                    "customer": merged(address(), json!({ "email": email }))
                }),
            )
            .await
            .ok();
        let checkout = client.advance(&made, NEXT).await.ok();
        let approved = decide(&client, &checkout, json!({ "decision": "approved" }))
            .await
            .ok();
        assert_eq!(approved["lifecycle"], NEXT);
        let customer = format!("/v1/customers/{}", text(&checkout["customerId"]));
        client.put(&customer, change.clone()).await.has(200);
        let now = client.reread(&checkout).await;
        assert_eq!(now["lifecycle"], back, "{change}");
        let known = client.get(&customer).await.ok();
        let credit = if back == NEXT { "passed" } else { "unknown" };
        assert_eq!(known["creditStatus"], credit, "{change}");
        // The same value again is no other person.
        client.put(&customer, change.clone()).await.has(200);
        assert_eq!(
            client.reread(&checkout).await["lifecycle"],
            back,
            "{change}, again"
        );
    }
}
