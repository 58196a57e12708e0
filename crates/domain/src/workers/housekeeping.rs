//! What time brings about: expiry, renewal and lapse of deposits, ends of leases.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::checkout::{Actor, AttentionReason, Billing, Checkout, Circumstances, Effect, Event};
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ports::{
    Clock, Database, Doubt, Errand, IdGenerator, Reach, ShipmentTracker, StoreError, UnitOfWork,
};
use crate::services::{Error, ledger, moving, shipments};
use crate::shipments::EventOrigin;
use crate::time::Timestamp;

/// How long things last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// After how long an untouched checkout expires.
    pub expire_after: TimeDelta,
    /// How long before its end an authorization is renewed.
    pub renew_before: TimeDelta,
    /// How long goods may be with the customer, or on their way untracked, before somebody is told
    /// that nothing bills them.
    pub bill_within: TimeDelta,
    /// How long a carrier may be silent before somebody is told.
    pub hear_within: TimeDelta,
    /// How many checkouts of an organization are read at a time.
    pub batch: u32,
}

impl Default for Policy {
    /// 30 days, one day, one hour, ten days, 100 checkouts.
    fn default() -> Self {
        Self {
            expire_after: TimeDelta::days(30),
            renew_before: TimeDelta::days(1),
            bill_within: TimeDelta::hours(1),
            hear_within: TimeDelta::days(10),
            batch: 100,
        }
    }
}

/// What one run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HousekeepingReport {
    /// Checkouts that expired.
    pub expired: usize,
    /// Deposits whose renewal was asked for.
    pub renewals: usize,
    /// Deposits whose time is over, and about which the processor is asked.
    pub checks: usize,
    /// Checkouts of which somebody was told that they need a look.
    pub raised: usize,
    /// Leases whose term ended.
    pub ended: usize,
    /// Reports that carriers gave.
    pub reports: usize,
}

/// Brings about what is due.
#[derive(Clone)]
pub struct Housekeeper {
    /// Where checkouts are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// Who is asked where shipments are, where anybody is.
    pub tracker: Option<Arc<dyn ShipmentTracker>>,
    /// How long things last.
    pub policy: Policy,
}

impl Housekeeper {
    /// One run. Several may run at once: each checkout is judged anew once it is
    /// locked.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn run_once(&self) -> Result<HousekeepingReport, Error> {
        let (renewals, checks) = self.deposits().await?;
        Ok(HousekeepingReport {
            expired: self.expire().await?,
            renewals,
            checks,
            raised: self.raise_overdue().await?,
            ended: self.end_terms().await?,
            reports: self.ask_carriers().await?,
        })
    }

    async fn apply(
        &self,
        uow: &mut dyn UnitOfWork,
        id: CheckoutPubId,
        now: Timestamp,
        due: impl FnOnce(&Checkout) -> Option<Event>,
    ) -> Result<bool, Error> {
        let mut checkout = moving::lock(uow, id).await?;
        let Some(event) = due(&checkout) else {
            return Ok(false);
        };
        let by = Circumstances::new(now, Actor::System);
        match moving::apply(uow, self.ids.as_ref(), &mut checkout, event, &by).await {
            Ok(_) => Ok(true),
            Err(Error::Rule { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    async fn expire(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let Some(before) = now.checked_sub_signed(self.policy.expire_after) else {
            return Ok(0);
        };
        let mut expired = 0_usize;
        for owner in self.owners_with(Errand::Expiry { before }).await? {
            let mut view = self.database.read(owner.into()).await?;
            let untouched = view
                .checkouts()
                .untouched_since(before, self.policy.batch)
                .await?;
            drop(view);
            for id in untouched {
                let mut uow = self.database.begin(owner.into()).await?;
                let still =
                    |checkout: &Checkout| (checkout.acted_at < before).then_some(Event::Expired);
                if self.apply(uow.as_mut(), id, now, still).await? {
                    uow.commit().await?;
                    expired = expired.saturating_add(1);
                } else {
                    uow.roll_back().await?;
                }
            }
        }
        Ok(expired)
    }

    /// Whose records are to be looked at: each is looked at in its own name.
    async fn owners_with(&self, errand: Errand) -> Result<Vec<OrganizationId>, StoreError> {
        let mut view = self.database.read(Reach::Server).await?;
        view.doors().owners_with(errand).await
    }

    /// Has holds renewed that end soon, and asks about those whose time is over.
    async fn deposits(&self) -> Result<(usize, usize), Error> {
        let now = self.clock.now();
        let soon = now
            .checked_add_signed(self.policy.renew_before)
            .unwrap_or(now);
        let (mut renewals, mut checks) = (0_usize, 0_usize);
        let batch = self.policy.batch;
        for owner in self.owners_with(Errand::Lapse { before: soon }).await? {
            let mut after = None;
            loop {
                let mut view = self.database.read(owner.into()).await?;
                let lapsing = view.checkouts().lapsing_before(soon, after, batch).await?;
                drop(view);
                for id in &lapsing {
                    let mut uow = self.database.begin(owner.into()).await?;
                    match self.look_after_hold(uow.as_mut(), *id, now).await? {
                        Some(Effect::RenewDeposit) => renewals = renewals.saturating_add(1),
                        Some(_) => checks = checks.saturating_add(1),
                        None => {
                            uow.roll_back().await?;
                            continue;
                        }
                    }
                    uow.commit().await?;
                }
                after = lapsing.last().copied();
                if after.is_none() {
                    break;
                }
            }
        }
        Ok((renewals, checks))
    }

    /// Asks for what the hold needs, unless that is asked for: a renewal while the bank may be
    /// asked, and the processor's word when its time is over. Whether it is gone the clock does not
    /// know: it may have been captured by a call whose answer was lost.
    async fn look_after_hold(
        &self,
        uow: &mut dyn UnitOfWork,
        id: CheckoutPubId,
        now: Timestamp,
    ) -> Result<Option<Effect>, Error> {
        let checkout = moving::lock(uow, id).await?;
        let Some(hold) = checkout.deposit.open_hold() else {
            return Ok(None);
        };
        let effect = if hold.expires_at <= now {
            Effect::CheckDeposit
        } else if hold.is_renewable(now)
            && checkout.recurring.method.is_some()
            && checkout.capture_requested_at.is_none()
        {
            Effect::RenewDeposit
        } else {
            return Ok(None);
        };
        if checkout.lifecycle().is_ended() {
            return Ok(None);
        }
        let asked = ledger::ask_once(uow, self.ids.as_ref(), now, &checkout, effect).await?;
        Ok(asked.then_some(effect))
    }

    /// Tells of goods that nothing bills, and of carriers that are silent.
    async fn raise_overdue(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let ago = |time: TimeDelta| now.checked_sub_signed(time).unwrap_or(now);
        let (billed, heard) = (ago(self.policy.bill_within), ago(self.policy.hear_within));
        let unbilled = Errand::Billing { before: billed };
        let silent = Errand::Silence { before: heard };
        let mut owners = BTreeSet::from_iter(self.owners_with(unbilled).await?);
        owners.extend(self.owners_with(silent).await?);
        let mut raised = 0_usize;
        for owner in owners {
            let of_owner = self.raise_overdue_of(owner, now, billed, heard).await?;
            raised = raised.saturating_add(of_owner);
        }
        Ok(raised)
    }

    async fn raise_overdue_of(
        &self,
        owner: OrganizationId,
        now: Timestamp,
        billed: Timestamp,
        heard: Timestamp,
    ) -> Result<usize, Error> {
        let batch = self.policy.batch;
        let mut raised = 0_usize;
        loop {
            let mut view = self.database.read(owner.into()).await?;
            let unbilled = view.checkouts().unbilled_since(billed, batch).await?;
            let silent = view.checkouts().silent_since(heard, batch).await?;
            drop(view);
            let unbilled = unbilled
                .into_iter()
                .map(|id| (id, AttentionReason::NotBilled));
            let silent = silent
                .into_iter()
                .map(|id| (id, AttentionReason::DeliveryOverdue));
            let mut progress = false;
            for (id, reason) in unbilled.chain(silent) {
                let mut uow = self.database.begin(owner.into()).await?;
                let mut checkout = moving::lock(uow.as_mut(), id).await?;
                let is_due = match reason {
                    AttentionReason::NotBilled => matches!(
                        checkout.recurring.billing,
                        Billing::Requested { at } if at < billed
                    ),
                    _ => checkout.shipment.heard_at.is_some_and(|at| at < heard),
                };
                if is_due && checkout.raise(reason, None, now) && checkout.needs(reason) {
                    uow.checkouts().update(&mut checkout).await?;
                    uow.commit().await?;
                    raised = raised.saturating_add(1);
                    progress = true;
                } else {
                    uow.roll_back().await?;
                }
            }
            if !progress {
                return Ok(raised);
            }
        }
    }

    async fn end_terms(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let today = now.date_naive();
        let mut ended = 0_usize;
        for owner in self.owners_with(Errand::LeaseEnd { before: today }).await? {
            let mut view = self.database.read(owner.into()).await?;
            let over = view
                .checkouts()
                .leases_ended_before(today, self.policy.batch)
                .await?;
            drop(view);
            for id in over {
                let mut uow = self.database.begin(owner.into()).await?;
                let paid = |checkout: &Checkout| {
                    checkout.has_run_its_term(today).then_some(Event::TermEnded)
                };
                if self.apply(uow.as_mut(), id, now, paid).await? {
                    uow.commit().await?;
                    ended = ended.saturating_add(1);
                } else {
                    uow.roll_back().await?;
                }
            }
        }
        Ok(ended)
    }

    async fn ask_carriers(&self) -> Result<usize, Error> {
        let Some(tracker) = &self.tracker else {
            return Ok(0);
        };
        let mut taken_in = 0_usize;
        for owner in self.owners_with(Errand::Shipments).await? {
            let reports = self.ask_carriers_of(owner, tracker.as_ref()).await?;
            taken_in = taken_in.saturating_add(reports);
        }
        Ok(taken_in)
    }

    async fn ask_carriers_of(
        &self,
        owner: OrganizationId,
        tracker: &dyn ShipmentTracker,
    ) -> Result<usize, Error> {
        let mut uow = self.database.begin(owner.into()).await?;
        let under_way = uow.checkouts().under_way(self.policy.batch).await?;
        let mut shipments = Vec::with_capacity(under_way.len());
        for id in under_way {
            let checkout = uow.checkouts().get(id).await?;
            shipments.extend(
                checkout.and_then(|checkout| Some((id, checkout.shipment.tracking.clone()?))),
            );
        }
        uow.commit().await?;
        let mut taken_in = 0_usize;
        for (id, tracking) in shipments {
            // A carrier that does not answer is asked again at the next run.
            let reports = match tracker.reports(&tracking).await {
                Ok(reports) => reports,
                Err(
                    Doubt::Unreachable(_)
                    | Doubt::Failed(_)
                    | Doubt::Unconfigured(_)
                    | Doubt::Busy { .. },
                ) => continue,
            };
            for reported in reports {
                let mut uow = self.database.begin(owner.into()).await?;
                shipments::report(
                    uow.as_mut(),
                    self.ids.as_ref(),
                    self.clock.now(),
                    id,
                    reported,
                    EventOrigin::Poll,
                )
                .await?;
                uow.commit().await?;
                taken_in = taken_in.saturating_add(1);
            }
        }
        Ok(taken_in)
    }
}
