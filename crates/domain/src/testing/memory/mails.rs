//! Mails, and the addresses that nothing is sent to.

use std::cmp::Reverse;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;

use super::Memory;
use super::checkouts::all;
use super::tables::{MailRow, Owned};
use crate::access::Mode;
use crate::checkout::{Checkout, Lifecycle};
use crate::ids::{CheckoutPubId, MailPubId};
use crate::mail::{Mail, MailKind, MailState, MailSubject, NewMail, SuppressionReason};
use crate::ports::{Erasure, MailFilter, MailStore, StoreError};
use crate::text::Email;
use crate::time::{Day, Timestamp};

impl MailRow {
    fn is_pending(&self) -> bool {
        self.mail.state == MailState::Pending
    }

    fn is_due(&self, now: Timestamp, clock: Timestamp) -> bool {
        let is_time = self.mail.next_attempt_at.is_some_and(|at| at <= now);
        let is_free = self.leased_until.is_none_or(|until| until <= clock);
        self.is_pending() && is_time && is_free
    }

    /// Whether this claim of it is the last one.
    fn is_claim(&self, mail: &Mail) -> bool {
        self.is_pending() && self.mail.claims == mail.claims && self.leased_until.is_some()
    }

    fn is_about(&self, checkouts: &[CheckoutPubId]) -> bool {
        matches!(self.mail.new.subject, MailSubject::Checkout(id) if checkouts.contains(&id))
    }
}

/// Whether some mail can be taken by the time.
pub(super) fn are_due(owned: &Owned, now: Timestamp, clock: Timestamp) -> bool {
    owned.mails.values().any(|row| row.is_due(now, clock))
}

/// Whether it is over and was made before the time.
pub(super) fn is_old(row: &MailRow, before: Timestamp) -> bool {
    row.mail.is_over() && row.mail.new.created_at < before
}

/// The leases of which somebody has to be told that they end, the first to end first.
pub(super) fn endings(owned: &Owned, mode: Mode, from: Day, before: Day) -> Vec<CheckoutPubId> {
    let is_told = |id| {
        let about = MailSubject::Checkout(id);
        let rows = owned.mails.values().map(|row| &row.mail.new);
        rows.into_iter()
            .any(|new| new.kind == MailKind::LeaseEndsSoon && new.subject == about)
    };
    let ends = |checkout: &Checkout| {
        let is_active = checkout.lifecycle() == Lifecycle::LeaseActive && checkout.mode == mode;
        let end = checkout.lease.end.filter(|_| is_active)?;
        (from <= end && end < before && !is_told(checkout.id)).then_some((end, checkout.id))
    };
    let mut found: Vec<(Day, CheckoutPubId)> = all(owned).filter_map(ends).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

/// Takes away what the address of an erased customer is known by. Tells of mails and of addresses whether
/// there was something.
pub(super) fn forget(owned: &mut Owned, erasure: &Erasure) -> (bool, bool) {
    let mut known = Vec::new();
    for row in owned.mails.values_mut() {
        if row.is_about(&erasure.ended) && !row.mail.new.kind.is_for_organization() {
            known.extend(row.recipient.take());
        }
    }
    let mut suppressed = false;
    if erasure.running.is_empty() {
        let all = known.iter().cloned().chain([erasure.email.folded()]);
        for address in all {
            suppressed |= owned.mail_suppressions.remove(&address).is_some();
        }
    }
    (!known.is_empty(), suppressed)
}

fn suppress(owned: &mut Owned, address: String, reason: SuppressionReason) -> bool {
    let is_new = !owned.mail_suppressions.contains_key(&address);
    if is_new {
        owned.mail_suppressions.insert(address, reason);
    }
    is_new
}

#[async_trait]
impl MailStore for Memory {
    async fn queue(&mut self, new: &[NewMail]) -> Result<u64, StoreError> {
        let mut queued = 0_u64;
        for new in new {
            let state = self.change_of(new.organization_id)?;
            let mut rows = state.mails.values();
            if rows.any(|row| row.mail.new.cause == new.cause) {
                continue;
            }
            let row = MailRow {
                mail: new.clone().into(),
                leased_until: None,
                recipient: None,
            };
            state.mails.insert(new.id, row);
            queued = queued.saturating_add(1);
        }
        Ok(queued)
    }

    async fn get(&mut self, id: MailPubId) -> Result<Option<Mail>, StoreError> {
        Ok(self.own().mails.get(&id).map(|row| row.mail.clone()))
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let rows = state.mails.values();
        let mut due: Vec<(Option<Timestamp>, MailPubId)> = rows
            .filter(|row| row.is_due(now, clock))
            .map(|row| (row.mail.next_attempt_at, row.mail.new.id))
            .collect();
        due.sort_unstable();
        let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
        let until = clock.checked_add_signed(lease).or(Some(Timestamp::MAX_UTC));
        let mut claimed = Vec::new();
        for (_, id) in due
            .into_iter()
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
        {
            if let Some(row) = state.mails.get_mut(&id) {
                row.leased_until = until;
                row.mail.claims = row.mail.claims.saturating_add(1);
                claimed.push(row.mail.clone());
            }
        }
        Ok(claimed)
    }

    async fn settle<'a>(&mut self, mail: &Mail, to: Option<&'a Email>) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        let row = state.mails.get_mut(&mail.new.id);
        let Some(row) = row.filter(|row| row.is_claim(mail)) else {
            return Ok(false);
        };
        row.mail.clone_from(mail);
        row.leased_until = None;
        row.recipient = to.map(Email::folded);
        Ok(true)
    }

    async fn hand_back(&mut self, mail: &Mail) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let row = state.mails.get_mut(&mail.new.id);
        if let Some(row) = row.filter(|row| row.is_claim(mail)) {
            row.leased_until = None;
        }
        Ok(())
    }

    async fn list(&mut self, filter: &MailFilter, limit: u32) -> Result<Vec<Mail>, StoreError> {
        let state = self.own();
        let about = filter.checkout.map(MailSubject::Checkout);
        let mut found: Vec<Mail> = state
            .mails
            .values()
            .map(|row| &row.mail)
            .filter(|mail| filter.state.is_none_or(|state| state == mail.state))
            .filter(|mail| about.is_none_or(|about| about == mail.new.subject))
            .cloned()
            .collect();
        found.sort_by_key(|mail| Reverse(mail.new.id));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn requeue(&mut self, id: Option<MailPubId>, now: Timestamp) -> Result<u64, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let mut requeued = 0_u64;
        for row in state.mails.values_mut() {
            let is_free = row.leased_until.is_none_or(|until| until <= clock);
            let is_open = matches!(row.mail.state, MailState::Pending | MailState::Dead);
            if is_free && is_open && id.is_none_or(|id| id == row.mail.new.id) {
                row.mail.state = MailState::Pending;
                row.mail.attempts = 0;
                row.mail.next_attempt_at = Some(now);
                row.mail.updated_at = now;
                row.leased_until = None;
                requeued = requeued.saturating_add(1);
            }
        }
        Ok(requeued)
    }

    async fn suppression(
        &mut self,
        address: &Email,
    ) -> Result<Option<SuppressionReason>, StoreError> {
        let state = self.own();
        Ok(state.mail_suppressions.get(&address.folded()).copied())
    }

    async fn suppress(
        &mut self,
        address: &Email,
        reason: SuppressionReason,
        _at: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(suppress(self.change_own()?, address.folded(), reason))
    }

    async fn report(
        &mut self,
        id: MailPubId,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        let Some(row) = state.mails.get_mut(&id) else {
            return Ok(false);
        };
        if row.mail.state == MailState::Sent {
            let became = match reason {
                SuppressionReason::HardBounce => MailState::Bounced,
                SuppressionReason::Complaint => MailState::Complained,
            };
            row.mail.end(became, None, at);
        }
        let Some(address) = row.recipient.clone() else {
            return Ok(false);
        };
        Ok(suppress(state, address, reason))
    }

    async fn unsuppress(&mut self, address: &Email) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        Ok(state.mail_suppressions.remove(&address.folded()).is_some())
    }

    async fn ending(
        &mut self,
        mode: Mode,
        from: Day,
        before: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let mut found = endings(&self.own(), mode, from, before);
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let rows = state.mails.iter();
        let old: Vec<MailPubId> = rows
            .filter(|(_, row)| is_old(row, before))
            .map(|(id, _)| *id)
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .collect();
        for id in &old {
            state.mails.remove(id);
        }
        Ok(u64::try_from(old.len()).unwrap_or(u64::MAX))
    }
}
