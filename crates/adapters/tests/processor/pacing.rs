//! When it is asked again: what the processor says, and how long we wait.

use std::time::Duration;

use lessor_adapters::processor::{HttpProcessor, RetryPolicy};
use lessor_domain::ports::PaymentProcessor as _;
use lessor_processor_double::{Double, Fault, Rule, When};

use crate::support::{ManualPacing, Op, Rig, customer, settings};

const PATH: &str = "/v1/customers";

fn millis(pauses: &[Duration]) -> Vec<u128> {
    pauses.iter().map(Duration::as_millis).collect()
}

async fn pauses(fault: Fault) -> Vec<u128> {
    let rig = Rig::new();
    rig.double.fault(Rule::always("POST", PATH, fault));
    let _result = Op::PushCustomer.run(&rig, &rig.attempt("work")).await;
    millis(&rig.pacing.pauses())
}

#[tokio::test]
async fn pauses_double_and_are_spread_over_their_upper_half() {
    for (fraction, expected) in [
        (1.0, [500, 1_000, 2_000, 4_000, 8_000, 8_000]),
        (0.0, [250, 500, 1_000, 2_000, 4_000, 4_000]),
    ] {
        let double = Double::start().unwrap();
        let pacing = ManualPacing::of(fraction);
        let mut settings = settings(&double.url());
        settings.retry = RetryPolicy {
            attempts: 7,
            ..RetryPolicy::default()
        };
        let processor = HttpProcessor::paced(&settings, pacing.clone()).unwrap();
        double.fault(Rule::always("POST", PATH, Fault::status(503, When::Before)));
        let rig = Rig::new();
        let answer = processor
            .push_customer(&rig.attempt("work"), &customer(1))
            .await;
        assert!(answer.is_err());
        assert_eq!(millis(&pacing.pauses()), expected);
    }
}

#[tokio::test]
async fn the_processors_word_on_waiting_counts() {
    let limited = |after: Option<&str>| Fault::RateLimited {
        retry_after: after.map(ToOwned::to_owned),
    };
    assert_eq!(pauses(limited(Some("3"))).await, [3_000, 3_000, 3_000]);
    // Never shorter than our own.
    assert_eq!(pauses(limited(Some("1"))).await, [1_000, 1_000, 2_000]);
    assert_eq!(pauses(limited(None)).await, [500, 1_000, 2_000]);
    assert_eq!(pauses(limited(Some("nonsense"))).await, [500, 1_000, 2_000]);
    // More than we wait: the work is tried again later.
    assert_eq!(pauses(limited(Some("61"))).await, [0; 0]);
    let dated = Fault::Answer {
        status: 503,
        headers: vec![
            (
                "Date".to_owned(),
                "Sat, 31 Jan 2026 12:00:00 GMT".to_owned(),
            ),
            (
                "Retry-After".to_owned(),
                "Sat, 31 Jan 2026 12:00:10 GMT".to_owned(),
            ),
        ],
        body: String::new(),
    };
    assert_eq!(pauses(dated).await, [10_000; 3]);
}

#[tokio::test]
async fn the_processors_word_on_repeating_counts() {
    let told = |status, should_retry| Fault::Status {
        status,
        when: When::Before,
        stored: false,
        should_retry,
    };
    for (status, advice, asked) in [
        (503, None, 4),
        (503, Some(false), 1),
        (429, Some(false), 1),
        (400, None, 1),
        (400, Some(true), 4),
        (404, None, 1),
        (409, None, 4),
    ] {
        let rig = Op::Authorize.prepare(Rig::new()).await;
        let fault = told(status, advice);
        rig.double
            .fault(Rule::always("POST", "/v1/payment_intents", fault));
        let answer = Op::Authorize.run(&rig, &rig.attempt("work")).await;
        assert!(answer.is_err(), "{status}");
        let asked_for = rig.double.requests("POST", "/v1/payment_intents").len();
        assert_eq!(asked_for, asked, "{status} {advice:?}");
    }
}
