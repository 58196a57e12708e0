//! Deposits: cards that decline, authorizations that lapse, captures that cross.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::ledger::HoldState;
use lessor_domain::ports::{Attempt, PaymentProcessor as _, VoidResult};
use lessor_processor_double::{Decline, Fault, Rule, Settings};
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, refused, scope, time, usd};

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
        let attempt = rig.attempt("work");
        let request = rig.deposit(method, false);
        for _ in 0..2 {
            let answer = rig.processor.authorize_deposit(&attempt, &request).await;
            assert_eq!(refused(answer), code, "{method}");
        }
        let set_up = rig
            .processor
            .payment_method(
                &rig.attempt("method"),
                &rig.customer,
                Some(method.to_owned()),
            )
            .await;
        assert_eq!(refused(set_up), code, "{method}");
        assert!(rig.double.held_by("lessor_checkout").is_empty());
    }
}

/// Declined, the answer lost, the key forgotten: the refusal is found.
#[tokio::test]
async fn a_decline_is_found_again() {
    let rig = Rig::new().with_customer().await;
    let attempt = rig.attempt("work");
    let request = rig.deposit("pm_card_chargeDeclined", false);
    refused(rig.processor.authorize_deposit(&attempt, &request).await);
    rig.double.advance(TimeDelta::hours(25));
    let later = rig
        .processor
        .authorize_deposit(&rig.later(&attempt), &request)
        .await;
    assert_eq!(refused(later), "card_declined");
    assert_eq!(rig.double.objects("payment_intent").len(), 1);
}

#[tokio::test]
async fn an_authorization_ends_when_the_processor_says_so() {
    let rig = Rig::new().with_method().await;
    let method = rig.method.clone().unwrap();
    let on = |off_session, key: &str| (rig.attempt(key), rig.deposit(&method, off_session));
    let (attempt, request) = on(false, "here");
    let held = done(rig.processor.authorize_deposit(&attempt, &request).await);
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::days(7));
    assert_eq!(held.method.unwrap().last4.as_deref(), Some("4242"));
    let (attempt, request) = on(true, "away");
    let held = done(rig.processor.authorize_deposit(&attempt, &request).await);
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::hours(4 * 24 + 18));
    // It does not say: seven days.
    let members = json!({ "latest_charge": { "payment_method_details": null } });
    rig.double.fault(Rule::once(
        "POST",
        "/v1/payment_intents",
        Fault::Merge { members },
    ));
    let (attempt, request) = on(true, "unsaid");
    let held = done(rig.processor.authorize_deposit(&attempt, &request).await);
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
        .capture_deposit(&rig.attempt("capture"), &rig.intent)
        .await;
    assert_eq!(refused(answer), "authorization_ended");
    let voided = done(
        processor
            .void_deposit(&rig.attempt("void"), &rig.intent)
            .await,
    );
    assert_eq!(voided, VoidResult::Voided);
}

#[tokio::test]
async fn what_was_captured_cannot_be_let_go_but_is_told_of() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let processor = &rig.processor;
    let captured = done(
        processor
            .capture_deposit(&rig.attempt("capture"), &rig.intent)
            .await,
    );
    assert_eq!(captured.at, time(NOON));
    rig.double.advance(TimeDelta::hours(3));
    let voided = done(
        processor
            .void_deposit(&rig.attempt("void"), &rig.intent)
            .await,
    );
    assert_eq!(voided, VoidResult::AlreadyCaptured(captured.clone()));
    // Another try to capture, under another key, finds it captured, at its own time.
    let again = done(
        processor
            .capture_deposit(&rig.attempt("again"), &rig.intent)
            .await,
    );
    assert_eq!(again, captured);
}

/// The card that paid the deposit pays what follows.
#[tokio::test]
async fn the_deposits_method_is_kept_for_later() {
    let rig = Rig::new().with_hold().await;
    let method = done(
        rig.processor
            .payment_method(&rig.attempt("method"), &rig.customer, None)
            .await,
    );
    assert_eq!(method.brand.as_deref(), Some("visa"));
    rig.double
        .decline(&method.id, Some(Decline::INSUFFICIENT_FUNDS))
        .unwrap();
    let renewed = rig
        .processor
        .authorize_deposit(&rig.attempt("renew"), &rig.deposit(&method.id, true))
        .await;
    assert_eq!(refused(renewed), "insufficient_funds");
}

/// While the customer is away the bank's own word decides whether it may be asked again.
#[tokio::test]
async fn a_renewal_that_is_declined_says_whether_to_ask_again() {
    for (decline, here, away) in [
        (Decline::LOST, "card_declined", "do_not_try_again"),
        (Decline::REVOKED, "card_declined", "do_not_try_again"),
        (Decline::DO_NOT_HONOR, "card_declined", "do_not_honor"),
        (Decline::EXPIRED, "expired_card", "expired_card"),
        (
            Decline::AUTHENTICATION_REQUIRED,
            "authentication_required",
            "authentication_required",
        ),
    ] {
        let rig = Rig::new().with_method().await;
        let method = rig.method.clone().unwrap();
        rig.double.decline(&method, Some(decline)).unwrap();
        for (off_session, code) in [(false, here), (true, away)] {
            let attempt = rig.attempt(&format!("work {off_session}"));
            let request = rig.deposit(&method, off_session);
            let answer = rig.processor.authorize_deposit(&attempt, &request).await;
            assert_eq!(refused(answer), code, "{decline:?}");
            // The same when the key is forgotten, and the payment found.
            rig.double.forget_keys();
            let mut late = attempt;
            late.first_tried_at -= TimeDelta::hours(25);
            let answer = rig.processor.authorize_deposit(&late, &request).await;
            assert_eq!(refused(answer), code, "{decline:?}");
        }
    }
}

#[tokio::test]
async fn a_deposit_is_told_of_as_it_stands() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let processor = &rig.processor;
    let of = async || {
        let known = processor.deposit(scope(), &rig.intent).await;
        let known = known.unwrap().unwrap();
        let all = processor
            .deposits_of(scope(), &rig.customer, checkout(1))
            .await
            .unwrap();
        assert_eq!(all, std::slice::from_ref(&known));
        known
    };
    let held = of().await;
    assert_eq!((held.state, held.amount), (HoldState::Held, usd(12_345)));
    assert_eq!(held.checkout, Some(checkout(1)));
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::days(7));
    assert_eq!(held.method.clone().unwrap().last4.as_deref(), Some("4242"));
    assert_eq!(held.charge_id, None);
    done(
        processor
            .capture_deposit(&rig.attempt("capture"), &rig.intent)
            .await,
    );
    let captured = of().await;
    assert_eq!(captured.state, HoldState::Captured);
    assert!(captured.charge_id.unwrap().starts_with("ch_"));
    // Another checkout's, and one that is not there.
    let theirs = processor
        .deposits_of(scope(), &rig.customer, checkout(2))
        .await;
    assert_eq!(theirs, Ok(Vec::new()));
    let none = processor.deposit(scope(), "pi_none").await;
    assert_eq!(none, Ok(None));
    let stranger = crate::support::customer(11);
    let none = processor.deposits_of(scope(), &stranger, checkout(1)).await;
    assert_eq!(none, Ok(Vec::new()));
}

/// Only a part was captured by hand: what was taken is what there is to pay back.
#[tokio::test]
async fn what_was_taken_counts_not_what_was_held() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let url = format!(
        "{}/v1/payment_intents/{}/capture",
        rig.double.url(),
        rig.intent
    );
    by_hand(&url, "amount_to_capture=10000").await;
    let known = rig.processor.deposit(scope(), &rig.intent).await;
    assert_eq!(known.unwrap().unwrap().amount, usd(10_000));
}

async fn by_hand(url: &str, form: &'static str) {
    let answer = reqwest::Client::new()
        .post(url)
        .bearer_auth("sk_test_1")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
}

/// A payment that was declined holds nothing, and can be let go all the same.
#[tokio::test]
async fn what_never_held_anything_is_no_deposit() {
    let rig = Rig::new().with_customer().await;
    let request = rig.deposit("pm_card_chargeDeclined", false);
    refused(
        rig.processor
            .authorize_deposit(&rig.attempt("work"), &request)
            .await,
    );
    let intent = rig.double.objects("payment_intent")[0]["id"].clone();
    let intent = intent.as_str().unwrap();
    let processor = &rig.processor;
    let all = processor
        .deposits_of(scope(), &rig.customer, checkout(1))
        .await;
    assert_eq!(all, Ok(Vec::new()));
    let known = processor.deposit(scope(), intent).await;
    assert_eq!(known.unwrap().unwrap().state, HoldState::Released);
    let answer = processor
        .capture_deposit(&rig.attempt("capture"), intent)
        .await;
    assert_eq!(refused(answer), "payment_intent_unexpected_state");
    let voided = processor.void_deposit(&rig.attempt("void"), intent).await;
    assert_eq!(done(voided), VoidResult::Voided);
}

/// A hold that was let go meanwhile is told of as such, not as a refusal.
#[tokio::test]
async fn an_authorization_that_has_ended_is_found() {
    let rig = Op::Authorize.prepare(Rig::new()).await;
    let (attempt, request) = (rig.attempt("work"), rig.deposit("pm_card_visa", false));
    let made = done(rig.processor.authorize_deposit(&attempt, &request).await);
    assert_eq!(made.state, HoldState::Held);
    rig.double.lapse(&made.payment_intent_id).unwrap();
    rig.double.advance(TimeDelta::hours(25));
    let later = rig.later(&attempt);
    let found = done(rig.processor.authorize_deposit(&later, &request).await);
    assert_eq!(found.state, HoldState::Released);
    assert_eq!(found.payment_intent_id, made.payment_intent_id);
}

#[tokio::test]
async fn a_method_of_somebody_else_is_refused() {
    let theirs = Rig::new().with_method().await;
    let mut ours = crate::support::customer(10);
    let attempt = theirs.attempt("other");
    ours.processor_id = Some(done(theirs.processor.push_customer(&attempt, &ours).await));
    let answer = theirs
        .processor
        .payment_method(&theirs.attempt("method"), &ours, theirs.method.clone())
        .await;
    assert_eq!(refused(answer), "payment_method_of_another_customer");
}

/// With real money nobody's card is guessed: the customer names one, or is refused.
#[tokio::test]
async fn live_deposits_need_a_card_of_the_customers() {
    let rig = Rig::new();
    let live = |key: &str| Attempt {
        mode: Mode::Live,
        ..rig.attempt(key)
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
