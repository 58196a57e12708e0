//! Somebody changes things at the processor by hand, or a job is lost: the comparison tells, mends what
//! needs no person, and finds nothing the second time.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{Billing, Effect, Lifecycle, RecurringPaymentStatus, Standing};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::SubscriptionState;
use lessor_domain::ports::JobSubject;
use lessor_domain::testing::altered;
use lessor_domain::workers::jobs::JOB_LEASE;
use lessor_domain::workers::reconcile::Difference;

use crate::bench::Bench;
use crate::books;

/// A lease that is billed, and its subscription.
async fn billed(bench: &Bench) -> (CheckoutPubId, String) {
    let id = shipped(bench).await;
    bench.settle(id).await;
    let subscription = bench
        .read(id)
        .await
        .recurring
        .billing
        .subscription_id()
        .unwrap()
        .to_owned();
    (id, subscription)
}

/// A lease that is to be billed from now on.
async fn shipped(bench: &Bench) -> CheckoutPubId {
    let id = bench.order().await;
    bench.advance(id, Lifecycle::OrderConfirmed).await.unwrap();
    bench.fulfill(id, None).await;
    id
}

impl Bench {
    /// What differs between the checkouts and the processor, and whether each was mended.
    async fn differences(&self, mend: bool) -> Vec<(Difference, bool)> {
        let report = self.reconciler().run(Mode::Sandbox, mend).await.unwrap();
        assert_eq!(report.failures, []);
        assert!(report.compared > 0);
        let findings = report.findings.into_iter();
        findings
            .map(|finding| (finding.difference, finding.mended))
            .collect()
    }

    /// Has the difference mended, and the jobs done that this takes: nothing differs any more.
    async fn mend(&self, id: CheckoutPubId, expected: Difference) {
        let found = self.differences(false).await;
        assert!(found.contains(&(expected.clone(), false)), "{found:?}");
        let found = self.differences(true).await;
        assert!(found.contains(&(expected, true)), "{found:?}");
        self.settle(id).await;
        assert_eq!(self.differences(true).await, []);
        // No message brought it.
        books::assert_agree(&self.double, &self.database, id).await;
    }

    /// Takes the checkout's job for done, which it is not.
    async fn lose_job(&self, id: CheckoutPubId, effect: Effect) {
        let mut uow = self.begin().await;
        let now = self.now();
        loop {
            let job = uow
                .jobs()
                .claim_of(JobSubject::Checkout(id), now, JOB_LEASE)
                .await
                .unwrap()
                .unwrap();
            uow.jobs().complete(&job, now).await.unwrap();
            if job.new.effect == effect {
                break;
            }
        }
        uow.commit().await.unwrap();
    }

    /// The subscriptions that bill the checkout at the processor.
    fn running(&self, id: CheckoutPubId) -> Vec<String> {
        let subscriptions = self.double.objects("subscription").into_iter();
        subscriptions
            .filter(|found| found["metadata"]["lessor_checkout"] == id.to_string())
            .filter(|found| found["status"] == "active")
            .map(|found| found["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn ended(subscription_id: String) -> Difference {
    Difference::Status {
        subscription_id,
        ours: SubscriptionState::Active,
        theirs: SubscriptionState::Ended,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agrees_differs_nowhere() {
    let bench = Bench::new().await;
    let id = shipped(&bench).await;
    // The job is on its way: that nothing bills the lease yet is no difference.
    assert_eq!(bench.differences(true).await, []);
    bench.settle(id).await;
    assert_eq!(bench.differences(true).await, []);
    bench.advance(id, Lifecycle::Returned).await.unwrap();
    bench.settle(id).await;
    assert_eq!(bench.differences(true).await, []);
    assert!(bench.running(id).is_empty());
    bench.agree(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_job_was_lost_is_billed_once() {
    let bench = Bench::new().await;
    let id = shipped(&bench).await;
    bench.lose_job(id, Effect::CreateSubscription).await;
    bench.mend(id, Difference::NotBilled).await;
    assert_eq!(bench.running(id).len(), 1);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_nobody_wrote_down_is_taken_in() {
    let bench = Bench::new().await;
    let id = shipped(&bench).await;
    // Another process does the work, and what it wrote is gone with its disk.
    let other = bench.fork();
    other.settle(id).await;
    bench.lose_job(id, Effect::CreateSubscription).await;
    let [subscription_id] = <[String; 1]>::try_from(bench.running(id)).unwrap();
    let found = Difference::Unrecorded {
        subscription_id: subscription_id.clone(),
    };
    bench.mend(id, found).await;
    assert_eq!(bench.running(id), [subscription_id.as_str()]);
    let lease = bench.read(id).await;
    assert_eq!(
        lease.recurring.billing.subscription_id(),
        Some(subscription_id.as_str())
    );
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_only_the_processor_knows_is_written_down() {
    let bench = Bench::new().await;
    let (id, subscription_id) = billed(&bench).await;
    let path = format!("subscriptions/{subscription_id}");
    bench.by_hand(reqwest::Method::DELETE, &path, &[]).await;
    bench.mend(id, ended(subscription_id)).await;
    let lease = bench.read(id).await;
    assert_eq!(
        lease.recurring.billing.status(),
        RecurringPaymentStatus::Cancelled
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_returned_the_goods_is_billed_no_longer() {
    let bench = Bench::new().await;
    let (id, subscription_id) = billed(&bench).await;
    let before_return = bench.fork();
    bench.move_to(id, Lifecycle::ReturnPending).await;
    bench.move_to(id, Lifecycle::Returned).await;
    bench.lose_job(id, Effect::CancelSubscription).await;
    assert_eq!(bench.running(id).len(), 1);
    let found = Difference::StillBilled {
        subscription_id: subscription_id.clone(),
    };
    bench.mend(id, found).await;
    assert!(bench.running(id).is_empty());
    // The same processor seen by those who do not know of the return.
    let found = ended(subscription_id);
    let differences = before_return.differences(false).await;
    assert!(differences.contains(&(found, false)), "{differences:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_checkout_that_never_knew_its_subscription_is_billed_no_longer() {
    let bench = Bench::new().await;
    let id = shipped(&bench).await;
    let other = bench.fork();
    other.settle(id).await;
    bench.lose_job(id, Effect::CreateSubscription).await;
    bench.move_to(id, Lifecycle::FulfillmentException).await;
    bench.move_to(id, Lifecycle::Cancelled).await;
    bench.settle(id).await;
    // Whoever ends it looks for what there is.
    assert!(bench.running(id).is_empty());
    bench.agree(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_is_gone_is_left_to_a_person() {
    let bench = Bench::new().await;
    let (id, real) = billed(&bench).await;
    let mut uow = bench.begin().await;
    let lease = bench.read(id).await;
    let mut lease = altered(&lease, |it| {
        it.recurring.billing = Billing::Active {
            requested_at: it.created_at,
            subscription_id: "sub_gone".to_owned(),
            standing: Standing::Good,
        };
    });
    uow.checkouts().update(&mut lease).await.unwrap();
    uow.commit().await.unwrap();
    let lost = Difference::Lost {
        subscription_id: "sub_gone".to_owned(),
    };
    // What does bill the lease is not taken for one too many.
    assert_eq!(bench.differences(true).await, [(lost.clone(), false)]);
    assert_eq!(bench.differences(true).await, [(lost, false)]);
    assert_eq!(bench.running(id), [real]);
    bench.agree(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_processor_is_down_nothing_is_said_to_differ() {
    let bench = Bench::new().await;
    let (id, _) = billed(&bench).await;
    bench.double.down(true);
    let compared = bench.reconciler().run(Mode::Sandbox, true).await;
    assert!(compared.is_err(), "{compared:?}");
    bench.double.down(false);
    bench.agree(id).await;
}
