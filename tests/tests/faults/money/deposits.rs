//! Holds: taken once, renewed a few times, never left behind.

use chrono::TimeDelta;
use lessor_domain::checkout::{AttentionReason, Lifecycle};
use lessor_domain::workers::jobs::JobResult;
use lessor_processor_double::{Decline, Fault, Occasion, Rule, Settings, When};

use crate::bench::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_in_doubt_when_the_hold_ends_takes_the_deposit_once() {
    for when in [When::Before, When::After] {
        let bench = Bench::new().await;
        bench.double.set(Settings {
            authorization_seconds: Some(600),
            off_session_seconds: Some(600),
            ..Settings::default()
        });
        let id = bench.signing().await;
        let capture = "/v1/payment_intents/*/capture";
        let fault = Rule::always("POST", capture, Fault::Reset { when });
        bench.double.fault(fault);
        drop(bench.advance(id, Lifecycle::OrderConfirmed).await);
        bench.wait(TimeDelta::minutes(20));
        bench.housekeeper().run_once().await.unwrap();
        bench.try_job(id).await;
        bench.double.clear_faults();
        let account = bench.agree(id).await;
        let state = bench.read(id).await.lifecycle();
        match when {
            When::After => assert_eq!(state, Lifecycle::OrderConfirmed),
            When::Before => {
                assert_eq!(state, Lifecycle::DepositPending);
                assert!(bench.needs(id, AttentionReason::DepositLapsed).await);
                assert_eq!(account.captured, 0);
                bench.double.set(Settings {
                    authorization_seconds: Some(7 * 86_400),
                    ..Settings::default()
                });
                bench.advance(id, Lifecycle::OrderConfirmed).await.unwrap();
            }
        }
        let account = bench.agree(id).await;
        assert_eq!(account.held, 0);
        let taken = account.intents.iter().filter(|paid| paid.received > 0);
        assert_eq!(taken.count(), 1, "{when:?}: {account:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_was_given_up_keeps_nothing_back_once_it_is_told_of() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    let intent = bench.read(id).await;
    let intent = intent.deposit.payment_intent_id().unwrap().to_owned();
    let fault = Fault::Reset { when: When::Before };
    for (method, path) in [
        ("POST", "/v1/payment_intents/*/capture"),
        ("GET", "/v1/payment_intents/*"),
    ] {
        bench
            .double
            .fault(Rule::always(method, path, fault.clone()));
    }
    bench.sign(id).await;
    loop {
        match bench.try_job(id).await {
            Some(JobResult::Done) => {}
            Some(JobResult::Later(at) | JobResult::Undecided(at)) => bench.wait(at - bench.now()),
            Some(JobResult::Buried) => break,
            None => panic!("it is not tried any more"),
        }
    }
    bench.double.clear_faults();
    let path = format!("payment_intents/{intent}/capture");
    bench.by_hand(reqwest::Method::POST, &path, &[]).await;
    bench.agree(id).await;
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::OrderConfirmed);
    assert_eq!(bench.read(id).await.attention, []);
    bench.fulfill(id, None).await;
    bench.agree(id).await;
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_message_finds_every_payment_that_was_ever_made() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    let first = bench.read(id).await;
    let first = first.deposit.payment_intent_id().unwrap().to_owned();
    bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
    bench.housekeeper().run_once().await.unwrap();
    // Renewed, but the old one is not let go of yet; somebody captures it by hand.
    bench.try_job(id).await;
    let renewed = bench.read(id).await;
    assert_ne!(renewed.deposit.payment_intent_id(), Some(first.as_str()));
    let path = format!("payment_intents/{first}/capture");
    bench.by_hand(reqwest::Method::POST, &path, &[]).await;
    let account = bench.agree(id).await;
    assert_eq!(account.captured, account.refunded, "it is paid back");
    assert_eq!(
        bench.read(id).await.lifecycle(),
        Lifecycle::DocumentsPending
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_renewal_is_tried_twice_and_a_hard_decline_once() {
    for (decline, tries) in [(Decline::INSUFFICIENT_FUNDS, 2), (Decline::STOLEN, 1)] {
        let bench = Bench::new().await;
        let id = bench.signing().await;
        let method = bench.method(id).await;
        let hold = Occasion::Hold;
        bench
            .double
            .decline_on(&method, hold, Some(decline))
            .unwrap();
        bench.double.clear_journal();
        bench.wait(TimeDelta::days(6) + TimeDelta::minutes(1));
        for _ in 0..24 {
            bench.housekeeper().run_once().await.unwrap();
            bench.settle(id).await;
            bench.wait(TimeDelta::minutes(57));
        }
        let asked = bench.double.requests("POST", "/v1/payment_intents");
        assert_eq!(asked.len(), tries, "{decline:?}");
        assert!(bench.needs(id, AttentionReason::DepositFailed).await);
        bench.wait(TimeDelta::hours(2));
        bench.housekeeper().run_once().await.unwrap();
        let account = bench.agree(id).await;
        assert_eq!(account.held, 0);
        assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::DepositPending);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_throws_nobody_back_whenever_its_messages_come() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
    bench.housekeeper().run_once().await.unwrap();
    let known = bench.double.events().len();
    loop {
        // Each message before what it tells of is written down, and once more afterwards.
        for event in bench.double.events().get(known..).unwrap() {
            bench.receive_again(event).await;
        }
        if bench.try_job(id).await.is_none() {
            break;
        }
    }
    assert_eq!(
        bench.read(id).await.lifecycle(),
        Lifecycle::DocumentsPending
    );
    let account = bench.agree(id).await;
    let held = account.intents.iter();
    let held = held.filter(|paid| paid.status == "requires_capture");
    assert_eq!(held.count(), 1);
    bench.cancel(id).await;
    assert_eq!(bench.agree(id).await.held, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hold_survives_its_checkout_whatever_was_in_doubt() {
    for when in [When::Before, When::After] {
        let bench = Bench::new().await;
        let id = bench.signing().await;
        bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
        let fault = Fault::Reset { when };
        let fault = Rule::always("POST", "/v1/payment_intents", fault);
        bench.double.fault(fault);
        bench.housekeeper().run_once().await.unwrap();
        bench.try_job(id).await;
        bench.cancel(id).await;
        bench.double.clear_faults();
        let account = bench.agree(id).await;
        assert_eq!((account.held, account.kept()), (0, 0), "{when:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_walks_away_keeps_neither_hold_nor_stock() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    let mut renewals = 0;
    for _ in 0..60 {
        bench.wait(TimeDelta::hours(17));
        let done = bench.housekeeper().run_once().await.unwrap();
        renewals += done.renewals;
        bench.settle(id).await;
    }
    assert_eq!(renewals, 2);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::Expired);
    assert_eq!(bench.agree(id).await.held, 0);
}
