//! Pickup locations: administration by the operator of the installation.

use super::Error;
use super::addresses::checked_address;
use crate::address::Address;
use crate::ids::{OrganizationId, PickupLocationId};
use crate::organization::PickupLocation;
use crate::ports::{DialingPlan, NewPickupLocation, UnitOfWork};
use crate::text::Name;

/// What is to change in a pickup location.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdatePickupLocation {
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
    phones: &dyn DialingPlan,
    organization_id: OrganizationId,
    name: Name,
    address: Address,
) -> Result<PickupLocation, Error> {
    let new = NewPickupLocation {
        organization_id,
        name,
        address: checked(phones, address)?,
    };
    Ok(uow.pickup_locations().insert(&new).await?)
}

/// Updates a pickup location: what is not mentioned stays.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Invalid`] and [`Error::Taken`] as for [`create_pickup_location`].
pub async fn update_pickup_location(
    uow: &mut dyn UnitOfWork,
    phones: &dyn DialingPlan,
    organization_id: OrganizationId,
    id: PickupLocationId,
    update: UpdatePickupLocation,
) -> Result<PickupLocation, Error> {
    let mut location = uow
        .pickup_locations()
        .get(organization_id, id)
        .await?
        .ok_or(Error::not_found("pickup location"))?;
    location.name = update.name.unwrap_or(location.name);
    location.active = update.active.unwrap_or(location.active);
    if let Some(address) = update.address {
        location.address = checked(phones, address)?;
    }
    uow.pickup_locations().update(&location).await?;
    Ok(location)
}
