//! Renewals that fail, to the end.

use chrono::TimeDelta;
use lessor_processor_double::{AfterRetries, Decline, Settings};
use serde_json::Value;

use crate::subscriptions::subscribe;
use crate::support::{Caller, time};

/// A subscription whose second payment was declined; its id, its method and that invoice.
async fn declined(caller: &Caller, decline: Decline) -> (String, String, String) {
    let (customer, method) = caller.customer().await;
    let id = subscribe(caller, &customer, &method).await.text("id");
    let declined = caller.double.decline(&method, Some(decline));
    assert_eq!(declined, Ok(()));
    caller.double.set_time(time("2026-02-28T13:00:00Z"));
    let invoice = caller.now(&id)["latest_invoice"].clone();
    (id, method, invoice.as_str().expect("an invoice").to_owned())
}

fn failed_charges(caller: &Caller) -> usize {
    let charges = caller.double.objects("charge");
    charges
        .iter()
        .filter(|charge| charge["status"] == "failed")
        .count()
}

#[tokio::test]
async fn the_account_says_what_comes_of_retries_that_all_failed() {
    for (setting, status) in [
        (AfterRetries::LeavePastDue, "past_due"),
        (AfterRetries::Unpaid, "unpaid"),
        (AfterRetries::Cancel, "canceled"),
    ] {
        let caller = Caller::new();
        caller.double.set(Settings {
            after_retries: Some(setting),
            ..Settings::default()
        });
        let (id, _, invoice) = declined(&caller, Decline::INSUFFICIENT_FUNDS).await;
        assert_eq!(caller.now(&id)["status"], "past_due");
        caller.double.advance(TimeDelta::days(16));
        let over = caller.now(&id);
        assert_eq!(over["status"], status);
        let last = caller.now(&invoice);
        assert_eq!(
            (
                &last["attempt_count"],
                &last["next_payment_attempt"],
                &last["status"]
            ),
            (&4.into(), &Value::Null, &"open".into())
        );
        if setting == AfterRetries::Cancel {
            assert_eq!(over["cancellation_details"]["reason"], "payment_failed");
            let told = caller.double.events().pop().expect("an event").kind;
            assert_eq!(told, "customer.subscription.deleted");
        }
        assert_eq!(failed_charges(&caller), 4);
    }
}

#[tokio::test]
async fn an_unpaid_subscription_makes_drafts_until_its_last_invoice_is_paid() {
    let caller = Caller::new();
    caller.double.set(Settings {
        after_retries: Some(AfterRetries::Unpaid),
        ..Settings::default()
    });
    let (id, method, invoice) = declined(&caller, Decline::INSUFFICIENT_FUNDS).await;
    caller.double.set_time(time("2026-04-01T00:00:00Z"));
    assert_eq!(caller.now(&id)["status"], "unpaid");
    let draft = caller.double.objects("invoice")[2].clone();
    assert_eq!(
        (&draft["status"], &draft["auto_advance"]),
        (&"draft".into(), &false.into())
    );
    assert_eq!(failed_charges(&caller), 4);
    assert_eq!(caller.double.decline(&method, None), Ok(()));
    let paid = caller
        .post(&format!("/v1/invoices/{invoice}/pay"), "")
        .await;
    assert_eq!(paid.body["status"], "paid");
    assert_eq!(caller.now(&id)["status"], "active");
}

#[tokio::test]
async fn a_hard_decline_is_not_charged_again_but_with_another_method() {
    let caller = Caller::new();
    let (id, _, invoice) = declined(&caller, Decline::STOLEN).await;
    caller.double.advance(TimeDelta::days(9));
    assert_eq!(caller.now(&invoice)["attempt_count"], 3);
    assert_eq!(failed_charges(&caller), 1);
    let customer = caller.now(&id)["customer"].clone();
    let setup = format!(
        "customer={}&payment_method=pm_card_mastercard&confirm=true",
        customer.as_str().expect("a customer")
    );
    let other = caller
        .post("/v1/setup_intents", &setup)
        .await
        .text("payment_method");
    let path = format!("/v1/subscriptions/{id}");
    caller
        .post(&path, &format!("default_payment_method={other}"))
        .await;
    caller.double.advance(TimeDelta::days(7));
    assert_eq!(caller.now(&invoice)["status"], "paid");
    assert_eq!(caller.now(&id)["status"], "active");
}

#[tokio::test]
async fn tries_by_hand_leave_the_schedule_alone() {
    let caller = Caller::new();
    let (_, _, invoice) = declined(&caller, Decline::INSUFFICIENT_FUNDS).await;
    let next = caller.now(&invoice)["next_payment_attempt"].clone();
    for _ in 0..3 {
        let tried = caller
            .post(&format!("/v1/invoices/{invoice}/pay"), "")
            .await;
        assert_eq!(
            (tried.status, tried.error("advice_code")),
            (402, &"try_again_later".into())
        );
    }
    let invoice = caller.now(&invoice);
    assert_eq!(
        (&invoice["attempt_count"], &invoice["next_payment_attempt"]),
        (&1.into(), &next)
    );
}

#[tokio::test]
async fn an_older_invoice_that_is_paid_mends_nothing() {
    let caller = Caller::new();
    let (id, method, first) = declined(&caller, Decline::INSUFFICIENT_FUNDS).await;
    caller.double.set_time(time("2026-03-31T13:00:00Z"));
    let second = caller.now(&id)["latest_invoice"].clone();
    let second = second.as_str().expect("an invoice").to_owned();
    assert_ne!(first, second);
    assert_eq!(caller.double.decline(&method, None), Ok(()));
    for (invoice, status) in [(first, "past_due"), (second, "active")] {
        let paid = caller
            .post(&format!("/v1/invoices/{invoice}/pay"), "")
            .await;
        assert_eq!(paid.status, 200, "{}", paid.body);
        assert_eq!(caller.now(&id)["status"], status);
    }
}

#[tokio::test]
async fn invoices_are_finalized_written_off_and_voided_by_hand() {
    let caller = Caller::new();
    let (id, method, invoice) = declined(&caller, Decline::INSUFFICIENT_FUNDS).await;
    let path = |what: &str| format!("/v1/invoices/{invoice}/{what}");
    let refused = caller.post(&path("finalize"), "").await;
    assert_eq!(*refused.error("code"), "invoice_not_editable");
    let known = caller.double.events().len();
    let lost = caller.post(&path("mark_uncollectible"), "").await;
    assert_eq!(lost.body["status"], "uncollectible");
    // Nobody is charged for it any more, but it can be paid.
    caller.double.advance(TimeDelta::days(16));
    assert_eq!(failed_charges(&caller), 1);
    assert_eq!(caller.double.decline(&method, None), Ok(()));
    assert_eq!(caller.post(&path("pay"), "").await.body["status"], "paid");
    assert_eq!(caller.now(&id)["status"], "active");
    assert_eq!(caller.post(&path("void"), "").await.status, 400);
    assert_eq!(caller.told_after(known)[0], "invoice.marked_uncollectible");

    caller
        .post(
            &format!("/v1/subscriptions/{id}"),
            "pause_collection[behavior]=keep_as_draft",
        )
        .await;
    caller.double.advance(TimeDelta::days(31));
    let draft = caller.now(&id)["latest_invoice"].clone();
    let path = |what: &str| format!("/v1/invoices/{}/{what}", draft.as_str().expect("an id"));
    assert_eq!(caller.post(&path("pay"), "").await.status, 400);
    let open = caller.post(&path("finalize"), "").await;
    assert_eq!(open.body["status"], "open");
    assert_eq!(caller.post(&path("void"), "").await.body["status"], "void");
    let told = caller.told_after(known);
    assert_eq!(told.last().map(String::as_str), Some("invoice.voided"));
}
