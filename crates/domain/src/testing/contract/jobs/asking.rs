//! Jobs that wait until somebody asks for them, and jobs that are asked for before their turn.

use super::{LEASE, Queue};
use crate::checkout::Effect;
use crate::ports::{JobState, JobSubject, NewJob};
use crate::testing::contract::shop::Shop;

pub(super) async fn subjects_are_claimed_out_of_turn(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[]).await;
    let mut first = queue.job(Effect::CheckCredit);
    first.available_at = queue.later(3_600);
    let second = queue.job(Effect::PrepareDocuments);
    queue.push(&[first.clone(), second]).await;
    let claim_of = async |subject, seconds| {
        let now = queue.later(seconds);
        shop.done("jobs.claim_of: claims", async |uow| {
            uow.jobs().claim_of(subject, now, LEASE).await
        })
        .await
    };
    let claimed = claim_of(queue.subject, 0).await;
    assert_eq!(
        claimed.as_ref().map(|job| (job.new.id, job.attempts)),
        Some((first.id, 1)),
        "jobs.claim_of: the first open job of the subject, due or not"
    );
    assert_eq!(
        claim_of(queue.subject, 1).await,
        None,
        "jobs.claim_of: not while somebody holds it"
    );
    let Some(job) = claimed else {
        panic!("jobs.claim_of: claims")
    };
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&job, "no").await
    })
    .await;
    assert_eq!(
        claim_of(queue.subject, 2).await,
        None,
        "jobs.claim_of: not one that was given up, nor one behind it"
    );
    let idle = JobSubject::Product(shop.make.id());
    assert_eq!(
        claim_of(idle, 0).await,
        None,
        "jobs.claim_of: nothing of a subject without jobs"
    );
}

pub(super) async fn what_holds_nothing_up_is_passed(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[]).await;
    let mut aside = queue.job(Effect::RequestSignature);
    aside.available_at = queue.later(3_600);
    let next = queue.job(Effect::RenewDeposit);
    queue.push(&[aside.clone(), next.clone()]).await;
    let claim_of = async || {
        let now = queue.later(0);
        shop.done("jobs.claim_of: claims", async |uow| {
            uow.jobs().claim_of(queue.subject, now, LEASE).await
        })
        .await
    };
    let claimed = claim_of().await;
    assert_eq!(
        claimed.as_ref().map(|job| job.new.id),
        Some(next.id),
        "jobs.claim_of: passes what holds nothing up"
    );
    let Some(job) = claimed else {
        panic!("jobs.claim_of: claims")
    };
    assert!(queue.complete(&job).await, "jobs.complete: writes");
    assert_eq!(
        claim_of().await,
        None,
        "jobs.claim_of: not what is done when it is due, and not before"
    );
    let due = queue
        .claim_one(3_601, "jobs.claim: what holds nothing up, when it is due")
        .await;
    assert_eq!(due.new.id, aside.id, "jobs.claim: the one that was passed");
}

pub(super) async fn put_off_jobs_are_released(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[]).await;
    let other = Queue::of(shop, &[]).await;
    for queue in [&queue, &other] {
        let mut job = queue.job(Effect::CheckCredit);
        job.available_at = queue.later(86_400);
        queue
            .push(&[job, queue.job(Effect::PrepareDocuments)])
            .await;
    }
    let now = queue.later(5);
    let released = shop
        .done("jobs.release: writes", async |uow| {
            uow.jobs().release(queue.subject, now).await
        })
        .await;
    assert!(released >= 1, "jobs.release: tells how many");
    let job = queue
        .claim_one(5, "jobs.release: the subject's jobs are due now, in order")
        .await;
    assert_eq!(
        job.new.effect,
        Effect::CheckCredit,
        "jobs.release: the subject's jobs are due now, in order"
    );
    other
        .nothing(5, "jobs.release: other subjects' jobs stay put off")
        .await;
}

pub(super) async fn held_jobs_wait_until_somebody_asks(shop: &Shop<'_>) {
    let held = async || {
        let queue = Queue::of(shop, &[]).await;
        let job = NewJob {
            is_held: true,
            ..queue.job(Effect::CheckCredit)
        };
        queue
            .push(&[job.clone(), queue.job(Effect::PrepareDocuments)])
            .await;
        (queue, job)
    };
    let (queue, job) = held().await;
    queue
        .nothing(
            9_999,
            "jobs.push: a held job is not due, nor are those behind it",
        )
        .await;
    let found = queue.list(None).await;
    assert_eq!(
        found.first().map(|job| job.state),
        Some(JobState::Held),
        "jobs.list: what is held is not done, and said to be held"
    );
    let now = queue.later(5);
    shop.done("jobs.requeue: writes", async |uow| {
        uow.jobs().requeue(None, now).await
    })
    .await;
    queue
        .nothing(5, "jobs.requeue: of all leaves what is held")
        .await;
    let asked = shop
        .done("jobs.claim_of: claims", async |uow| {
            uow.jobs().claim_of(queue.subject, now, LEASE).await
        })
        .await;
    let Some(asked) = asked else {
        panic!("jobs.claim_of: takes a held job");
    };
    assert_eq!(
        (asked.new.id, asked.state),
        (job.id, JobState::Held),
        "jobs.claim_of: takes a held job, which stays held"
    );
    assert!(
        queue.complete(&asked).await,
        "jobs.complete: a held job that was asked for"
    );
    queue
        .claim_one(5, "jobs.complete: those behind a held job are free then")
        .await;

    let (queue, job) = held().await;
    let asked = shop
        .done("jobs.claim_of: claims", async |uow| {
            uow.jobs().claim_of(queue.subject, now, LEASE).await
        })
        .await;
    let Some(asked) = asked else {
        panic!("jobs.claim_of: takes a held job");
    };
    shop.done("jobs.retry: writes", async |uow| {
        uow.jobs().retry(&asked, now, "in doubt").await
    })
    .await;
    let again = queue
        .claim_one(5, "jobs.retry: a held job that was asked for is due")
        .await;
    assert_eq!(
        (again.new.id, again.state),
        (job.id, JobState::Pending),
        "jobs.retry: a held job that was asked for is held no more"
    );

    let requeued = async |named: bool| {
        let (queue, job) = held().await;
        let written = shop
            .done("jobs.requeue, jobs.release: write", async |uow| {
                if named {
                    uow.jobs().requeue(Some(job.id), now).await
                } else {
                    uow.jobs().release(queue.subject, now).await
                }
            })
            .await;
        assert_eq!(written, 1, "jobs.requeue, jobs.release: tell how many");
        let due = queue
            .claim_one(5, "jobs.requeue, jobs.release: a held job is due")
            .await;
        assert_eq!(
            (due.new.id, due.state),
            (job.id, JobState::Pending),
            "jobs.requeue, jobs.release: a held job is held no more"
        );
    };
    requeued(true).await;
    requeued(false).await;
}
