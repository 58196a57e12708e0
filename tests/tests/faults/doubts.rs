//! The processor fails in every way that it can, and the same work is tried again at once, after ten
//! minutes and after its idempotency keys are forgotten: it is done once.

use std::time::Duration;

use chrono::TimeDelta;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ids::CheckoutPubId;
use lessor_processor_double::{Fault, Rule, When};
use serde_json::Value;

use crate::bench::Bench;
use crate::journey::TRACKING;

/// How long an answer is waited for: all of it when the processor hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// Work that must be done once, and where the processor is asked for it.
#[derive(Debug, Clone, Copy)]
enum Work {
    Authorize,
    Capture,
    Void,
    Refund,
    Subscribe,
    SubscribeDelivered,
    Unsubscribe,
}

const WORK: [Work; 7] = [
    Work::Authorize,
    Work::Capture,
    Work::Void,
    Work::Refund,
    Work::Subscribe,
    Work::SubscribeDelivered,
    Work::Unsubscribe,
];

fn faults() -> Vec<Fault> {
    let mut faults = vec![
        Fault::FAILED,
        Fault::FAILED_AFTER,
        Fault::RateLimited {
            retry_after: Some("1".to_owned()),
        },
        Fault::Cut,
    ];
    for when in [When::Before, When::After] {
        faults.push(Fault::status(500, when));
        faults.push(Fault::status(503, when));
        faults.push(Fault::Reset { when });
        faults.push(Fault::Hang { when });
    }
    faults
}

impl Work {
    const fn operation(self) -> (&'static str, &'static str) {
        match self {
            Self::Authorize => ("POST", "/v1/payment_intents"),
            Self::Capture => ("POST", "/v1/payment_intents/*/capture"),
            Self::Void => ("POST", "/v1/payment_intents/*/cancel"),
            Self::Refund => ("POST", "/v1/refunds"),
            Self::Subscribe | Self::SubscribeDelivered => ("POST", "/v1/subscriptions"),
            Self::Unsubscribe => ("DELETE", "/v1/subscriptions/*"),
        }
    }

    /// Everything that comes before.
    async fn prepare(self, bench: &Bench) -> CheckoutPubId {
        let id = bench.order().await;
        let before = match self {
            Self::Authorize => Lifecycle::DepositPending,
            Self::Capture | Self::Void => Lifecycle::DocumentsPending,
            Self::Refund | Self::Subscribe | Self::SubscribeDelivered => Lifecycle::OrderConfirmed,
            Self::Unsubscribe => Lifecycle::ReturnPending,
        };
        // On a machine that is busy with other things an answer may come too late here already.
        for _ in 0..20 {
            if bench.advance(id, before).await.is_ok() || bench.read(id).await.lifecycle() == before
            {
                return id;
            }
            bench.wait(TimeDelta::minutes(1));
        }
        panic!("{id} does not become {before}");
    }

    /// Has it done, as far as it can be.
    async fn begin(self, bench: &Bench, id: CheckoutPubId) {
        match self {
            Self::Authorize => {
                // What fails on the way is what is tested.
                drop(
                    bench
                        .advance(id, Lifecycle::RecurringPaymentMethodPending)
                        .await,
                );
            }
            Self::Capture => drop(bench.advance(id, Lifecycle::OrderConfirmed).await),
            Self::Void | Self::Refund => bench.cancel(id).await,
            Self::Subscribe => bench.fulfill(id, None).await,
            Self::SubscribeDelivered => {
                bench.fulfill(id, Some(TRACKING)).await;
                bench.report_delivery(id).await;
            }
            Self::Unsubscribe => drop(bench.advance(id, Lifecycle::Returned).await),
        }
        bench.try_job(id).await;
    }

    /// Checks that it was done, once.
    async fn check(self, bench: &Bench, id: CheckoutPubId) {
        let checkout = bench.read(id).await;
        let made = |kind: &str| -> Vec<Value> {
            let ids = bench
                .double
                .ids_by(kind, "lessor_checkout")
                .remove(&id.to_string());
            ids.unwrap_or_default()
                .iter()
                .filter_map(|id| bench.double.object(id))
                .collect()
        };
        let is = |status: &'static str| move |object: &&Value| object["status"] == status;
        let intents = made("payment_intent");
        let subscriptions = made("subscription");
        match self {
            Self::Authorize => {
                assert_eq!(
                    intents.iter().filter(is("requires_capture")).count(),
                    1,
                    "{intents:?}"
                );
                assert_eq!(
                    checkout.deposit.payment_intent_id(),
                    intents
                        .iter()
                        .find(is("requires_capture"))
                        .and_then(|held| held["id"].as_str())
                );
            }
            Self::Capture => {
                assert_eq!(
                    intents.iter().filter(is("succeeded")).count(),
                    1,
                    "{intents:?}"
                );
                assert_eq!(checkout.lifecycle(), Lifecycle::OrderConfirmed);
            }
            Self::Void => {
                assert_eq!(
                    intents.iter().filter(is("canceled")).count(),
                    1,
                    "{intents:?}"
                );
                assert_eq!(intents.len(), 1, "{intents:?}");
            }
            Self::Refund => {
                let refunds = made("refund");
                assert_eq!(refunds.len(), 1, "{refunds:?}");
                assert_eq!(refunds[0]["amount"], intents[0]["amount_received"]);
            }
            Self::Subscribe | Self::SubscribeDelivered => {
                assert_eq!(subscriptions.len(), 1, "{subscriptions:?}");
                assert_eq!(checkout.lifecycle(), Lifecycle::LeaseActive);
                assert_eq!(bench.double.prorations(), Vec::<Value>::new());
            }
            Self::Unsubscribe => {
                assert_eq!(subscriptions.len(), 1, "{subscriptions:?}");
                assert_eq!(subscriptions[0]["status"], "canceled");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_and_whenever_it_is_tried_again_it_is_done_once() {
    let waits = [
        TimeDelta::zero(),
        TimeDelta::minutes(10),
        TimeDelta::hours(25),
    ];
    let mut tasks = tokio::task::JoinSet::new();
    for work in WORK {
        tasks.spawn(async move {
            for fault in faults() {
                for wait in waits {
                    one(work, fault.clone(), wait).await;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

async fn one(work: Work, fault: Fault, wait: TimeDelta) {
    name_case(work, &fault, wait);
    let bench = Bench::with_patience(PATIENCE).await;
    let id = work.prepare(&bench).await;
    let (method, path) = work.operation();
    let asked = bench.double.requests(method, path).len();
    bench.double.fault(Rule::always(method, path, fault));
    work.begin(&bench, id).await;
    let is_asked_for = || bench.double.requests(method, path).len() > asked;
    // On a machine that is busy with other things an answer before it may have come too late.
    for _ in 0..20 {
        if is_asked_for() {
            break;
        }
        bench.wait(TimeDelta::minutes(1));
        bench.try_job(id).await;
    }
    assert!(is_asked_for(), "nobody asked for it");
    bench.double.clear_faults();
    bench.double.release();
    bench.wait(wait);
    bench.settle(id).await;
    work.check(&bench, id).await;
    bench.agree(id).await;
    work.check(&bench, id).await;
}

/// Shown when the test fails.
#[expect(clippy::print_stderr, reason = "tells which case it was")]
fn name_case(work: Work, fault: &Fault, wait: TimeDelta) {
    eprintln!("{work:?}, {fault:?}, again after {wait}");
}
