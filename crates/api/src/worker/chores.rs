//! What is done from time to time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::simulated::SimulatedProcessor;
use lessor_domain::access::Mode;
use lessor_domain::ports::{Clock, Database, Doubt, IdGenerator, StoreError};
use lessor_domain::services::Error;
use lessor_domain::services::payments::{self, Handled};
use lessor_domain::workers::housekeeping::{Housekeeper, Tidied};
use lessor_domain::workers::inbox::Inbox;
use lessor_domain::workers::reconcile::Reconciler;

/// Answers to repeated requests are kept for so long.
const ANSWERS_KEPT: TimeDelta = TimeDelta::hours(24);
/// Jobs that are done are kept for so long.
const JOBS_KEPT: TimeDelta = TimeDelta::days(30);

/// Something that is done from time to time, by any number of processes.
#[async_trait]
pub trait Chore: Send + Sync {
    /// Its name, for logs.
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

/// Tells the metrics what the gauges mean.
pub(super) fn describe() {
    metrics::describe_gauge!("outbox_jobs_pending", "Outbox jobs that are to be done");
    metrics::describe_gauge!(
        "outbox_jobs_dead",
        "Outbox jobs that were given up and wait for a person"
    );
    metrics::describe_counter!(
        "reconciliation_differences_total",
        "Differences found between leases and the processor, by whether they were mended"
    );
}

/// Expiry, renewal and lapse of deposits, ends of leases, polled carriers.
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
        if tidied != Tidied::default() {
            tracing::info!(
                expired = tidied.expired,
                renewals = tidied.renewals,
                lapsed = tidied.lapsed,
                ended = tidied.ended,
                reports = tidied.reports,
                "housekeeping"
            );
        }
        let batch = usize::try_from(self.0.policy.batch).unwrap_or(usize::MAX);
        let full = [tidied.expired, tidied.lapsed, tidied.ended]
            .into_iter()
            .any(|count| count >= batch);
        Ok(if full { Done::More } else { Done::ForNow })
    }
}

/// Counts the jobs that wait, for the metrics.
pub struct Backlog(pub Arc<dyn Database>);

#[async_trait]
impl Chore for Backlog {
    fn name(&self) -> &'static str {
        "backlog"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let (pending, dead) = self.0.read().await?.outbox().backlog().await?;
        metrics::gauge!("outbox_jobs_pending").set(as_gauge(pending));
        metrics::gauge!("outbox_jobs_dead").set(as_gauge(dead));
        Ok(Done::ForNow)
    }
}

/// A count as the metrics take it.
fn as_gauge(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Forgets answers and jobs that nobody will ask for any more.
pub struct Purge {
    /// Where they are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
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
        let mut uow = self.database.begin().await?;
        let mut forgotten = (0, 0);
        if let Some(before) = now.checked_sub_signed(ANSWERS_KEPT) {
            forgotten.0 = uow.idempotency().purge(before).await?;
        }
        if let Some(before) = now.checked_sub_signed(JOBS_KEPT) {
            forgotten.1 = uow.outbox().purge_done(before).await?;
        }
        uow.commit().await?;
        if forgotten != (0, 0) {
            tracing::info!(answers = forgotten.0, jobs = forgotten.1, "forgotten");
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
        "kept messages"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(5)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        self.0.handle_kept(MESSAGES).await?;
        Ok(Done::ForNow)
    }
}

/// How many leases are compared at once.
const LEASES: u32 = 100;

/// Compares leases with the subscriptions that the processor has, and mends what may be mended.
pub struct Reconciliation(pub Reconciler);

#[async_trait]
impl Chore for Reconciliation {
    fn name(&self) -> &'static str {
        "reconciliation"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        for mode in [Mode::Live, Mode::Sandbox] {
            let mut after = None;
            loop {
                let compared = match self.0.compare(mode, after, LEASES, true).await {
                    // Without a processor nothing is billed.
                    Err(Error::Provider(Doubt::Unconfigured(_))) => break,
                    compared => compared?,
                };
                for finding in &compared.findings {
                    tracing::warn!(
                        checkout = %finding.checkout,
                        mode = mode.as_str(),
                        difference = %finding.difference,
                        mended = finding.mended,
                        "a lease and the processor differ"
                    );
                    let mended = if finding.mended { "yes" } else { "no" };
                    metrics::counter!("reconciliation_differences_total", "mended" => mended)
                        .increment(1);
                }
                let Some(next) = compared.next else { break };
                after = Some(next);
            }
        }
        Ok(Done::ForNow)
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
        "simulated invoices"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn run(&self) -> Result<Done, ChoreError> {
        let now = self.clock.now();
        for invoice in self.processor.due_invoices(now).await? {
            let mut uow = self.database.begin().await?;
            let event = invoice.event();
            let failure = invoice.failure.clone();
            let handled =
                payments::handle(uow.as_mut(), self.ids.as_ref(), now, &event, failure).await?;
            if handled == Handled::NotYet {
                // The lease does not know its subscription yet: it is told at the next round.
                continue;
            }
            uow.commit().await?;
            self.processor.mark_told(&invoice, now).await?;
        }
        Ok(Done::ForNow)
    }
}
