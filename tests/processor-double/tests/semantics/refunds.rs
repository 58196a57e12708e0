//! Refunds: of nothing, of too much, and those that fail later.

use chrono::TimeDelta;
use lessor_processor_double::Settings;
use serde_json::json;

use crate::payments::held;
use crate::support::Caller;

async fn taken(caller: &Caller) -> String {
    let intent = held(caller, "pm_card_visa", "&metadata[lessor_checkout]=chk_1").await;
    let id = intent.text("id");
    caller
        .post(&format!("/v1/payment_intents/{id}/capture"), "")
        .await;
    id
}

#[tokio::test]
async fn nothing_and_too_much_are_refused() {
    let caller = Caller::new();
    let id = taken(&caller).await;
    for amount in ["0", "-5"] {
        let form = format!("payment_intent={id}&amount={amount}");
        let refused = caller.post("/v1/refunds", &form).await;
        assert_eq!(*refused.error("code"), "parameter_invalid_integer");
        assert_eq!(*refused.error("param"), "amount");
    }
    let too_much = caller
        .post("/v1/refunds", &format!("payment_intent={id}&amount=5001"))
        .await;
    let message = too_much.error("message").as_str().expect("a message");
    assert!(
        message.contains("greater than unrefunded amount"),
        "{message}"
    );
    assert!(caller.double.objects("refund").is_empty());
}

#[tokio::test]
async fn a_refund_that_fails_later_gives_the_money_back_to_us() {
    for pends in [false, true] {
        let caller = Caller::new();
        caller.double.set(Settings {
            refunds_pend: Some(pends),
            ..Settings::default()
        });
        let id = taken(&caller).await;
        let refund = caller
            .post("/v1/refunds", &format!("payment_intent={id}"))
            .await;
        let status = if pends { "pending" } else { "succeeded" };
        assert_eq!(refund.body["status"], status);
        assert_eq!(caller.double.account_of("chk_1").kept(), 0);
        let known = caller.double.events().len();
        let refund = refund.text("id");
        let reason = "expired_or_canceled_card";
        assert_eq!(caller.double.fail_refund(&refund, reason), Ok(()));
        let told = ["refund.failed", "refund.updated", "charge.refund.updated"];
        assert_eq!(caller.told_after(known), told);
        let failed = caller.get(&format!("/v1/refunds/{refund}")).await;
        assert_eq!(
            (failed.text("status"), failed.text("failure_reason")),
            ("failed".to_owned(), reason.to_owned())
        );
        let charge = caller.now(&failed.text("charge"));
        assert_eq!(
            (&charge["amount_refunded"], &charge["refunded"]),
            (&json!(0), &json!(false))
        );
        let account = caller.double.account_of("chk_1");
        assert_eq!((account.refunded, account.kept()), (0, 5_000));
        assert!(caller.double.fail_refund(&refund, reason).is_err());
        // The money can be paid back anew.
        let again = caller
            .post("/v1/refunds", &format!("payment_intent={id}"))
            .await;
        assert_eq!(again.body["amount"], 5_000);
    }
}

#[tokio::test]
async fn a_refund_comes_back_within_a_month_or_never() {
    let caller = Caller::new();
    let id = taken(&caller).await;
    let form = format!("payment_intent={id}");
    let refund = caller.post("/v1/refunds", &form).await.text("id");
    caller.double.advance(TimeDelta::days(31));
    let refused = caller.double.fail_refund(&refund, "unknown");
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(caller.double.account_of("chk_1").refunded, 5_000);
}

#[tokio::test]
async fn a_refund_under_way_succeeds_when_it_is_settled() {
    let caller = Caller::new();
    caller.double.set(Settings {
        refunds_pend: Some(true),
        ..Settings::default()
    });
    let id = taken(&caller).await;
    let form = format!("payment_intent={id}&amount=2000&metadata[a]=b");
    let refund = caller.post("/v1/refunds", &form).await.text("id");
    let known = caller.double.events().len();
    assert_eq!(caller.double.settle_refund(&refund), Ok(()));
    assert_eq!(
        caller.told_after(known),
        ["refund.updated", "charge.refund.updated"]
    );
    assert_eq!(caller.now(&refund)["status"], "succeeded");
    assert!(caller.double.settle_refund(&refund).is_err());
}

#[tokio::test]
async fn refunds_are_listed_by_payment_by_charge_and_all() {
    let caller = Caller::new();
    let (first, second) = (taken(&caller).await, taken(&caller).await);
    for id in [&first, &first, &second] {
        let form = format!("payment_intent={id}&amount=100");
        assert_eq!(caller.post("/v1/refunds", &form).await.status, 200);
    }
    let charge = caller.now(&first)["latest_charge"].clone();
    let charge = charge.as_str().expect("a charge");
    let now = caller.double.now().timestamp();
    for (query, count) in [
        (String::new(), 3),
        (format!("payment_intent={first}"), 2),
        (format!("charge={charge}"), 2),
        (format!("payment_intent={second}&created[gte]={now}"), 1),
        (format!("created[gt]={now}"), 0),
        (format!("created[lt]={now}"), 0),
        (format!("created={now}"), 3),
    ] {
        let listed = caller.get(&format!("/v1/refunds?{query}")).await;
        assert_eq!(
            listed.body["data"].as_array().map(Vec::len),
            Some(count),
            "{query}"
        );
    }
}
