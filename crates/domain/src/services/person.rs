//! Customers who change: identity and credit are a person's, and are asked for again.

use super::{Error, moving};
use crate::checkout::{Actor, Checkout, Circumstances, Effect, Event, Lifecycle};
use crate::credit::Qualification;
use crate::customer::CreditStatus;
use crate::customer::{Customer, IdentityStatus, PersonChange, Profile};
use crate::ids::CheckoutPubId;
use crate::ports::{IdGenerator, JobFilter, JobState, JobSubject, UnitOfWork};
use crate::time::Timestamp;

/// Takes away what screening found of whoever the customer was before, and says what changed. The
/// customer is not written here.
pub(crate) fn forget_findings(customer: &mut Customer, before: &Profile) -> PersonChange {
    let change = customer.profile.change_since(before);
    let screening = &mut customer.screening;
    if change == PersonChange::Person {
        screening.identity = IdentityStatus::None;
        // What the verifier still says of the former person finds nobody.
        screening.verification_session_id = None;
    }
    if change != PersonChange::None {
        screening.credit = CreditStatus::Unknown;
        screening.credit_at = None;
    }
    change
}

/// Sends the running checkouts of the written customer back to what is to be asked again, but for the
/// one that whoever calls has locked and sends back itself.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn ask_again(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    customer: &Customer,
    change: PersonChange,
    by: &Circumstances,
    locked: Option<CheckoutPubId>,
) -> Result<(), Error> {
    if change == PersonChange::None {
        return Ok(());
    }
    uow.qualifications().end(customer.id, by.at).await?;
    let states = Lifecycle::those(|state| !state.is_ended() && !state.is_confirmed());
    let running = uow
        .checkouts()
        .of_customer(customer.mode, customer.id, &states)
        .await?;
    for id in running {
        if Some(id) == locked {
            continue;
        }
        let mut checkout = moving::lock(uow, id).await?;
        send_back(uow, ids, &mut checkout, change, by).await?;
    }
    Ok(())
}

/// Sends the locked checkout back to what is to be asked again.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn send_back(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    change: PersonChange,
    by: &Circumstances,
) -> Result<(), Error> {
    let event = match change {
        PersonChange::None => return Ok(()),
        PersonChange::Address => Event::CreditReopened,
        PersonChange::Person => Event::PersonChanged,
    };
    if checkout.lifecycle().is_ended() || checkout.lifecycle().is_confirmed() {
        return Ok(());
    }
    overtake(uow, checkout.id, by.at).await?;
    let by = Circumstances {
        actor: Actor::System,
        ..by.clone()
    };
    moving::apply(uow, ids, checkout, event, &by).await?;
    Ok(())
}

/// The credit of whoever they were, or of how it was, is not asked for any more: the question, which
/// may have been put off for a day, would keep the next one waiting.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn overtake(
    uow: &mut dyn UnitOfWork,
    checkout: CheckoutPubId,
    at: Timestamp,
) -> Result<(), Error> {
    for state in [JobState::Pending, JobState::Held, JobState::Dead] {
        let filter = JobFilter {
            state: Some(state),
            subject: Some(JobSubject::Checkout(checkout)),
        };
        for job in uow.jobs().list(&filter, 1_000).await? {
            if job.new.effect == Effect::CheckCredit {
                uow.jobs()
                    .skip(job.new.id, "the question has become another", at)
                    .await?;
            }
        }
    }
    Ok(())
}

/// Sends one that has waited with its deposit back, where its customer changed meanwhile.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn check_again(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    by: &Circumstances,
) -> Result<(), Error> {
    let decided = uow.qualifications().latest(&[checkout.id]).await?;
    if decided.iter().all(Qualification::counts) {
        return Ok(());
    }
    let customer = moving::customer_of(uow, checkout).await?;
    let change = match customer.screening.identity {
        IdentityStatus::Verified => PersonChange::Address,
        _ => PersonChange::Person,
    };
    send_back(uow, ids, checkout, change, by).await
}
