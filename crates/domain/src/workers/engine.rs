//! Every port, in one bag.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::couriers::{Courier, DELIVERY_LEASE, PER_ENDPOINT, SLOW_AFTER};
use super::housekeeping::{Housekeeper, Policy};
use super::inbox::Inbox;
use super::jobs::{JOB_LEASE, JobRunner, NoProbe, Probe, SETTLED};
use super::mailers::{Endings, MAIL_LEASE, Mailer};
use super::reconcile::Reconciler;
use super::sandbox::Sandbox;
use crate::credit::DECISIONS_HOLD;
use crate::mail::MailModes;
use crate::ports::{
    Clock, Database, Entropy, EventRecords, IdGenerator, MailSender, MailWriter, ProviderSet,
    Timer, WebhookSender,
};
use crate::text::Email;

/// The ports, filled: what a service that leases is made of. Each worker takes those that it needs.
/// Cloning shares them.
#[derive(Clone)]
pub struct Engine {
    /// The stores.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// Where secrets come from, and the jitter of pauses.
    pub entropy: Arc<dyn Entropy>,
    /// What waits.
    pub timer: Arc<dyn Timer>,
    /// Payment processor, verifiers, signers and carriers.
    pub providers: ProviderSet,
    /// How long a job that was taken is kept from others; [`JOB_LEASE`] unless it is told otherwise.
    pub job_lease: Duration,
    /// How long something may come of a request whose answer was lost; [`SETTLED`] unless it is told
    /// otherwise.
    pub job_settled: TimeDelta,
    /// How long an organization's approval of a customer's credit holds; [`DECISIONS_HOLD`] unless it is
    /// told otherwise.
    pub credit_holds: TimeDelta,
    /// Who watches jobs being carried out; nobody, unless it is told otherwise.
    pub probe: Arc<dyn Probe>,
}

impl Engine {
    /// These ports, with the usual times.
    #[must_use]
    pub fn new(
        database: Arc<dyn Database>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        entropy: Arc<dyn Entropy>,
        timer: Arc<dyn Timer>,
        providers: ProviderSet,
    ) -> Self {
        Self {
            database,
            clock,
            ids,
            entropy,
            timer,
            providers,
            job_lease: JOB_LEASE,
            job_settled: SETTLED,
            credit_holds: DECISIONS_HOLD,
            probe: Arc::new(NoProbe),
        }
    }

    /// Who carries jobs out.
    #[must_use]
    pub fn jobs(&self) -> JobRunner {
        JobRunner {
            database: Arc::clone(&self.database),
            providers: self.providers.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            entropy: Arc::clone(&self.entropy),
            timer: Arc::clone(&self.timer),
            lease: self.job_lease,
            settled: self.job_settled,
            credit_holds: self.credit_holds,
            probe: Arc::clone(&self.probe),
            key: None,
        }
    }

    /// Who tells endpoints what happened, as these write it and send it.
    #[must_use]
    pub fn courier(
        &self,
        records: Arc<dyn EventRecords>,
        sender: Arc<dyn WebhookSender>,
    ) -> Courier {
        Courier {
            database: Arc::clone(&self.database),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            entropy: Arc::clone(&self.entropy),
            records,
            sender,
            lease: DELIVERY_LEASE,
            per_endpoint: PER_ENDPOINT,
            slow_after: SLOW_AFTER,
        }
    }

    /// Who sends mails, as these write them and send them; those of the sandbox to this address alone.
    #[must_use]
    pub fn mailer(
        &self,
        writer: Arc<dyn MailWriter>,
        sender: Arc<dyn MailSender>,
        sandbox_to: Option<Email>,
    ) -> Mailer {
        Mailer {
            database: Arc::clone(&self.database),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            writer,
            sender,
            sandbox_to,
            lease: MAIL_LEASE,
        }
    }

    /// Who tells customers so long before that their leases end.
    #[must_use]
    pub fn endings(&self, modes: MailModes, soon: TimeDelta) -> Endings {
        Endings {
            database: Arc::clone(&self.database),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            modes,
            soon,
        }
    }

    /// Who takes the payment processor's messages in.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        Inbox {
            database: Arc::clone(&self.database),
            providers: self.providers.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
        }
    }

    /// Who plays what customers and providers do in sandbox mode.
    #[must_use]
    pub fn sandbox(&self) -> Sandbox {
        Sandbox {
            runner: self.jobs(),
            timer: Arc::clone(&self.timer),
        }
    }

    /// Who brings about what time does.
    #[must_use]
    pub fn housekeeper(&self, policy: Policy) -> Housekeeper {
        Housekeeper {
            database: Arc::clone(&self.database),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            tracker: self.providers.tracker.clone(),
            policy,
        }
    }

    /// Who compares leases with what the processor bills.
    #[must_use]
    pub fn reconciler(&self) -> Reconciler {
        Reconciler {
            database: Arc::clone(&self.database),
            providers: self.providers.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
        }
    }
}
