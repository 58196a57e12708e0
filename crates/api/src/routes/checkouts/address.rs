//! Addresses and profiles, as callers give them.

use lessor_domain::address::{Address, AddressError, AddressProblem};
use lessor_domain::customer::Profile;
use lessor_domain::ports::DialingPlan;
use lessor_domain::services::addresses::checked_address;
use lessor_domain::services::checkouts::CustomerInput;
use lessor_domain::services::customers::checked_profile;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::Plain as _;
use crate::wire::{BirthDate, Country, Email, Line, invalid};

/// A postal address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddressInput {
    /// Given name of who receives there.
    first_name: Option<Line>,
    /// Family name of who receives there.
    last_name: Option<Line>,
    /// Company that receives there.
    company: Option<Line>,
    /// Street and number.
    address1: Line,
    /// Second line.
    address2: Option<Line>,
    /// City.
    city: Line,
    /// State or province, by code or name; required in the United States, Canada and Australia.
    state: Option<Line>,
    /// Postal code, of the country's form.
    zip: Line,
    /// Country, ISO 3166-1 alpha-2 in any case.
    country: Country,
    /// Phone number of the country, or in international form.
    phone: Option<Line>,
}

/// The customer of a checkout: found by e-mail address, else made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CheckoutCustomer {
    /// E-mail address; compared without regard to case.
    email: Email,
    /// Given name.
    first_name: Option<Line>,
    /// Family name.
    last_name: Option<Line>,
    /// Street and number.
    address1: Option<Line>,
    /// Second line.
    address2: Option<Line>,
    /// City.
    city: Option<Line>,
    /// State or province, by code or name.
    state: Option<Line>,
    /// Postal code, of the country's form.
    zip: Option<Line>,
    /// Country, ISO 3166-1 alpha-2 in any case.
    country: Option<Country>,
    /// Phone number of the country, or in international form.
    phone: Option<Line>,
    /// When they were born, `YYYY-MM-DD`.
    birth_date: Option<BirthDate>,
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
    ///
    /// # Errors
    /// 400 about what the country does not allow.
    pub(crate) fn checked(
        self,
        phones: &dyn DialingPlan,
        prefix: &str,
    ) -> Result<Address, ApiError> {
        let address = Address {
            first_name: self.first_name.plain(),
            last_name: self.last_name.plain(),
            company: self.company.plain(),
            address1: self.address1.plain(),
            address2: self.address2.plain(),
            city: self.city.plain(),
            state: self.state.plain(),
            zip: self.zip.plain(),
            country: self.country.plain(),
            phone: self.phone.plain(),
        };
        checked_address(phones, address).map_err(|error| address_fault(prefix, &error))
    }
}

impl CheckoutCustomer {
    /// The customer of the body's member `customer`.
    ///
    /// # Errors
    /// 400 about what the country does not allow.
    pub(crate) fn checked(self, phones: &dyn DialingPlan) -> Result<CustomerInput, ApiError> {
        let profile = Profile {
            first_name: self.first_name.plain(),
            last_name: self.last_name.plain(),
            address1: self.address1.plain(),
            address2: self.address2.plain(),
            city: self.city.plain(),
            state: self.state.plain(),
            zip: self.zip.plain(),
            country: self.country.plain(),
            phone: self.phone.plain(),
            birth_date: self.birth_date.plain(),
        };
        let profile =
            checked_profile(phones, profile).map_err(|error| address_fault("customer", &error))?;
        Ok(CustomerInput {
            email: self.email.plain(),
            profile,
        })
    }
}
