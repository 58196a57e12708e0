//! Pickup locations: administration by the operator of the installation.

use super::Error;
use super::addresses::checked_address;
use super::audit::{self, Entry};
use crate::address::Address;
use crate::audit::{AuditAction, Origin};
use crate::ids::{OrganizationId, PickupLocationId};
use crate::organization::PickupLocation;
use crate::ports::{DialingPlan, IdGenerator, NewPickupLocation, UnitOfWork};
use crate::text::Name;
use crate::time::Timestamp;

/// A pickup location to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePickupLocation {
    /// Whose it is to be.
    pub organization_id: OrganizationId,
    pub name: Name,
    /// Where it is.
    pub address: Address,
}

/// What is to change in a pickup location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatePickupLocation {
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// Which one.
    pub id: PickupLocationId,
    pub name: Option<Name>,
    /// Where it is.
    pub address: Option<Address>,
    /// Whether customers may choose it.
    pub active: Option<bool>,
}

fn checked(phones: &dyn DialingPlan, address: Address) -> Result<Address, Error> {
    checked_address(phones, address).map_err(|error| Error::invalid(error.member, error.problem))
}

/// Adds a pickup location, which customers may choose at once.
///
/// # Errors
/// [`Error::Invalid`] of the address, [`Error::Taken`] of a name that an active one has.
pub async fn create_pickup_location(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    phones: &dyn DialingPlan,
    input: CreatePickupLocation,
) -> Result<PickupLocation, Error> {
    let new = NewPickupLocation {
        organization_id: input.organization_id,
        name: input.name,
        address: checked(phones, input.address)?,
    };
    let location = uow.pickup_locations().insert(&new).await?;
    let made = Entry::created(AuditAction::PickupLocationCreated, &location);
    audit::record(uow, ids, now, origin, location.organization_id, made).await?;
    Ok(location)
}

/// Updates a pickup location: what is not mentioned stays.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Invalid`] and [`Error::Taken`] as for [`create_pickup_location`].
pub async fn update_pickup_location(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    phones: &dyn DialingPlan,
    input: UpdatePickupLocation,
) -> Result<PickupLocation, Error> {
    let mut location = uow
        .pickup_locations()
        .get(input.organization_id, input.id)
        .await?
        .ok_or(Error::not_found("pickup location"))?;
    let before = location.clone();
    location.name = input.name.unwrap_or(location.name);
    location.active = input.active.unwrap_or(location.active);
    if let Some(address) = input.address {
        location.address = checked(phones, address)?;
    }
    uow.pickup_locations().update(&location).await?;
    let updated = Entry::changed(AuditAction::PickupLocationUpdated, &before, &location);
    audit::record(uow, ids, now, origin, location.organization_id, updated).await?;
    Ok(location)
}
