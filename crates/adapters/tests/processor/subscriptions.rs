//! Subscriptions: one for each checkout, of exactly so many whole months.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::ports::PaymentProcessor as _;
use lessor_processor_double::{Decline, Fault, Rule, When};
use serde_json::json;

use crate::support::{Op, Rig, checkout, done, refused, time};

#[tokio::test]
async fn every_term_from_every_day_is_whole_months() {
    for day in [
        "2026-01-31",
        "2026-02-28",
        "2028-02-29",
        "2026-08-30",
        "2026-12-15",
    ] {
        for term in [1, 2, 3, 12, 13, 24, 36] {
            let rig = Rig::new();
            rig.double.set_time(time(&format!("{day}T23:59:59Z")));
            let rig = Op::Subscribe.prepare(rig).await;
            let request = rig.subscription_of(1, term);
            let made = rig
                .processor
                .create_subscription(&rig.call("work"), &request)
                .await;
            let made = done(made);
            assert_eq!(made.start.to_string(), day);
            assert!(made.first_payment_paid);
            rig.double.advance(TimeDelta::days(40 * i64::from(term)));
            assert!(rig.double.prorations().is_empty(), "{day} {term}");
            let invoices = rig.double.objects("invoice");
            assert_eq!(invoices.len(), usize::from(term), "{day} {term}");
            assert!(
                invoices
                    .iter()
                    .all(|invoice| invoice["amount_paid"] == 4_999)
            );
            let found = rig
                .processor
                .subscriptions_of(Mode::Sandbox, checkout(1))
                .await;
            assert!(found.unwrap()[0].ended);
        }
    }
}

/// The second request, which sets the end, is lost for good: the next try sets it.
#[tokio::test]
async fn an_end_that_was_lost_is_set_when_the_subscription_is_found() {
    for pause in [
        TimeDelta::zero(),
        TimeDelta::minutes(10),
        TimeDelta::hours(25),
    ] {
        let rig = Op::Subscribe.prepare(Rig::new()).await;
        let down = Fault::Reset { when: When::Before };
        rig.double
            .fault(Rule::always("POST", "/v1/subscriptions/*", down));
        let (call, request) = (rig.call("work"), rig.subscription_of(1, 12));
        let doubt = rig.processor.create_subscription(&call, &request).await;
        assert!(doubt.is_err(), "{doubt:?}");
        rig.double.clear_faults();
        rig.double.advance(pause);
        let later = rig.later(&call);
        done(rig.processor.create_subscription(&later, &request).await);
        let known = &rig.double.objects("subscription");
        assert_eq!(known.len(), 1);
        let end = time("2027-01-31T12:00:00Z").timestamp();
        assert_eq!(known[0]["cancel_at"], end);
    }
}

#[tokio::test]
async fn a_first_payment_that_fails_says_why() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let method = rig.method.clone().unwrap();
    rig.double
        .decline(&method, Some(Decline::INSUFFICIENT_FUNDS))
        .unwrap();
    let (call, request) = (rig.call("work"), rig.subscription_of(1, 12));
    let made = done(rig.processor.create_subscription(&call, &request).await);
    assert!(!made.first_payment_paid);
    assert_eq!(made.first_payment_failure.unwrap().code, "card_declined");
    assert!(!made.ended);
    // The customer's bank lets the next one through, by hand.
    rig.double.decline(&method, None).unwrap();
    let invoice = made.first_invoice_id.unwrap();
    let paid = reqwest::Client::new()
        .post(format!("{}/v1/invoices/{invoice}/pay", rig.double.url()))
        .bearer_auth("sk_test_1")
        .send()
        .await
        .unwrap();
    assert!(paid.status().is_success());
    let again = done(rig.processor.create_subscription(&call, &request).await);
    assert!(again.first_payment_paid);
    assert_eq!(again.first_payment_failure, None);
    assert_eq!(rig.double.objects("subscription").len(), 1);
}

#[tokio::test]
async fn a_later_payment_that_fails_says_why() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    done(Op::Subscribe.run(&rig, &rig.call("work")).await);
    let method = rig.method.clone().unwrap();
    rig.double.decline(&method, Some(Decline::EXPIRED)).unwrap();
    rig.double.advance(TimeDelta::days(30));
    let invoice = rig.double.objects("invoice")[1]["id"].clone();
    let failure = rig
        .processor
        .payment_failure(Mode::Sandbox, invoice.as_str().unwrap())
        .await;
    assert_eq!(failure.unwrap().unwrap().code, "expired_card");
}

/// A subscription that ended is still the checkout's: there is never a second one.
#[tokio::test]
async fn a_subscription_that_ended_is_not_replaced() {
    let rig = Op::EndSubscription.prepare(Rig::new()).await;
    let call = rig.call("work");
    done(
        rig.processor
            .cancel_subscription(&call, &rig.subscription)
            .await,
    );
    done(
        rig.processor
            .cancel_subscription(&call, &rig.subscription)
            .await,
    );
    rig.double.advance(TimeDelta::days(2));
    let request = rig.subscription_of(1, 12);
    let again = done(
        rig.processor
            .create_subscription(&rig.call("anew"), &request)
            .await,
    );
    assert_eq!((again.id, again.ended), (rig.subscription.clone(), true));
    assert_eq!(rig.double.objects("subscription").len(), 1);
    assert!(rig.double.prorations().is_empty());
}

#[tokio::test]
async fn without_a_method_there_is_no_subscription() {
    let rig = Rig::new().with_customer().await;
    let request = rig.subscription_of(1, 12);
    let answer = rig
        .processor
        .create_subscription(&rig.call("work"), &request)
        .await;
    assert_eq!(refused(answer), "payment_method_missing");
    assert!(rig.double.objects("subscription").is_empty());
}

/// A customer has many subscriptions: the checkout's is found behind them.
#[tokio::test]
async fn lists_are_read_to_their_end() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    for number in 1..=105 {
        let call = rig.call(&format!("work-{number}"));
        let request = rig.subscription_of(number, 12);
        done(rig.processor.create_subscription(&call, &request).await);
    }
    rig.double.forget_keys();
    let again = done(Op::Subscribe.run(&rig, &rig.call("anew")).await);
    let first = rig.double.objects("subscription")[0]["id"].clone();
    assert!(again.contains(first.as_str().unwrap()), "{again}");
    assert_eq!(rig.double.objects("subscription").len(), 105);
    assert_eq!(json!(rig.double.objects("price").len()), json!(1));
}
