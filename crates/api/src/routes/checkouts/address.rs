//! Addresses and profiles, as callers give them.

use lessor_domain::address::{Address, AddressError, AddressProblem};
use lessor_domain::customer::Profile;
use lessor_domain::ports::DialingPlan;
use lessor_domain::services::addresses::checked_address;
use lessor_domain::services::checkouts::CustomerInput;
use lessor_domain::services::customers::checked_profile;
use lessor_domain::text::Line;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::Text;
use crate::wire::{invalid, parse};

/// A postal address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddressInput {
    /// Given name of who receives there.
    first_name: Option<Text<255>>,
    /// Family name of who receives there.
    last_name: Option<Text<255>>,
    /// Company that receives there.
    company: Option<Text<255>>,
    /// Street and number.
    address1: Text<255>,
    /// Second line.
    address2: Option<Text<255>>,
    /// City.
    city: Text<255>,
    /// State or province, by code or name; required in the United States, Canada and Australia.
    state: Option<Text<255>>,
    /// Postal code, of the country's form.
    zip: Text<255>,
    /// Country, ISO 3166-1 alpha-2 in any case.
    country: Text<255>,
    /// Phone number of the country, or in international form.
    phone: Option<Text<255>>,
}

/// The customer of a checkout: found by e-mail address, else made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CheckoutCustomer {
    /// E-mail address; compared without regard to case.
    #[schema(format = "email")]
    email: Text<254>,
    /// Given name.
    first_name: Option<Text<255>>,
    /// Family name.
    last_name: Option<Text<255>>,
    /// Street and number.
    address1: Option<Text<255>>,
    /// Second line.
    address2: Option<Text<255>>,
    /// City.
    city: Option<Text<255>>,
    /// State or province, by code or name.
    state: Option<Text<255>>,
    /// Postal code, of the country's form.
    zip: Option<Text<255>>,
    /// Country, ISO 3166-1 alpha-2 in any case.
    country: Option<Text<255>>,
    /// Phone number of the country, or in international form.
    phone: Option<Text<255>>,
}

/// The fault of an address as that of the member at `prefix`.
fn address_fault(prefix: &str, error: &AddressError) -> ApiError {
    let param = format!("{prefix}.{}", error.member);
    match error.problem {
        AddressProblem::Missing => ApiError::missing(param),
        problem => invalid(&param, problem),
    }
}

impl AddressInput {
    /// The address of the body's member `prefix`.
    pub(crate) fn parse(self, phones: &dyn DialingPlan, prefix: &str) -> Result<Address, ApiError> {
        let at = |member: &str| format!("{prefix}.{member}");
        let required = |member: &str, text: Text<255>| parse::<Line>(&at(member), text.as_str());
        let optional = |member: &str, text: Option<Text<255>>| {
            text.map(|text| parse::<Line>(&at(member), text.as_str()))
                .transpose()
        };
        let address = Address {
            first_name: optional("firstName", self.first_name)?,
            last_name: optional("lastName", self.last_name)?,
            company: optional("company", self.company)?,
            address1: required("address1", self.address1)?,
            address2: optional("address2", self.address2)?,
            city: required("city", self.city)?,
            state: optional("state", self.state)?,
            zip: required("zip", self.zip)?,
            country: parse(&at("country"), self.country.as_str())?,
            phone: optional("phone", self.phone)?,
        };
        checked_address(phones, address).map_err(|error| address_fault(prefix, &error))
    }
}

impl CheckoutCustomer {
    /// The customer of the body's member `customer`.
    pub(crate) fn parse(self, phones: &dyn DialingPlan) -> Result<CustomerInput, ApiError> {
        let optional = |member: &str, text: Option<Text<255>>| {
            text.map(|text| parse::<Line>(&format!("customer.{member}"), text.as_str()))
                .transpose()
        };
        let email = parse("customer.email", self.email.as_str())?;
        let profile = Profile {
            first_name: optional("firstName", self.first_name)?,
            last_name: optional("lastName", self.last_name)?,
            address1: optional("address1", self.address1)?,
            address2: optional("address2", self.address2)?,
            city: optional("city", self.city)?,
            state: optional("state", self.state)?,
            zip: optional("zip", self.zip)?,
            country: self
                .country
                .map(|text| parse("customer.country", text.as_str()))
                .transpose()?,
            phone: optional("phone", self.phone)?,
        };
        let profile =
            checked_profile(phones, profile).map_err(|error| address_fault("customer", &error))?;
        Ok(CustomerInput { email, profile })
    }
}
