//! The messages of the double, read: what happened is what is understood.

use chrono::TimeDelta;
use lessor_adapters::processor::{EventError, parse_event};
use lessor_domain::access::Mode;
use lessor_domain::ports::{
    IdentityResult, PaymentProcessor as _, ProcessorEvent, ProcessorFact as Fact,
};
use lessor_processor_double::Decline;
use serde_json::json;

use crate::support::{Op, Rig, checkout, done, usd};

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
    done(Op::RefundPart.run(&rig, &rig.call("part")).await);
    let dispute_id = rig.double.dispute(&rig.intent).unwrap();
    rig.double.close_dispute(&dispute_id, "won").unwrap();
    let events = facts(&rig);
    let payment_intent_id = rig.intent.clone();
    let charge = rig.double.objects("charge")[0]["id"]
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
        Fact::Authorized {
            payment_intent_id: payment_intent_id.clone(),
            expires_at: None,
        },
        Fact::Captured {
            payment_intent_id: payment_intent_id.clone(),
            invoice_id: Some(charge),
        },
        Fact::Refunded {
            payment_intent_id: Some(payment_intent_id),
            amount: usd(2_345),
            full: false,
        },
        disputed("needs_response", false),
        disputed("won", true),
    ];
    let told: Vec<_> = events.iter().map(|event| event.fact.clone()).collect();
    assert_eq!(told, expected);
    for event in &events[..3] {
        assert_eq!(event.about.checkout, Some(checkout(1)));
        assert_eq!(event.about.customer, Some(rig.customer.id));
        assert_eq!((event.mode, event.at), (Mode::Sandbox, rig.double.now()));
    }
}

/// What was held and never captured is let go, not paid back, though the processor
/// shows a refund of the charge.
#[tokio::test]
async fn a_hold_that_is_let_go_is_no_refund() {
    let rig = Op::Void.prepare(Rig::new()).await;
    done(Op::Void.run(&rig, &rig.call("work")).await);
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
    let ended = Fact::AuthorizationEnded {
        payment_intent_id: rig.intent.clone(),
        lapsed: false,
    };
    assert!(
        !told.is_empty() && told.iter().all(|fact| *fact == ended),
        "{told:?}"
    );
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
    let lapsed = Fact::AuthorizationEnded {
        payment_intent_id: rig.intent.clone(),
        lapsed: true,
    };
    assert_eq!(told, [lapsed.clone(), lapsed]);
}

#[tokio::test]
async fn a_decline_is_told() {
    let rig = Rig::new().with_customer().await;
    let request = rig.deposit("pm_card_chargeDeclinedExpiredCard", false);
    let _refused = rig
        .processor
        .authorize_deposit(&rig.call("work"), &request)
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
            .create_subscription(&rig.call("work"), &request)
            .await,
    );
    let method = rig.method.clone().unwrap();
    rig.double.decline(&method, Some(Decline::GENERIC)).unwrap();
    rig.double.advance(TimeDelta::days(30));
    rig.double.decline(&method, None).unwrap();
    rig.double.advance(TimeDelta::days(60));
    let events = facts(&rig);
    for event in &events {
        // Payments of invoices carry no ids of ours; what the subscription does, does.
        if !matches!(
            event.fact,
            Fact::Captured { .. } | Fact::PaymentRefused { .. }
        ) {
            assert_eq!(event.about.checkout, Some(checkout(1)), "{event:?}");
        }
    }
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::InvoicePaid { amount, first, .. } => {
                Some(format!("paid {} {first}", amount.minor()))
            }
            Fact::InvoiceFailed {
                attempts, first, ..
            } => Some(format!("failed {attempts} {first}")),
            Fact::SubscriptionEnded { at, .. } => Some(format!("ended {at}")),
            _ => None,
        })
        .collect();
    let expected = [
        "paid 4999 true",
        "failed 1 false",
        "paid 4999 false",
        "ended 2026-03-31 12:00:00 UTC",
    ];
    assert_eq!(told, expected);
    let ends = events.iter().rev().find_map(|event| match event.fact {
        Fact::SubscriptionChanged { ends_at, .. } => ends_at,
        _ => None,
    });
    assert_eq!(ends, Some(crate::support::time("2026-03-31T12:00:00Z")));
}

#[tokio::test]
async fn identity_is_told() {
    let rig = Op::StartIdentity.prepare(Rig::new()).await;
    done(Op::StartIdentity.run(&rig, &rig.call("work")).await);
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
