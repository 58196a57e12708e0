//! Customers on the processor's own pages: what Lessor asks for, and what it reads of what came of it.

use chrono::TimeDelta;
use lessor_adapters::processor::parse_event;
use lessor_domain::ledger::{HoldState, HostedSession, SessionState};
use lessor_domain::ports::{
    IdentityResult, IdentityVerifier as _, PaymentProcessor as _, ProcessorFact as Fact,
};
use lessor_processor_double::Choice;
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, refused, scope, time, usd};

async fn open(pays: bool) -> (Rig, HostedSession) {
    let rig = Rig::new().with_customer().await;
    let attempt = rig.attempt("work");
    let opened = rig
        .processor
        .open_session(&attempt, &rig.session(pays))
        .await;
    (rig, done(opened))
}

async fn read(rig: &Rig, id: &str) -> HostedSession {
    let read = rig.processor.session(scope(), id).await;
    read.unwrap().unwrap()
}

#[tokio::test]
async fn a_deposit_is_held_where_the_customer_pays_it_and_its_card_is_kept() {
    let (rig, opened) = open(true).await;
    assert_eq!(opened.state, SessionState::Open);
    assert!(opened.url.is_some() && opened.authorization.is_none());
    let made = rig.double.object(&opened.id).unwrap();
    assert_eq!(made["amount_total"], 12_345);
    assert_eq!(made["success_url"], "https://lessor.test/return");
    assert_eq!(made["cancel_url"], "https://lessor.test/return?left=1");
    let ends_at = time(NOON) + TimeDelta::hours(23);
    assert_eq!(made["expires_at"], ends_at.timestamp());
    // A card that is declined leaves everything open.
    let choice = Choice::Declined;
    assert_eq!(rig.double.visit(&opened.id, &choice), Ok(None));
    let declined = read(&rig, &opened.id).await;
    assert_eq!(declined.state, SessionState::Open);
    assert_eq!((declined.url, declined.authorization), (opened.url, None));
    rig.double.visit(&opened.id, &Choice::Authenticate).unwrap();
    let paid = read(&rig, &opened.id).await;
    assert_eq!((paid.state, &paid.url), (SessionState::Completed, &None));
    let held = paid.authorization.unwrap();
    assert_eq!(held.state, HoldState::Held);
    assert_eq!(
        (held.amount, held.checkout),
        (usd(12_345), Some(checkout(1)))
    );
    assert_eq!(held.expires_at, time(NOON) + TimeDelta::days(7));
    let card = held.method.unwrap();
    assert!(card.last4.is_some(), "{card:?}");
    assert_eq!(
        rig.double.object(&card.id).unwrap()["customer"].as_str(),
        rig.customer.processor_id.as_deref()
    );
    // What holds it is found by its checkout, as any other hold.
    let all = rig
        .processor
        .deposits_of(scope(), &rig.customer, checkout(1))
        .await
        .unwrap();
    let ids: Vec<_> = all.iter().map(|held| &held.payment_intent_id).collect();
    assert_eq!(ids, [&held.payment_intent_id]);
}

#[tokio::test]
async fn a_card_is_left_where_nothing_is_paid() {
    let (rig, opened) = open(false).await;
    rig.double.visit(&opened.id, &Choice::Pay).unwrap();
    let left = read(&rig, &opened.id).await;
    assert_eq!(left.state, SessionState::Completed);
    let card = left.method.unwrap();
    assert_eq!(card.last4.as_deref(), Some("4242"));
    assert_eq!(left.authorization, None);
    let kept = rig
        .processor
        .payment_method(&rig.attempt("kept"), &rig.customer, Some(card.id.clone()))
        .await;
    assert_eq!(done(kept), card, "it is the customer's");
}

#[tokio::test]
async fn a_session_that_is_closed_is_paid_by_nobody_and_one_that_was_paid_is_not_closed() {
    let rig = Op::CloseSession.prepare(Rig::new()).await;
    let attempt = rig.attempt("close");
    let closed = done(rig.processor.expire_session(&attempt, &rig.page).await);
    assert_eq!((closed.state, closed.url), (SessionState::Expired, None));
    assert!(rig.double.visit(&rig.page, &Choice::Pay).is_err());
    // By itself.
    let (rig, opened) = open(true).await;
    rig.double.advance(TimeDelta::hours(24));
    assert_eq!(read(&rig, &opened.id).await.state, SessionState::Expired);
    // Paid a moment before.
    let (rig, opened) = open(true).await;
    rig.double.visit(&opened.id, &Choice::Pay).unwrap();
    let attempt = rig.attempt("late");
    let paid = done(rig.processor.expire_session(&attempt, &opened.id).await);
    assert_eq!(paid.state, SessionState::Completed);
    assert!(paid.authorization.is_some());
    // Nobody knows of it.
    let unknown = rig.processor.expire_session(&attempt, "cs_test_none").await;
    assert_eq!(refused(unknown), "resource_missing");
    let unknown = rig.processor.session(scope(), "cs_test_none").await;
    assert_eq!(unknown.unwrap(), None);
}

#[tokio::test]
async fn messages_say_that_a_session_is_over_and_whose_it_is() {
    let (rig, opened) = open(true).await;
    rig.double.visit(&opened.id, &Choice::Pay).unwrap();
    let mut told = rig.double.events();
    let (other, closed) = open(true).await;
    let attempt = other.attempt("close");
    done(other.processor.expire_session(&attempt, &closed.id).await);
    told.extend(other.double.events());
    let over: Vec<_> = told
        .iter()
        .map(|event| parse_event(&event.body).unwrap())
        .filter(|event| matches!(event.fact, Fact::SessionOver { .. }))
        .collect();
    let ids: Vec<_> = over.iter().map(|event| event.fact.clone()).collect();
    let session_over = |id: &str| Fact::SessionOver {
        session_id: id.to_owned(),
    };
    assert_eq!(ids, [session_over(&opened.id), session_over(&closed.id)]);
    assert!(
        over.iter()
            .all(|event| event.about.checkout == Some(checkout(1)))
    );
}

#[tokio::test]
async fn an_identity_session_is_gone_on_with_at_a_new_address() {
    let rig = Op::StartIdentity.prepare(Rig::new()).await;
    done(Op::StartIdentity.run(&rig, &rig.attempt("work")).await);
    let made = rig.double.objects("identity.verification_session");
    let id = made[0]["id"].as_str().unwrap();
    let journal = rig.double.journal();
    let asked = &journal.last().unwrap().params;
    assert_eq!(asked["return_url"], json!("https://lessor.test/return"));
    let progress = rig.processor.progress(scope(), id).await.unwrap();
    assert_eq!(progress.result, IdentityResult::AwaitingCustomer);
    let first = progress.url.unwrap();
    reqwest::get(&first).await.unwrap();
    let again = rig.processor.progress(scope(), id).await.unwrap();
    assert_ne!(again.url.as_ref(), Some(&first), "the first was used");
    for (status, error, result) in [
        ("processing", None, IdentityResult::Processing),
        (
            "requires_input",
            Some("selfie_face_mismatch"),
            IdentityResult::Refused,
        ),
        (
            "requires_input",
            Some("abandoned"),
            IdentityResult::Abandoned,
        ),
        ("verified", None, IdentityResult::Verified),
    ] {
        rig.double.decide_identity(id, status, error).unwrap();
        let told = rig.processor.progress(scope(), id).await.unwrap();
        assert_eq!(told.result, result);
        assert_eq!(told.url.is_some(), status == "requires_input");
    }
}
