//! Jobs: what waits for whom, and who sees to what will never be done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_domain::checkout::{AttentionReason, Lifecycle};
use lessor_domain::ports::{JobSubject, Timer};
use lessor_domain::workers::jobs::{JobResult, JobRunner};
use lessor_processor_double::{Fault, Rule};

use crate::bench::Bench;
use crate::books;
use crate::journey::TRACKING;
use crate::world::until;

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_does_not_wait_behind_a_job_that_was_given_up() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.refuse_for_good("POST", "/v1/subscriptions");
    bench.fulfill(id, None).await;
    assert_eq!(bench.try_job(id).await, Some(JobResult::Buried));
    assert!(bench.needs(id, AttentionReason::ProcessorRefused).await);
    bench.move_to(id, Lifecycle::FulfillmentException).await;
    bench.cancel(id).await;
    while let Some(JobResult::Done) = bench.try_job(id).await {}
    let account = books::assert_agree(&bench.double, &bench.database, id).await;
    assert_eq!(account.kept(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_processor_will_never_do_is_shown_at_once() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.refuse_for_good("POST", "/v1/subscriptions");
    bench.fulfill(id, Some(TRACKING)).await;
    bench.wait(TimeDelta::days(11));
    bench.housekeeper().run_once().await.unwrap();
    assert!(bench.needs(id, AttentionReason::DeliveryOverdue).await);
    bench.report_delivery(id).await;
    assert!(!bench.needs(id, AttentionReason::DeliveryOverdue).await);
    assert_eq!(bench.try_job(id).await, Some(JobResult::Buried));
    assert!(bench.needs(id, AttentionReason::ProcessorRefused).await);
    bench.wait(TimeDelta::minutes(61));
    bench.housekeeper().run_once().await.unwrap();
    assert!(bench.needs(id, AttentionReason::NotBilled).await);
    // The reason is gone; somebody has it tried again.
    bench.double.clear_faults();
    bench.requeue().await;
    bench.settle(id).await;
    assert_eq!(bench.read(id).await.attention, []);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    bench.agree(id).await;
}

/// A timer that goes off whenever somebody lets it, and counts who sleeps by it.
#[derive(Default)]
struct Ticks {
    tick: tokio::sync::Notify,
    sleeps: AtomicU32,
}

#[async_trait]
impl Timer for Ticks {
    async fn sleep(&self, _: Duration) {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.tick.notified().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_done_by_one_worker_however_long_it_takes() {
    // The client waits for its answer for as long as this takes, on any machine.
    let bench = Bench::with_patience(Duration::from_secs(3_600)).await;
    let id = bench.signing().await;
    let capture = "/v1/payment_intents/*/capture";
    bench.double.fault(Rule::once("POST", capture, Fault::Hold));
    bench.sign(id).await;
    // Everything that came before the capture.
    let ticks = Arc::new(Ticks::default());
    let slow = JobRunner {
        timer: Arc::<Ticks>::clone(&ticks),
        ..bench.runner()
    };
    let organization = bench.organization();
    let at_it =
        tokio::spawn(async move { slow.drain(organization, JobSubject::Checkout(id)).await });
    until("the processor is asked", async || {
        let asked = bench.double.requests("POST", capture);
        (!asked.is_empty()).then_some(())
    })
    .await;
    for _ in 0..10 {
        // The call hangs for longer than a lease lasts, but the worker takes the time anew.
        bench.wait(TimeDelta::seconds(30));
        let taken = bench.try_job(id).await;
        assert_eq!(taken, None, "somebody is at it");
        let sleeps = ticks.sleeps.load(Ordering::SeqCst);
        ticks.tick.notify_one();
        until("the lease is taken anew", async || {
            (ticks.sleeps.load(Ordering::SeqCst) > sleeps).then_some(())
        })
        .await;
    }
    bench.double.clear_faults();
    bench.double.release();
    at_it.await.unwrap().unwrap();
    bench.agree(id).await;
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::OrderConfirmed);
    let asked = bench.double.requests("POST", capture);
    let keys: BTreeSet<_> = asked.iter().map(|asked| &asked.idempotency_key).collect();
    assert_eq!(keys.len(), 1);
}
