//! Moving a checkout: the event, its stock, its history and its jobs in one
//! unit of work.

use super::{Error, waitlist};
use crate::checkout::{Applied, Checkout, Circumstances, Effect, Event, Facts, Outcome};
use crate::customer::Customer;
use crate::ids::CheckoutPubId;
use crate::ports::{IdGenerator, JobSubject, NewJob, StoreError, UnitOfWork};
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
        .map(|effect| job(checkout, *effect, by.at, ids))
        .collect();
    uow.outbox().push(&jobs).await?;
    if applied.releases_stock {
        uow.variants().return_stock(checkout.variant_id).await?;
        waitlist::stock_returned(uow, by.at, ids, checkout).await?;
    }
    Ok(applied)
}
