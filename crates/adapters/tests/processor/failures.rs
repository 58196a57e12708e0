//! Every failure at every request of every operation, and what is tried later.

use chrono::TimeDelta;
use lessor_domain::ports::{Doubt, Verdict};
use lessor_processor_double::{Fault, Rule, When};
use serde_json::json;

use crate::support::{Op, Rig, done, each};

/// What goes wrong once and is over by the next request.
fn passing() -> Vec<Fault> {
    let in_use = json!({ "error": {
        "type": "idempotency_error", "code": "idempotency_key_in_use", "message": "in use"
    } });
    vec![
        Fault::status(500, When::Before),
        Fault::status(503, When::Before),
        Fault::status(503, When::After),
        Fault::Reset { when: When::Before },
        Fault::Reset { when: When::After },
        Fault::Cut,
        Fault::RateLimited { retry_after: None },
        Fault::RateLimited {
            retry_after: Some("2".to_owned()),
        },
        Fault::Answer {
            status: 409,
            headers: vec![("Stripe-Should-Retry".to_owned(), "true".to_owned())],
            body: in_use.to_string(),
        },
        Fault::Answer {
            status: 502,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: "<html><h1>502 Bad Gateway</h1></html>".to_owned(),
        },
    ]
}

/// What the processor keeps for the key.
const STORED: [Fault; 2] = [Fault::FAILED, Fault::FAILED_AFTER];

const HANGS: [Fault; 2] = [
    Fault::Hang { when: When::Before },
    Fault::Hang { when: When::After },
];

/// Every operation with each of its requests.
async fn requests() -> Vec<(Op, u32)> {
    let mut all = Vec::new();
    for op in Op::ALL {
        let rig = op.prepare(Rig::new()).await;
        done(op.run(&rig, &rig.attempt("work")).await);
        let made = u32::try_from(rig.double.journal().len()).unwrap();
        assert!(made > 0, "{op:?}");
        all.extend((0..made).map(|number| (op, number)));
    }
    all
}

fn at(number: u32, fault: Fault) -> Rule {
    Rule::once("*", "/v1/**", fault).after(number)
}

fn cases(requests: &[(Op, u32)], faults: &[Fault]) -> Vec<(Op, u32, Fault)> {
    requests
        .iter()
        .flat_map(|(op, number)| {
            faults
                .iter()
                .map(move |fault| (*op, *number, fault.clone()))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passing_failure_is_asked_again_and_done_once() {
    let requests = requests().await;
    each(
        cases(&requests, &passing()),
        |(op, number, fault)| async move {
            let rig = op.prepare(Rig::new()).await;
            rig.double.fault(at(number, fault));
            done(op.run(&rig, &rig.attempt("work")).await);
            assert_eq!(op.effects(&rig), op.once());
            rig.assert_same_bytes("retried");
            assert_eq!(rig.pacing.pauses().len(), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_comes_is_not_waited_for() {
    let requests = requests().await;
    each(cases(&requests, &HANGS), |(op, number, fault)| async move {
        let rig = op.prepare(Rig::impatient()).await;
        rig.double.fault(at(number, fault));
        done(op.run(&rig, &rig.attempt("work")).await);
        assert_eq!(op.effects(&rig), op.once());
        rig.assert_same_bytes("retried");
    })
    .await;
}

/// Work that makes something goes on under the next key at once; what only sets
/// members is in doubt, and done by the next try.
#[tokio::test(flavor = "multi_thread")]
async fn a_stored_failure_is_not_asked_for_ever() {
    let requests = requests().await;
    each(
        cases(&requests, &STORED),
        |(op, number, fault)| async move {
            let rig = op.prepare(Rig::new()).await;
            rig.double.fault(at(number, fault));
            let call = rig.attempt("work");
            let result = op.run(&rig, &call).await;
            let asked = rig.double.journal().len();
            assert!(asked <= 16, "{asked} requests");
            if result.is_err() {
                rig.double.advance(TimeDelta::minutes(10));
                done(op.run(&rig, &rig.later(&call)).await);
            }
            assert_eq!(op.effects(&rig), op.once());
            rig.assert_same_bytes("under another key");
        },
    )
    .await;
}

/// What fails every time is in doubt; later it is done, and done once.
#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_failing_is_in_doubt_and_done_once_later() {
    let mut faults = passing();
    faults.extend(STORED);
    let later = [
        TimeDelta::zero(),
        TimeDelta::minutes(10),
        TimeDelta::hours(25),
    ];
    let cases = Op::ALL
        .iter()
        .flat_map(|op| faults.iter().map(move |fault| (*op, fault.clone())))
        .flat_map(|(op, fault)| later.map(|pause| (op, fault.clone(), pause)))
        .collect();
    each(cases, |(op, fault, pause)| async move {
        let rig = op.prepare(Rig::new()).await;
        for method in ["POST", "DELETE"] {
            rig.double
                .fault(Rule::always(method, "/v1/**", fault.clone()));
        }
        let call = rig.attempt("work");
        let first = op.run(&rig, &call).await;
        let (asked, effects) = (rig.double.journal().len(), op.effects(&rig));
        assert!(asked <= 40, "{asked} requests");
        for (effect, once) in effects.iter().zip(op.once()) {
            assert!(*effect <= once, "{effects:?}");
        }
        assert!(!matches!(first, Ok(Verdict::Refused(_))), "{first:?}");

        rig.double.clear_faults();
        rig.double.advance(pause);
        let second = op.run(&rig, &rig.later(&call)).await;
        if let Err(doubt) = second {
            // Stored failures are answered as long as they are kept, on every key of the row.
            assert!(STORED.contains(&fault), "{doubt}");
            assert!(pause < TimeDelta::hours(24), "{doubt}");
            rig.double.advance(TimeDelta::hours(25));
            done(op.run(&rig, &rig.later(&call)).await);
        }
        assert_eq!(op.effects(&rig), op.once());
        // After a day a key may be another request's.
        if pause < TimeDelta::hours(24) {
            rig.assert_same_bytes("later");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_that_is_down_is_unreachable() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        rig.double.down(true);
        let call = rig.attempt("work");
        let doubt = op.run(&rig, &call).await;
        assert!(matches!(doubt, Err(Doubt::Unreachable(_))), "{doubt:?}");
        rig.double.down(false);
        done(op.run(&rig, &call).await);
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let rig = Rig::with(|settings| settings.base_url = url);
    let doubt = Op::PushCustomer.run(&rig, &rig.attempt("work")).await;
    assert!(matches!(doubt, Err(Doubt::Unreachable(_))), "{doubt:?}");
    assert_eq!(rig.pacing.pauses().len(), 3);
}
