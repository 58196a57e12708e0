//! Jobs that are given up: what waits behind them, what does not, and those that are skipped.

use uuid::Uuid;

use super::{LEASE, Queue, TWO};
use crate::checkout::Effect;
use crate::ports::{IdGenerator, Job, JobState, NewJob};
use crate::testing::contract::shop::Shop;

pub(super) async fn buried_jobs_hold_up_their_subject(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let job = queue.claim_one(0, "jobs.claim: claims").await;
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&job, "refused for good").await
    })
    .await;
    queue
        .nothing(
            9_999,
            "jobs.bury: neither the job nor later ones of its subject are claimed",
        )
        .await;
    let dead = queue.list(Some(JobState::Dead)).await;
    assert_eq!(
        dead.iter()
            .map(|job| (job.new.id, job.last_error.as_deref()))
            .collect::<Vec<_>>(),
        [(job.new.id, Some("refused for good"))],
        "jobs.bury: says which and why"
    );
    assert_eq!(
        queue.list(None).await.len(),
        2,
        "jobs.list: without a state, whatever is not done"
    );
    let now = queue.later(10_000);
    let requeued = shop
        .done("jobs.requeue: writes", async |uow| {
            uow.jobs().requeue(None, now).await
        })
        .await;
    assert!(requeued >= 1, "jobs.requeue: without an id, all");
    let again = queue
        .claim_one(10_000, "jobs.requeue: a dead job is due now")
        .await;
    assert_eq!(
        again.new.id, job.new.id,
        "jobs.requeue: a dead job is due now, before later ones"
    );
}

pub(super) async fn what_lets_go_passes_what_was_given_up(shop: &Shop<'_>) {
    let queue = Queue::of(
        shop,
        &[
            Effect::CaptureDeposit,
            Effect::VoidDeposit,
            Effect::CreateSubscription,
        ],
    )
    .await;
    let job = queue.claim_one(0, "jobs.claim: claims").await;
    queue
        .nothing(1, "jobs.claim: what lets go waits for what somebody is at")
        .await;
    let not_before = queue.later(500);
    shop.done("jobs.retry: writes", async |uow| {
        uow.jobs().retry(&job, not_before, "timed out").await
    })
    .await;
    queue
        .nothing(2, "jobs.claim: what lets go waits for what is to be done")
        .await;
    let again = queue.claim_one(500, "jobs.claim: claims").await;
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&again, "refused for good").await
    })
    .await;
    let clause = "jobs.claim: what lets go does not wait for what was given up";
    let letting_go = queue.claim_one(501, clause).await;
    assert_eq!(letting_go.new.effect, Effect::VoidDeposit, "{clause}");
    assert!(queue.complete(&letting_go).await, "jobs.complete: answers");
    queue
        .nothing(502, "jobs.claim: what makes does, also behind what let go")
        .await;

    let queue = Queue::of(shop, &[Effect::CaptureDeposit, Effect::CheckDeposit]).await;
    let asked = async || {
        let asked = shop
            .done("jobs.claim_of: claims", async |uow| {
                uow.jobs().claim_of(queue.subject, queue.now, LEASE).await
            })
            .await;
        asked.map(|job| (job.new.effect, job))
    };
    let Some((Effect::CaptureDeposit, job)) = asked().await else {
        panic!("jobs.claim_of: the first open job of the subject");
    };
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&job, "refused for good").await
    })
    .await;
    assert_eq!(
        asked().await.map(|(effect, _)| effect),
        Some(Effect::CheckDeposit),
        "jobs.claim_of: what lets go does not wait for what was given up"
    );

    let queue = Queue::of(shop, &[]).await;
    let held = NewJob {
        is_held: true,
        ..queue.job(Effect::CaptureDeposit)
    };
    queue.push(&[held, queue.job(Effect::VoidDeposit)]).await;
    queue
        .nothing(
            1,
            "jobs.claim: what lets go waits for what is held until somebody asks",
        )
        .await;
}

async fn skip(queue: &Queue<'_, '_>, job: Uuid) -> bool {
    let at = queue.later(1);
    queue
        .shop
        .done("jobs.skip: answers", async |uow| {
            uow.jobs().skip(job, "nobody needs it", at).await
        })
        .await
}

/// The subject's first job, which is not done yet.
async fn first(queue: &Queue<'_, '_>) -> Job {
    match queue.list(None).await.into_iter().next() {
        Some(job) => job,
        None => panic!("jobs.list: whatever is neither done nor skipped"),
    }
}

pub(super) async fn skipped_jobs_are_in_nobodys_way(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let waiting = first(&queue).await.new.id;
    assert!(
        skip(&queue, waiting).await,
        "jobs.skip: one that waits, and tells so"
    );
    let next = queue
        .claim_one(0, "jobs.skip: what stands behind it goes on")
        .await;
    assert_eq!(
        next.new.effect,
        Effect::PrepareDocuments,
        "jobs.skip: what is skipped is never done"
    );
    assert_eq!(
        (
            skip(&queue, waiting).await,
            skip(&queue, next.new.id).await,
            skip(&queue, shop.make.ids().next()).await
        ),
        (false, false, false),
        "jobs.skip: not what is skipped already, what somebody is at, nor what is not there"
    );
    let ids = |jobs: Vec<Job>| jobs.iter().map(|job| job.new.id).collect::<Vec<_>>();
    assert_eq!(
        ids(queue.list(None).await),
        [next.new.id],
        "jobs.list: without a state, not what was skipped"
    );
    let skipped: Vec<_> = queue
        .list(Some(JobState::Skipped))
        .await
        .into_iter()
        .map(|job| (job.new.id, job.state, job.last_error))
        .collect();
    assert_eq!(
        skipped,
        [(
            waiting,
            JobState::Skipped,
            Some("nobody needs it".to_owned())
        )],
        "jobs.list: what was skipped, and why"
    );
    let now = queue.later(2);
    let requeued = shop
        .done("jobs.requeue: writes", async |uow| {
            uow.jobs().requeue(Some(waiting), now).await
        })
        .await;
    assert_eq!(requeued, 0, "jobs.requeue: not what was skipped");
    assert!(queue.complete(&next).await, "jobs.complete: answers");
    assert!(
        !skip(&queue, next.new.id).await,
        "jobs.skip: not what is done"
    );

    let queue = Queue::of(shop, TWO).await;
    let dead = queue.claim_one(0, "jobs.claim: claims").await;
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&dead, "no").await
    })
    .await;
    assert!(
        skip(&queue, dead.new.id).await,
        "jobs.skip: one that was given up"
    );
    let late = queue
        .claim_for_a_moment("jobs.skip: what stands behind it goes on")
        .await;
    assert!(
        skip(&queue, late.new.id).await,
        "jobs.skip: one whose lease ran out"
    );
    assert!(
        !queue.complete(&late).await,
        "jobs.complete: not what was skipped meanwhile"
    );

    let queue = Queue::of(shop, &[]).await;
    let held = NewJob {
        is_held: true,
        ..queue.job(Effect::CheckCredit)
    };
    queue.push(std::slice::from_ref(&held)).await;
    assert!(
        skip(&queue, held.id).await,
        "jobs.skip: one that is held until somebody asks"
    );
}
