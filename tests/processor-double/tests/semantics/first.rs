//! Messages before the answer.

use lessor_processor_double::{Choice, Settings, Webhooks};
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Caller};
use crate::webhooks::{bodies, receiver};

#[tokio::test]
async fn the_messages_of_a_request_come_before_its_answer() {
    let caller = Caller::new();
    // The first message is refused: it counts as delivered first, and comes again.
    let (url, inbox) = receiver(1).await;
    caller.double.send_to(Webhooks {
        retry_millis: 60_000,
        ..Webhooks::to(&url, "whsec_1")
    });
    caller.double.set(Settings {
        messages_first: Some(true),
        ..Settings::default()
    });
    caller.customer().await;
    let events = caller.double.events();
    let sent: Vec<_> = events.iter().map(|event| event.body.clone()).collect();
    assert_eq!(bodies(&inbox), sent);
    let statuses: Vec<_> = caller
        .double
        .deliveries()
        .iter()
        .map(|d| d.status)
        .collect();
    assert_eq!(statuses[0], Some(503));
    assert!(statuses[1..].iter().all(|status| *status == Some(200)));
    // What people and banks do is told of as ever.
    let lists = caller.get("/v1/events?delivery_success=false").await;
    assert_eq!(lists.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn nobody_who_listens_holds_no_answer_up() {
    let caller = Caller::new();
    caller.double.messages_first(true);
    caller.customer().await;
    caller.double.send_to(Webhooks {
        attempts: 1,
        ..Webhooks::to("http://127.0.0.1:1/hook", "whsec_1")
    });
    caller.customer().await;
    let known = caller.double.events().len();
    assert_eq!(caller.double.events_after(known), []);
    caller.post("/v1/customers", "name=A").await;
    let fresh = caller.double.events_after(known);
    assert_eq!(fresh[0].kind, "customer.created");
}

#[tokio::test]
async fn a_page_tells_before_it_sends_the_customer_on() {
    let caller = Caller::new();
    let (url, inbox) = receiver(0).await;
    let (customer, _) = caller.customer().await;
    let form = format!("mode=setup&customer={customer}&currency=usd&success_url={url}");
    let page = caller
        .post("/v1/checkout/sessions", &form)
        .await
        .text("url");
    caller.double.send_to(Webhooks::to(&url, "whsec_1"));
    caller.double.messages_first(true);
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let sent = http.post(page).body("card=pm_card_visa").send().await;
    assert_eq!(sent.expect("an answer").status(), 303);
    let last = bodies(&inbox).pop().expect("a message");
    assert!(String::from_utf8_lossy(&last).contains("checkout.session.completed"));
}

#[tokio::test]
async fn all_of_it_is_steered_over_http_too() {
    let caller = Caller::new();
    let control = async |path: &str, body: serde_json::Value| {
        let request = caller.request(Method::POST, &format!("/_double/{path}"));
        let sent = request.body(body.to_string()).send().await;
        let answer = Answer::of(sent.expect("an answer")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer
    };
    let settings = json!({ "afterRetries": "unpaid", "refundsPend": true, "messagesFirst": true });
    control("settings", settings).await;
    let (customer, method) = caller.customer().await;
    let made = crate::subscriptions::subscribe(&caller, &customer, &method).await;
    let deed = |deed| json!({ "subscription": made.body["id"], "deed": deed });
    control(
        "subscriptions",
        deed(json!({ "kind": "setPrice", "unitAmount": 4100 })),
    )
    .await;
    let pause = json!({ "kind": "pauseCollection", "behavior": "void" });
    control("subscriptions", deed(pause)).await;
    let invoice = &made.body["latest_invoice"]["id"];
    let intent = caller.double.objects("payment_intent")[0]["id"].clone();
    let refund = format!(
        "payment_intent={}&amount=100",
        intent.as_str().expect("an id")
    );
    let refund = caller.post("/v1/refunds", &refund).await.text("id");
    control(
        "refunds",
        json!({ "refund": refund, "failure": "declined" }),
    )
    .await;
    assert_eq!(caller.now(&refund)["failure_reason"], "declined");
    let dispute = control("disputes", json!({ "invoice": invoice }))
        .await
        .text("dispute");
    control(
        "disputes/close",
        json!({ "dispute": dispute, "status": "lost" }),
    )
    .await;
    let card =
        json!({ "paymentMethod": method, "decline": "pickup_card", "occasion": "offSession" });
    control("cards", card).await;
    let form = format!("mode=setup&customer={customer}&currency=usd&success_url=http%3A%2F%2Fa");
    let session = caller.post("/v1/checkout/sessions", &form).await.text("id");
    let choice = serde_json::to_value(Choice::Pay).expect("a choice");
    let visit = control("pages", json!({ "session": session, "choice": choice })).await;
    assert_eq!(visit.body["to"], "http://a");
}
