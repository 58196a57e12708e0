//! Walks through the whole account, and through the messages that it sent.

use chrono::TimeDelta;
use lessor_adapters::processor::EventReader;
use lessor_domain::access::Mode;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ledger::HoldState;
use lessor_domain::ports::{
    InboxMessage, MessageReader as _, PaymentProcessor as _, ProcessorFact,
};
use lessor_domain::time::Timestamp;
use lessor_processor_double::Deed;
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, time};

/// Subscriptions of ours, more than a page holds, and one that is somebody else's.
async fn many() -> Rig {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    for number in 1..=103 {
        let call = rig.attempt(&format!("work-{number}"));
        let request = rig.subscription_of(number, 12);
        done(rig.processor.create_subscription(&call, &request).await);
    }
    let form = format!(
        "customer={}&items[0][price_data][currency]=usd&items[0][price_data][product]=lease_{}\
         &items[0][price_data][unit_amount]=100&items[0][price_data][recurring][interval]=month\
         &default_payment_method={}",
        rig.customer.processor_id.as_deref().unwrap(),
        checkout(1).as_uuid().simple(),
        rig.method.as_deref().unwrap(),
    );
    let sent = reqwest::Client::new()
        .post(format!("{}/v1/subscriptions", rig.double.url()))
        .bearer_auth("sk_test_1")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    assert!(sent.send().await.unwrap().status().is_success());
    rig
}

#[tokio::test]
async fn the_account_is_walked_by_pages_and_what_is_not_ours_is_passed_over() {
    let rig = many().await;
    let ended = rig.double.objects("subscription")[0]["id"].clone();
    rig.double
        .by_hand(ended.as_str().unwrap(), &Deed::Cancel)
        .unwrap();
    let processor = &rig.processor;
    let (mut subscriptions, mut invoices) = (Vec::new(), Vec::new());
    let (mut after, mut pages) = (None, 0);
    loop {
        let page = processor
            .walk_subscriptions(Mode::Sandbox, after)
            .await
            .unwrap();
        pages += 1;
        subscriptions.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((subscriptions.len(), pages), (103, 2));
    let ended = subscriptions.iter().filter(|known| known.has_ended());
    assert_eq!(ended.count(), 1);
    assert!(subscriptions.iter().all(|known| known.invoices.is_empty()));
    loop {
        let page = processor
            .walk_invoices(Mode::Sandbox, time(NOON), after)
            .await
            .unwrap();
        invoices.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(invoices.len(), 103);
    for (id, invoice) in &invoices {
        assert_eq!(invoice.outcome, InvoiceOutcome::Paid);
        assert!(invoice.payment_intent_id.is_some());
        let known = subscriptions
            .iter()
            .find(|known| known.id == invoice.subscription_id);
        assert_eq!(known.unwrap().checkout, Some(*id));
    }
    let later = time(NOON) + TimeDelta::seconds(1);
    let none = processor
        .walk_invoices(Mode::Sandbox, later, None)
        .await
        .unwrap();
    assert!(none.items.is_empty() && none.next.is_none());
}

/// One that cannot be read keeps none of the others from being walked.
#[tokio::test]
async fn what_cannot_be_read_is_passed_over() {
    let rig = many().await;
    let unknown = json!({ "data": [rig.double.objects("subscription")[0].clone()] });
    let mut unknown = unknown;
    unknown["data"][0]["status"] = "brand_new".into();
    unknown["data"]
        .as_array_mut()
        .unwrap()
        .push(rig.double.objects("subscription")[1].clone());
    let fault = lessor_processor_double::Fault::Answer {
        status: 200,
        headers: Vec::new(),
        body: unknown.to_string(),
    };
    rig.double.fault(lessor_processor_double::Rule::once(
        "GET",
        "/v1/subscriptions",
        fault,
    ));
    let page = rig
        .processor
        .walk_subscriptions(Mode::Sandbox, None)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn deposits_are_walked_and_payments_of_invoices_are_none() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let refused = rig.deposit("pm_card_chargeDeclined", false);
    let call = rig.attempt("declined");
    let _declined = rig.processor.authorize_deposit(&call, &refused).await;
    let request = rig.subscription_of(1, 12);
    done(
        rig.processor
            .create_subscription(&rig.attempt("sub"), &request)
            .await,
    );
    assert_eq!(rig.double.objects("payment_intent").len(), 3);
    let walked = rig
        .processor
        .walk_deposits(Mode::Sandbox, time(NOON), None)
        .await
        .unwrap();
    let [held] = walked.items.as_slice() else {
        panic!("{walked:#?}");
    };
    assert_eq!(
        (&held.payment_intent_id, held.state),
        (&rig.intent, HoldState::Held)
    );
    assert_eq!(held.checkout, Some(checkout(1)));
}

/// What the processor told since, asked for instead of sent: every message once, oldest first, from
/// wherever the walk stood.
#[tokio::test]
async fn messages_are_walked_oldest_first() {
    let rig = many().await;
    let since = time(NOON) - TimeDelta::days(30);
    let processor = &rig.processor;
    let walk = async |since: Timestamp, mut after: Option<String>| {
        let mut all: Vec<InboxMessage> = Vec::new();
        let mut pages = 0;
        loop {
            let page = processor
                .walk_messages(Mode::Sandbox, since, after)
                .await
                .unwrap();
            assert!(page.items.len() <= 100);
            pages += 1;
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                return (all, pages);
            }
        }
    };
    let (all, pages) = walk(since, None).await;
    assert!(pages > 2, "{pages}");
    let told: Vec<_> = rig
        .double
        .events()
        .into_iter()
        .filter(|event| {
            matches!(
                event.kind.as_str(),
                "invoice.paid" | "payment_intent.succeeded" | "customer.subscription.updated"
            )
        })
        .map(|event| event.id)
        .collect();
    let ids: Vec<_> = all.iter().map(|message| message.id.clone()).collect();
    assert_eq!(ids, told);
    for message in &all {
        assert_eq!(
            (message.source.as_str(), message.mode),
            ("processor", Mode::Sandbox)
        );
        assert_eq!(message.received_at, time(NOON));
        let read = EventReader.read(message).unwrap();
        assert_eq!(read.id, message.id);
    }
    // From the last on there is nothing, until something happens.
    let last = all.last().map(|message| message.id.clone());
    assert_eq!(walk(since, last.clone()).await.0, []);
    rig.double.advance(TimeDelta::days(29));
    let (more, _) = walk(since, last.clone()).await;
    let invoices = more.iter().filter(|message| {
        let read = EventReader.read(message).unwrap();
        matches!(read.fact, ProcessorFact::Invoice(_))
    });
    assert_eq!(invoices.count(), 104);
    // The place is none that is kept: the walk begins anew.
    let since = time(NOON) + TimeDelta::days(1);
    let (anew, _) = walk(since, Some("evt_forgotten".to_owned())).await;
    assert_eq!(anew, more);
}
