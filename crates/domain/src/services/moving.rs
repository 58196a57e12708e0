//! Moving a checkout: the event, its stock, its history and its jobs in one
//! unit of work.

use super::Error;
use crate::access::Mode;
use crate::checkout::{
    Applied, Checkout, Circumstances, Effect, Event, Facts, Lifecycle, Outcome, WaitlistReason,
};
use crate::customer::{CreditStatus, Customer};
use crate::ids::CheckoutPubId;
use crate::ports::{
    IdGenerator, Job, JobFilter, JobState, JobSubject, NewJob, StoreError, UnitOfWork,
};
use crate::time::Timestamp;

/// What is known of the customer, and of their credit for one checkout.
pub(crate) fn facts_of(customer: &Customer, credit: CreditStatus) -> Facts {
    Facts {
        profile_complete: customer.profile.is_complete(),
        identity: customer.screening.identity,
        credit,
    }
}

/// What is known of the customer's credit for this checkout: passed when that was decided for it, and
/// still holds. What was decided for others is looked at when the check is asked for.
pub(crate) async fn credit_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    customer: &Customer,
    at: Timestamp,
) -> Result<CreditStatus, Error> {
    let state = checkout.lifecycle();
    let may_come_there =
        state.is_waitlisted() || state.rank() < Lifecycle::QualificationPending.rank();
    if !may_come_there || customer.screening.credit == CreditStatus::Unknown {
        return Ok(CreditStatus::Unknown);
    }
    let decided = uow.qualifications().latest(&[checkout.id]).await?;
    let holds = decided.iter().any(|it| it.lets_go_on(at));
    Ok(if holds {
        CreditStatus::Passed
    } else {
        CreditStatus::Unknown
    })
}

/// The checkout, locked.
pub(crate) async fn lock(uow: &mut dyn UnitOfWork, id: CheckoutPubId) -> Result<Checkout, Error> {
    uow.checkouts()
        .lock(id)
        .await?
        .ok_or(Error::not_found("checkout"))
}

/// The checkout's customer, who is always there.
pub(crate) async fn customer_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Customer, Error> {
    uow.customers()
        .get(checkout.customer_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("customer")))
}

/// The checkout's customer, locked.
pub(crate) async fn lock_customer_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Customer, Error> {
    uow.customers()
        .lock(checkout.customer_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("customer")))
}

/// A job about a checkout.
pub(crate) fn job(
    checkout: &Checkout,
    effect: Effect,
    now: Timestamp,
    ids: &dyn IdGenerator,
) -> NewJob {
    NewJob {
        id: ids.next(),
        effect,
        subject: JobSubject::Checkout(checkout.id),
        organization_id: checkout.organization_id,
        mode: checkout.mode,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    }
}

/// When the jobs of a move are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// At once.
    Now,
    /// When somebody asks for them: a sandbox checkout stays where a test put it.
    WhenTold,
}

impl Due {
    /// What follows from a held job is held.
    pub(crate) const fn like(job: &Job) -> Self {
        match job.state {
            JobState::Held => Self::WhenTold,
            JobState::Pending | JobState::Done | JobState::Dead | JobState::Skipped => Self::Now,
        }
    }
}

/// Applies the event to the locked checkout and writes all that comes of it.
///
/// # Errors
/// [`Error::Rule`] when the event is not possible.
pub(crate) async fn apply(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    event: Event,
    by: &Circumstances,
) -> Result<Applied, Error> {
    apply_due(uow, ids, checkout, event, by, Due::Now).await
}

/// [`apply`], with a say in when the jobs are due.
pub(crate) async fn apply_due(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    event: Event,
    by: &Circumstances,
    due: Due,
) -> Result<Applied, Error> {
    let customer = customer_of(uow, checkout).await?;
    let credit = credit_of(uow, checkout, &customer, by.at).await?;
    let facts = facts_of(&customer, credit);
    let is_captured = matches!(event, Event::DepositCaptured { .. });
    let is_begun = matches!(event, Event::DepositSubmitted { .. });
    let quantity = checkout.quantity();
    let was_in_line = checkout.lifecycle().waits_for() == Some(WaitlistReason::Inventory);
    let is_served = matches!(event, Event::StockFreed { .. });
    let is_signed = event == Event::DocumentsSigned;
    let before = checkout.lifecycle();
    let applied = checkout.apply(event, by, &facts)?;
    let leaves_line = was_in_line && !is_served && checkout.lifecycle() != before;
    if applied.outcome == Outcome::AlreadyApplied {
        return Ok(applied);
    }
    if is_begun {
        overtake(uow, checkout, by.at, "the deposit was begun anew").await?;
    } else if is_captured {
        overtake(uow, checkout, by.at, "the deposit was taken").await?;
    }
    if before == Lifecycle::DocumentsPending && (is_signed || checkout.lifecycle() != before) {
        no_more_signatures(uow, checkout, by.at).await?;
    }
    uow.checkouts().update(checkout).await?;
    uow.checkouts()
        .record(checkout.id, &applied.transitions)
        .await?;
    let is_held = due == Due::WhenTold;
    let mut jobs: Vec<NewJob> = applied
        .effects
        .iter()
        .map(|effect| NewJob {
            is_held,
            ..job(checkout, *effect, by.at, ids)
        })
        .collect();
    if !is_held && checkout.mode == Mode::Sandbox && !jobs.is_empty() {
        release(uow, checkout, by.at).await?;
    }
    if applied.releases_stock {
        let mode = checkout.mode;
        uow.variants()
            .return_stock(checkout.variant_id, mode, quantity)
            .await?;
    }
    // The next in line may have the units, or those that were kept for whoever left it.
    let kept = if leaves_line {
        quantity.get().saturating_sub(1)
    } else {
        0
    };
    let freed = if applied.releases_stock {
        quantity.get()
    } else {
        kept
    };
    if freed > 0 {
        jobs.push(NewJob {
            subject: JobSubject::Waitlist(checkout.variant_id),
            units: Some(freed),
            ..job(checkout, Effect::PromoteWaiting, by.at, ids)
        });
    }
    uow.jobs().push(&jobs).await?;
    Ok(applied)
}

/// The deposit is begun anew, or turns out to be taken: work on it that was given up is not to be
/// done any more, and keeps nobody from paying, and no lease from being billed. What it may have made
/// unseen the checkout's end lets go, or a comparison finds.
async fn overtake(
    uow: &mut dyn UnitOfWork,
    checkout: &mut Checkout,
    at: Timestamp,
    reason: &str,
) -> Result<(), StoreError> {
    let filter = JobFilter {
        state: Some(JobState::Dead),
        subject: Some(JobSubject::Checkout(checkout.id)),
    };
    for job in uow.jobs().list(&filter, 1_000).await? {
        let is_overtaken = matches!(
            job.new.effect,
            Effect::AuthorizeDeposit | Effect::RenewDeposit | Effect::CaptureDeposit
        );
        if is_overtaken {
            uow.jobs().skip(job.new.id, reason, at).await?;
            checkout.settle_refused(job.new.effect, at);
        }
    }
    Ok(())
}

/// Nobody is to sign any more what waited to be signed elsewhere.
async fn no_more_signatures(
    uow: &mut dyn UnitOfWork,
    checkout: &mut Checkout,
    at: Timestamp,
) -> Result<(), StoreError> {
    let filter = JobFilter {
        state: None,
        subject: Some(JobSubject::Checkout(checkout.id)),
    };
    for job in uow.jobs().list(&filter, 1_000).await? {
        if job.new.effect == Effect::RequestSignature {
            let reason = "the lease waits for no signature";
            uow.jobs().skip(job.new.id, reason, at).await?;
            checkout.settle_refused(job.new.effect, at);
        }
    }
    Ok(())
}

/// Has the sandbox's held jobs of the checkout done: jobs of a subject are done in order, and one
/// that is held would keep those that somebody asks for now.
pub(crate) async fn release(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    now: Timestamp,
) -> Result<(), StoreError> {
    if checkout.mode == Mode::Sandbox {
        let subject = JobSubject::Checkout(checkout.id);
        uow.jobs().release(subject, now).await?;
    }
    Ok(())
}
