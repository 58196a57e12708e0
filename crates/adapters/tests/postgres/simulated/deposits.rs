//! Deposits: held, captured, let go of, paid back.

use chrono::TimeDelta;
use lessor_domain::ledger::{HoldState, RefundState};
use lessor_domain::money::Money;
use lessor_domain::ports::{DepositRequest, Doubt, PaymentProcessor, VoidResult};

use super::{Scene, done, has_form, refused, usd};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_is_authorized_captured_and_paid_back() {
    let scene = Scene::of("ada@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let authorization = done(
        scene
            .processor
            .authorize_deposit(&scene.attempt("1"), &request)
            .await,
    );
    assert!(has_form(&authorization.payment_intent_id, "pi_"));
    assert_eq!(authorization.expires_at, scene.now + TimeDelta::days(7));
    let method = authorization.method.clone().unwrap();
    assert!(has_form(&method.id, "pm_"));
    assert_eq!(method.last4.as_deref(), Some("4242"));

    let id = authorization.payment_intent_id.as_str();
    let capture = done(
        scene
            .processor
            .capture_deposit(&scene.attempt("2"), id)
            .await,
    );
    assert!(has_form(&capture.invoice_id, "in_"));
    assert_eq!(capture.at, scene.now);
    // Another key, and another day: what is captured stays as it was.
    let later = scene.call_at("3", scene.now + TimeDelta::days(1));
    assert_eq!(
        done(scene.processor.capture_deposit(&later, id).await),
        capture
    );
    assert_eq!(
        done(scene.processor.void_deposit(&scene.attempt("4"), id).await),
        VoidResult::AlreadyCaptured(capture)
    );
    let back = async |key: &str, at_most: Money| {
        scene
            .processor
            .refund(&scene.attempt(key), id, at_most)
            .await
    };
    let part = done(back("5", usd(10_000)).await).unwrap();
    assert!(has_form(&part.id, "re_"));
    assert_eq!(
        (part.amount, part.state),
        (usd(10_000), RefundState::Succeeded)
    );
    // The same work again, whatever is owed by now.
    assert_eq!(done(back("5", usd(1)).await), Some(part));
    assert_eq!(
        refused(back("6", Money::from_minor(1, "EUR".parse().unwrap())).await),
        "invalid_amount"
    );
    assert_eq!(done(back("7", usd(0)).await), None);
    // No more than what is left, and never nothing.
    let rest = done(back("8", usd(12_990)).await).unwrap();
    assert_eq!(rest.amount, usd(2_990));
    for key in ["9", "9", "10"] {
        assert_eq!(done(back(key, usd(1)).await), None);
    }
    let known = scene
        .processor
        .deposit(scene.scope(), id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (known.state, known.amount),
        (HoldState::Captured, usd(12_990))
    );
    assert_eq!(known.checkout, Some(checkout));
    let all = scene
        .processor
        .deposits_of(scene.scope(), &scene.payer(), checkout)
        .await;
    assert_eq!(all, Ok(vec![known]));
    // A key of before gets the answer of then, after a restart too.
    let again = scene
        .restarted()
        .authorize_deposit(&scene.attempt("1"), &request)
        .await;
    assert_eq!(
        done(again).payment_intent_id,
        authorization.payment_intent_id
    );
    let sums = "select sum(amount_minor) from simulated_refunds";
    assert_eq!(scene.test.query(sums).await, ["12990"]);
}

/// However many pay back at once, no more goes back than was taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refunds_at_the_same_time_add_up() {
    let scene = Scene::of("ada@example.com").await;
    let (_, id) = scene.authorized("1").await;
    done(
        scene
            .processor
            .capture_deposit(&scene.attempt("2"), &id)
            .await,
    );
    let tries = (0..8).map(|index| {
        let (processor, id) = (scene.processor.clone(), id.clone());
        let call = scene.attempt(&format!("key {index}"));
        tokio::spawn(async move { done(processor.refund(&call, &id, usd(5_000)).await) })
    });
    let mut back = 0;
    for one in tries.collect::<Vec<_>>() {
        back += one.await.unwrap().map_or(0, |refund| refund.amount.minor());
    }
    assert_eq!(back, 12_990);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorization_is_let_go_or_lapses() {
    let scene = Scene::of("ada@example.com").await;
    let (_, voided) = scene.authorized("1").await;
    let processor = &scene.processor;
    for key in ["2", "3"] {
        assert_eq!(
            done(processor.void_deposit(&scene.attempt(key), &voided).await),
            VoidResult::Voided
        );
    }
    assert_eq!(
        refused(
            processor
                .capture_deposit(&scene.attempt("4"), &voided)
                .await
        ),
        "payment_intent_unexpected_state"
    );
    assert_eq!(
        refused(processor.refund(&scene.attempt("5"), &voided, usd(1)).await),
        "payment_intent_unexpected_state"
    );
    let state = async |id: &str| {
        let known = processor.deposit(scene.scope(), id).await;
        known.unwrap().map(|known| known.state)
    };
    assert_eq!(state(&voided).await, Some(HoldState::Released));
    assert_eq!(state("pi_x").await, None);
    let (_, lapsed) = scene.authorized("6").await;
    let late = scene.call_at("7", scene.now + TimeDelta::days(7));
    assert_eq!(
        refused(processor.capture_deposit(&late, &lapsed).await),
        "charge_expired_for_capture"
    );
    let (_, in_time) = scene.authorized("8").await;
    let in_time_call = scene.call_at(
        "9",
        scene.now + TimeDelta::days(7) - TimeDelta::milliseconds(1),
    );
    done(processor.capture_deposit(&in_time_call, &in_time).await);
    for answer in [
        refused(
            processor
                .capture_deposit(&scene.attempt("10"), "pi_x")
                .await,
        ),
        refused(processor.void_deposit(&scene.attempt("11"), "pi_x").await),
        refused(processor.refund(&scene.attempt("12"), "pi_x", usd(1)).await),
        refused(
            processor
                .cancel_subscription(&scene.attempt("13"), "sub_x")
                .await,
        ),
        refused(
            processor
                .pay_invoices(&scene.attempt("14"), "sub_x", "pm_x")
                .await,
        ),
        refused(
            processor
                .set_end(&scene.attempt("15"), "sub_x", scene.now)
                .await,
        ),
    ] {
        assert_eq!(answer, "resource_missing");
    }
    // By itself too, as time passes.
    let (_, left) = scene.authorized("16").await;
    let last = scene.now + TimeDelta::days(7) - TimeDelta::milliseconds(1);
    processor.due_invoices(last).await.unwrap();
    assert_eq!(state(&left).await, Some(HoldState::Held));
    let over = last + TimeDelta::milliseconds(1);
    processor.due_invoices(over).await.unwrap();
    assert_eq!(state(&left).await, Some(HoldState::Released));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_work() {
    let scene = Scene::of("ada@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let calls = (0..16).map(|_| {
        let (processor, call, request) = (
            scene.processor.clone(),
            scene.attempt("same"),
            request.clone(),
        );
        tokio::spawn(async move { done(processor.authorize_deposit(&call, &request).await) })
    });
    let mut ids = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        ids.push(call.await.unwrap().payment_intent_id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let kept = "select count(*) from simulated_payment_intents";
    assert_eq!(scene.test.query(kept).await, ["1"]);
    let other = DepositRequest {
        amount: usd(1),
        ..request
    };
    let answer = scene
        .processor
        .authorize_deposit(&scene.attempt("same"), &other)
        .await;
    assert!(matches!(answer, Err(Doubt::Failed(_))), "{answer:?}");
    // Another operation of the same key is other work.
    done(
        scene
            .processor
            .capture_deposit(&scene.attempt("same"), &ids[0])
            .await,
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposits_and_captures_fail_as_the_address_asks() {
    let scene = Scene::of("ada+depositfail+capturefail@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let processor = &scene.processor;
    let authorize = async |key: &str| {
        processor
            .authorize_deposit(&scene.attempt(key), &request)
            .await
    };
    assert_eq!(refused(authorize("1").await), "card_declined");
    // The same try again is the same refusal; the next try is another.
    assert_eq!(refused(authorize("1").await), "card_declined");
    let id = done(authorize("2").await).payment_intent_id;
    let capture = async |key: &str| processor.capture_deposit(&scene.attempt(key), &id).await;
    assert_eq!(refused(capture("3").await), "card_declined");
    assert_eq!(refused(capture("3").await), "card_declined");
    done(capture("4").await);
    // Each checkout fails once.
    let second = scene.deposit(scene.make.id());
    let answer = processor
        .authorize_deposit(&scene.attempt("5"), &second)
        .await;
    assert_eq!(refused(answer), "card_declined");

    let never = Scene::of("ada+depositdecline@example.com").await;
    let request = never.deposit(never.make.id());
    for key in ["1", "2", "3"] {
        let answer = never
            .processor
            .authorize_deposit(&never.attempt(key), &request)
            .await;
        assert_eq!(refused(answer), "card_declined");
    }
    let never = Scene::of("ada+capturedecline@example.com").await;
    let (_, id) = never.authorized("1").await;
    for key in ["2", "3", "4"] {
        let answer = never
            .processor
            .capture_deposit(&never.attempt(key), &id)
            .await;
        assert_eq!(refused(answer), "card_declined");
    }
}
