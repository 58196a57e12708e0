//! Refunds: never more than is left, never nothing, never twice.

use lessor_domain::ledger::{Refund, RefundState};
use lessor_domain::money::Money;
use lessor_domain::ports::{Doubt, PaymentProcessor as _, Verdict};
use lessor_processor_double::{Decline, Fault, Rule, Settings};
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, refused, scope, time, usd};

impl Rig {
    async fn refund(&self, key: &str, at_most: Money) -> Result<Verdict<Option<Refund>>, Doubt> {
        let call = self.attempt(key);
        self.processor.refund(&call, &self.intent, at_most).await
    }
}

#[tokio::test]
async fn refunds_are_of_what_is_left() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let part = done(rig.refund("part", usd(2_345)).await).unwrap();
    assert_eq!(
        (part.amount, part.state),
        (usd(2_345), RefundState::Succeeded)
    );
    assert_eq!(
        (part.at, &part.payment_intent_id),
        (time(NOON), &rig.intent)
    );
    // The same work is the same refund, whatever it asks for by now.
    assert_eq!(done(rig.refund("part", usd(5_000)).await), Some(part));
    let rest = done(rig.refund("rest", usd(12_345)).await).unwrap();
    assert_eq!(rest.amount, usd(10_000));
    // All of it is back already: nothing is asked for.
    rig.double.clear_journal();
    assert_eq!(done(rig.refund("more", usd(1)).await), None);
    assert_eq!(done(rig.refund("nothing", usd(0)).await), None);
    assert!(rig.double.requests("POST", "/v1/refunds").is_empty());
    let account = rig.double.account_of(&checkout(1).to_string());
    assert_eq!((account.captured, account.refunded), (12_345, 12_345));
    let ids = rig.double.objects("refund")[0]["metadata"].clone();
    assert!(ids["lessor_checkout"].is_string(), "{ids}");
}

/// What came back is the customer's still, and what is on its way is not.
#[tokio::test]
async fn refunds_that_failed_do_not_count() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    rig.double.set(Settings {
        refunds_pend: Some(true),
        ..Settings::default()
    });
    let first = done(rig.refund("first", usd(12_345)).await).unwrap();
    assert_eq!(first.state, RefundState::Pending);
    assert_eq!(done(rig.refund("second", usd(12_345)).await), None);
    rig.double.fail_refund(&first.id, "declined").unwrap();
    let failed = done(rig.refund("first", usd(12_345)).await).unwrap();
    assert_eq!(failed.state, RefundState::Failed);
    assert_eq!(failed.failure.as_deref(), Some("declined"));
    let third = done(rig.refund("third", usd(12_345)).await).unwrap();
    assert_eq!(third.amount, usd(12_345));
    assert_eq!(rig.double.objects("refund").len(), 2);
}

#[tokio::test]
async fn what_cannot_be_paid_back_is_refused() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let of = |minor, code: &str| Money::from_minor(minor, code.parse().unwrap());
    assert_eq!(
        refused(rig.refund("euro", of(1, "EUR")).await),
        "invalid_amount"
    );
    assert_eq!(
        refused(rig.refund("fils", of(1_234, "KWD")).await),
        "invalid_amount"
    );
    rig.double.dispute(&rig.intent).unwrap();
    assert_eq!(
        refused(rig.refund("contested", usd(1)).await),
        "charge_disputed"
    );
    let held = Op::Capture.prepare(Rig::new()).await;
    // Nothing was taken: nothing is left.
    assert_eq!(done(held.refund("held", usd(1)).await), None);
}

/// Somebody pays back by hand between the look and the request: what is left is another sum, and
/// the next try finds it.
#[tokio::test]
async fn a_refund_by_hand_meanwhile_is_not_the_end() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let too_much = json!({ "error": {
        "type": "invalid_request_error", "param": "amount",
        "message": "Refund amount is greater than unrefunded amount on charge"
    } });
    let fault = Fault::Answer {
        status: 400,
        headers: Vec::new(),
        body: too_much.to_string(),
    };
    // Nobody else: it will not do.
    rig.double
        .fault(Rule::once("POST", "/v1/refunds", fault.clone()));
    assert_eq!(
        refused(rig.refund("alone", usd(12_345)).await),
        "invalid_request_error"
    );
    let url = format!("{}/v1/refunds", rig.double.url());
    let form = format!("payment_intent={}&amount=345", rig.intent);
    // It answers the refusal, and the refund by hand comes in between.
    rig.double
        .fault(Rule::once("POST", "/v1/refunds", Fault::Hold));
    let double = std::sync::Arc::clone(&rig.double);
    let other = tokio::spawn(async move {
        while double.requests("POST", "/v1/refunds").len() < 2 {
            tokio::task::yield_now().await;
        }
        let sent = reqwest::Client::new()
            .post(url)
            .bearer_auth("sk_test_1")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        assert!(sent.send().await.unwrap().status().is_success());
        double.release();
    });
    let doubt = rig.refund("raced", usd(12_345)).await;
    assert!(matches!(doubt, Err(Doubt::Failed(_))), "{doubt:?}");
    other.await.unwrap();
    rig.double.forget_keys();
    let rest = done(rig.refund("raced", usd(12_345)).await).unwrap();
    assert_eq!(rest.amount, usd(12_000));
}

/// A month is paid back by the payment of its invoice, which carries no ids of ours.
#[tokio::test]
async fn a_month_is_paid_back() {
    let mut rig = Op::EndSubscription.prepare(Rig::new()).await;
    let known = rig.processor.subscription(scope(), &rig.subscription).await;
    rig.intent = known.unwrap().unwrap().invoices[0]
        .payment_intent_id
        .clone()
        .unwrap();
    let back = done(rig.refund("work", usd(4_999)).await).unwrap();
    assert_eq!(back.amount, usd(4_999));
    let account = rig.double.account_of(&checkout(1).to_string());
    assert_eq!(account.kept(), 0);
}

/// A payment that was declined has nothing to give back.
#[tokio::test]
async fn what_was_never_taken_is_not_paid_back() {
    let mut rig = Rig::new().with_method().await;
    let card = rig.method.clone().unwrap();
    rig.double.decline(&card, Some(Decline::GENERIC)).unwrap();
    let (call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
    let made = done(rig.processor.create_subscription(&call, &request).await);
    rig.intent = made.invoices[0].payment_intent_id.clone().unwrap();
    assert_eq!(done(rig.refund("work", usd(4_999)).await), None);
}
