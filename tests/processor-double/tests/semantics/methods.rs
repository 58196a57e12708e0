//! Payment methods that cannot be used, customers that are gone, keys of another request.

use crate::subscriptions::{price, subscribe};
use crate::support::Caller;

#[tokio::test]
async fn a_detached_method_pays_nothing_any_more() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    let path = format!("/v1/payment_methods/{method}");
    assert_eq!(caller.post(&format!("{path}/detach"), "").await.status, 200);
    assert_eq!(caller.post(&format!("{path}/detach"), "").await.status, 400);
    let attach = format!("customer={customer}");
    assert_eq!(
        caller.post(&format!("{path}/attach"), &attach).await.status,
        400
    );
    let form = format!("amount=500&currency=usd&customer={customer}&payment_method={method}");
    assert_eq!(caller.post("/v1/payment_intents", &form).await.status, 400);
    caller.double.advance(chrono::TimeDelta::days(29));
    assert_eq!(caller.now(&id)["status"], "past_due");
    let told = caller.double.events();
    assert!(
        told.iter()
            .any(|event| event.kind == "invoice.payment_failed")
    );
}

#[tokio::test]
async fn a_method_that_is_nobodys_is_used_once() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let card = caller
        .double
        .new_card(false, "pm_card_visa")
        .expect("a card");
    let form = |more: &str| {
        format!(
            "amount=500&currency=usd&customer={customer}&payment_method={card}&confirm=true{more}"
        )
    };
    assert_eq!(
        caller.post("/v1/payment_intents", &form("")).await.status,
        200
    );
    assert_eq!(
        caller.post("/v1/payment_intents", &form("")).await.status,
        400
    );
    let kept = caller
        .double
        .new_card(false, "pm_card_visa")
        .expect("a card");
    let form = form("&setup_future_usage=off_session").replace(&card, &kept);
    for _ in 0..2 {
        assert_eq!(caller.post("/v1/payment_intents", &form).await.status, 200);
    }
}

#[tokio::test]
async fn the_usual_method_is_the_customers_own() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let (other, _) = caller.customer().await;
    let form = format!("invoice_settings[default_payment_method]={method}");
    let path = format!("/v1/customers/{other}");
    assert_eq!(
        *caller.post(&path, &form).await.error("code"),
        "resource_missing"
    );
    let path = format!("/v1/customers/{customer}");
    assert_eq!(caller.post(&path, &form).await.status, 200);
    // It pays for what names none.
    let price = price(&caller).await;
    let form = format!("customer={customer}&items[0][price]={price}");
    let made = caller.post("/v1/subscriptions", &form).await;
    assert_eq!(made.body["status"], "active", "{}", made.body);
}

#[tokio::test]
async fn a_customer_that_is_deleted_takes_their_subscriptions_along() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    let path = format!("/v1/customers/{customer}");
    let gone = caller.request(reqwest::Method::DELETE, &path).send().await;
    assert_eq!(gone.expect("an answer").status(), 200);
    assert_eq!(caller.now(&id)["status"], "canceled");
    assert_eq!(caller.get(&path).await.body["deleted"], true);
    assert_eq!(caller.post(&path, "name=A").await.status, 404);
    let form = format!("amount=500&currency=usd&customer={customer}");
    assert_eq!(
        *caller
            .post("/v1/payment_intents", &form)
            .await
            .error("code"),
        "resource_missing"
    );
}
