//! Keys.

use chrono::TimeDelta;
use lessor_processor_double::{Fault, Rule};

use crate::support::{Answer, Caller, until};

const PATH: &str = "/v1/customers";

#[tokio::test]
async fn a_key_is_one_customer_and_the_first_answer() {
    let caller = Caller::new();
    let first = caller.post_once(PATH, "name=A", "k").await;
    let again = caller.post_once(PATH, "name=A", "k").await;
    assert_eq!((first.status, first.replayed), (200, false));
    assert_eq!((again.status, again.replayed), (200, true));
    assert_eq!(first.body, again.body);
    assert_eq!(caller.double.objects("customer").len(), 1);
    assert_ne!(first.headers["request-id"], again.headers["request-id"]);
}

#[tokio::test]
async fn a_key_belongs_to_its_parameters_and_path() {
    let caller = Caller::new();
    caller.post_once(PATH, "name=A", "k").await;
    for (path, form) in [(PATH, "name=B"), ("/v1/products", "name=A")] {
        let other = caller.post_once(path, form, "k").await;
        assert_eq!(other.status, 400);
        assert_eq!(*other.error("type"), "idempotency_error");
    }
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let caller = Caller::new();
    caller.post_once(PATH, "name=A", "k").await;
    caller
        .double
        .advance(TimeDelta::hours(24) - TimeDelta::seconds(1));
    assert!(caller.post_once(PATH, "name=A", "k").await.replayed);
    caller.double.advance(TimeDelta::seconds(1));
    assert!(!caller.post_once(PATH, "name=A", "k").await.replayed);
    assert_eq!(caller.double.objects("customer").len(), 2);
}

#[tokio::test]
async fn a_refusal_of_the_request_itself_uses_no_key_up() {
    let caller = Caller::new();
    let wrong = caller.post_once(PATH, "nope=1", "k").await;
    assert_eq!(*wrong.error("code"), "parameter_unknown");
    assert_eq!(caller.post_once(PATH, "name=A", "k").await.status, 200);
}

#[tokio::test]
async fn a_failure_is_stored_and_a_decline_too() {
    let caller = Caller::new();
    caller.double.fault(Rule::once("POST", PATH, Fault::FAILED));
    for replayed in [false, true, true] {
        let answer = caller.post_once(PATH, "name=A", "k").await;
        assert_eq!((answer.status, answer.replayed), (500, replayed));
    }
    assert_eq!(caller.double.objects("customer").len(), 0);
    let form = "amount=100&currency=usd&confirm=true&payment_method=pm_card_chargeDeclined";
    for replayed in [false, true] {
        let answer = caller.post_once("/v1/payment_intents", form, "d").await;
        assert_eq!((answer.status, answer.replayed), (402, replayed));
    }
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict() {
    let caller = Caller::new();
    caller.double.fault(Rule::once("POST", PATH, Fault::Hold));
    let held = tokio::spawn(caller.keyed(PATH, "name=A", "k").send());
    until("the request is held", || {
        !caller.double.journal().is_empty()
    })
    .await;
    let meanwhile = caller.post_once(PATH, "name=A", "k").await;
    assert_eq!(meanwhile.status, 409);
    assert_eq!(meanwhile.headers["stripe-should-retry"], "true");
    caller.double.release();
    let held = Answer::of(held.await.expect("a task").expect("an answer")).await;
    assert_eq!(held.status, 200);
    assert!(caller.post_once(PATH, "name=A", "k").await.replayed);
}

#[tokio::test]
async fn modes_share_neither_keys_nor_objects() {
    let caller = Caller::new();
    let test = caller.post_once(PATH, "name=A", "k").await;
    let live = caller
        .http
        .post(format!("{}{PATH}", caller.double.url()))
        .bearer_auth("sk_live_1")
        .header("Idempotency-Key", "k")
        .body("name=B");
    let live = Answer::of(live.send().await.expect("an answer")).await;
    assert_eq!(live.body["livemode"], true);
    let path = format!("{PATH}/{}", live.text("id"));
    assert_eq!(caller.get(&path).await.status, 404);
    assert_eq!(test.body["livemode"], false);
    let nobody = caller.http.get(format!("{}{PATH}", caller.double.url()));
    assert_eq!(nobody.send().await.expect("an answer").status(), 401);
}
