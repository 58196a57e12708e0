//! Disputes, of deposits and of monthly payments.

use lessor_processor_double::Event;
use serde_json::json;

use crate::payments::held;
use crate::subscriptions::subscribe;
use crate::support::Caller;

fn about(caller: &Caller, dispute: &str) -> Vec<String> {
    let is = |event: &Event| String::from_utf8_lossy(&event.body).contains(dispute);
    let events = caller.double.events();
    events
        .into_iter()
        .filter(is)
        .map(|event| event.kind)
        .collect()
}

#[tokio::test]
async fn a_dispute_leads_to_its_invoice_by_the_payment_alone() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let made = subscribe(&caller, &customer, &method).await;
    let invoice = made.body["latest_invoice"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let dispute = caller.double.dispute(&invoice).expect("a dispute");
    let read = caller.get(&format!("/v1/disputes/{dispute}")).await;
    assert_eq!(read.body["metadata"], json!({}));
    let (charge, intent) = (read.text("charge"), read.text("payment_intent"));
    let charge = caller.get(&format!("/v1/charges/{charge}")).await;
    assert_eq!(
        (charge.text("payment_intent"), &charge.body["disputed"]),
        (intent.clone(), &true.into())
    );
    assert_eq!(charge.body["metadata"], json!({}));
    let path = format!(
        "/v1/invoice_payments?payment[type]=payment_intent&payment[payment_intent]={intent}\
         &expand[]=data.invoice"
    );
    let paid = caller.get(&path).await;
    let found = &paid.body["data"][0]["invoice"];
    assert_eq!(found["id"], invoice.as_str());
    let parent = &found["parent"]["subscription_details"];
    assert_eq!(parent["metadata"]["lessor_checkout"], "chk_1");
    let none = path.replace(&intent, "pi_none");
    assert_eq!(caller.get(&none).await.body["data"], json!([]));
    assert_eq!(
        caller
            .get("/v1/invoice_payments?payment[payment_intent]=pi")
            .await
            .status,
        400,
        "the type is needed"
    );
    assert!(
        caller.double.dispute(&invoice).is_err(),
        "it is contested already"
    );
}

#[tokio::test]
async fn a_dispute_moves_and_ends_with_its_messages() {
    for (end, last) in [
        ("won", "charge.dispute.funds_reinstated"),
        ("lost", "charge.dispute.closed"),
    ] {
        let caller = Caller::new();
        let intent = held(&caller, "pm_card_visa", "&metadata[lessor_checkout]=chk_1").await;
        let id = intent.text("id");
        assert!(caller.double.dispute(&id).is_err(), "nothing was taken");
        caller
            .post(&format!("/v1/payment_intents/{id}/capture"), "")
            .await;
        let dispute = caller.double.dispute(&id).expect("a dispute");
        assert_eq!(caller.double.account_of("chk_1").kept(), 0);
        assert_eq!(
            caller.double.update_dispute(&dispute, "under_review"),
            Ok(())
        );
        assert_eq!(caller.double.close_dispute(&dispute, end), Ok(()));
        let mut expected = vec![
            "charge.dispute.created",
            "charge.dispute.funds_withdrawn",
            "charge.dispute.updated",
            "charge.dispute.closed",
        ];
        if end == "won" {
            expected.push(last);
        }
        assert_eq!(about(&caller, &dispute), expected);
        let kept = if end == "won" { 5_000 } else { 0 };
        assert_eq!(caller.double.account_of("chk_1").kept(), kept);
    }
}
