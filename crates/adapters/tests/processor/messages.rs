//! The messages of the double, read: what happened is what is understood.

use chrono::TimeDelta;
use lessor_adapters::processor::{EventError, parse_event};
use lessor_domain::access::Mode;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ledger::{Authorization, HoldState, Refund, RefundState, SubscriptionState};
use lessor_domain::ports::{
    IdentityResult, PaymentProcessor as _, ProcessorEvent, ProcessorFact as Fact,
};
use lessor_processor_double::{Decline, Deed};
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, time, usd};

/// What the messages say, those of no use left out.
fn facts(rig: &Rig) -> Vec<ProcessorEvent> {
    rig.double
        .events()
        .iter()
        .map(|event| parse_event(&event.body).unwrap())
        .filter(|event| !matches!(event.fact, Fact::Unknown { .. }))
        .collect()
}

#[tokio::test]
async fn a_deposits_life_is_told() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    done(Op::RefundPart.run(&rig, &rig.attempt("part")).await);
    let dispute_id = rig.double.dispute(&rig.intent).unwrap();
    rig.double.close_dispute(&dispute_id, "won").unwrap();
    let events = facts(&rig);
    let charge = rig.double.objects("charge")[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let refund = rig.double.objects("refund")[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let disputed = |status: &str, closed| Fact::Disputed {
        payment_intent_id: Some(rig.intent.clone()),
        dispute_id: dispute_id.clone(),
        amount: usd(12_345),
        status: status.to_owned(),
        closed,
    };
    let expected = [
        deposit(&rig, HoldState::Held, TimeDelta::days(7), None),
        deposit(&rig, HoldState::Captured, TimeDelta::days(7), Some(charge)),
        Fact::Refund(Refund {
            id: refund,
            payment_intent_id: rig.intent.clone(),
            amount: usd(2_345),
            state: RefundState::Succeeded,
            failure: None,
            at: rig.double.now(),
        }),
        disputed("needs_response", false),
        disputed("won", true),
    ];
    let mut told: Vec<_> = events.iter().map(|event| event.fact.clone()).collect();
    // The money that goes and comes back is told of too, before and after.
    told.dedup();
    assert_eq!(told, expected);
    for event in &events[..3] {
        assert_eq!(event.about.checkout, Some(checkout(1)));
        assert_eq!(event.about.customer, Some(rig.customer.id));
        assert_eq!((event.mode, event.at), (Mode::Sandbox, rig.double.now()));
    }
}

/// What is told of the rig's deposit, which ends so long after noon.
fn deposit(rig: &Rig, state: HoldState, lasts: TimeDelta, charge_id: Option<String>) -> Fact {
    Fact::Deposit(Authorization {
        payment_intent_id: rig.intent.clone(),
        checkout: Some(checkout(1)),
        amount: usd(12_345),
        state,
        expires_at: time(NOON) + lasts,
        charge_id,
        method: None,
    })
}

#[tokio::test]
async fn a_refund_that_fails_later_is_told() {
    let rig = Op::Refund.prepare(Rig::new()).await;
    let call = rig.attempt("work");
    let made = rig.processor.refund(&call, &rig.intent, usd(2_345)).await;
    let made = done(made).unwrap();
    rig.double.advance(TimeDelta::days(3));
    rig.double
        .fail_refund(&made.id, "expired_or_canceled_card")
        .unwrap();
    let told: Vec<_> = facts(&rig)
        .into_iter()
        .filter_map(|event| match event.fact {
            Fact::Refund(refund) => Some(refund),
            _ => None,
        })
        .collect();
    assert_eq!(told[0], made);
    let failed = Refund {
        state: RefundState::Failed,
        failure: Some("expired_or_canceled_card".to_owned()),
        at: rig.double.now(),
        ..made
    };
    assert!(
        told.len() > 1 && told[1..].iter().all(|refund| *refund == failed),
        "{told:#?}"
    );
}

/// What was held and never captured is let go, not paid back, though the processor
/// shows a refund of the charge.
#[tokio::test]
async fn a_hold_that_is_let_go_is_no_refund() {
    let rig = Op::Void.prepare(Rig::new()).await;
    done(Op::Void.run(&rig, &rig.attempt("work")).await);
    let kinds: Vec<_> = rig
        .double
        .events()
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert!(kinds.contains(&"charge.refunded".to_owned()));
    let told: Vec<_> = facts(&rig)
        .into_iter()
        .skip(1)
        .map(|event| event.fact)
        .collect();
    assert!(!told.is_empty() && told.iter().all(is_released), "{told:?}");
}

fn is_released(fact: &Fact) -> bool {
    matches!(fact, Fact::Deposit(told) if told.state == HoldState::Released)
}

#[tokio::test]
async fn a_lapse_is_told() {
    let rig = Op::Void.prepare(Rig::new()).await;
    rig.double.advance(TimeDelta::days(7));
    let told: Vec<_> = facts(&rig)
        .into_iter()
        .skip(1)
        .map(|event| event.fact)
        .collect();
    assert!(told.len() == 2 && told.iter().all(is_released), "{told:?}");
}

#[tokio::test]
async fn a_decline_is_told() {
    let rig = Rig::new().with_customer().await;
    let request = rig.deposit("pm_card_chargeDeclinedExpiredCard", false);
    let _refused = rig
        .processor
        .authorize_deposit(&rig.attempt("work"), &request)
        .await;
    let told = facts(&rig);
    let [event] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(event.about.checkout, Some(checkout(1)));
    assert!(
        matches!(&event.fact, Fact::PaymentRefused { refusal, .. } if refusal.code == "expired_card"),
        "{event:?}"
    );
}

#[tokio::test]
async fn a_subscriptions_life_is_told() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let request = rig.subscription_of(1, 2);
    done(
        rig.processor
            .create_subscription(&rig.attempt("work"), &request)
            .await,
    );
    let method = rig.method.clone().unwrap();
    rig.double.decline(&method, Some(Decline::GENERIC)).unwrap();
    rig.double.advance(TimeDelta::days(30));
    rig.double.decline(&method, None).unwrap();
    rig.double.advance(TimeDelta::days(60));
    let events = facts(&rig);
    for event in &events {
        // Payments of invoices carry no ids of ours, and are no deposits; what the subscription
        // does, does.
        assert!(!matches!(event.fact, Fact::Deposit(_)), "{event:?}");
        if !matches!(event.fact, Fact::PaymentRefused { .. }) {
            assert_eq!(event.about.checkout, Some(checkout(1)), "{event:?}");
        }
    }
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Invoice(invoice) => {
                assert!(invoice.is_cycle);
                let amount = invoice.amount.minor();
                Some(match &invoice.outcome {
                    InvoiceOutcome::Paid => format!("paid {amount}"),
                    InvoiceOutcome::Failed { attempts, .. } => {
                        assert_eq!(invoice.at, event.at);
                        format!("failed {attempts} {amount}")
                    }
                    other => format!("{other:?}"),
                })
            }
            Fact::Subscription { state, .. } => Some(format!("{state:?}")),
            _ => None,
        })
        .collect();
    let mut short = told.clone();
    short.dedup();
    let expected = [
        "Incomplete",
        "paid 4999",
        "Active",
        "failed 1 4999",
        "PastDue",
        "paid 4999",
        "Active",
        "Ended",
    ];
    assert_eq!(short, expected);
}

/// What a person did to it at the processor shows: paused, its end taken away, called off.
#[tokio::test]
async fn what_people_do_to_a_subscription_is_told() {
    let rig = Rig::new().with_subscription().await;
    let id = rig.subscription.as_str();
    let told = |deed: Deed| {
        rig.double.by_hand(id, &deed).unwrap();
        match facts(&rig).pop().map(|event| event.fact) {
            Some(Fact::Subscription { state, ends_at, .. }) => (state, ends_at),
            other => panic!("{other:?}"),
        }
    };
    let end = Some(time("2027-01-31T12:00:00Z"));
    let pause = Deed::PauseCollection {
        behavior: "void".to_owned(),
        resumes_at: None,
    };
    assert_eq!(told(pause), (SubscriptionState::Paused, end));
    assert_eq!(
        told(Deed::ResumeCollection),
        (SubscriptionState::Active, end)
    );
    assert_eq!(told(Deed::RemoveEnd), (SubscriptionState::Active, None));
    assert_eq!(told(Deed::Cancel), (SubscriptionState::Ended, None));
}

/// An invoice that nobody has to pay any more.
#[tokio::test]
async fn an_invoice_that_is_called_off_is_told() {
    for (action, kind) in [
        ("void", "invoice.voided"),
        ("mark_uncollectible", "invoice.marked_uncollectible"),
    ] {
        let rig = Op::PayInvoices.prepare(Rig::new()).await;
        let invoice = rig.double.objects("invoice")[1]["id"].clone();
        let invoice = invoice.as_str().unwrap();
        let url = format!("{}/v1/invoices/{invoice}/{action}", rig.double.url());
        let sent = reqwest::Client::new().post(url).bearer_auth("sk_test_1");
        assert!(sent.send().await.unwrap().status().is_success());
        let events = rig.double.events();
        let event = events.iter().find(|event| event.kind == kind).unwrap();
        let Fact::Invoice(told) = parse_event(&event.body).unwrap().fact else {
            panic!("{kind}");
        };
        assert_eq!(
            (told.id.as_str(), told.outcome),
            (invoice, InvoiceOutcome::Void)
        );
    }
}

/// A word that nobody here knows is kept for a person, not taken for something else.
#[tokio::test]
async fn statuses_that_nobody_knows_are_errors() {
    let rig = Rig::new().with_subscription().await;
    let refund = json!({
        "id": "re_1", "created": 1, "amount": 1, "currency": "usd", "payment_intent": "pi_1",
        "status": "brand_new"
    });
    for (kind, object) in [
        (
            "customer.subscription.updated",
            rig.double.objects("subscription")[0].clone(),
        ),
        ("invoice.paid", rig.double.objects("invoice")[0].clone()),
        ("refund.updated", refund),
    ] {
        let mut object = object;
        object["status"] = "brand_new".into();
        rig.double.emit(false, kind, &object);
        let events = rig.double.events();
        let read = parse_event(&events.last().unwrap().body);
        let Err(EventError::Senseless { what, .. }) = read else {
            panic!("{kind}: {read:?}");
        };
        assert!(what.contains("brand_new"), "{what}");
    }
}

/// Messages are of the version that the account has, which may be an old one.
#[tokio::test]
async fn invoices_of_older_versions_are_read() {
    let rig = Rig::new();
    let invoice = json!({
        "id": "in_1", "created": 1_769_860_800, "status": "paid", "amount_due": 100,
        "amount_paid": 100, "currency": "usd", "attempt_count": 1,
        "billing_reason": "subscription_cycle", "subscription": "sub_1",
        "subscription_details": { "metadata": { "lessor_checkout": checkout(1).to_string() } },
        "payment_intent": "pi_1", "lines": { "data": [{ "proration": false }] }
    });
    let told = |change: serde_json::Value| {
        let mut invoice = invoice.clone();
        for (name, value) in change.as_object().unwrap() {
            invoice[name] = value.clone();
        }
        rig.double.emit(false, "invoice.paid", &invoice);
        let event = parse_event(&rig.double.events().last().unwrap().body).unwrap();
        assert_eq!(event.about.checkout, Some(checkout(1)));
        match event.fact {
            Fact::Invoice(told) => told,
            other => panic!("{other:?}"),
        }
    };
    let cycle = told(json!({}));
    assert_eq!(cycle.subscription_id, "sub_1");
    assert_eq!(cycle.payment_intent_id.as_deref(), Some("pi_1"));
    assert!(cycle.is_cycle);
    // By hand, for a part of a month, for a change, for nothing: no month of the term.
    for other in [
        json!({ "billing_reason": "manual" }),
        json!({ "billing_reason": "subscription_update" }),
        json!({ "billing_reason": "subscription_threshold" }),
        json!({ "lines": { "data": [{ "proration": true }] } }),
        json!({ "amount_paid": 0 }),
    ] {
        assert!(!told(other.clone()).is_cycle, "{other}");
    }
}

#[tokio::test]
async fn identity_is_told() {
    let rig = Op::StartIdentity.prepare(Rig::new()).await;
    done(Op::StartIdentity.run(&rig, &rig.attempt("work")).await);
    let session = rig.double.objects("identity.verification_session")[0]["id"].clone();
    let session = session.as_str().unwrap();
    rig.double
        .decide_identity(session, "processing", None)
        .unwrap();
    rig.double
        .decide_identity(session, "verified", None)
        .unwrap();
    let told: Vec<_> = facts(&rig)
        .into_iter()
        .map(|event| match event.fact {
            Fact::Identity { result, .. } => result,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        IdentityResult::AwaitingCustomer,
        IdentityResult::Processing,
        IdentityResult::Verified,
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn messages_of_no_use_and_of_no_form_are_told_apart() {
    let rig = Rig::new();
    rig.double
        .emit(true, "brand.new", &json!({ "anything": [1] }));
    rig.double.emit(
        false,
        "payment_intent.succeeded",
        &json!({ "id": "pi_1", "status": 5 }),
    );
    let events = rig.double.events();
    let unknown = events
        .iter()
        .find(|event| event.kind == "brand.new")
        .unwrap();
    let unknown = parse_event(&unknown.body).unwrap();
    assert_eq!(unknown.mode, Mode::Live);
    assert_eq!(
        unknown.fact,
        Fact::Unknown {
            kind: "brand.new".to_owned()
        }
    );
    let broken = events
        .iter()
        .find(|event| event.kind != "brand.new")
        .unwrap();
    let Err(EventError::Malformed { path, .. }) = parse_event(&broken.body) else {
        panic!("it was read");
    };
    assert_eq!(path, "data.object.status");
    assert!(parse_event(b"{}").is_err() && parse_event(b"").is_err());
}
