//! What people do to subscriptions where the processor shows them.

use chrono::TimeDelta;
use lessor_processor_double::{Decline, Deed};
use serde_json::Value;

use crate::subscriptions::{end, invoices, subscribe};
use crate::support::Caller;

async fn running(caller: &Caller) -> String {
    let (customer, method) = caller.customer().await;
    let id = subscribe(caller, &customer, &method).await.text("id");
    let set = end(caller, &id, "2026-04-30T12:00:00Z", "none").await;
    assert_eq!(set.status, 200, "{}", set.body);
    id
}

fn paused(behavior: &str, resumes_at: Option<i64>) -> Deed {
    Deed::PauseCollection {
        behavior: behavior.to_owned(),
        resumes_at,
    }
}

#[tokio::test]
async fn a_price_changes_from_the_next_period_on() {
    let caller = Caller::new();
    let id = running(&caller).await;
    let known = caller.double.events().len();
    let done = caller
        .double
        .by_hand(&id, &Deed::SetPrice { unit_amount: 4_100 });
    assert_eq!(done, Ok(()));
    assert_eq!(
        caller.told_after(known),
        ["price.created", "customer.subscription.updated"]
    );
    caller.double.advance(TimeDelta::days(40));
    let amounts: Vec<_> = invoices(&caller)
        .into_iter()
        .map(|(amount, ..)| amount)
        .collect();
    assert_eq!(amounts, [3_100, 4_100]);
}

#[tokio::test]
async fn an_end_that_is_taken_away_bills_for_ever() {
    let caller = Caller::new();
    let id = running(&caller).await;
    let known = caller.double.events().len();
    assert_eq!(caller.double.by_hand(&id, &Deed::RemoveEnd), Ok(()));
    assert_eq!(caller.told_after(known), ["customer.subscription.updated"]);
    assert_eq!(caller.now(&id)["cancel_at"], Value::Null);
    caller.double.advance(TimeDelta::days(200));
    assert_eq!(caller.now(&id)["status"], "active");
    assert_eq!(invoices(&caller).len(), 7);
}

#[tokio::test]
async fn a_subscription_is_cancelled_by_somebody() {
    let caller = Caller::new();
    let id = running(&caller).await;
    let known = caller.double.events().len();
    assert_eq!(caller.double.by_hand(&id, &Deed::Cancel), Ok(()));
    assert_eq!(caller.told_after(known), ["customer.subscription.deleted"]);
    assert!(caller.double.by_hand(&id, &Deed::RemoveEnd).is_err());
    let path = format!("/v1/subscriptions/{id}");
    assert_eq!(caller.post(&path, "description=A").await.status, 400);
    let gone = caller.request(reqwest::Method::DELETE, &path).send().await;
    assert_eq!(gone.expect("an answer").status(), 404);
}

#[tokio::test]
async fn collection_is_paused_and_the_status_stays() {
    for (behavior, status, told) in [
        ("void", "void", Some("invoice.voided")),
        (
            "mark_uncollectible",
            "uncollectible",
            Some("invoice.marked_uncollectible"),
        ),
        ("keep_as_draft", "draft", None),
    ] {
        for by_hand in [false, true] {
            let caller = Caller::new();
            let id = running(&caller).await;
            if by_hand {
                assert_eq!(caller.double.by_hand(&id, &paused(behavior, None)), Ok(()));
            } else {
                let form = format!("pause_collection[behavior]={behavior}");
                let path = format!("/v1/subscriptions/{id}");
                assert_eq!(caller.post(&path, &form).await.status, 200);
            }
            caller.double.advance(TimeDelta::days(29));
            assert_eq!(caller.now(&id)["status"], "active");
            assert_eq!(invoices(&caller)[1].1, status, "{behavior}");
            let kinds: Vec<_> = caller.double.events().into_iter().map(|e| e.kind).collect();
            assert!(
                told.is_none_or(|told| kinds.iter().any(|kind| kind == told)),
                "{kinds:?}"
            );
            let path = format!("/v1/subscriptions/{id}");
            assert_eq!(caller.post(&path, "pause_collection=").await.status, 200);
            caller.double.advance(TimeDelta::days(31));
            assert_eq!(invoices(&caller)[2].1, "paid");
        }
    }
}

#[tokio::test]
async fn collection_goes_on_when_it_was_to() {
    let caller = Caller::new();
    let id = running(&caller).await;
    let at = (caller.double.now() + TimeDelta::days(5)).timestamp();
    assert_eq!(
        caller.double.by_hand(&id, &paused("void", Some(at))),
        Ok(())
    );
    let known = caller.double.events().len();
    caller.double.advance(TimeDelta::days(5));
    assert_eq!(caller.now(&id)["pause_collection"], Value::Null);
    assert_eq!(caller.told_after(known), ["customer.subscription.updated"]);
}

#[tokio::test]
async fn a_paused_subscription_makes_no_invoices() {
    let caller = Caller::new();
    let id = running(&caller).await;
    let path = format!("/v1/subscriptions/{id}/resume");
    assert_eq!(caller.post(&path, "").await.status, 400, "it runs");
    let known = caller.double.events().len();
    assert_eq!(caller.double.by_hand(&id, &Deed::Pause), Ok(()));
    caller.double.advance(TimeDelta::days(29));
    assert_eq!(invoices(&caller).len(), 1);
    let resumed = caller.post(&path, "").await;
    assert_eq!(resumed.body["status"], "active");
    let told = caller.told_after(known);
    for kind in [
        "customer.subscription.paused",
        "customer.subscription.resumed",
    ] {
        assert!(told.contains(&kind.to_owned()), "{told:?}");
    }
    caller.double.advance(TimeDelta::days(31));
    assert_eq!(invoices(&caller).len(), 2);
}

#[tokio::test]
async fn one_that_is_incomplete_is_only_cancelled() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    assert_eq!(
        caller.double.decline(&method, Some(Decline::GENERIC)),
        Ok(())
    );
    let id = subscribe(&caller, &customer, &method).await.text("id");
    assert!(caller.double.by_hand(&id, &Deed::Pause).is_err());
    assert_eq!(caller.double.by_hand(&id, &Deed::Cancel), Ok(()));
    assert_eq!(caller.now(&id)["status"], "canceled");
}
