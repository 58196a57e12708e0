//! The store of work that is done after a change.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreError;
use crate::access::Mode;
use crate::checkout::Effect;
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationId, ProductPubId, ProductVariantPubId};
use crate::names::named_enum;
use crate::time::Timestamp;

named_enum! {
    /// How far a job is.
    pub enum JobState {
        /// To be done.
        Pending = "pending",
        /// To be done when somebody asks for it: a sandbox checkout stays where a test put it.
        Held = "held",
        /// Done.
        Done = "done",
        /// Given up until somebody says otherwise.
        Dead = "dead",
        /// Never to be done, as somebody decided.
        Skipped = "skipped",
    }
}

/// What a job is about. Jobs of the same subject are done in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobSubject {
    Checkout(CheckoutPubId),
    Product(ProductPubId),
    Variant(ProductVariantPubId),
    Customer(CustomerPubId),
    /// Those that wait for a variant, in the job's mode.
    Waitlist(ProductVariantPubId),
}

/// A job that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its id; the idempotency key of the provider's call is made of it.
    pub id: Uuid,
    /// What is to be done.
    pub effect: Effect,
    /// About what.
    pub subject: JobSubject,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Live or sandbox; jobs about the catalog are done in live mode, and in
    /// sandbox mode where a processor serves it.
    pub mode: Mode,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Not before.
    pub available_at: Timestamp,
    /// Whether it is [held](JobState::Held) until somebody asks for it.
    pub is_held: bool,
    /// How many of those that wait may go on, for a job of a [`JobSubject::Waitlist`]; all of
    /// them without a number.
    pub units: Option<u32>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job as it was asked for.
    pub new: NewJob,
    /// How far it is.
    pub state: JobState,
    /// How often it was tried, this time included.
    pub attempts: u32,
    /// When it was first tried.
    pub first_attempt_at: Option<Timestamp>,
    /// Why it was not done the last time.
    pub last_error: Option<String>,
}

impl Job {
    /// The key under which the provider is called: the same for every try.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}-{}", self.new.effect, self.new.id.simple())
    }
}

/// Which jobs a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// In this state; without one, whatever is neither done nor skipped.
    pub state: Option<JobState>,
    /// About this.
    pub subject: Option<JobSubject>,
}

/// How much work waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Jobs that are to be done; held ones are not.
    pub pending: u64,
    /// Those of them that were tried and not done.
    pub in_doubt: u64,
    /// Jobs that were given up.
    pub dead: u64,
    /// When the first of those that are to be done was due, or will be.
    pub first_due: Option<Timestamp>,
}

/// Work that is done after a change.
///
/// Jobs of a subject are done in order: the first that is neither done nor skipped stands before
/// the others. Only work that [lets go](crate::checkout::Effect::passes_dead) passes jobs that were
/// given up. Work that [holds nothing up](crate::checkout::Effect::holds_nothing_up) never stands before
/// others.
///
/// The time of a lease is the store's own, so that workers whose clocks differ do not take each
/// other's jobs.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait JobStore: Send {
    /// Keeps new jobs, in this order.
    async fn push(&mut self, jobs: &[NewJob]) -> Result<(), StoreError>;
    /// Takes up to so many jobs that are due by `now`, those first that were due first, each the
    /// first open one of its subject, and keeps others from taking them for the time of the lease.
    /// Counts their attempts up. Several workers take different ones.
    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError>;
    /// Takes the first open job of the subject if nobody else is at it, due or not, held or not; but none that
    /// holds nothing up, which is done when it is due.
    async fn claim_of(
        &mut self,
        subject: JobSubject,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError>;
    /// Keeps others from taking the job for another lease from now on. Tells whether it still was
    /// this attempt's to keep.
    async fn renew(&mut self, job: &Job, lease: Duration) -> Result<bool, StoreError>;
    /// The job is done. Tells whether it still was this attempt's to say so.
    async fn complete(&mut self, job: &Job, at: Timestamp) -> Result<bool, StoreError>;
    /// The job is to be tried again, not before the time; somebody asked for it, so that it is held
    /// no more.
    async fn retry(
        &mut self,
        job: &Job,
        not_before: Timestamp,
        error: &str,
    ) -> Result<(), StoreError>;
    /// The job is given up until it is requeued; later ones of its subject wait.
    async fn bury(&mut self, job: &Job, error: &str) -> Result<(), StoreError>;
    /// The job is never to be done, and why; what stands behind it goes on. Tells whether there was
    /// such a job that was not done, and nobody was at it.
    async fn skip(&mut self, id: Uuid, reason: &str, at: Timestamp) -> Result<bool, StoreError>;
    /// Up to so many jobs, oldest first.
    async fn list(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError>;
    /// Makes dead, held and waiting jobs due now: this one, or all but the held ones. Tells how
    /// many.
    async fn requeue(&mut self, id: Option<Uuid>, now: Timestamp) -> Result<u64, StoreError>;
    /// Makes the subject's held and pending jobs due now, however far they were put off.
    /// Tells how many.
    async fn release(&mut self, subject: JobSubject, now: Timestamp) -> Result<u64, StoreError>;
    /// Forgets jobs that were done or skipped before the time. Tells how many.
    async fn purge_done(&mut self, before: Timestamp) -> Result<u64, StoreError>;
}
