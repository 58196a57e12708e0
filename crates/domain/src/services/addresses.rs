//! Checking addresses and phone numbers as callers give them.

use crate::address::{Address, AddressError, Country, parse_phone};
use crate::ports::DialingPlan;
use crate::text::Line;

/// The address with state, postal code and phone checked by the country and brought
/// into its form.
///
/// # Errors
/// [`AddressError`] naming the first member at fault.
pub fn checked_address(
    phones: &dyn DialingPlan,
    address: Address,
) -> Result<Address, AddressError> {
    let mut address = address.of_its_country()?;
    address.phone = checked_phone(phones, Some(address.country), address.phone)?;
    Ok(address)
}

/// The phone number as it was given, where it is one that the country, or the whole
/// world, can dial.
///
/// # Errors
/// [`AddressProblem::Phone`](crate::address::AddressProblem::Phone) when no such number can exist.
pub fn checked_phone(
    phones: &dyn DialingPlan,
    country: Option<Country>,
    phone: Option<Line>,
) -> Result<Option<Line>, AddressError> {
    phone
        .map(|phone| parse_phone(&phone, phones.read(country, &phone)))
        .transpose()
}
