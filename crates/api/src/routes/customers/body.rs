//! Customers as requests have them.

use lessor_domain::services::customers::CustomerChanges;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::request::Plain as _;
use crate::wire::{self, BirthDate, Country, Line, MetadataChanges};

/// What is to change in a customer: a member that is left out stays, `null` clears one.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateCustomer)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateCustomerBody {
    /// Given name.
    #[serde(default, with = "serde_with::rust::double_option")]
    first_name: Option<Option<Line>>,
    /// Family name.
    #[serde(default, with = "serde_with::rust::double_option")]
    last_name: Option<Option<Line>>,
    /// Street and number.
    #[serde(default, with = "serde_with::rust::double_option")]
    address1: Option<Option<Line>>,
    /// Second line.
    #[serde(default, with = "serde_with::rust::double_option")]
    address2: Option<Option<Line>>,
    /// City.
    #[serde(default, with = "serde_with::rust::double_option")]
    city: Option<Option<Line>>,
    /// State or province, by code or name; checked against the country.
    #[serde(default, with = "serde_with::rust::double_option")]
    state: Option<Option<Line>>,
    /// Postal code; checked against the country.
    #[serde(default, with = "serde_with::rust::double_option")]
    zip: Option<Option<Line>>,
    /// Country, ISO 3166-1 alpha-2 in any case.
    #[serde(default, with = "serde_with::rust::double_option")]
    country: Option<Option<Country>>,
    /// Phone number of the country, or in international form.
    #[serde(default, with = "serde_with::rust::double_option")]
    phone: Option<Option<Line>>,
    /// When they were born, `YYYY-MM-DD`. Another name or birth date is another person: identity and credit
    /// are asked for again.
    #[serde(default, with = "serde_with::rust::double_option")]
    birth_date: Option<Option<BirthDate>>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default, with = "serde_with::rust::double_option")]
    metadata: Option<Option<MetadataChanges>>,
}

impl From<UpdateCustomerBody> for CustomerChanges {
    fn from(body: UpdateCustomerBody) -> Self {
        Self {
            first_name: body.first_name.plain().into(),
            last_name: body.last_name.plain().into(),
            address1: body.address1.plain().into(),
            address2: body.address2.plain().into(),
            city: body.city.plain().into(),
            state: body.state.plain().into(),
            zip: body.zip.plain().into(),
            country: body.country.plain().into(),
            phone: body.phone.plain().into(),
            birth_date: body.birth_date.plain().into(),
            metadata: wire::metadata_patch(body.metadata),
        }
    }
}
