//! Work for providers.

mod asking;
mod giving_up;
mod leases;

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
/// Longer than the suite takes.
const LEASE: Duration = Duration::from_secs(600);

/// The store of jobs. That several workers take different jobs at once is a clause
/// of [`concurrent_units`](super::concurrent_units), and how many wait in all one of
/// [`doors`](super::doors()).
///
/// # Panics
/// With the clause that is broken.
pub async fn jobs(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    jobs_are_kept_as_they_are(&shop).await;
    jobs_of_a_subject_are_done_in_order(&shop).await;
    leases::leases_run_out(&shop).await;
    leases::leases_are_renewed(&shop).await;
    leases::jobs_are_tried_again(&shop).await;
    giving_up::buried_jobs_hold_up_their_subject(&shop).await;
    giving_up::what_lets_go_passes_what_was_given_up(&shop).await;
    giving_up::skipped_jobs_are_in_nobodys_way(&shop).await;
    asking::subjects_are_claimed_out_of_turn(&shop).await;
    asking::what_holds_nothing_up_is_passed(&shop).await;
    asking::put_off_jobs_are_released(&shop).await;
    asking::held_jobs_wait_until_somebody_asks(&shop).await;
    jobs_that_were_due_first_go_first(&shop).await;
    jobs_keep_their_units(&shop).await;
    jobs_that_are_done_are_purged(&shop).await;
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
            .done("jobs.push: keeps jobs", async |uow| {
                uow.jobs().push(jobs).await
            })
            .await;
    }

    fn later(&self, seconds: i64) -> Timestamp {
        self.now
            .checked_add_signed(TimeDelta::seconds(seconds))
            .unwrap_or(self.now)
    }

    /// The subject's jobs among those of the organization's that are claimed so many seconds later.
    /// The others are claimed too: a queue whose jobs are to be claimed is made after the claims of
    /// others.
    async fn claim(&self, seconds: i64, lease: Duration) -> Vec<Job> {
        let now = self.later(seconds);
        let claimed = self
            .shop
            .done("jobs.claim: claims", async |uow| {
                uow.jobs().claim(now, lease, MANY).await
            })
            .await;
        claimed
            .into_iter()
            .filter(|job| job.new.subject == self.subject)
            .collect()
    }

    /// The one job of the subject that is claimed so many seconds later.
    async fn claim_one(&self, seconds: i64, clause: &str) -> Job {
        only(self.claim(seconds, LEASE).await, clause)
    }

    /// The one job of the subject that is claimed now, by a lease that has run out at once.
    async fn claim_for_a_moment(&self, clause: &str) -> Job {
        only(self.claim(0, Duration::ZERO).await, clause)
    }

    async fn nothing(&self, seconds: i64, clause: &str) {
        assert_eq!(self.claim(seconds, LEASE).await, [], "{clause}");
    }

    async fn complete(&self, job: &Job) -> bool {
        let at = self.later(1);
        self.shop
            .done("jobs.complete: answers", async |uow| {
                uow.jobs().complete(job, at).await
            })
            .await
    }

    async fn list(&self, state: Option<JobState>) -> Vec<Job> {
        let filter = JobFilter {
            state,
            subject: Some(self.subject),
        };
        self.shop
            .seen("jobs.list: reads", async |view| {
                view.jobs().list(&filter, MANY).await
            })
            .await
    }
}

fn only(mut claimed: Vec<Job>, clause: &str) -> Job {
    match (claimed.pop(), claimed.is_empty()) {
        (Some(job), true) => job,
        (last, _) => panic!("{clause}: one job expected, not {last:?} and {claimed:?}"),
    }
}

const TWO: &[Effect] = &[Effect::CheckCredit, Effect::PrepareDocuments];

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
            "jobs.list: as it was pushed, about {subject:?}"
        );
        queue
            .nothing(0, "jobs.claim: not before it is available")
            .await;
    }
}

async fn jobs_of_a_subject_are_done_in_order(shop: &Shop<'_>) {
    let queue = Queue::of(shop, TWO).await;
    let clause = "jobs.claim: the first open job of the subject, and no later one";
    let first = queue.claim_one(0, clause).await;
    assert_eq!(first.new.effect, Effect::CheckCredit, "{clause}");
    assert_eq!(
        (first.attempts, first.first_attempt_at),
        (1, Some(queue.now)),
        "jobs.claim: counts the attempt and notes the first"
    );
    queue
        .nothing(1, "jobs.claim: a subject whose first job is held waits")
        .await;
    assert!(
        queue.complete(&first).await,
        "jobs.complete: the attempt that holds the job may say so"
    );
    assert!(
        !queue.complete(&first).await,
        "jobs.complete: what is done cannot be done again"
    );
    let second = queue.claim_one(1, clause).await;
    assert_eq!(second.new.effect, Effect::PrepareDocuments, "{clause}");
    assert_ne!(
        first.idempotency_key(),
        second.idempotency_key(),
        "jobs have keys of their own"
    );
    // Made after those claims, which would have taken its jobs.
    let other = Queue::of(shop, TWO).await;
    let other_first = other.claim_one(1, clause).await;
    assert_eq!(
        other_first.new.effect,
        Effect::CheckCredit,
        "jobs.claim: subjects do not hold each other up"
    );
    assert_eq!(
        queue.list(Some(JobState::Done)).await.len(),
        1,
        "jobs.list: by state"
    );
}

async fn jobs_that_were_due_first_go_first(shop: &Shop<'_>) {
    let (late, early) = (Queue::of(shop, &[]).await, Queue::of(shop, &[]).await);
    // Those of others are taken.
    late.claim(5, LEASE).await;
    for (queue, seconds) in [(&late, 2), (&early, 1)] {
        let mut job = queue.job(Effect::CheckCredit);
        job.available_at = late.later(seconds);
        queue.push(&[job]).await;
    }
    let now = late.later(5);
    let claimed = shop
        .done("jobs.claim: claims", async |uow| {
            uow.jobs().claim(now, LEASE, 1).await
        })
        .await;
    let clause = "jobs.claim: those that were due first go first";
    assert_eq!(only(claimed, clause).new.subject, early.subject, "{clause}");
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
        let claimed = queue.claim_one(0, "jobs.claim: claims").await;
        assert_eq!(claimed.new, job, "jobs.push: keeps a job as it is");
    }
}

async fn jobs_that_are_done_are_purged(shop: &Shop<'_>) {
    let queue = Queue::of(shop, &[Effect::CheckCredit; 4]).await;
    let done = queue.claim_one(0, "jobs.claim: claims").await;
    assert!(queue.complete(&done).await, "jobs.complete: answers");
    let skipped = queue.claim_for_a_moment("jobs.claim: claims").await;
    let (id, at) = (skipped.new.id, queue.later(1));
    shop.done("jobs.skip: writes", async |uow| {
        uow.jobs().skip(id, "no", at).await
    })
    .await;
    let purge = async |before| {
        shop.done("jobs.purge_done: forgets", async |uow| {
            uow.jobs().purge_done(before).await
        })
        .await
    };
    let left = async || {
        (
            queue.list(Some(JobState::Done)).await.len(),
            queue.list(Some(JobState::Skipped)).await.len(),
            queue.list(None).await.len(),
        )
    };
    purge(queue.later(1)).await;
    assert_eq!(
        left().await,
        (1, 1, 2),
        "jobs.purge_done: not what was done at the time or later"
    );
    assert!(
        purge(queue.later(2)).await >= 2,
        "jobs.purge_done: tells how many it has forgotten"
    );
    assert_eq!(
        left().await,
        (0, 0, 2),
        "jobs.purge_done: forgets what was done or skipped before the time, and only that"
    );
}
