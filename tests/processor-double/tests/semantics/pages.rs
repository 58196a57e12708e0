//! Pages where customers pay or leave a card.

use chrono::TimeDelta;
use lessor_processor_double::Choice;
use serde_json::{Value, json};

use crate::support::{Answer, Caller};

async fn deposit(caller: &Caller, customer: &str) -> Answer {
    let form = format!(
        "mode=payment&customer={customer}&client_reference_id=chk_1&metadata[a]=b\
         &success_url=http%3A%2F%2Fshop.test%2Fdone%3Fs%3D%7BCHECKOUT_SESSION_ID%7D\
         &cancel_url=http%3A%2F%2Fshop.test%2Fback\
         &line_items[0][quantity]=1&line_items[0][price_data][currency]=usd\
         &line_items[0][price_data][unit_amount]=5000\
         &line_items[0][price_data][product_data][name]=Deposit\
         &payment_intent_data[capture_method]=manual\
         &payment_intent_data[setup_future_usage]=off_session\
         &payment_intent_data[metadata][lessor_checkout]=chk_1"
    );
    caller.post("/v1/checkout/sessions", &form).await
}

async fn setup(caller: &Caller, customer: &str) -> Answer {
    let form = format!(
        "mode=setup&customer={customer}&currency=usd&success_url=http%3A%2F%2Fshop.test%2Fdone\
         &setup_intent_data[metadata][lessor_checkout]=chk_1"
    );
    caller.post("/v1/checkout/sessions", &form).await
}

/// Presses a button, as a browser does that does not follow.
async fn press(caller: &Caller, url: &str, choice: &str) -> (u16, Option<String>, String) {
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let sent = http.post(url).body(format!("choice={choice}")).send().await;
    let answer = sent.expect("an answer");
    let to = answer.headers().get("location");
    let to = to.map(|to| to.to_str().expect("text").to_owned());
    let status = answer.status().as_u16();
    assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
    assert!(!caller.double.url().is_empty());
    (status, to, answer.text().await.expect("a page"))
}

#[tokio::test]
async fn a_deposit_is_held_on_the_page() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let made = deposit(&caller, &customer).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let (id, url) = (made.text("id"), made.text("url"));
    assert!(id.starts_with("cs_test_"));
    assert_eq!(
        (
            &made.body["status"],
            &made.body["payment_status"],
            &made.body["payment_intent"]
        ),
        (&"open".into(), &"unpaid".into(), &Value::Null)
    );
    assert_eq!(made.body["amount_total"], 5_000);
    assert_eq!(url, format!("{}/pay/{id}", caller.double.url()));
    let page = caller.http.get(&url).send().await.expect("a page");
    let page = page.text().await.expect("text");
    assert_eq!(page.matches("<form method=\"post\">").count(), 6);
    assert!(!page.contains("<script"));

    let known = caller.double.events().len();
    let (status, to, _) = press(&caller, &url, "pay").await;
    assert_eq!(
        (status, to),
        (303, Some(format!("http://shop.test/done?s={id}")))
    );
    let expected = [
        "payment_intent.created",
        "payment_method.attached",
        "charge.succeeded",
        "payment_intent.amount_capturable_updated",
        "checkout.session.completed",
    ];
    assert_eq!(caller.told_after(known), expected);
    let path = format!("/v1/checkout/sessions/{id}?expand[]=payment_intent");
    let done = caller.get(&path).await.body;
    assert_eq!(
        (&done["status"], &done["url"]),
        (&"complete".into(), &Value::Null)
    );
    assert_eq!(done["payment_status"], "unpaid", "it is held, not taken");
    let intent = &done["payment_intent"];
    assert_eq!(intent["status"], "requires_capture");
    assert_eq!(intent["metadata"]["lessor_checkout"], "chk_1");
    assert_eq!(caller.double.account_of("chk_1").held, 5_000);
    let method = caller.now(intent["payment_method"].as_str().expect("a method"));
    assert_eq!(method["customer"], customer);

    let intent = intent["id"].as_str().expect("an id");
    caller
        .post(&format!("/v1/payment_intents/{intent}/capture"), "")
        .await;
    assert_eq!(caller.now(&id)["payment_status"], "paid");
    assert_eq!(
        press(&caller, &url, "pay").await.0,
        400,
        "the page is closed"
    );
    let expire = format!("/v1/checkout/sessions/{id}/expire");
    assert_eq!(caller.post(&expire, "").await.status, 400);
}

#[tokio::test]
async fn what_goes_wrong_on_the_page_stays_there() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let url = deposit(&caller, &customer).await.text("url");
    for (choice, code) in [
        ("declined", "card_declined"),
        (
            "failAuthentication",
            "payment_intent_authentication_failure",
        ),
    ] {
        let (status, to, page) = press(&caller, &url, choice).await;
        assert_eq!((status, to), (200, None), "{choice}");
        assert!(page.contains("role=\"alert\""), "{page}");
        let intent = caller
            .double
            .objects("payment_intent")
            .pop()
            .expect("a payment");
        assert_eq!(intent["status"], "requires_payment_method");
        assert_eq!(intent["last_payment_error"]["code"], code);
    }
    assert_eq!(caller.double.objects("payment_intent").len(), 1);
    let intent = caller.double.objects("payment_intent")[0]["id"].clone();
    let path = format!("/v1/payment_intents/{}", intent.as_str().expect("an id"));
    for what in ["confirm", "cancel"] {
        assert_eq!(caller.post(&format!("{path}/{what}"), "").await.status, 400);
    }
    assert_eq!(press(&caller, &url, "leave").await.0, 200);
    let back = press(&caller, &url, "cancel").await;
    assert_eq!(
        (back.0, back.1),
        (303, Some("http://shop.test/back".to_owned()))
    );
    assert_eq!(press(&caller, &url, "nope").await.0, 400);
    let known = caller.double.events().len();
    assert_eq!(press(&caller, &url, "authenticate").await.0, 303);
    let told = caller.told_after(known);
    assert!(
        told.contains(&"payment_intent.requires_action".to_owned()),
        "{told:?}"
    );
    assert_eq!(
        told.last().map(String::as_str),
        Some("checkout.session.completed")
    );
}

#[tokio::test]
async fn a_card_is_left_on_the_page() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let made = setup(&caller, &customer).await;
    assert_eq!(made.body["payment_status"], "no_payment_required");
    let id = made.text("id");
    let intent = caller.now(&made.text("setup_intent"));
    assert_eq!(intent["status"], "requires_payment_method");
    assert_eq!(intent["metadata"], json!({ "lessor_checkout": "chk_1" }));
    for choice in [Choice::Declined, Choice::FailAuthentication, Choice::Leave] {
        assert_eq!(caller.double.visit(&id, &choice), Ok(None), "{choice:?}");
        assert_eq!(caller.now(&id)["status"], "open");
    }
    let to = caller.double.visit(&id, &Choice::Authenticate);
    assert_eq!(to, Ok(Some("http://shop.test/done".to_owned())));
    let path = format!("/v1/checkout/sessions/{id}?expand[]=setup_intent.payment_method");
    let done = caller.get(&path).await.body;
    assert_eq!(done["setup_intent"]["status"], "succeeded");
    assert_eq!(done["setup_intent"]["payment_method"]["customer"], customer);
    // A card that was set up with the customer there works without them.
    let method = done["setup_intent"]["payment_method"]["id"]
        .as_str()
        .expect("an id");
    let form = format!(
        "amount=500&currency=usd&customer={customer}&payment_method={method}&confirm=true\
         &off_session=true"
    );
    assert_eq!(caller.post("/v1/payment_intents", &form).await.status, 200);
    let there = form.replace("&off_session=true", "");
    let there = caller.post("/v1/payment_intents", &there).await;
    assert_eq!(there.body["status"], "requires_action");
    assert!(caller.double.visit(&id, &Choice::Pay).is_err());
}

#[tokio::test]
async fn a_page_closes_by_itself_or_when_it_is_to() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let first = deposit(&caller, &customer).await.text("id");
    assert_eq!(caller.double.visit(&first, &Choice::Declined), Ok(None));
    let known = caller.double.events().len();
    let expired = caller
        .post(&format!("/v1/checkout/sessions/{first}/expire"), "")
        .await;
    assert_eq!(
        (&expired.body["status"], &expired.body["url"]),
        (&"expired".into(), &Value::Null)
    );
    let told = caller.told_after(known);
    assert_eq!(
        told,
        ["payment_intent.canceled", "checkout.session.expired"]
    );
    let second = setup(&caller, &customer).await.text("id");
    caller.double.advance(TimeDelta::hours(24));
    assert_eq!(caller.now(&second)["status"], "expired");
    assert!(caller.double.visit(&second, &Choice::Pay).is_err());
}

#[tokio::test]
async fn sessions_that_make_no_sense_are_refused() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let now = caller.double.now().timestamp();
    let item =
        "&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=5000";
    let named = "&line_items[0][price_data][product_data][name]=A";
    for (form, param) in [
        ("mode=payment".to_owned(), "line_items"),
        (
            format!("mode=payment{item}"),
            "line_items[0][price_data][product]",
        ),
        (
            format!("mode=payment{item}{named}&setup_intent_data[description]=A"),
            "setup_intent_data",
        ),
        (
            format!("mode=payment{item}{named}&expires_at={}", now + 60),
            "expires_at",
        ),
        ("mode=setup".to_owned(), "currency"),
        (
            format!("mode=setup&currency=usd{item}{named}"),
            "line_items",
        ),
        ("mode=payment&customer=cus_none".to_owned(), "customer"),
    ] {
        let form = format!("{form}&success_url=http%3A%2F%2Fshop.test");
        let refused = caller.post("/v1/checkout/sessions", &form).await;
        assert_eq!(
            (refused.status, refused.error("param")),
            (400, &param.into()),
            "{form}"
        );
    }
    let missing = caller
        .post("/v1/checkout/sessions", "mode=setup&currency=usd")
        .await;
    assert_eq!(*missing.error("param"), "success_url");
    assert!(caller.double.objects("checkout.session").is_empty());
    assert!(!customer.is_empty());
}
