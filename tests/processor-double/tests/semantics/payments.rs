//! Deposits, refunds, setups, identity.

use chrono::TimeDelta;
use lessor_processor_double::Decline;
use serde_json::json;

use crate::support::{Answer, Caller};

pub(crate) async fn held(caller: &Caller, method: &str, more: &str) -> Answer {
    let (customer, _) = caller.customer().await;
    let form = format!(
        "amount=5000&currency=usd&customer={customer}&payment_method={method}&confirm=true\
         &capture_method=manual&expand[0]=latest_charge&expand[1]=payment_method{more}"
    );
    caller.post("/v1/payment_intents", &form).await
}

pub(crate) fn kinds(caller: &Caller) -> Vec<String> {
    let events = caller.double.events();
    events.into_iter().map(|event| event.kind).collect()
}

#[tokio::test]
async fn a_deposit_is_held_then_captured_then_paid_back() {
    let caller = Caller::new();
    let intent = held(&caller, "pm_card_visa", "&setup_future_usage=off_session").await;
    assert_eq!(intent.body["status"], "requires_capture");
    let card = &intent.body["latest_charge"]["payment_method_details"]["card"];
    let lasts = card["capture_before"]
        .as_i64()
        .map(|at| at - caller.double.now().timestamp());
    assert_eq!(lasts, Some(7 * 86_400));
    // The method is the customer's from now on.
    assert_eq!(
        intent.body["payment_method"]["customer"],
        intent.body["customer"]
    );

    let path = format!("/v1/payment_intents/{}", intent.text("id"));
    let form = "expand[]=latest_charge.balance_transaction";
    let captured = caller.post(&format!("{path}/capture"), form).await;
    assert_eq!(captured.body["status"], "succeeded");
    let moved = &captured.body["latest_charge"]["balance_transaction"];
    assert_eq!(moved["created"], caller.double.now().timestamp());
    let again = caller.post(&format!("{path}/capture"), "").await;
    assert_eq!(*again.error("code"), "payment_intent_unexpected_state");

    let refund = format!("payment_intent={}&amount=2000", intent.text("id"));
    assert_eq!(
        caller.post("/v1/refunds", &refund).await.body["status"],
        "succeeded"
    );
    let too_much = format!("payment_intent={}&amount=3001", intent.text("id"));
    assert_eq!(caller.post("/v1/refunds", &too_much).await.status, 400);
    let rest = format!("payment_intent={}", intent.text("id"));
    assert_eq!(caller.post("/v1/refunds", &rest).await.body["amount"], 3000);
    let none_left = caller.post("/v1/refunds", &rest).await;
    assert_eq!(*none_left.error("code"), "charge_already_refunded");

    let mut told = kinds(&caller);
    told.retain(|kind| !kind.starts_with("customer") && !kind.contains("setup"));
    let expected = [
        "payment_method.attached", // of the customer's first card
        "payment_intent.created",
        "payment_method.attached",
        "charge.succeeded",
        "payment_intent.amount_capturable_updated",
        "charge.captured",
        "payment_intent.succeeded",
        "refund.created",
        "charge.refunded",
        "refund.created",
        "charge.refunded",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_hold_is_let_go_or_lapses() {
    let caller = Caller::new();
    let first = held(&caller, "pm_card_visa", "").await;
    let cancel = format!("/v1/payment_intents/{}/cancel", first.text("id"));
    assert_eq!(caller.post(&cancel, "").await.body["status"], "canceled");
    assert_eq!(caller.post(&cancel, "").await.status, 400);

    let second = held(&caller, "pm_card_visa", "").await;
    caller
        .double
        .advance(TimeDelta::days(7) - TimeDelta::seconds(1));
    let id = second.text("id");
    let status = || caller.double.object(&id).expect("the payment")["status"].clone();
    assert_eq!(status(), "requires_capture");
    caller.double.advance(TimeDelta::seconds(1));
    assert_eq!(status(), "canceled");
    assert!(kinds(&caller).contains(&"charge.expired".to_owned()));
    assert!(caller.double.held_by("lessor_checkout").is_empty());
}

#[tokio::test]
async fn cards_decline_as_they_are_named() {
    let caller = Caller::new();
    for (method, code, reason) in [
        (
            "pm_card_chargeDeclined",
            "card_declined",
            json!("generic_decline"),
        ),
        (
            "pm_card_visa_chargeDeclinedInsufficientFunds",
            "card_declined",
            json!("insufficient_funds"),
        ),
        (
            "pm_card_chargeDeclinedExpiredCard",
            "expired_card",
            json!(null),
        ),
        (
            "pm_card_chargeCustomerFail",
            "card_declined",
            json!("generic_decline"),
        ),
    ] {
        let declined = held(&caller, method, "").await;
        assert_eq!(declined.status, 402, "{method}");
        assert_eq!(*declined.error("type"), "card_error");
        assert_eq!(*declined.error("code"), code);
        assert_eq!(*declined.error("decline_code"), reason);
        let intent = declined.error("payment_intent");
        assert_eq!(intent["status"], "requires_payment_method");
        assert_eq!(intent["last_payment_error"]["code"], code);
    }
    let method = "pm_card_authenticationRequired";
    assert_eq!(
        held(&caller, method, "").await.body["status"],
        "requires_action"
    );
    for more in ["&off_session=true", "&error_on_requires_action=true"] {
        let declined = held(&caller, method, more).await;
        assert_eq!(declined.status, 402);
        assert_eq!(*declined.error("code"), "authentication_required");
    }
}

#[tokio::test]
async fn a_card_in_use_can_stop_working() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let form = format!(
        "amount=100&currency=usd&customer={customer}&payment_method={method}&confirm=true&off_session=true"
    );
    let pay = async || caller.post("/v1/payment_intents", &form).await.status;
    let decline = |reason| caller.double.decline(&method, reason).expect("a card");
    assert_eq!(pay().await, 200);
    decline(Some(Decline::INSUFFICIENT_FUNDS));
    assert_eq!(pay().await, 402);
    decline(None);
    assert_eq!(pay().await, 200);
}

#[tokio::test]
async fn a_method_is_one_customers() {
    let caller = Caller::new();
    let (_, method) = caller.customer().await;
    let (other, _) = caller.customer().await;
    let form = format!("amount=100&currency=usd&customer={other}&payment_method={method}");
    assert_eq!(caller.post("/v1/payment_intents", &form).await.status, 400);
    let list = caller
        .get(&format!("/v1/customers/{other}/payment_methods?limit=1"))
        .await;
    assert_eq!(list.body["data"].as_array().map(Vec::len), Some(1));
    assert_ne!(list.body["data"][0]["id"], method);
}

#[tokio::test]
async fn a_setup_that_fails_says_why() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let form = format!("customer={customer}&payment_method=pm_card_chargeDeclined&confirm=true");
    let declined = caller.post("/v1/setup_intents", &form).await;
    assert_eq!(declined.status, 402);
    assert_eq!(
        declined.error("setup_intent")["status"],
        "requires_payment_method"
    );
}

#[tokio::test]
async fn products_have_the_callers_ids_and_prices_move_their_names() {
    let caller = Caller::new();
    let product = "id=var_1&name=Bike";
    assert_eq!(
        caller.post("/v1/products", product).await.text("id"),
        "var_1"
    );
    let again = caller.post("/v1/products", product).await;
    assert_eq!(*again.error("code"), "resource_already_exists");
    let price = |amount| {
        format!(
            "product=var_1&currency=usd&unit_amount={amount}&recurring[interval]=month\
             &lookup_key=var_1-12"
        )
    };
    let first = caller.post("/v1/prices", &price(100)).await;
    assert_eq!(caller.post("/v1/prices", &price(200)).await.status, 400);
    let form = format!("{}&transfer_lookup_key=true", price(200));
    let second = caller.post("/v1/prices", &form).await;
    assert_eq!(second.body["lookup_key"], "var_1-12");
    let first = caller
        .get(&format!("/v1/prices/{}", first.text("id")))
        .await;
    assert_eq!(first.body["lookup_key"], json!(null));
    let missing = caller
        .post("/v1/prices", "product=no&currency=usd&unit_amount=1")
        .await;
    assert_eq!(*missing.error("code"), "resource_missing");
}

#[tokio::test]
async fn an_identity_session_moves_when_it_is_told() {
    let caller = Caller::new();
    let form = "type=document&client_reference_id=chk_1&provided_details[email]=a%40example.com";
    let session = caller
        .post("/v1/identity/verification_sessions", form)
        .await;
    assert_eq!(session.body["status"], "requires_input");
    let id = session.text("id");
    let decide = |status, error| caller.double.decide_identity(&id, status, error);
    assert_eq!(decide("requires_input", Some("document_expired")), Ok(()));
    assert_eq!(decide("verified", None), Ok(()));
    let path = "/v1/identity/verification_sessions?client_reference_id=chk_1";
    assert_eq!(caller.get(path).await.body["data"][0]["status"], "verified");
    let told = kinds(&caller);
    let expected = ["created", "requires_input", "verified"]
        .map(|what| format!("identity.verification_session.{what}"));
    assert_eq!(told, expected);
    assert!(
        caller
            .double
            .decide_identity("vs_none", "verified", None)
            .is_err()
    );
}

#[tokio::test]
async fn a_dispute_opens_and_closes() {
    let caller = Caller::new();
    let intent = held(&caller, "pm_card_visa", "").await;
    let path = format!("/v1/payment_intents/{}/capture", intent.text("id"));
    caller.post(&path, "").await;
    let dispute = caller
        .double
        .dispute(&intent.text("id"))
        .expect("a dispute");
    let refund = format!("payment_intent={}", intent.text("id"));
    assert_eq!(
        *caller.post("/v1/refunds", &refund).await.error("code"),
        "charge_disputed"
    );
    assert_eq!(caller.double.close_dispute(&dispute, "lost"), Ok(()));
    assert_eq!(
        caller.double.object(&dispute).expect("it")["status"],
        "lost"
    );
}
