//! What the identity verifier decides.

use super::Error;
use super::audit::{self, Entry};
use super::concern::Concern;
use super::moving::{self, Due};
use crate::audit::Origin;
use crate::checkout::{Actor, Checkout, Circumstances, Effect, Event, Lifecycle, Outcome};
use crate::customer::{IdentityStatus, PersonChange, Profile};
use crate::ports::{IdGenerator, IdentityResult, JobSubject, ProcessorEvent, UnitOfWork};
use crate::time::Timestamp;

/// What the audit calls the identity verifier.
const VERIFIER: &str = "identityVerifier";

/// The identity verifier, as the audit tells of it.
pub(crate) fn verifier() -> Origin {
    Origin::provider(VERIFIER)
}

/// What was decided of a verifier's session.
pub(crate) struct Decision<'a> {
    /// The verifier's id of the session.
    pub session_id: &'a str,
    pub result: IdentityResult,
    /// Who decided, for the audit.
    pub origin: &'a Origin,
}

/// What a message about something unknown comes to. One about a checkout of ours came
/// before the answer that makes it known; others tell of what somebody else does with the
/// same account of the processor.
async fn later(uow: &mut dyn UnitOfWork, event: &ProcessorEvent) -> Result<Concern, Error> {
    let ours = match event.about.checkout {
        Some(id) => uow.checkouts().get(id).await?,
        None => None,
    };
    Ok(match ours {
        Some(checkout) if checkout.mode == event.mode => Concern::NotYet,
        _ => Concern::Nothing,
    })
}

/// What the verifier decided of a session, written into the customer and all
/// checkouts that wait for it.
pub(crate) async fn told(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    session_id: &str,
    result: IdentityResult,
) -> Result<Concern, Error> {
    let Some(customer) = uow
        .customers()
        .find_by_verification_session(event.mode, session_id)
        .await?
    else {
        return later(uow, event).await;
    };
    let states = Lifecycle::those(Lifecycle::is_identifying);
    let waiting = uow
        .checkouts()
        .of_customer(event.mode, customer.id, &states)
        .await?;
    let mut handled = Concern::Nothing;
    let by = Circumstances::new(now, Actor::Provider);
    let origin = verifier();
    let decision = Decision {
        session_id,
        result,
        origin: &origin,
    };
    for id in waiting {
        let mut checkout = moving::lock(uow, id).await?;
        if decide(uow, ids, &by, &mut checkout, &decision, Due::Now).await? {
            handled = Concern::Checkout(id);
        }
    }
    Ok(handled)
}

/// Applies the verifier's decision to one checkout. False when the session is not
/// the customer's current one, or nothing changed.
pub(crate) async fn decide(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
    decision: &Decision<'_>,
    due: Due,
) -> Result<bool, Error> {
    let Decision {
        session_id,
        result,
        origin,
    } = *decision;
    let Some(mut customer) = uow.customers().lock(checkout.customer_id).await? else {
        return Ok(false);
    };
    let before = customer.clone();
    let screening = &mut customer.screening;
    if screening.verification_session_id.as_deref() != Some(session_id)
        || screening.identity == IdentityStatus::Verified && result != IdentityResult::Verified
    {
        return Ok(false);
    }
    let (status, event) = match result {
        IdentityResult::AwaitingCustomer => return Ok(false),
        IdentityResult::Processing => (IdentityStatus::Processing, Event::IdentitySubmitted),
        IdentityResult::Verified => (IdentityStatus::Verified, Event::IdentityVerified),
        IdentityResult::Abandoned => (IdentityStatus::None, Event::IdentityAbandoned),
        IdentityResult::Refused => (IdentityStatus::Failed, Event::IdentityRefused),
    };
    if screening.identity != status {
        screening.identity = status;
        customer.updated_at = by.at;
        uow.customers().update(&mut customer).await?;
        let screened = Entry::screened(&before, &customer);
        let organization = customer.organization_id;
        audit::record(uow, ids, by.at, origin, organization, screened).await?;
    }
    match moving::apply_due(uow, ids, checkout, event, by, due).await {
        Ok(applied) => Ok(applied.outcome == Outcome::Applied),
        Err(Error::Rule { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// The verifier opened a session at the customer's request, about whoever they were by this profile. Nothing is
/// written when whoever was to be verified is another person meanwhile, or was erased.
pub(crate) async fn started(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
    session_id: String,
    about: &Profile,
    due: Due,
) -> Result<bool, Error> {
    let mut customer = moving::lock_customer_of(uow, checkout).await?;
    let is_another = customer.profile.change_since(about) == PersonChange::Person;
    if customer.erased_at.is_some() || is_another {
        return Ok(false);
    }
    let before = customer.clone();
    let screening = &mut customer.screening;
    screening.identity = IdentityStatus::Pending;
    screening.verification_session_id = Some(session_id);
    customer.updated_at = by.at;
    uow.customers().update(&mut customer).await?;
    let screened = Entry::screened(&before, &customer);
    let organization = customer.organization_id;
    audit::record(uow, ids, by.at, &verifier(), organization, screened).await?;
    moving::apply_due(uow, ids, checkout, Event::IdentityStarted, by, due).await?;
    Ok(true)
}

/// Asks the verifier again for the customer's other checkouts that wait.
pub(crate) async fn ask_for_others(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    decided: &Checkout,
) -> Result<(), Error> {
    let states = Lifecycle::those(Lifecycle::is_identifying);
    for id in uow
        .checkouts()
        .of_customer(decided.mode, decided.customer_id, &states)
        .await?
    {
        if id != decided.id {
            let mut job = moving::job(decided, Effect::FetchIdentityResult, now, ids);
            job.subject = JobSubject::Checkout(id);
            uow.jobs().push(&[job]).await?;
        }
    }
    Ok(())
}
