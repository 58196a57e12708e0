//! Subscriptions whose first payment was not made.

use chrono::TimeDelta;
use lessor_processor_double::{Decline, Occasion};

use crate::subscriptions::subscribe;
use crate::support::{Caller, time};

async fn incomplete(caller: &Caller) -> (String, String, String) {
    let (customer, method) = caller.customer().await;
    let declined = caller.double.decline(&method, Some(Decline::GENERIC));
    assert_eq!(declined, Ok(()));
    let made = subscribe(caller, &customer, &method).await;
    assert_eq!(made.body["status"], "incomplete", "{}", made.body);
    (customer, method, made.text("id"))
}

#[tokio::test]
async fn only_its_metadata_can_be_updated() {
    let caller = Caller::new();
    let (_, method, id) = incomplete(&caller).await;
    let path = format!("/v1/subscriptions/{id}");
    let at = time("2026-04-30T12:00:00Z").timestamp();
    for form in [
        format!("cancel_at={at}"),
        "cancel_at_period_end=true".to_owned(),
        format!("default_payment_method={method}"),
        "description=A".to_owned(),
        "pause_collection[behavior]=void".to_owned(),
        "metadata[a]=b&proration_behavior=none".to_owned(),
    ] {
        let refused = caller.post(&path, &form).await;
        assert_eq!(refused.status, 400, "{form}");
        assert_eq!(*refused.error("type"), "invalid_request_error");
    }
    let updated = caller
        .post(&path, "metadata[a]=b&expand[]=latest_invoice")
        .await;
    assert_eq!(
        (updated.status, &updated.body["metadata"]["a"]),
        (200, &"b".into())
    );
}

#[tokio::test]
async fn its_end_can_be_given_when_it_is_made() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let price = crate::subscriptions::price(&caller).await;
    let form = |at: &str| {
        let at = time(at).timestamp();
        format!(
            "customer={customer}&default_payment_method={method}&items[0][price]={price}\
             &cancel_at={at}"
        )
    };
    let past = caller
        .post("/v1/subscriptions", &form("2026-01-31T12:00:00Z"))
        .await;
    assert_eq!(
        (past.status, past.error("param")),
        (400, &"cancel_at".into())
    );
    assert!(caller.double.objects("subscription").is_empty());
    let made = caller
        .post("/v1/subscriptions", &form("2026-04-30T12:00:00Z"))
        .await;
    assert_eq!(
        made.body["cancel_at"],
        time("2026-04-30T12:00:00Z").timestamp()
    );
    assert!(caller.double.prorations().is_empty());
}

#[tokio::test]
async fn its_invoice_is_paid_by_another_method_or_by_nothing() {
    let caller = Caller::new();
    let (customer, _, id) = incomplete(&caller).await;
    caller.double.advance(TimeDelta::hours(22));
    let invoice = caller.now(&id)["latest_invoice"].clone();
    let invoice = invoice.as_str().expect("an invoice").to_owned();
    assert_eq!(
        caller.now(&invoice)["attempt_count"],
        1,
        "it is not charged again"
    );
    let path = format!("/v1/invoices/{invoice}/pay");
    let foreign = caller.post(&path, "payment_method=pm_card_visa").await;
    assert_eq!(foreign.status, 400, "it belongs to nobody");
    let setup = format!("customer={customer}&payment_method=pm_card_mastercard&confirm=true");
    let other = caller
        .post("/v1/setup_intents", &setup)
        .await
        .text("payment_method");
    let known = caller.double.events().len();
    let paid = caller.post(&path, &format!("payment_method={other}")).await;
    assert_eq!((paid.status, &paid.body["status"]), (200, &"paid".into()));
    assert_eq!(caller.now(&id)["status"], "active");
    let expected = [
        "charge.succeeded",
        "payment_intent.succeeded",
        "invoice.paid",
        "invoice.payment_succeeded",
        "customer.subscription.updated",
    ];
    assert_eq!(caller.told_after(known), expected);
    assert_eq!(caller.post(&path, "").await.status, 400, "it is paid");
}

#[tokio::test]
async fn after_23_hours_it_is_over_and_its_invoice_void() {
    let caller = Caller::new();
    let (_, _, id) = incomplete(&caller).await;
    let known = caller.double.events().len();
    caller.double.advance(TimeDelta::hours(23));
    assert_eq!(caller.now(&id)["status"], "incomplete_expired");
    let told = caller.told_after(known);
    assert_eq!(told, ["invoice.voided", "customer.subscription.updated"]);
    let invoice = caller.now(&id)["latest_invoice"].clone();
    let path = format!("/v1/invoices/{}/pay", invoice.as_str().expect("an invoice"));
    assert_eq!(
        *caller.post(&path, "").await.error("code"),
        "invoice_not_editable"
    );
    let updated = caller
        .post(&format!("/v1/subscriptions/{id}"), "description=A")
        .await;
    assert_eq!(updated.status, 400);
}

#[tokio::test]
async fn a_method_that_wants_the_customer_works_while_they_are_there() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let wants = Some(Decline::AUTHENTICATION_REQUIRED);
    let asked = caller
        .double
        .decline_on(&method, Occasion::OffSession, wants);
    assert_eq!(asked, Ok(()));
    let known = caller.double.events().len();
    let made = subscribe(&caller, &customer, &method).await;
    assert_eq!(made.body["status"], "incomplete");
    let told = caller.told_after(known);
    assert!(
        told.contains(&"invoice.payment_action_required".to_owned()),
        "{told:?}"
    );
    let invoice = made.body["latest_invoice"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let path = format!("/v1/invoices/{invoice}/pay");
    let away = caller.post(&path, "").await;
    assert_eq!(
        (away.status, away.error("code")),
        (402, &"authentication_required".into())
    );
    assert_eq!(caller.post(&path, "off_session=false").await.status, 200);
    assert_eq!(caller.now(&made.text("id"))["status"], "active");
}
