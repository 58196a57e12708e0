//! Holds that end soon, and banks that refuse new ones.

use chrono::TimeDelta;
use lessor_processor_double::{Decline, Occasion, Settings};

use crate::payments::held;
use crate::support::Caller;

#[tokio::test]
async fn a_hold_of_a_minute_ends_by_itself() {
    let caller = Caller::new();
    caller.double.set(Settings {
        authorization_seconds: Some(60),
        ..Settings::default()
    });
    let intent = held(&caller, "pm_card_visa", "&metadata[lessor_checkout]=chk_1").await;
    let charge = &intent.body["latest_charge"];
    let until = &charge["payment_method_details"]["card"]["capture_before"];
    assert_eq!(*until, caller.double.now().timestamp() + 60);
    assert_eq!(caller.double.account_of("chk_1").held, 5_000);
    let (id, known) = (intent.text("id"), caller.double.events().len());
    caller.double.advance(TimeDelta::seconds(59));
    assert_eq!(caller.now(&id)["status"], "requires_capture");
    caller.double.advance(TimeDelta::seconds(1));
    let over = caller.now(&id);
    assert_eq!(
        (&over["status"], &over["cancellation_reason"]),
        (&"canceled".into(), &"automatic".into())
    );
    assert_eq!(
        caller.told_after(known),
        ["charge.expired", "payment_intent.canceled"]
    );
    let late = caller
        .post(&format!("/v1/payment_intents/{id}/capture"), "")
        .await;
    assert_eq!(
        (late.status, late.error("code")),
        (400, &"payment_intent_unexpected_state".into())
    );
    assert_eq!(late.error("payment_intent")["status"], "canceled");
    assert_eq!(caller.double.account_of("chk_1").held, 0);
}

#[tokio::test]
async fn a_bank_can_refuse_holds_alone_or_the_absent_alone() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let pay = async |more: &str| {
        let form = format!(
            "amount=5000&currency=usd&customer={customer}&payment_method={method}&confirm=true{more}"
        );
        caller.post("/v1/payment_intents", &form).await
    };
    let on = |occasion, decline| caller.double.decline_on(&method, occasion, decline);
    assert_eq!(on(Occasion::Hold, Some(Decline::LOST)), Ok(()));
    let refused = pay("&capture_method=manual&off_session=true").await;
    assert_eq!(*refused.error("decline_code"), "lost_card");
    assert_eq!(*refused.error("advice_code"), "do_not_try_again");
    let error = &refused.error("payment_intent")["last_payment_error"];
    assert_eq!(error["advice_code"], "do_not_try_again");
    assert_eq!(pay("&off_session=true").await.status, 200);

    assert_eq!(on(Occasion::Hold, None), Ok(()));
    assert_eq!(
        on(Occasion::OffSession, Some(Decline::INSUFFICIENT_FUNDS)),
        Ok(())
    );
    let refused = pay("&off_session=true").await;
    assert_eq!(*refused.error("advice_code"), "try_again_later");
    assert_eq!(pay("").await.status, 200);
    assert_eq!(caller.double.decline(&method, None), Ok(()));
    assert_eq!(pay("&off_session=true").await.status, 200);
}

#[test]
fn declines_are_hard_or_soft_and_have_names() {
    for (name, hard, advice) in [
        ("insufficient_funds", false, Some("try_again_later")),
        ("do_not_honor", false, Some("try_again_later")),
        ("generic_decline", false, None),
        ("expired_card", false, Some("confirm_card_data")),
        ("lost_card", true, Some("do_not_try_again")),
        ("stolen_card", true, Some("do_not_try_again")),
        ("pickup_card", true, Some("do_not_try_again")),
        ("authentication_required", true, None),
    ] {
        let decline = Decline::named(name).expect(name);
        assert_eq!(
            (decline.is_hard(), decline.advice_code),
            (hard, advice),
            "{name}"
        );
    }
}
