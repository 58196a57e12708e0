//! How organizations decide about credit.

use super::Error;
use super::audit::{self, Entry};
use crate::access::Mode;
use crate::audit::Origin;
use crate::credit::{CreditKind, CreditPolicy};
use crate::ids::{OrganizationId, OrganizationRef};
use crate::organization::Organization;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::time::Timestamp;

/// How the organization decides in the mode.
///
/// # Errors
/// [`Error::Store`].
pub async fn policy_of(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    mode: Mode,
) -> Result<CreditPolicy, Error> {
    let said = uow.credit_policies().get(organization, mode).await?;
    Ok(said.unwrap_or(CreditPolicy::default_of(mode)))
}

/// Sets how the organization decides in the mode, for every check from then on.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Invalid`] of the simulated checker in live mode.
pub async fn set_policy(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    mode: Mode,
    policy: CreditPolicy,
) -> Result<Organization, Error> {
    let found = uow
        .organizations()
        .find(organization)
        .await?
        .ok_or(Error::not_found("organization"))?;
    if mode == Mode::Live && policy.kind() == CreditKind::Simulated {
        return Err(Error::invalid(
            "credit",
            "simulated is for the sandbox alone: nobody's credit is checked by it",
        ));
    }
    uow.enter(found.id).await?;
    let organization = uow
        .organizations()
        .lock(found.id)
        .await?
        .ok_or(Error::not_found("organization"))?;
    let before = policy_of(uow, organization.id, mode).await?;
    uow.credit_policies()
        .put(organization.id, mode, &policy, now)
        .await?;
    let set = Entry::credit_set(&organization, mode, &before, &policy);
    audit::record(uow, ids, now, origin, organization.id, set).await?;
    Ok(organization)
}
