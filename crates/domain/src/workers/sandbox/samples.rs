//! What a sandbox customer and a sandbox shipment are made of where nothing is known.

use crate::address::{Address, AddressError, Country};
use crate::checkout::{Checkout, Tracking};
use crate::customer::{Customer, Profile};
use crate::ports::{StoreError, UnitOfWork};
use crate::services::Error;
use crate::shipments::{Carrier, TrackingNumber};
use crate::text::Line;

fn line(text: &str) -> Result<Line, Error> {
    Line::parse(text).map_err(|error| Error::rule(error.to_string()))
}

/// Places where a sandbox customer may live: street, city, state, zip, country.
const PLACES: [(&str, &str, Option<&str>, &str, &str); 10] = [
    (
        "1 Sandbox Street",
        "San Francisco",
        Some("CA"),
        "94105",
        "US",
    ),
    ("1 Sandbox Street", "New York", Some("NY"), "10001", "US"),
    ("1 Sandbox Street", "Austin", Some("TX"), "78701", "US"),
    ("1 Sandbox Street", "Seattle", Some("WA"), "98101", "US"),
    ("1 Sandbox Street", "Chicago", Some("IL"), "60601", "US"),
    ("1 Sandbox Street", "Toronto", Some("ON"), "M5H 2N2", "CA"),
    ("1 Sandbox Street", "London", None, "SW1A 1AA", "GB"),
    ("Sandkastenweg 1", "Berlin", None, "10115", "DE"),
    ("1 rue du Bac", "Paris", None, "75007", "FR"),
    ("1 Sandbox Street", "Sydney", Some("NSW"), "2000", "AU"),
];

/// Where a sandbox customer lives who has not said so: in their own country, where they have said
/// that much, and where the organization serves them.
pub(super) async fn sample_address(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    country: Option<Country>,
) -> Result<Address, Error> {
    let organization = uow
        .organizations()
        .get(checkout.organization_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))?;
    for (street, city, state, zip, place) in PLACES {
        let place: Country = place
            .parse()
            .map_err(|error: AddressError| Error::rule(error.to_string()))?;
        let address = Address {
            first_name: None,
            last_name: None,
            company: None,
            address1: line(street)?,
            address2: None,
            city: line(city)?,
            state: state.map(line).transpose()?,
            zip: line(zip)?,
            country: place,
            phone: None,
        };
        let is_at_home = country.is_none_or(|country| country == place);
        if is_at_home && organization.service_area.serves(&address).is_ok() {
            return Ok(address);
        }
    }
    Err(Error::rule(
        "the customer's address is not known, and none of the sandbox's own is served: give the checkout a shipping address and the customer a profile",
    ))
}

/// An address is one thing: half of the customer's and half of another is no place.
pub(super) fn live_at(profile: &mut Profile, address: Address) {
    profile.address1 = Some(address.address1);
    profile.address2 = None;
    profile.city = Some(address.city);
    profile.state = address.state;
    profile.zip = Some(address.zip);
    profile.country = Some(address.country);
}

/// A tracking number of a carrier's form that is nobody's.
pub(super) fn sample_tracking() -> Result<Tracking, Error> {
    let number = TrackingNumber::parse("1Z999AA10123456784")
        .map_err(|error| Error::rule(error.to_string()))?;
    Ok(Tracking {
        number,
        carrier: Carrier::Ups,
    })
}

/// The customer with a whole profile: the sandbox's own where nothing is known.
pub(super) async fn with_profile(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    customer: &Customer,
) -> Result<Customer, Error> {
    let mut customer = customer.clone();
    let profile = &mut customer.profile;
    if profile.address().is_none() {
        let address = sample_address(uow, checkout, profile.country).await?;
        live_at(profile, address);
    }
    profile.first_name = profile.first_name.take().or(Some(line("Sandbox")?));
    profile.last_name = profile.last_name.take().or(Some(line("Customer")?));
    Ok(customer)
}
