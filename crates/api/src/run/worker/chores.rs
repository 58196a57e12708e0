//! What is done from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::simulated::SimulatedProcessor;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Lifecycle};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Clock, Database, Doubt, Errand, IdGenerator, Reach, Scope, StoreError};
use lessor_domain::services::payments::{self, Findings};
use lessor_domain::services::{Concern, Error, events};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::housekeeping::{Housekeeper, HousekeepingReport};
use lessor_domain::workers::inbox::Inbox;
use lessor_domain::workers::reconcile::{Reconciler, Report};

use crate::state::feeds::Feeds;
use crate::telemetry::outage::IsOutage;
use crate::telemetry::{CHECKOUTS, as_gauge};

/// Answers to repeated requests are kept for so long.
const ANSWERS_KEPT: TimeDelta = TimeDelta::hours(24);
/// Jobs that are done are kept for so long.
const JOBS_KEPT: TimeDelta = TimeDelta::days(30);
/// Mails that are over are kept for so long: longer before its end than any lease is told of.
const MAILS_KEPT: TimeDelta = TimeDelta::days(90);
/// How many events are forgotten in a transaction.
const EVENTS_AT_ONCE: u32 = 1_000;
/// How long what carriers told of unknown shipments is kept.
const REPORTS_KEPT: TimeDelta = TimeDelta::days(30);

/// Something that is done from time to time, by any number of processes.
#[async_trait]
pub trait Chore: Send + Sync {
    /// Its name, for logs and metrics.
    fn name(&self) -> &'static str;

    /// The pause after it is done.
    fn every(&self) -> Duration;

    /// Does it once.
    async fn run(&self) -> Result<Done, ChoreError>;
}

/// Whether a chore is done for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// There is nothing left.
    ForNow,
    /// There is more, to be done at once.
    More,
}

/// Why a chore was not done.
#[derive(Debug, thiserror::Error)]
pub enum ChoreError {
    /// A use case refused or failed.
    #[error(transparent)]
    Service(#[from] Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A provider failed.
    #[error(transparent)]
    Provider(#[from] Doubt),
}

impl IsOutage for ChoreError {
    fn is_outage(&self) -> bool {
        match self {
            Self::Service(error) => error.is_outage(),
            Self::Store(error) => error.is_outage(),
            // The simulated ones keep what they know in the database.
            Self::Provider(doubt) => iter::successors(doubt.source(), |&cause| cause.source())
                .filter_map(|cause| cause.downcast_ref::<StoreError>())
                .any(IsOutage::is_outage),
        }
    }
}

/// Expiry, renewal and check of deposits, what is overdue, ends of leases, polled carriers.
pub struct Housekeeping(pub Housekeeper);

#[async_trait]
impl Chore for Housekeeping {
    fn name(&self) -> &'static str {
        "housekeeping"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let tidied = self.0.run_once().await?;
        if tidied != HousekeepingReport::default() {
            tracing::info!(
                expired = tidied.expired,
                renewals = tidied.renewals,
                checks = tidied.checks,
                raised = tidied.raised,
                ended = tidied.ended,
                reports = tidied.reports,
                "housekeeping"
            );
        }
        let batch = usize::try_from(self.0.policy.batch).unwrap_or(usize::MAX);
        // The others walk to their end by themselves.
        let full = [tidied.expired, tidied.ended]
            .into_iter()
            .any(|count| count >= batch);
        Ok(if full { Done::More } else { Done::ForNow })
    }
}

/// Counts what waits and what a person must look at, for the metrics.
pub struct Gauges {
    /// Where it is.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Chore for Gauges {
    fn name(&self) -> &'static str {
        "gauges"
    }

    /// As often as they are usually collected.
    fn every(&self) -> Duration {
        Duration::from_secs(15)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let mut view = self.database.read(Reach::Server).await?;
        let jobs = view.doors().backlog().await?;
        metrics::gauge!("lessor_jobs_pending").set(as_gauge(jobs.pending));
        metrics::gauge!("lessor_jobs_in_doubt").set(as_gauge(jobs.in_doubt));
        metrics::gauge!("lessor_jobs_dead").set(as_gauge(jobs.dead));
        metrics::gauge!("lessor_jobs_oldest_seconds").set(self.age(jobs.first_due));
        let (waiting, failed) = view.inbox().backlog().await?;
        metrics::gauge!("lessor_inbox_messages_waiting").set(as_gauge(waiting));
        metrics::gauge!("lessor_inbox_messages_failed").set(as_gauge(failed));
        let mails = view.doors().mail_backlog().await?;
        metrics::gauge!("lessor_mails_pending").set(as_gauge(mails.pending));
        metrics::gauge!("lessor_mails_dead").set(as_gauge(mails.dead));
        let known = view.doors().attention().await?;
        for reason in AttentionReason::ALL.iter().copied() {
            let counted = known.iter().find(|(of, _)| *of == reason);
            let count = counted.map_or(0, |(_, count)| *count);
            metrics::gauge!("lessor_checkouts_needing_attention", "reason" => reason.as_str())
                .set(as_gauge(count));
        }
        let behind = view.doors().owners_with(Errand::UnnumberedEvents).await?;
        metrics::gauge!("lessor_event_feeds_waiting").set(as_gauge(behind.len()));
        let due = Errand::Deliveries {
            due: self.clock.now(),
        };
        let due = view.doors().owners_with(due).await?;
        metrics::gauge!("lessor_webhook_queues_due").set(as_gauge(due.len()));
        let held = view.doors().held().await?;
        metrics::gauge!("lessor_deposits_held").set(as_gauge(held.count));
        metrics::gauge!("lessor_deposits_held_oldest_seconds").set(self.age(held.oldest));
        Ok(Done::ForNow)
    }
}

impl Gauges {
    /// How many seconds ago it was; none where it is still to come, or there is nothing.
    fn age(&self, since: Option<Timestamp>) -> f64 {
        let seconds = since.map_or(0, |since| (self.clock.now() - since).num_seconds());
        as_gauge(seconds.max(0))
    }
}

/// Counts checkouts by their states, for the metrics. It looks at every one, so it does so less often.
pub struct Census {
    /// Where they are.
    pub database: Arc<dyn Database>,
}

#[async_trait]
impl Chore for Census {
    fn name(&self) -> &'static str {
        "census"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let mut view = self.database.read(Reach::Server).await?;
        let counted = view.doors().states().await?;
        for mode in Mode::ALL {
            for state in Lifecycle::ALL.iter().copied() {
                let count = counted.get(&(mode, state)).copied().unwrap_or_default();
                metrics::gauge!(CHECKOUTS, "mode" => mode.as_str(), "state" => state.as_str())
                    .set(as_gauge(count));
            }
        }
        Ok(Done::ForNow)
    }
}

/// Forgets answers, jobs and reports that nobody will ask for any more.
pub struct Purge {
    /// Where they are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How long events are kept.
    pub events_kept: TimeDelta,
}

#[async_trait]
impl Chore for Purge {
    fn name(&self) -> &'static str {
        "purge"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let now = self.clock.now();
        let (mut answers, mut jobs, mut reports) = (0_u64, 0_u64, 0_u64);
        if let Some(before) = now.checked_sub_signed(ANSWERS_KEPT) {
            for owner in self.owners_with(Errand::OldAnswers { before }).await? {
                let mut uow = self.database.begin(owner.into()).await?;
                answers = answers.saturating_add(uow.idempotency().purge(before).await?);
                uow.commit().await?;
            }
        }
        if let Some(before) = now.checked_sub_signed(JOBS_KEPT) {
            for owner in self.owners_with(Errand::OldJobs { before }).await? {
                let mut uow = self.database.begin(owner.into()).await?;
                jobs = jobs.saturating_add(uow.jobs().purge_done(before).await?);
                uow.commit().await?;
            }
        }
        if let Some(before) = now.checked_sub_signed(REPORTS_KEPT) {
            let mut uow = self.database.begin(Reach::Server).await?;
            reports = uow.shipments().purge_unclaimed(before).await?;
            uow.commit().await?;
        }
        let events = self.forget_events().await?;
        let deliveries = self.forget_deliveries().await?;
        let mails = self.forget_mails().await?;
        if (answers, jobs, reports, events, deliveries, mails) != (0, 0, 0, 0, 0, 0) {
            tracing::info!(
                answers,
                jobs,
                reports,
                events,
                deliveries,
                mails,
                "forgotten"
            );
        }
        Ok(Done::ForNow)
    }
}

impl Purge {
    /// Forgets old events, so many in a transaction.
    async fn forget_events(&self) -> Result<u64, StoreError> {
        let Some(before) = self.clock.now().checked_sub_signed(self.events_kept) else {
            return Ok(0);
        };
        let mut forgotten = 0_u64;
        for owner in self.owners_with(Errand::OldEvents { before }).await? {
            loop {
                let mut uow = self.database.begin(owner.into()).await?;
                let purged = uow.events().purge(before, EVENTS_AT_ONCE).await?;
                uow.commit().await?;
                forgotten = forgotten.saturating_add(purged);
                if purged < u64::from(EVENTS_AT_ONCE) {
                    break;
                }
            }
        }
        Ok(forgotten)
    }

    /// Forgets what became of old events, so many deliveries in a transaction.
    async fn forget_deliveries(&self) -> Result<u64, StoreError> {
        let Some(before) = self.clock.now().checked_sub_signed(self.events_kept) else {
            return Ok(0);
        };
        let mut forgotten = 0_u64;
        for owner in self.owners_with(Errand::OldDeliveries { before }).await? {
            loop {
                let mut uow = self.database.begin(owner.into()).await?;
                let purged = uow.deliveries().purge(before, EVENTS_AT_ONCE).await?;
                uow.commit().await?;
                forgotten = forgotten.saturating_add(purged);
                if purged < u64::from(EVENTS_AT_ONCE) {
                    break;
                }
            }
        }
        Ok(forgotten)
    }

    /// Forgets old mails, so many in a transaction.
    async fn forget_mails(&self) -> Result<u64, StoreError> {
        let Some(before) = self.clock.now().checked_sub_signed(MAILS_KEPT) else {
            return Ok(0);
        };
        let mut forgotten = 0_u64;
        for owner in self.owners_with(Errand::OldMails { before }).await? {
            loop {
                let mut uow = self.database.begin(owner.into()).await?;
                let purged = uow.mails().purge(before, EVENTS_AT_ONCE).await?;
                uow.commit().await?;
                forgotten = forgotten.saturating_add(purged);
                if purged < u64::from(EVENTS_AT_ONCE) {
                    break;
                }
            }
        }
        Ok(forgotten)
    }

    /// Who has something to be forgotten: each has it forgotten in its own name.
    async fn owners_with(&self, errand: Errand) -> Result<Vec<OrganizationId>, StoreError> {
        let mut view = self.database.read(Reach::Server).await?;
        view.doors().owners_with(errand).await
    }
}

/// Numbers events that nobody else did: of commands, and of processes that ended first.
pub struct Numbers {
    /// Where they are.
    pub database: Arc<dyn Database>,
    /// Where ids of deliveries come from.
    pub ids: Arc<dyn IdGenerator>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who waits for them.
    pub feeds: Feeds,
}

#[async_trait]
impl Chore for Numbers {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let mut view = self.database.read(Reach::Server).await?;
        let owners = view.doors().owners_with(Errand::UnnumberedEvents).await?;
        drop(view);
        for organization_id in owners {
            for mode in Mode::ALL {
                let scope = Scope {
                    organization_id,
                    mode,
                };
                if events::number(&*self.database, &*self.ids, &*self.clock, scope).await? {
                    self.feeds.ring(Some(scope));
                }
            }
        }
        Ok(Done::ForNow)
    }
}

/// Mails about leases that end soon.
pub struct Endings(pub lessor_domain::workers::mailers::Endings);

#[async_trait]
impl Chore for Endings {
    fn name(&self) -> &'static str {
        "endings"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let told = self.0.run().await?;
        if told > 0 {
            tracing::info!(told, "leases end soon");
        }
        Ok(Done::ForNow)
    }
}

/// How many messages are handled at once.
const MESSAGES: u32 = 100;

/// The processor's messages that were kept and not handled yet.
pub struct KeptMessages(pub Inbox);

#[async_trait]
impl Chore for KeptMessages {
    fn name(&self) -> &'static str {
        "keptMessages"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(5)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        self.0.handle_kept(MESSAGES).await?;
        Ok(Done::ForNow)
    }
}

/// Compares checkouts with the processor's records, and mends what may be mended.
pub struct Reconciliation {
    reconciler: Reconciler,
    clock: Arc<dyn Clock>,
    /// What the metrics were told of, which has to be told of when it is over too.
    told: Mutex<BTreeSet<(Mode, &'static str)>>,
}

impl Reconciliation {
    /// The chore of this reconciler.
    #[must_use]
    pub fn new(reconciler: Reconciler, clock: Arc<dyn Clock>) -> Self {
        Self {
            reconciler,
            clock,
            told: Mutex::default(),
        }
    }

    fn tell(&self, mode: Mode, report: &Report) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.iter().filter(|(of, _)| *of == mode);
        let mut open: BTreeMap<&'static str, u64> = before.map(|(_, name)| (*name, 0)).collect();
        for finding in &report.findings {
            let name = finding.difference.name();
            tracing::warn!(
                checkout = %finding.checkout,
                mode = mode.as_str(),
                difference = name,
                what = %finding.difference,
                mended = finding.mended,
                "a checkout and the processor differ"
            );
            let mended = if finding.mended { "yes" } else { "no" };
            metrics::counter!("lessor_reconcile_differences_total", "mended" => mended)
                .increment(1);
            if !finding.mended {
                let count = open.entry(name).or_default();
                *count = count.saturating_add(1);
            }
        }
        for (name, count) in open {
            told.insert((mode, name));
            metrics::gauge!(
                "lessor_reconcile_differences", "mode" => mode.as_str(), "difference" => name
            )
            .set(as_gauge(count));
        }
        for failure in &report.failures {
            tracing::warn!(
                checkout = failure.checkout.map(|id| id.to_string()),
                mode = mode.as_str(),
                problem = failure.problem,
                "a checkout could not be compared with the processor"
            );
        }
        metrics::gauge!("lessor_reconcile_failures", "mode" => mode.as_str())
            .set(as_gauge(report.failures.len()));
        if report.messages > 0 {
            tracing::warn!(
                mode = mode.as_str(),
                messages = report.messages,
                "messages of the processor had not come, and were read from its list"
            );
            let messages = u64::try_from(report.messages).unwrap_or(u64::MAX);
            metrics::counter!("lessor_reconcile_messages_total").increment(messages);
        }
        metrics::gauge!(
            "lessor_reconcile_finished_timestamp_seconds", "mode" => mode.as_str()
        )
        .set(as_gauge(self.clock.now().timestamp()));
    }
}

#[async_trait]
impl Chore for Reconciliation {
    fn name(&self) -> &'static str {
        "reconciliation"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let mut failed = None;
        for mode in [Mode::Live, Mode::Sandbox] {
            match self.reconciler.run(mode, true).await {
                Ok(report) => self.tell(mode, &report),
                // Without a processor nothing is billed.
                Err(Error::Provider(Doubt::Unconfigured(_))) => {}
                // The other mode's processor may answer.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(Done::ForNow),
        }
    }
}

/// The payments that the simulated processor makes by itself, month by month.
pub struct SimulatedInvoices {
    /// Who makes them.
    pub processor: SimulatedProcessor,
    /// Where leases are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
}

#[async_trait]
impl Chore for SimulatedInvoices {
    fn name(&self) -> &'static str {
        "simulatedInvoices"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let now = self.clock.now();
        for invoice in self.processor.due_invoices(now).await? {
            let owner = invoice.organization_id;
            let mut uow = self.database.begin(owner.into()).await?;
            let event = invoice.event();
            let asked = Findings {
                refusal: invoice.failure.clone(),
                invoice: None,
            };
            let handled = payments::handle(
                uow.as_mut(),
                self.ids.as_ref(),
                now,
                &event,
                asked,
                Some(owner),
            )
            .await?;
            if handled == Concern::NotYet {
                // The lease does not know its subscription yet: it is told at the next round.
                uow.roll_back().await?;
                continue;
            }
            uow.commit().await?;
            self.processor.mark_told(&invoice, now).await?;
        }
        Ok(Done::ForNow)
    }
}
