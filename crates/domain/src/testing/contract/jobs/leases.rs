//! How long a job is one worker's.
//!
//! Leases count by the store's own clock: a lease of no time has run out at once, and a long one does
//! not run out before the suite ends.

use std::time::Duration;

use super::{LEASE, Queue, TWO};
use crate::ports::Job;
use crate::testing::contract::shop::Shop;

pub(super) async fn leases_run_out(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let lost = queue.claim_for_a_moment("jobs.claim: claims").await;
    let clause = "jobs.claim: a job whose lease ran out is claimed again";
    let again = queue.claim_one(1, clause).await;
    assert_eq!(
        (again.new.id, again.attempts, again.first_attempt_at),
        (lost.new.id, 2, Some(queue.now)),
        "{clause}, counts the attempt and keeps the time of the first"
    );
    queue
        .nothing(2, "jobs.claim: nobody else while the lease runs")
        .await;
    assert!(
        !queue.complete(&lost).await,
        "jobs.complete: not by an attempt that was overtaken"
    );
    let late = queue.later(1);
    shop.done("jobs.bury: answers", async |uow| {
        uow.jobs().bury(&lost, "overtaken").await?;
        uow.jobs().retry(&lost, late, "overtaken").await
    })
    .await;
    queue
        .nothing(
            3,
            "jobs.retry, jobs.bury: an attempt that was overtaken changes nothing",
        )
        .await;
    assert!(
        queue.complete(&again).await,
        "jobs.complete: the attempt that overtook may say so"
    );
    let late = queue.claim_for_a_moment("jobs.claim: claims").await;
    assert!(
        queue.complete(&late).await,
        "jobs.complete: an attempt whose lease ran out, when nobody overtook it"
    );
}

async fn renew(queue: &Queue<'_, '_>, job: &Job, lease: Duration) -> bool {
    queue
        .shop
        .done("jobs.renew: answers", async |uow| {
            uow.jobs().renew(job, lease).await
        })
        .await
}

pub(super) async fn leases_are_renewed(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let slow = queue.claim_for_a_moment("jobs.claim: claims").await;
    assert!(
        renew(&queue, &slow, LEASE).await,
        "jobs.renew: by the attempt that was last, however late"
    );
    queue
        .nothing(1, "jobs.renew: nobody else for another lease")
        .await;
    assert!(
        renew(&queue, &slow, Duration::ZERO).await,
        "jobs.renew: as often as one likes"
    );
    let quick = queue
        .claim_one(2, "jobs.renew: counts from now, not from the end before")
        .await;
    assert!(
        !renew(&queue, &slow, LEASE).await,
        "jobs.renew: not by an attempt that was overtaken"
    );
    assert!(queue.complete(&quick).await, "jobs.complete: answers");
    assert!(
        !renew(&queue, &quick, LEASE).await,
        "jobs.renew: not of a job that is done"
    );
    queue
        .claim_one(3, "jobs.renew: refused, it keeps nothing")
        .await;
}

pub(super) async fn jobs_are_tried_again(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let job = queue.claim_one(0, "jobs.claim: claims").await;
    let not_before = queue.later(300);
    shop.done("jobs.retry: writes", async |uow| {
        uow.jobs().retry(&job, not_before, "timed out").await
    })
    .await;
    queue
        .nothing(
            299,
            "jobs.retry: not before the time, and nothing else of the subject",
        )
        .await;
    let again = queue
        .claim_one(300, "jobs.retry: from the time on, the same job")
        .await;
    assert_eq!(
        (again.new.id, again.attempts, again.last_error.as_deref()),
        (job.new.id, 2, Some("timed out")),
        "jobs.retry: keeps the job and why it was not done"
    );
    assert_eq!(
        again.idempotency_key(),
        job.idempotency_key(),
        "a job is called under the same key at every try"
    );
    let not_before = queue.later(9_000);
    shop.done("jobs.retry: writes", async |uow| {
        uow.jobs().retry(&again, not_before, "timed out").await
    })
    .await;
    let now = queue.later(400);
    let requeued = shop
        .done("jobs.requeue: writes", async |uow| {
            uow.jobs().requeue(Some(again.new.id), now).await
        })
        .await;
    assert_eq!(requeued, 1, "jobs.requeue: tells how many");
    queue
        .claim_one(400, "jobs.requeue: a waiting job is due now")
        .await;
}
