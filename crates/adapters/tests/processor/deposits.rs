//! Deposits: cards that decline, authorizations that lapse, captures that cross.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::ports::{Call, PaymentProcessor as _, Voided};
use lessor_processor_double::{Decline, Fault, Rule, Settings};
use serde_json::json;

use crate::support::{NOON, Op, Rig, done, refused, time, usd};

#[tokio::test]
async fn cards_that_decline_are_refused_with_their_reason() {
    for (method, code) in [
        ("pm_card_chargeDeclined", "card_declined"),
        (
            "pm_card_visa_chargeDeclinedInsufficientFunds",
            "card_declined",
        ),
        ("pm_card_chargeDeclinedExpiredCard", "expired_card"),
        ("pm_card_chargeDeclinedProcessingError", "processing_error"),
        ("pm_card_authenticationRequired", "authentication_required"),
    ] {
        let rig = Rig::new().with_customer().await;
        let call = rig.call("work");
        let request = rig.deposit(method, false);
        for _ in 0..2 {
            let answer = rig.processor.authorize_deposit(&call, &request).await;
            assert_eq!(refused(answer), code, "{method}");
        }
        let set_up = rig
            .processor
            .payment_method(&rig.call("method"), &rig.customer, Some(method.to_owned()))
            .await;
        assert_eq!(refused(set_up), code, "{method}");
        assert!(rig.double.held_by("lessor_checkout").is_empty());
    }
}

/// Declined, the answer lost, the key forgotten: the refusal is found.
#[tokio::test]
async fn a_decline_is_found_again() {
    let rig = Rig::new().with_customer().await;
    let call = rig.call("work");
    let request = rig.deposit("pm_card_chargeDeclined", false);
    refused(rig.processor.authorize_deposit(&call, &request).await);
    rig.double.advance(TimeDelta::hours(25));
    let later = rig
        .processor
        .authorize_deposit(&rig.later(&call), &request)
        .await;
    assert_eq!(refused(later), "card_declined");
    assert_eq!(rig.double.objects("payment_intent").len(), 1);
}

#[tokio::test]
async fn an_authorization_ends_when_the_processor_says_so() {
    let rig = Rig::new().with_method().await;
    let method = rig.method.clone().unwrap();
    let on = |off_session, key: &str| (rig.call(key), rig.deposit(&method, off_session));
    let (call, request) = on(false, "here");
    let held = done(rig.processor.authorize_deposit(&call, &request).await);
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::days(7));
    assert_eq!(held.method.unwrap().last4.as_deref(), Some("4242"));
    let (call, request) = on(true, "away");
    let held = done(rig.processor.authorize_deposit(&call, &request).await);
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::hours(4 * 24 + 18));
    // It does not say: seven days.
    let members = json!({ "latest_charge": { "payment_method_details": null } });
    rig.double.fault(Rule::once(
        "POST",
        "/v1/payment_intents",
        Fault::Merge { members },
    ));
    let (call, request) = on(true, "unsaid");
    let held = done(rig.processor.authorize_deposit(&call, &request).await);
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::days(7));
}

#[tokio::test]
async fn a_lapsed_authorization_cannot_be_captured_but_let_go() {
    let rig = Rig::new();
    rig.double.set(Settings {
        authorization_seconds: Some(3_600),
        ..Settings::default()
    });
    let rig = Op::Capture.prepare(rig).await;
    rig.double.advance(TimeDelta::hours(1));
    let processor = &rig.processor;
    let answer = processor
        .capture_deposit(&rig.call("capture"), &rig.intent)
        .await;
    assert_eq!(refused(answer), "authorization_ended");
    let voided = done(processor.void_deposit(&rig.call("void"), &rig.intent).await);
    assert_eq!(voided, Voided::Voided);
}

#[tokio::test]
async fn what_was_captured_cannot_be_let_go_but_is_told_of() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let processor = &rig.processor;
    let captured = done(
        processor
            .capture_deposit(&rig.call("capture"), &rig.intent)
            .await,
    );
    assert_eq!(captured.at, time(NOON));
    rig.double.advance(TimeDelta::hours(3));
    let voided = done(processor.void_deposit(&rig.call("void"), &rig.intent).await);
    assert_eq!(voided, Voided::AlreadyCaptured(captured.clone()));
    // Another try to capture, under another key, finds it captured, at its own time.
    let again = done(
        processor
            .capture_deposit(&rig.call("again"), &rig.intent)
            .await,
    );
    assert_eq!(again, captured);
}

#[tokio::test]
async fn refunds_add_up() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let refund = async |key: &str, amount| {
        let call = rig.call(key);
        rig.processor
            .refund_deposit(&call, &rig.intent, amount)
            .await
    };
    done(refund("part", Some(usd(2_345))).await);
    assert!(refund("too much", Some(usd(10_001))).await.is_err());
    done(refund("rest", None).await);
    // All of it is back already.
    done(refund("all", None).await);
    let amounts: Vec<_> = rig
        .double
        .objects("refund")
        .iter()
        .map(|r| r["amount"].clone())
        .collect();
    assert_eq!(amounts, [json!(2_345), json!(10_000)]);
    let ids = rig.double.objects("refund")[0]["metadata"].clone();
    assert!(ids["lessor_checkout"].is_string(), "{ids}");
}

#[tokio::test]
async fn a_refund_that_fails_is_refused() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let members = json!({ "status": "failed", "failure_reason": "expired_or_canceled_card" });
    rig.double
        .fault(Rule::once("POST", "/v1/refunds", Fault::Merge { members }));
    let answer = rig
        .processor
        .refund_deposit(&rig.call("work"), &rig.intent, None)
        .await;
    assert_eq!(refused(answer), "expired_or_canceled_card");
}

/// The card that paid the deposit pays what follows.
#[tokio::test]
async fn the_deposits_method_is_kept_for_later() {
    let rig = Rig::new().with_hold().await;
    let method = done(
        rig.processor
            .payment_method(&rig.call("method"), &rig.customer, None)
            .await,
    );
    assert_eq!(method.brand.as_deref(), Some("visa"));
    rig.double
        .decline(&method.id, Some(Decline::INSUFFICIENT_FUNDS))
        .unwrap();
    let renewed = rig
        .processor
        .authorize_deposit(&rig.call("renew"), &rig.deposit(&method.id, true))
        .await;
    assert_eq!(refused(renewed), "card_declined");
}

#[tokio::test]
async fn a_method_of_somebody_else_is_refused() {
    let theirs = Rig::new().with_method().await;
    let mut ours = crate::support::customer(10);
    let call = theirs.call("other");
    ours.processor_id = Some(done(theirs.processor.push_customer(&call, &ours).await));
    let answer = theirs
        .processor
        .payment_method(&theirs.call("method"), &ours, theirs.method.clone())
        .await;
    assert_eq!(refused(answer), "payment_method_of_another_customer");
}

/// With real money nobody's card is guessed: the customer names one, or is refused.
#[tokio::test]
async fn live_deposits_need_a_card_of_the_customers() {
    let rig = Rig::new();
    let live = |key: &str| Call {
        mode: Mode::Live,
        ..rig.call(key)
    };
    let mut request = rig.deposit("pm_card_visa", false);
    let named = rig
        .processor
        .authorize_deposit(&live("named"), &request)
        .await;
    assert_eq!(refused(named), "resource_missing");
    request.payment_method = None;
    let none = rig
        .processor
        .authorize_deposit(&live("none"), &request)
        .await;
    assert_eq!(refused(none), "payment_method_missing");
    request.payment_method = Some(rig.double.new_card(true, "pm_card_mastercard").unwrap());
    let held = done(
        rig.processor
            .authorize_deposit(&live("held"), &request)
            .await,
    );
    assert_eq!(held.method.unwrap().brand.as_deref(), Some("mastercard"));
    assert!(rig.double.objects("payment_intent").is_empty());
    assert_eq!(rig.double.live_objects("payment_intent").len(), 1);
}
