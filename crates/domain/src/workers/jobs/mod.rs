//! Carrying out what the job queue holds.
//!
//! A job is taken in a short unit of work of its own, the provider is called
//! outside of any, and the answer is written in a third together with the mark
//! that the job is done. Dying anywhere in between repeats the call under the same
//! key. Doubt is retried with a growing pause; a refusal is an answer.

mod attempt;
mod billing;
mod credit;
mod deposits;
mod push;
mod record;
mod sessions;
mod signatures;

pub use self::sessions::WayBack;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;

use futures_util::future::{Either, select};

use super::rounds::{Round, Work};
use crate::cause::chain;
use crate::checkout::{Actor, AttentionReason, Circumstances, Effect, Event, Lifecycle, Refusal};
use crate::customer::Profile;
use crate::ids::{ApiKeyPubId, CheckoutPubId, OrganizationId, ProductVariantPubId};
use crate::ledger::{Authorization, Entry, HostedSession, Subscription};
use crate::names::named_enum;
use crate::ports::{
    Attempt, Capture, Clock, Database, Doubt, Entropy, Errand, IdGenerator, IdentityResult, Job,
    JobSubject, NewAgreement, ProviderSet, StoreError, Timer, UnitOfWork,
};
use crate::pricing::Quote;
use crate::services::{Error, moving};
use crate::time::Timestamp;

/// How long a worker keeps a job to itself, unless it is told otherwise: what a worker
/// that died was at lies for so long. While it is at it, it takes the time anew.
pub const JOB_LEASE: Duration = Duration::from_secs(45);
/// How often a job is tried before it is put aside for a person.
pub const MAX_ATTEMPTS: u32 = 25;
/// After so long nothing comes any more of a request whose answer was lost.
pub const SETTLED: TimeDelta = TimeDelta::minutes(10);
/// After so many tries the pause is a quarter of an hour.
const FEW_TRIES: u32 = 10;
/// The longest pause between two tries.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(6);

named_enum! {
    /// Where the process may die while a job is carried out; each is safe, and each
    /// is tried by a test that dies there.
    pub enum CrashPoint {
        /// The job is taken, nobody was called.
        Taken = "taken",
        /// The customer is known to the processor, the work is not begun.
        CustomerKnown = "customerKnown",
        /// The provider has answered, nothing is written.
        Answered = "answered",
        /// The answer is written, not committed.
        Uncommitted = "uncommitted",
        /// Everything is committed.
        Committed = "committed",
    }
}

/// Watches jobs being carried out. Tests abort the process in it.
pub trait Probe: Send + Sync {
    /// The job of the effect has come to the point.
    fn reached(&self, point: CrashPoint, effect: Effect);
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn reached(&self, _: CrashPoint, _: Effect) {}
}

/// Carries jobs out.
#[derive(Clone)]
pub struct JobRunner {
    /// Where jobs and checkouts are.
    pub database: Arc<dyn Database>,
    /// Who does the work.
    pub providers: ProviderSet,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// Where the jitter of pauses comes from.
    pub entropy: Arc<dyn Entropy>,
    /// What wakes it up to keep a job to itself for longer.
    pub timer: Arc<dyn Timer>,
    /// How long a job that was taken is kept from others; usually [`JOB_LEASE`].
    pub lease: Duration,
    /// How long something may come of a request whose answer was lost; usually [`SETTLED`].
    pub settled: TimeDelta,
    /// How long an approval of an organization's endpoint holds; usually
    /// [`DECISIONS_HOLD`](crate::credit::DECISIONS_HOLD).
    pub credit_holds: TimeDelta,
    /// Who watches; [`NoProbe`] outside of tests.
    pub probe: Arc<dyn Probe>,
    /// The API key that has them carried out, where somebody plays a sandbox checkout forward.
    pub key: Option<ApiKeyPubId>,
}

/// What became of one try of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobResult {
    /// It is done.
    Done,
    /// It is to be tried again at this time.
    Later(Timestamp),
    /// The provider has not decided; it is asked again at this time.
    Undecided(Timestamp),
    /// It is put aside for a person.
    Buried,
}

/// What became of a job that was to lead to a state.
pub(super) enum Towards {
    /// It is done.
    Done,
    /// It leads elsewhere, or nowhere yet: nothing of it is written.
    Elsewhere,
    /// There is none, or somebody else is at it.
    NoJob,
}

/// What a provider's answer is to change.
enum Change {
    /// Nothing is left to do.
    Nothing,
    /// The answer of the identity verifier's start, and whom it is about.
    IdentityStarted(String, Box<Profile>),
    /// What the verifier decided of the session.
    Identity(String, IdentityResult),
    /// What was said of the customer's credit.
    Credit(Box<credit::Asked>),
    /// Whoever decides about credit cannot be reached.
    CreditUnanswered(String),
    /// The deposit is authorized; nothing is when nothing is due.
    Authorized {
        authorization: Option<Authorization>,
        /// Whether it is played that no stock is left.
        is_sold_out: bool,
    },
    /// The deposit is authorized anew.
    Renewed(Authorization),
    /// The bank declined to authorize it anew.
    RenewalRefused(Refusal),
    /// The deposit is captured; none when nothing was due.
    Captured(Option<Capture>),
    /// Nothing is held of the deposit any more.
    Lapsed,
    /// The hold ends then.
    HoldEnds(Timestamp),
    /// The document is prepared.
    Document(Box<Prepared>),
    /// How the subscription stands.
    Subscribed(Box<Subscription>),
    /// The processor does not know the subscription.
    SubscriptionLost(String),
    /// What was let go of, and what the processor refused to.
    Settled {
        rows: Vec<Entry>,
        refused: Option<Refusal>,
    },
    /// How the customer's sessions on the processor's pages stand.
    Sessions(Vec<(Entry, Option<HostedSession>)>),
    /// Those that wait for the variant are to go on.
    Promoted(ProductVariantPubId),
    /// Something else happened.
    Happened(Event),
}

/// A document that is to be signed.
struct Prepared {
    document: NewAgreement,
    /// The price that it names.
    quote: Quote,
    /// Whom it names.
    profile: Profile,
}

/// Why a try came to nothing.
enum Setback {
    Doubt(Doubt),
    /// The provider has not decided: ask again then.
    NotYet(TimeDelta),
    /// The provider refused what must not be refused: a person has to see to it.
    Refused(Refusal),
    Failed(Error),
}

impl From<Doubt> for Setback {
    fn from(doubt: Doubt) -> Self {
        Self::Doubt(doubt)
    }
}

impl From<Error> for Setback {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Setback {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

#[async_trait]
impl Work for JobRunner {
    type Piece = Job;

    fn database(&self) -> &dyn Database {
        &*self.database
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.entropy
    }

    fn errand(&self, now: Timestamp) -> Errand {
        Errand::Jobs { due: now }
    }

    async fn claim(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<Job>, StoreError> {
        uow.jobs().claim(now, self.lease, most).await
    }
}

impl JobRunner {
    /// Delivers up to so many due jobs. Answers how many it took.
    ///
    /// # Errors
    /// [`Error::Store`] when the jobs cannot be taken.
    pub async fn run_due(&self, limit: u32) -> Result<usize, Error> {
        let jobs = self.take(&mut Round::default(), limit).await?;
        for job in &jobs {
            self.carry_out(job).await?;
        }
        Ok(jobs.len())
    }

    /// Takes up to so many due jobs, each of another subject, of every organization that has some in
    /// equal shares: one that has many keeps nobody else's waiting. Goes on where the round was left the
    /// last time. Whoever takes one [carries it out](Self::carry_out) or [hands it back](Self::hand_back)
    /// within the [lease](Self::lease); after that others may take it.
    ///
    /// # Errors
    /// [`StoreError`], where none were taken.
    pub async fn take(&self, round: &mut Round, limit: u32) -> Result<Vec<Job>, StoreError> {
        round.take(self, self.clock.now(), limit).await
    }

    /// Gives a job that was taken back, so that others may take it at once. A call
    /// that was under way is made again under the same key.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn hand_back(&self, job: &Job) -> Result<(), Error> {
        let mut uow = self.begin(job).await?;
        uow.jobs()
            .retry(
                job,
                self.clock.now(),
                "the worker stopped before it was done",
            )
            .await?;
        Ok(uow.commit().await?)
    }

    /// Delivers the next job of the organization's subject, due or not. None when there is none,
    /// or somebody else is at it.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn carry_out_next(
        &self,
        organization: OrganizationId,
        subject: JobSubject,
    ) -> Result<Option<JobResult>, Error> {
        let mut uow = self.database.begin(organization.into()).await?;
        let job = uow
            .jobs()
            .claim_of(subject, self.clock.now(), self.lease)
            .await?;
        uow.commit().await?;
        match job {
            Some(job) => self.carry_out(&job).await.map(Some),
            None => Ok(None),
        }
    }

    /// Delivers the jobs of the organization's subject until none is left, or one has to wait.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn drain(
        &self,
        organization: OrganizationId,
        subject: JobSubject,
    ) -> Result<(), Error> {
        while let Some(JobResult::Done) = self.carry_out_next(organization, subject).await? {}
        Ok(())
    }

    /// Delivers the next job of the checkout where it leaves the checkout in its state or brings
    /// it to this one; otherwise nothing of the answer is written, and the job waits as before.
    pub(super) async fn carry_out_towards(
        &self,
        organization: OrganizationId,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<Towards, Error> {
        let mut uow = self.database.begin(organization.into()).await?;
        let job = uow
            .jobs()
            .claim_of(JobSubject::Checkout(id), self.clock.now(), self.lease)
            .await?;
        uow.commit().await?;
        let Some(job) = job else {
            return Ok(Towards::NoJob);
        };
        let written = match self.perform(&job).await {
            Ok(Change::Authorized { authorization, .. })
                if target == Lifecycle::WaitlistedAfterDeposit =>
            {
                let sold_out = Change::Authorized {
                    authorization,
                    is_sold_out: true,
                };
                self.write_if(&job, sold_out, Some(target)).await
            }
            Ok(change) => self.write_if(&job, change, Some(target)).await,
            Err(setback) => Err(setback),
        };
        match written {
            Ok(Some(_)) => Ok(Towards::Done),
            Ok(None) | Err(Setback::NotYet(_) | Setback::Refused(_)) => {
                self.put_back(&job).await?;
                Ok(Towards::Elsewhere)
            }
            Err(Setback::Failed(error)) => {
                self.put_back(&job).await?;
                Err(error)
            }
            Err(Setback::Doubt(doubt)) => {
                self.put_back(&job).await?;
                Err(doubt.into())
            }
        }
    }

    /// When a provider answered, with the key where one asked for it.
    fn circumstances(&self, now: Timestamp) -> Circumstances {
        Circumstances {
            key: self.key,
            ..Circumstances::new(now, Actor::Provider)
        }
    }

    /// Begins work in the name of the job's organization.
    async fn begin(&self, job: &Job) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.database.begin(job.new.organization_id.into()).await
    }

    /// Opens a view in the name of the job's organization.
    async fn view(&self, job: &Job) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.database.read(job.new.organization_id.into()).await
    }

    /// Lets the job be taken again at once; one that is held stays held.
    async fn put_back(&self, job: &Job) -> Result<(), StoreError> {
        let mut uow = self.begin(job).await?;
        uow.jobs().renew(job, Duration::ZERO).await?;
        uow.commit().await
    }

    /// Tries one job that was [taken](Self::take).
    ///
    /// # Errors
    /// [`Error::Store`] when what became of it cannot be written down.
    pub async fn carry_out(&self, job: &Job) -> Result<JobResult, Error> {
        let work = std::pin::pin!(self.try_once(job));
        let keep = std::pin::pin!(self.keep(job));
        match select(work, keep).await {
            Either::Left((delivered, _)) => delivered,
            // Somebody else has the job: what this attempt writes is refused.
            Either::Right(((), work)) => work.await,
        }
    }

    /// Keeps others from the job for as long as this attempt is at it. Ends when it is lost.
    async fn keep(&self, job: &Job) {
        let pause = self.lease.checked_div(3).unwrap_or(self.lease);
        loop {
            self.timer.sleep(pause).await;
            // A database that does not answer now may do so before the lease is over.
            if matches!(self.renew(job).await, Ok(false)) {
                return;
            }
        }
    }

    async fn renew(&self, job: &Job) -> Result<bool, StoreError> {
        let mut uow = self.begin(job).await?;
        let is_ours = uow.jobs().renew(job, self.lease).await?;
        uow.commit().await?;
        Ok(is_ours)
    }

    async fn try_once(&self, job: &Job) -> Result<JobResult, Error> {
        self.probe.reached(CrashPoint::Taken, job.new.effect);
        let tried = match self.perform(job).await {
            Ok(change) => {
                self.probe.reached(CrashPoint::Answered, job.new.effect);
                self.write(job, change).await
            }
            Err(setback) => Err(setback),
        };
        let now = self.clock.now();
        let is_undecided = matches!(tried, Err(Setback::NotYet(_)));
        let (again, why) = match tried {
            Ok(delivered) => return Ok(delivered),
            Err(Setback::NotYet(pause)) => (
                now.checked_add_signed(pause),
                "the provider has not decided yet".to_owned(),
            ),
            Err(Setback::Doubt(doubt)) if job.new.effect.asks_organization() => {
                let why = chain(&doubt).to_string();
                match self.ask_again_at(job.attempts, now, &doubt) {
                    Some(again) => (Some(again), why),
                    None if job.new.effect == Effect::RequestSignature => (None, why),
                    // A question that nobody answers keeps nothing waiting that a person's decision leads to.
                    None => {
                        let given_up = Change::CreditUnanswered(why);
                        return match self.write(job, given_up).await {
                            Ok(delivered) => Ok(delivered),
                            Err(Setback::Failed(error)) => Err(error),
                            Err(Setback::Doubt(_) | Setback::NotYet(_) | Setback::Refused(_)) => {
                                Ok(JobResult::Buried)
                            }
                        };
                    }
                }
            }
            Err(Setback::Doubt(doubt))
                if job.attempts < MAX_ATTEMPTS || job.new.effect.only_asks() =>
            {
                // Most of the tries of one that asks were answered: not yet.
                let tries = if job.new.effect.only_asks() {
                    job.attempts.min(FEW_TRIES)
                } else {
                    job.attempts
                };
                (
                    now.checked_add_signed(self.pause(tries)),
                    chain(&doubt).to_string(),
                )
            }
            // Nothing rests on a renewal that nobody hears of: the hold lasts until its end, and what
            // was made unseen is found by its checkout's end or by a comparison.
            Err(Setback::Doubt(_)) if job.new.effect == Effect::RenewDeposit => {
                let given_up = Change::RenewalRefused(Refusal {
                    code: UNHEARD.to_owned(),
                    message: "The processor was not heard of.".to_owned(),
                });
                return match self.write(job, given_up).await {
                    Ok(delivered) => Ok(delivered),
                    Err(Setback::Failed(error)) => Err(error),
                    Err(Setback::Doubt(_) | Setback::NotYet(_) | Setback::Refused(_)) => {
                        Ok(JobResult::Buried)
                    }
                };
            }
            Err(Setback::Doubt(doubt)) => (None, chain(&doubt).to_string()),
            Err(Setback::Refused(refusal)) => (None, refused(&refusal)),
            Err(Setback::Failed(Error::Store(
                StoreError::Stale(_) | StoreError::Contended | StoreError::Unavailable(_),
            ))) => (
                now.checked_add_signed(TimeDelta::seconds(1)),
                "the store was contended".to_owned(),
            ),
            Err(Setback::Failed(error)) if job.attempts < MAX_ATTEMPTS => (
                now.checked_add_signed(self.pause(job.attempts)),
                chain(&error).to_string(),
            ),
            Err(Setback::Failed(error)) => (None, chain(&error).to_string()),
        };
        let mut uow = self.begin(job).await?;
        let outcome = match again {
            Some(at) => {
                uow.jobs().retry(job, at, &why).await?;
                if is_undecided {
                    JobResult::Undecided(at)
                } else {
                    JobResult::Later(at)
                }
            }
            None => {
                self.bury(uow.as_mut(), job, &why).await?;
                JobResult::Buried
            }
        };
        uow.commit().await?;
        Ok(outcome)
    }

    /// Puts the job aside for a person, who is told at its checkout.
    async fn bury(&self, uow: &mut dyn UnitOfWork, job: &Job, why: &str) -> Result<(), Error> {
        if let JobSubject::Checkout(id) = job.new.subject {
            let mut checkout = moving::lock(uow, id).await?;
            let detail = format!("{}: {why}", job.new.effect);
            let reason = AttentionReason::ProcessorRefused;
            if checkout.raise(reason, Some(detail), self.clock.now()) {
                uow.checkouts().update(&mut checkout).await?;
            }
        }
        Ok(uow.jobs().bury(job, why).await?)
    }

    /// One second, doubled with each try up to six hours, plus up to a quarter of
    /// itself so that many do not come back at once.
    fn pause(&self, attempts: u32) -> TimeDelta {
        let mut byte = [0_u8; 1];
        self.entropy.fill(&mut byte);
        let [jitter] = byte;
        let seconds = 1_i64
            .checked_shl(attempts.saturating_sub(1))
            .filter(|seconds| *seconds > 0);
        let pause = seconds
            .and_then(TimeDelta::try_seconds)
            .unwrap_or(LONGEST_PAUSE)
            .min(LONGEST_PAUSE);
        let extra = pause
            .num_milliseconds()
            .saturating_mul(i64::from(jitter))
            .checked_div(1024)
            .unwrap_or(0);
        pause
            .checked_add(&TimeDelta::milliseconds(extra))
            .unwrap_or(pause)
    }

    fn attempt_of(&self, job: &Job) -> Attempt {
        let now = self.clock.now();
        Attempt {
            organization_id: job.new.organization_id,
            mode: job.new.mode,
            idempotency_key: job.idempotency_key(),
            // Not when it was first tried: a database that was restored does not know of tries.
            first_tried_at: job.new.created_at,
            now,
        }
    }
}

/// The code of a renewal that was given up because the processor did not answer.
const UNHEARD: &str = "processor_unheard";

/// A refusal, as people read it.
fn refused(refusal: &Refusal) -> String {
    format!("refused: {} ({})", refusal.message, refusal.code)
}
