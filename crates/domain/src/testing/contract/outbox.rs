//! Work for providers.

use std::time::Duration;

use chrono::TimeDelta;

use super::shop::Shop;
use crate::access::Mode;
use crate::checkout::Effect;
use crate::ids::ProductPubId;
use crate::ports::{Database, IdGenerator, Job, JobFilter, JobState, JobSubject, NewJob};
use crate::time::Timestamp;

/// More than any suite makes.
const MANY: u32 = 10_000;
const LEASE: Duration = Duration::from_secs(60);

/// The store of jobs. That several workers take different jobs at once is a clause
/// of [`concurrent_units`](super::concurrent_units).
///
/// # Panics
/// With the clause that is broken.
pub async fn outbox(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    jobs_are_kept_as_they_are(&shop).await;
    jobs_of_a_subject_are_done_in_order(&shop).await;
    leases_run_out(&shop).await;
    jobs_are_tried_again(&shop).await;
    buried_jobs_hold_up_their_subject(&shop).await;
    subjects_are_claimed_out_of_turn(&shop).await;
    put_off_jobs_are_released(&shop).await;
    held_jobs_wait_until_somebody_asks(&shop).await;
    jobs_keep_their_units(&shop).await;
    backlogs_are_counted_and_purged(&shop).await;
}

struct Queue<'s, 'd> {
    shop: &'s Shop<'d>,
    subject: JobSubject,
    now: Timestamp,
}

impl<'s, 'd> Queue<'s, 'd> {
    /// A subject of its own, with jobs of these effects, due now.
    async fn of(shop: &'s Shop<'d>, effects: &[Effect]) -> Self {
        let product: ProductPubId = shop.anything().await.id;
        let now = shop.make.tick();
        let queue = Self {
            shop,
            subject: JobSubject::Product(product),
            now,
        };
        let jobs: Vec<_> = effects.iter().map(|effect| queue.job(*effect)).collect();
        queue.push(&jobs).await;
        queue
    }

    fn job(&self, effect: Effect) -> NewJob {
        NewJob {
            id: self.shop.make.ids().next(),
            effect,
            subject: self.subject,
            organization_id: self.shop.organization.id,
            mode: Mode::Sandbox,
            created_at: self.now,
            available_at: self.now,
            is_held: false,
            units: None,
        }
    }

    async fn push(&self, jobs: &[NewJob]) {
        self.shop
            .done("outbox.push: keeps jobs", async |uow| {
                uow.outbox().push(jobs).await
            })
            .await;
    }

    fn later(&self, seconds: i64) -> Timestamp {
        self.now
            .checked_add_signed(TimeDelta::seconds(seconds))
            .unwrap_or(self.now)
    }

    /// The subject's jobs among those that are claimed so many seconds later.
    async fn claim(&self, seconds: i64) -> Vec<Job> {
        let now = self.later(seconds);
        let claimed = self
            .shop
            .done("outbox.claim: claims", async |uow| {
                uow.outbox().claim(now, LEASE, MANY).await
            })
            .await;
        claimed
            .into_iter()
            .filter(|job| job.new.subject == self.subject)
            .collect()
    }

    /// The one job of the subject that is claimed so many seconds later.
    async fn claim_one(&self, seconds: i64, clause: &str) -> Job {
        let mut claimed = self.claim(seconds).await;
        match (claimed.pop(), claimed.is_empty()) {
            (Some(job), true) => job,
            (last, _) => panic!("{clause}: one job expected, not {last:?} and {claimed:?}"),
        }
    }

    async fn nothing(&self, seconds: i64, clause: &str) {
        assert_eq!(self.claim(seconds).await, [], "{clause}");
    }

    async fn complete(&self, job: &Job) -> bool {
        let at = self.later(1);
        self.shop
            .done("outbox.complete: answers", async |uow| {
                uow.outbox().complete(job, at).await
            })
            .await
    }

    async fn list(&self, state: Option<JobState>) -> Vec<Job> {
        let filter = JobFilter {
            state,
            subject: Some(self.subject),
        };
        self.shop
            .seen("outbox.list: reads", async |view| {
                view.outbox().list(&filter, MANY).await
            })
            .await
    }
}

const TWO: &[Effect] = &[Effect::PushProduct, Effect::PushVariant];

async fn jobs_are_kept_as_they_are(shop: &Shop<'_>) {
    let mut queue = Queue::of(shop, &[]).await;
    let checkout = shop.any_checkout(|checkout| checkout).await;
    for subject in [
        JobSubject::Checkout(checkout.id),
        JobSubject::Customer(checkout.customer_id),
        JobSubject::Variant(checkout.variant_id),
        JobSubject::Product(checkout.product_id),
    ] {
        queue.subject = subject;
        let mut job = queue.job(Effect::CreateSubscription);
        job.available_at = queue.later(3600);
        queue.push(std::slice::from_ref(&job)).await;
        let expected = Job {
            new: job,
            state: JobState::Pending,
            attempts: 0,
            first_attempt_at: None,
            last_error: None,
        };
        assert_eq!(
            queue.list(None).await,
            [expected],
            "outbox.list: as it was pushed, about {subject:?}"
        );
        queue
            .nothing(0, "outbox.claim: not before it is available")
            .await;
    }
}

async fn jobs_of_a_subject_are_done_in_order(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let other = Queue::of(shop, TWO).await;
    let clause = "outbox.claim: the first open job of the subject, and no later one";
    let first = queue.claim_one(0, clause).await;
    assert_eq!(first.new.effect, Effect::PushProduct, "{clause}");
    assert_eq!(
        (first.attempts, first.first_attempt_at),
        (1, Some(queue.now)),
        "outbox.claim: counts the attempt and notes the first"
    );
    queue
        .nothing(1, "outbox.claim: a subject whose first job is held waits")
        .await;
    assert!(
        queue.complete(&first).await,
        "outbox.complete: the attempt that holds the job may say so"
    );
    assert!(
        !queue.complete(&first).await,
        "outbox.complete: what is done cannot be done again"
    );
    let second = queue.claim_one(1, clause).await;
    assert_eq!(second.new.effect, Effect::PushVariant, "{clause}");
    assert_ne!(
        first.idempotency_key(),
        second.idempotency_key(),
        "jobs have keys of their own"
    );
    // The other subject's first job was taken by the claims above, of which only
    // this queue's were kept: its lease runs out, its order stays.
    let other_first = other.claim_one(120, clause).await;
    assert_eq!(
        other_first.new.effect,
        Effect::PushProduct,
        "outbox.claim: subjects do not hold each other up"
    );
    assert_eq!(
        queue.list(Some(JobState::Done)).await.len(),
        1,
        "outbox.list: by state"
    );
}

async fn leases_run_out(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let clause = "outbox.claim: a job whose lease ran out is claimed again";
    let lost = queue.claim_one(0, clause).await;
    queue
        .nothing(59, "outbox.claim: nobody else while the lease runs")
        .await;
    let again = queue.claim_one(60, clause).await;
    assert_eq!(
        (again.new.id, again.attempts, again.first_attempt_at),
        (lost.new.id, 2, Some(queue.now)),
        "{clause}, counts the attempt and keeps the time of the first"
    );
    assert!(
        !queue.complete(&lost).await,
        "outbox.complete: not by an attempt that was overtaken"
    );
    let late = queue.later(61);
    shop.done("outbox.bury: answers", async |uow| {
        uow.outbox().bury(&lost, "overtaken").await?;
        uow.outbox().retry(&lost, late, "overtaken").await
    })
    .await;
    queue
        .nothing(
            70,
            "outbox.retry, outbox.bury: an attempt that was overtaken changes nothing",
        )
        .await;
    assert!(
        queue.complete(&again).await,
        "outbox.complete: the attempt that overtook may say so"
    );
}

async fn jobs_are_tried_again(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let job = queue.claim_one(0, "outbox.claim: claims").await;
    let not_before = queue.later(300);
    shop.done("outbox.retry: writes", async |uow| {
        uow.outbox().retry(&job, not_before, "timed out").await
    })
    .await;
    queue
        .nothing(
            299,
            "outbox.retry: not before the time, and nothing else of the subject",
        )
        .await;
    let again = queue
        .claim_one(300, "outbox.retry: from the time on, the same job")
        .await;
    assert_eq!(
        (again.new.id, again.attempts, again.last_error.as_deref()),
        (job.new.id, 2, Some("timed out")),
        "outbox.retry: keeps the job and why it was not done"
    );
    assert_eq!(
        again.idempotency_key(),
        job.idempotency_key(),
        "a job is called under the same key at every try"
    );
    let not_before = queue.later(9_000);
    shop.done("outbox.retry: writes", async |uow| {
        uow.outbox().retry(&again, not_before, "timed out").await
    })
    .await;
    let now = queue.later(400);
    let requeued = shop
        .done("outbox.requeue: writes", async |uow| {
            uow.outbox().requeue(Some(again.new.id), now).await
        })
        .await;
    assert_eq!(requeued, 1, "outbox.requeue: tells how many");
    queue
        .claim_one(400, "outbox.requeue: a waiting job is due now")
        .await;
}

async fn buried_jobs_hold_up_their_subject(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let job = queue.claim_one(0, "outbox.claim: claims").await;
    shop.done("outbox.bury: writes", async |uow| {
        uow.outbox().bury(&job, "refused for good").await
    })
    .await;
    queue
        .nothing(
            9_999,
            "outbox.bury: neither the job nor later ones of its subject are claimed",
        )
        .await;
    let dead = queue.list(Some(JobState::Dead)).await;
    assert_eq!(
        dead.iter()
            .map(|job| (job.new.id, job.last_error.as_deref()))
            .collect::<Vec<_>>(),
        [(job.new.id, Some("refused for good"))],
        "outbox.bury: says which and why"
    );
    assert_eq!(
        queue.list(None).await.len(),
        2,
        "outbox.list: without a state, whatever is not done"
    );
    let now = queue.later(10_000);
    let requeued = shop
        .done("outbox.requeue: writes", async |uow| {
            uow.outbox().requeue(None, now).await
        })
        .await;
    assert!(requeued >= 1, "outbox.requeue: without an id, all");
    let again = queue
        .claim_one(10_000, "outbox.requeue: a dead job is due now")
        .await;
    assert_eq!(
        again.new.id, job.new.id,
        "outbox.requeue: a dead job is due now, before later ones"
    );
}

async fn subjects_are_claimed_out_of_turn(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[]).await;
    let mut first = queue.job(Effect::PushProduct);
    first.available_at = queue.later(3_600);
    let second = queue.job(Effect::PushVariant);
    queue.push(&[first.clone(), second]).await;
    let claim_of = async |subject, seconds| {
        let now = queue.later(seconds);
        shop.done("outbox.claim_of: claims", async |uow| {
            uow.outbox().claim_of(subject, now, LEASE).await
        })
        .await
    };
    let claimed = claim_of(queue.subject, 0).await;
    assert_eq!(
        claimed.as_ref().map(|job| (job.new.id, job.attempts)),
        Some((first.id, 1)),
        "outbox.claim_of: the first open job of the subject, due or not"
    );
    assert_eq!(
        claim_of(queue.subject, 1).await,
        None,
        "outbox.claim_of: not while somebody holds it"
    );
    let Some(job) = claimed else {
        panic!("outbox.claim_of: claims")
    };
    shop.done("outbox.bury: writes", async |uow| {
        uow.outbox().bury(&job, "no").await
    })
    .await;
    assert_eq!(
        claim_of(queue.subject, 2).await,
        None,
        "outbox.claim_of: not one that was given up, nor one behind it"
    );
    let idle = JobSubject::Product(shop.make.id());
    assert_eq!(
        claim_of(idle, 0).await,
        None,
        "outbox.claim_of: nothing of a subject without jobs"
    );
}

async fn put_off_jobs_are_released(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[]).await;
    let other = Queue::of(shop, &[]).await;
    for queue in [&queue, &other] {
        let mut job = queue.job(Effect::PushProduct);
        job.available_at = queue.later(86_400);
        queue.push(&[job, queue.job(Effect::PushVariant)]).await;
    }
    let now = queue.later(5);
    let released = shop
        .done("outbox.release: writes", async |uow| {
            uow.outbox().release(queue.subject, now).await
        })
        .await;
    assert!(released >= 1, "outbox.release: tells how many");
    let job = queue
        .claim_one(
            5,
            "outbox.release: the subject's jobs are due now, in order",
        )
        .await;
    assert_eq!(
        job.new.effect,
        Effect::PushProduct,
        "outbox.release: the subject's jobs are due now, in order"
    );
    other
        .nothing(5, "outbox.release: other subjects' jobs stay put off")
        .await;
}

async fn held_jobs_wait_until_somebody_asks(shop: &Shop<'_>) {
    let held = async || {
        let queue = Queue::of(shop, &[]).await;
        let job = NewJob {
            is_held: true,
            ..queue.job(Effect::PushProduct)
        };
        queue
            .push(&[job.clone(), queue.job(Effect::PushVariant)])
            .await;
        (queue, job)
    };
    let (queue, job) = held().await;
    queue
        .nothing(
            9_999,
            "outbox.push: a held job is not due, nor are those behind it",
        )
        .await;
    let found = queue.list(None).await;
    assert_eq!(
        found.first().map(|job| job.state),
        Some(JobState::Held),
        "outbox.list: what is held is not done, and said to be held"
    );
    let now = queue.later(5);
    shop.done("outbox.requeue: writes", async |uow| {
        uow.outbox().requeue(None, now).await
    })
    .await;
    queue
        .nothing(5, "outbox.requeue: of all leaves what is held")
        .await;
    let asked = shop
        .done("outbox.claim_of: claims", async |uow| {
            uow.outbox().claim_of(queue.subject, now, LEASE).await
        })
        .await;
    let Some(asked) = asked else {
        panic!("outbox.claim_of: takes a held job");
    };
    assert_eq!(
        (asked.new.id, asked.state),
        (job.id, JobState::Held),
        "outbox.claim_of: takes a held job, which stays held"
    );
    assert!(
        queue.complete(&asked).await,
        "outbox.complete: a held job that was asked for"
    );
    queue
        .claim_one(5, "outbox.complete: those behind a held job are free then")
        .await;

    let (queue, job) = held().await;
    let asked = shop
        .done("outbox.claim_of: claims", async |uow| {
            uow.outbox().claim_of(queue.subject, now, LEASE).await
        })
        .await;
    let Some(asked) = asked else {
        panic!("outbox.claim_of: takes a held job");
    };
    shop.done("outbox.retry: writes", async |uow| {
        uow.outbox().retry(&asked, now, "in doubt").await
    })
    .await;
    let again = queue
        .claim_one(5, "outbox.retry: a held job that was asked for is due")
        .await;
    assert_eq!(
        (again.new.id, again.state),
        (job.id, JobState::Pending),
        "outbox.retry: a held job that was asked for is held no more"
    );

    let requeued = async |named: bool| {
        let (queue, job) = held().await;
        let written = shop
            .done("outbox.requeue, outbox.release: write", async |uow| {
                if named {
                    uow.outbox().requeue(Some(job.id), now).await
                } else {
                    uow.outbox().release(queue.subject, now).await
                }
            })
            .await;
        assert_eq!(written, 1, "outbox.requeue, outbox.release: tell how many");
        let due = queue
            .claim_one(5, "outbox.requeue, outbox.release: a held job is due")
            .await;
        assert_eq!(
            (due.new.id, due.state),
            (job.id, JobState::Pending),
            "outbox.requeue, outbox.release: a held job is held no more"
        );
    };
    requeued(true).await;
    requeued(false).await;
}

async fn jobs_keep_their_units(shop: &Shop<'_>) {
    for units in [None, Some(0), Some(1_200)] {
        let mut queue = Queue::of(shop, &[]).await;
        queue.subject = JobSubject::Waitlist(shop.make.id());
        let job = NewJob {
            units,
            ..queue.job(Effect::PromoteWaiting)
        };
        queue.push(std::slice::from_ref(&job)).await;
        let claimed = queue.claim_one(0, "outbox.claim: claims").await;
        assert_eq!(claimed.new, job, "outbox.push: keeps a job as it is");
    }
}

async fn backlogs_are_counted_and_purged(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let done = queue.claim_one(0, "outbox.claim: claims").await;
    assert!(queue.complete(&done).await, "outbox.complete: answers");
    let dead = queue.claim_one(0, "outbox.claim: claims").await;
    shop.done("outbox.bury: writes", async |uow| {
        uow.outbox().bury(&dead, "no").await
    })
    .await;
    queue.push(&[queue.job(Effect::PushProduct)]).await;
    let (pending, buried) = shop
        .seen("outbox.backlog: reads", async |view| {
            view.outbox().backlog().await
        })
        .await;
    assert!(
        pending >= 1 && buried >= 1,
        "outbox.backlog: counts pending and dead jobs, not {pending} and {buried}"
    );
    let purge = async |before| {
        shop.done("outbox.purge_done: forgets", async |uow| {
            uow.outbox().purge_done(before).await
        })
        .await
    };
    let finished = queue.later(1);
    purge(finished).await;
    assert_eq!(
        queue.list(Some(JobState::Done)).await.len(),
        1,
        "outbox.purge_done: not what was done at the time or later"
    );
    assert!(
        purge(queue.later(2)).await >= 1,
        "outbox.purge_done: tells how many it has forgotten"
    );
    assert_eq!(
        (
            queue.list(Some(JobState::Done)).await.len(),
            queue.list(None).await.len()
        ),
        (0, 2),
        "outbox.purge_done: forgets what was done before the time, and only that"
    );
}
