//! Messages: what they concern is found, what cannot be read is kept.

use lessor_domain::access::Mode;
use lessor_domain::checkout::AttentionReason;
use lessor_domain::ports::{Database as _, InboxMessage, InboxState, Reach};
use lessor_processor_double::Event;

use super::MONTH;
use crate::bench::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_of_a_monthly_payment_finds_its_lease() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    bench.wait(MONTH);
    let account = bench.double.account_of(&id.to_string());
    let (invoice, _) = account.paid_invoices.last().unwrap();
    let known = bench.double.events().len();
    // Nobody told of the invoice itself.
    let dispute = bench.double.dispute(invoice).unwrap();
    let told: Vec<Event> = bench.double.events().split_off(known);
    for event in &told {
        bench.receive(event).await;
    }
    assert!(bench.needs(id, AttentionReason::Disputed).await);
    let known = bench.double.events().len();
    bench.double.close_dispute(&dispute, "won").unwrap();
    for event in bench.double.events().split_off(known).iter().rev() {
        bench.receive(event).await;
    }
    assert!(!bench.needs(id, AttentionReason::Disputed).await);
    bench.agree(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_is_kept_and_can_be_read_again() {
    let bench = Bench::new().await;
    let message = InboxMessage {
        source: "processor".to_owned(),
        id: "evt_unreadable".to_owned(),
        mode: Mode::Sandbox,
        organization_id: None,
        body: br#"{"id":"evt_unreadable","type":"invoice.paid","created":1,"livemode":false,"data":{"object":{"planet":7}}}"#.to_vec(),
        received_at: bench.now(),
    };
    bench.inbox().keep(&message).await.unwrap();
    bench.inbox().handle(&message).await.unwrap();
    let mut uow = bench.database.begin(Reach::Server).await.unwrap();
    let failed = uow.inbox().list(InboxState::Failed, 10).await.unwrap();
    let [failed] = failed.as_slice() else {
        panic!("it is listed: {failed:?}")
    };
    assert!(failed.problem.as_deref().unwrap().contains("data.object"));
    let now = bench.now();
    let again = uow.inbox().requeue(Some("evt_unreadable"), now).await;
    assert_eq!(again.unwrap(), 1);
    uow.commit().await.unwrap();
    assert_eq!(bench.handle_kept().await, 1, "it is still not understood");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_mode_moves_nothing() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    let account = bench.double.account_of(&id.to_string());
    let (invoice, _) = account.paid_invoices.first().unwrap();
    let known = bench.double.events().len();
    bench.double.dispute(invoice).unwrap();
    for event in bench.double.events().split_off(known) {
        let mut body: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
        body["livemode"] = true.into();
        bench
            .receive(&Event {
                body: body.to_string().into_bytes(),
                ..event
            })
            .await;
    }
    assert_eq!(bench.read(id).await.attention, []);
    bench.agree(id).await;
}
