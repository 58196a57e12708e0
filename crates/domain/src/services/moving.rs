//! Moving a checkout: the event, its stock, its history and its jobs in one
//! unit of work.

use chrono::TimeDelta;

use super::{Error, waitlist};
use crate::access::Mode;
use crate::checkout::{Applied, Checkout, Circumstances, Effect, Event, Facts, Outcome};
use crate::customer::Customer;
use crate::ids::CheckoutPubId;
use crate::ports::{IdGenerator, Job, JobSubject, NewJob, StoreError, UnitOfWork};
use crate::time::Timestamp;

/// What is known of the customer in the checkout's mode.
pub(super) fn facts_of(customer: &Customer, checkout: &Checkout) -> Facts {
    let screening = customer.screening(checkout.mode);
    Facts {
        profile_complete: customer.profile.is_complete(),
        identity: screening.identity,
        credit: screening.credit,
    }
}

/// The checkout, locked.
pub(super) async fn lock(uow: &mut dyn UnitOfWork, id: CheckoutPubId) -> Result<Checkout, Error> {
    uow.checkouts()
        .lock(id)
        .await?
        .ok_or(Error::not_found("checkout"))
}

/// The checkout's customer, who is always there.
pub(super) async fn customer_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Customer, Error> {
    uow.customers()
        .get(checkout.customer_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("customer")))
}

/// A job about a checkout.
pub(super) fn job(
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
    }
}

/// When the jobs of a move are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// At once.
    Now,
    /// When somebody asks for them: a sandbox checkout stays where a test put it.
    WhenTold,
}

/// Longer than anybody waits; a job that is put off so far is held.
const HELD: TimeDelta = TimeDelta::days(36_500);

/// When what follows from a job is due: what follows from a held one is held.
pub(super) fn due_like(job: &Job) -> Due {
    let put_off = job
        .new
        .available_at
        .signed_duration_since(job.new.created_at);
    if put_off >= HELD {
        Due::WhenTold
    } else {
        Due::Now
    }
}

/// Applies the event to the locked checkout and writes all that comes of it.
///
/// # Errors
/// [`Error::Rule`] when the state does not allow the event.
pub(super) async fn apply(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    event: Event,
    by: &Circumstances,
) -> Result<Applied, Error> {
    apply_due(uow, ids, checkout, event, by, Due::Now).await
}

/// [`apply`], with a say in when the jobs are due.
pub(super) async fn apply_due(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    event: Event,
    by: &Circumstances,
    due: Due,
) -> Result<Applied, Error> {
    let customer = customer_of(uow, checkout).await?;
    let facts = facts_of(&customer, checkout);
    let before = checkout.clone();
    let applied = checkout.apply(event, by, &facts)?;
    if applied.outcome == Outcome::AlreadyApplied && *checkout == before {
        return Ok(applied);
    }
    uow.checkouts().update(checkout).await?;
    uow.checkouts()
        .record(checkout.id, &applied.transitions)
        .await?;
    let jobs: Vec<NewJob> = applied
        .effects
        .iter()
        .map(|effect| {
            let job = job(checkout, *effect, by.at, ids);
            match due {
                Due::Now => job,
                Due::WhenTold => NewJob {
                    available_at: job
                        .created_at
                        .checked_add_signed(HELD)
                        .unwrap_or(job.available_at),
                    ..job
                },
            }
        })
        .collect();
    uow.outbox().push(&jobs).await?;
    if due == Due::Now && checkout.mode == Mode::Sandbox && !jobs.is_empty() {
        // Jobs of a subject are done in order: one that was held would keep these.
        uow.outbox()
            .release(JobSubject::Checkout(checkout.id), by.at)
            .await?;
    }
    if applied.releases_stock {
        uow.variants().return_stock(checkout.variant_id).await?;
        waitlist::stock_returned(uow, by.at, ids, checkout).await?;
    }
    Ok(applied)
}
