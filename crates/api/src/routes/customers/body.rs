//! Customers as requests have them.

use std::fmt::Display;
use std::str::FromStr;

use lessor_domain::services::Patch as Change;
use lessor_domain::services::customers::CustomerChanges;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{Patch, Text};
use crate::wire::{self, MetadataChanges, patch};

/// What is to change in a customer: a member that is left out stays, `null` clears one.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateCustomer)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateCustomerBody {
    /// Given name.
    #[serde(default)]
    first_name: Patch<Text<255>>,
    /// Family name.
    #[serde(default)]
    last_name: Patch<Text<255>>,
    /// Street and number.
    #[serde(default)]
    address1: Patch<Text<255>>,
    /// Second line.
    #[serde(default)]
    address2: Patch<Text<255>>,
    /// City.
    #[serde(default)]
    city: Patch<Text<255>>,
    /// State or province, by code or name; checked against the country.
    #[serde(default)]
    state: Patch<Text<255>>,
    /// Postal code; checked against the country.
    #[serde(default)]
    zip: Patch<Text<255>>,
    /// Country, ISO 3166-1 alpha-2 in any case.
    #[serde(default)]
    country: Patch<Text<255>>,
    /// Phone number of the country, or in international form.
    #[serde(default)]
    phone: Patch<Text<255>>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default)]
    metadata: Patch<MetadataChanges>,
}

impl UpdateCustomerBody {
    pub(super) fn parse(self) -> Result<CustomerChanges, ApiError> {
        Ok(CustomerChanges {
            first_name: change("firstName", self.first_name)?,
            last_name: change("lastName", self.last_name)?,
            address1: change("address1", self.address1)?,
            address2: change("address2", self.address2)?,
            city: change("city", self.city)?,
            state: change("state", self.state)?,
            zip: change("zip", self.zip)?,
            country: change("country", self.country)?,
            phone: change("phone", self.phone)?,
            metadata: wire::metadata_patch(self.metadata)?,
        })
    }
}

fn change<T>(param: &str, member: Patch<Text<255>>) -> Result<Change<T>, ApiError>
where
    T: FromStr<Err: Display>,
{
    patch(param, member, |text| text.as_str().parse())
}
