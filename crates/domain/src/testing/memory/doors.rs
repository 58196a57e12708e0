//! What is asked across organizations.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::Memory;
use super::checkouts::{
    all, billing_since, ends_on, heard_at, is_billed, is_shipment_of, is_under_way, is_untouched,
    lapses, opened, opens,
};
use super::customers::is_screened_in;
use super::idempotency::is_old;
use super::jobs::{due, is_done_before};
use super::ledger::pays;
use super::tables::Owned;
use crate::access::Mode;
use crate::checkout::{AttentionReason, Tracking};
use crate::ids::{CheckoutPubId, MailPubId, OrganizationId};
use crate::ledger::HoldState;
use crate::mail::MailState;
use crate::ports::{
    Backlog, Doors, Errand, Held, Job, JobState, MailBacklog, PageToken, StateCounts, StoreError,
};
use crate::time::Timestamp;

impl Memory {
    /// Those whose tables are so, in the order of their numbers.
    fn owners(&self, is_so: impl Fn(&Owned) -> bool) -> Vec<OrganizationId> {
        let tables = self.tables();
        let owners = tables.each().filter(|(_, owned)| is_so(owned));
        owners.map(|(id, _)| id).collect()
    }

    /// The one whose tables are so.
    fn owner(&self, is_so: impl Fn(&Owned) -> bool) -> Option<OrganizationId> {
        self.owners(is_so).first().copied()
    }
}

/// Whether the organization's own query for the errand would find anything.
fn has(owned: &Owned, errand: Errand, clock: Timestamp) -> bool {
    match errand {
        Errand::Jobs { due: now } => due(&owned.jobs, now, clock).next().is_some(),
        Errand::Expiry { before } => all(owned).any(|checkout| is_untouched(checkout, before)),
        Errand::Lapse { before } => all(owned).any(|checkout| lapses(checkout, before)),
        Errand::LeaseEnd { before } => {
            all(owned).any(|checkout| ends_on(checkout).is_some_and(|end| end < before))
        }
        Errand::Billing { before } => {
            all(owned).any(|checkout| billing_since(checkout).is_some_and(|at| at < before))
        }
        Errand::Silence { before } => {
            all(owned).any(|checkout| heard_at(checkout).is_some_and(|at| at < before))
        }
        Errand::Shipments => all(owned).any(is_under_way),
        Errand::Billed { mode } => all(owned).any(|checkout| is_billed(checkout, mode)),
        Errand::OwnAccount { mode } => owned.processor_accounts.contains_key(&mode),
        Errand::OldAnswers { before } => {
            owned.answers.values().any(|answer| is_old(answer, before))
        }
        Errand::OldJobs { before } => owned.jobs.iter().any(|row| is_done_before(row, before)),
        Errand::UnnumberedEvents => owned.events.iter().any(|row| row.sequence.is_none()),
        Errand::OldEvents { before } => owned
            .events
            .iter()
            .any(|row| super::events::is_old(row, before)),
        Errand::Deliveries { due } => super::deliveries::are_due(owned, due, clock),
        Errand::OldDeliveries { before } => owned
            .deliveries
            .values()
            .any(|row| super::deliveries::is_old(row, before)),
        Errand::Mails { due } => super::mails::are_due(owned, due, clock),
        Errand::OldMails { before } => owned
            .mails
            .values()
            .any(|row| super::mails::is_old(row, before)),
        Errand::Endings { mode, from, before } => {
            !super::mails::endings(owned, mode, from, before).is_empty()
        }
    }
}

#[async_trait]
impl Doors for Memory {
    async fn owner_of_checkout(
        &mut self,
        id: CheckoutPubId,
    ) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| owned.checkouts.contains_key(&id)))
    }

    async fn owner_of_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| owned.checkouts.values().any(|row| opens(token, row))))
    }

    async fn owner_of_ended_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| owned.checkouts.values().any(|row| opened(token, row))))
    }

    async fn owner_of_payment(
        &mut self,
        mode: Mode,
        id: &str,
    ) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| {
            let mut rows = owned.ledger.iter();
            rows.any(|row| row.mode == mode && (row.entry.id == id || pays(&row.entry, id)))
        }))
    }

    async fn owner_of_verification(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| {
            let mut customers = owned.customers.values();
            customers.any(|customer| is_screened_in(customer, mode, session_id))
        }))
    }

    async fn owner_of_job(&mut self, id: Uuid) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| owned.jobs.iter().any(|row| row.job.new.id == id)))
    }

    async fn owner_of_mail(&mut self, id: MailPubId) -> Result<Option<OrganizationId>, StoreError> {
        Ok(self.owner(|owned| owned.mails.contains_key(&id)))
    }

    async fn owners_of_shipment(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<OrganizationId>, StoreError> {
        Ok(self.owners(|owned| all(owned).any(|checkout| is_shipment_of(checkout, tracking))))
    }

    async fn owners_with(&mut self, errand: Errand) -> Result<Vec<OrganizationId>, StoreError> {
        let clock = match errand {
            // As if somebody came and told the time to take them.
            Errand::Jobs { due } | Errand::Deliveries { due } => self.clock().max(due),
            _ => self.clock(),
        };
        Ok(self.owners(|owned| has(owned, errand, clock)))
    }

    async fn attention(&mut self) -> Result<Vec<(AttentionReason, u64)>, StoreError> {
        let tables = self.tables();
        let checkouts = tables.each().flat_map(|(_, owned)| all(owned));
        let mut counts = BTreeMap::new();
        for shown in checkouts.flat_map(|checkout| &checkout.attention) {
            let count: &mut u64 = counts.entry(shown.reason).or_default();
            *count = count.saturating_add(1);
        }
        Ok(counts.into_iter().collect())
    }

    async fn states(&mut self) -> Result<StateCounts, StoreError> {
        let tables = self.tables();
        let mut counts = StateCounts::new();
        for checkout in tables.each().flat_map(|(_, owned)| all(owned)) {
            let key = (checkout.mode, checkout.lifecycle());
            let count: &mut u64 = counts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        Ok(counts)
    }

    async fn backlog(&mut self) -> Result<Backlog, StoreError> {
        let tables = self.tables();
        let jobs = tables.each().flat_map(|(_, owned)| &owned.jobs);
        let pending = jobs.filter(|row| row.job.state == JobState::Pending);
        let first_due = pending.map(|row| row.job.new.available_at).min();
        let count = |holds: fn(&Job) -> bool| {
            let rows = tables.each().flat_map(|(_, owned)| &owned.jobs);
            let jobs = rows.filter(|row| holds(&row.job));
            u64::try_from(jobs.count()).unwrap_or(u64::MAX)
        };
        Ok(Backlog {
            pending: count(|job| job.state == JobState::Pending),
            in_doubt: count(|job| job.state == JobState::Pending && job.last_error.is_some()),
            dead: count(|job| job.state == JobState::Dead),
            first_due,
        })
    }

    async fn mail_backlog(&mut self) -> Result<MailBacklog, StoreError> {
        let tables = self.tables();
        let count = |state: MailState| {
            let rows = tables.each().flat_map(|(_, owned)| owned.mails.values());
            let mails = rows.filter(|row| row.mail.state == state);
            u64::try_from(mails.count()).unwrap_or(u64::MAX)
        };
        Ok(MailBacklog {
            pending: count(MailState::Pending),
            dead: count(MailState::Dead),
        })
    }

    async fn held(&mut self) -> Result<Held, StoreError> {
        let tables = self.tables();
        let rows = tables.each().flat_map(|(_, owned)| &owned.ledger);
        let held = rows
            .map(|row| &row.entry)
            .filter(|row| row.hold_state() == Some(HoldState::Held));
        Ok(held.fold(Held::default(), |held, row| Held {
            count: held.count.saturating_add(1),
            oldest: Some(held.oldest.map_or(row.at, |oldest| oldest.min(row.at))),
        }))
    }
}
