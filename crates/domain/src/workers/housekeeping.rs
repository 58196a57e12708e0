//! What time brings about: expiry, renewal and lapse of deposits, ends of leases.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::checkout::{Actor, Checkout, Circumstances, Effect, Event};
use crate::fulfillment::EventOrigin;
use crate::ids::CheckoutPubId;
use crate::ports::{
    Clock, Database, Doubt, IdGenerator, JobFilter, JobState, JobSubject, ShipmentTracker,
    UnitOfWork,
};
use crate::services::{Error, fulfillment, moving};
use crate::time::Timestamp;

/// How long things last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// After how long an untouched checkout expires.
    pub expire_after: TimeDelta,
    /// How long before its end an authorization is renewed.
    pub renew_before: TimeDelta,
    /// How many checkouts of each kind one run takes.
    pub batch: u32,
}

impl Default for Policy {
    /// 30 days, one day, 100 checkouts.
    fn default() -> Self {
        Self {
            expire_after: TimeDelta::days(30),
            renew_before: TimeDelta::days(1),
            batch: 100,
        }
    }
}

/// What one run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tidied {
    /// Checkouts that expired.
    pub expired: usize,
    /// Deposits whose renewal was asked for.
    pub renewals: usize,
    /// Deposits that lapsed.
    pub lapsed: usize,
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
    pub async fn run_once(&self) -> Result<Tidied, Error> {
        Ok(Tidied {
            expired: self.expire().await?,
            lapsed: 0,
            renewals: 0,
            ended: self.end_terms().await?,
            reports: self.ask_carriers().await?,
        }
        .with_deposits(self.deposits().await?))
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
        let mut view = self.database.read().await?;
        let untouched = view
            .checkouts()
            .untouched_since(before, self.policy.batch)
            .await?;
        drop(view);
        let mut expired = 0_usize;
        for id in untouched {
            let mut uow = self.database.begin().await?;
            let still =
                |checkout: &Checkout| (checkout.updated_at < before).then_some(Event::Expired);
            if self.apply(uow.as_mut(), id, now, still).await? {
                uow.commit().await?;
                expired = expired.saturating_add(1);
            }
        }
        Ok(expired)
    }

    async fn deposits(&self) -> Result<(usize, usize), Error> {
        let now = self.clock.now();
        let soon = now
            .checked_add_signed(self.policy.renew_before)
            .unwrap_or(now);
        let mut view = self.database.read().await?;
        let lapsing = view
            .checkouts()
            .lapsing_before(soon, self.policy.batch)
            .await?;
        drop(view);
        let (mut renewals, mut lapsed) = (0_usize, 0_usize);
        for id in lapsing {
            let mut uow = self.database.begin().await?;
            let over = |checkout: &Checkout| {
                let hold = checkout.deposit.open_hold()?;
                (hold.expires_at <= now).then_some(Event::AuthorizationLapsed)
            };
            if self.apply(uow.as_mut(), id, now, over).await? {
                uow.commit().await?;
                lapsed = lapsed.saturating_add(1);
            } else if self.ask_for_renewal(uow.as_mut(), id, now).await? {
                uow.commit().await?;
                renewals = renewals.saturating_add(1);
            }
        }
        Ok((renewals, lapsed))
    }

    /// Asks for a renewal unless one is under way, or nothing can pay for it.
    async fn ask_for_renewal(
        &self,
        uow: &mut dyn UnitOfWork,
        id: CheckoutPubId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let checkout = moving::lock(uow, id).await?;
        let renewable = !checkout.lifecycle().is_ended()
            && checkout
                .deposit
                .open_hold()
                .is_some_and(|hold| hold.expires_at > now)
            && checkout.recurring.method.is_some();
        if !renewable {
            return Ok(false);
        }
        let filter = JobFilter {
            state: Some(JobState::Pending),
            subject: Some(JobSubject::Checkout(id)),
        };
        let asked_for = uow.outbox().list(&filter, 100).await?;
        if asked_for
            .iter()
            .any(|job| job.new.effect == Effect::RenewDeposit)
        {
            return Ok(false);
        }
        uow.outbox()
            .push(&[moving::job(
                &checkout,
                Effect::RenewDeposit,
                now,
                self.ids.as_ref(),
            )])
            .await?;
        Ok(true)
    }

    async fn end_terms(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let today = now.date_naive();
        let mut view = self.database.read().await?;
        let over = view
            .checkouts()
            .leases_ended_before(today, self.policy.batch)
            .await?;
        drop(view);
        let mut ended = 0_usize;
        for id in over {
            let mut uow = self.database.begin().await?;
            let paid =
                |checkout: &Checkout| checkout.has_run_its_term(today).then_some(Event::TermEnded);
            if self.apply(uow.as_mut(), id, now, paid).await? {
                uow.commit().await?;
                ended = ended.saturating_add(1);
            }
        }
        Ok(ended)
    }

    async fn ask_carriers(&self) -> Result<usize, Error> {
        let Some(tracker) = &self.tracker else {
            return Ok(0);
        };
        let mut view = self.database.read().await?;
        let under_way = view.checkouts().under_way(self.policy.batch).await?;
        let mut shipments = Vec::with_capacity(under_way.len());
        for id in under_way {
            let checkout = view.checkouts().get(id).await?;
            shipments.extend(
                checkout.and_then(|checkout| Some((id, checkout.shipment.tracking.clone()?))),
            );
        }
        drop(view);
        let mut taken_in = 0_usize;
        for (id, tracking) in shipments {
            // A carrier that does not answer is asked again at the next run.
            let reports = match tracker.reports(&tracking).await {
                Ok(reports) => reports,
                Err(Doubt::Unreachable(_) | Doubt::Failed(_) | Doubt::Unconfigured(_)) => continue,
            };
            for reported in reports {
                let mut uow = self.database.begin().await?;
                fulfillment::report(
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

impl Tidied {
    const fn with_deposits(mut self, (renewals, lapsed): (usize, usize)) -> Self {
        self.renewals = renewals;
        self.lapsed = lapsed;
        self
    }
}
