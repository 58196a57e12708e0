//! The customer, as callers see and change it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use lessor_domain::access::{Access, Mode};
use lessor_domain::customer::{CreditStatus, Customer, IdentityStatus};
use lessor_domain::services::Patch as Change;
use lessor_domain::services::customers::UpdateCustomer;
use lessor_domain::text::Line;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{Id, Named, Patch, Text, names};
use crate::wire::records::UserPublicId;
use crate::wire::{self, DateTimeText, MetadataChanges, patch};

names! {
    CreditStatus => "CreditStatus", "What the credit check said.";
    IdentityStatus => "IdentityVerificationStatus", "How far the identity verification is.";
}

type CreditName = Named<CreditStatus>;
type IdentityName = Named<IdentityStatus>;

/// A customer, the lessee. What screening found and the processor's ids are those of the key's mode.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Customer)]
#[serde(rename_all = "camelCase")]
pub(super) struct CustomerRecord {
    id: UserPublicId,
    /// The same customer's number.
    user_id: i64,
    created_at: DateTimeText,
    updated_at: DateTimeText,
    /// What the organization keeps beside it, if anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    address1: Option<String>,
    /// Second line.
    #[serde(skip_serializing_if = "Option::is_none")]
    address2: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    zip: Option<String>,
    /// Country, ISO 3166-1 alpha-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    credit_status: CreditName,
    /// When credit was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_timestamp: Option<DateTimeText>,
    /// The IP address that consented to the credit check.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_ip_address: Option<String>,
    identity_verification_status: IdentityName,
    /// The verifier's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_verification_session_id: Option<String>,
    /// The customer at the payment processor, for a live key.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_id: Option<String>,
    /// The customer at the payment processor, for a sandbox key.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_sandbox_id: Option<String>,
}

impl CustomerRecord {
    /// The customer as the key sees it.
    pub(super) fn new(customer: &Customer, access: &Access) -> Self {
        let mode = access.mode;
        let profile = &customer.profile;
        let text = |line: &Option<Line>| line.as_ref().map(ToString::to_string);
        let screening = customer.screening(mode);
        let processor_id = |of: Mode| screening.processor_id.clone().filter(|_| of == mode);
        Self {
            id: Id(customer.id),
            user_id: customer.user_id.get(),
            created_at: customer.created_at.into(),
            updated_at: customer.updated_at.into(),
            metadata: wire::metadata_record(customer.metadata_for(access.organization_id)),
            email: customer.email.to_string(),
            first_name: text(&profile.first_name),
            last_name: text(&profile.last_name),
            phone: text(&profile.phone),
            address1: text(&profile.address1),
            address2: text(&profile.address2),
            city: text(&profile.city),
            state: text(&profile.state),
            zip: text(&profile.zip),
            country: profile.country.as_ref().map(ToString::to_string),
            credit_status: screening.credit.into(),
            credit_timestamp: screening.credit_at.map(Into::into),
            credit_ip_address: screening.credit_ip_address.clone(),
            identity_verification_status: screening.identity.into(),
            processor_verification_session_id: screening.verification_session_id.clone(),
            processor_id: processor_id(Mode::Live),
            processor_sandbox_id: processor_id(Mode::Sandbox),
        }
    }
}

/// What is to change in a customer: a member that is left out stays, `null` clears one.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateCustomer)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateCustomerBody {
    #[serde(default)]
    first_name: Patch<Text<255>>,
    #[serde(default)]
    last_name: Patch<Text<255>>,
    /// Street and number.
    #[serde(default)]
    address1: Patch<Text<255>>,
    /// Second line.
    #[serde(default)]
    address2: Patch<Text<255>>,
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
    pub(super) fn parse(self) -> Result<UpdateCustomer, ApiError> {
        Ok(UpdateCustomer {
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
