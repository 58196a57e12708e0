//! Customers as answers have them.

use std::collections::BTreeMap;

use lessor_domain::access::Mode;
use lessor_domain::customer::Customer;
use lessor_domain::text::Line;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{self, CreditStatus, DateText, DateTimeText, IdentityStatus, UserId};

/// A customer of the key's mode, the lessee.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Customer)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomerRecord {
    /// The customer, `usr_…`.
    id: UserId,
    /// The same customer's number.
    user_id: i64,
    /// When the customer was first known.
    created_at: DateTimeText,
    /// When the customer last changed.
    updated_at: DateTimeText,
    /// When the customer was erased, if that was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    erased_at: Option<DateTimeText>,
    /// What the organization keeps beside it, if anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// E-mail address; one that nobody has, when the customer was erased.
    email: String,
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    /// Phone number, in international form.
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    address1: Option<String>,
    /// Second line.
    #[serde(skip_serializing_if = "Option::is_none")]
    address2: Option<String>,
    /// City.
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
    /// When they were born.
    #[serde(skip_serializing_if = "Option::is_none")]
    birth_date: Option<DateText>,
    /// What the credit check said.
    credit_status: CreditStatus,
    /// When credit was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_timestamp: Option<DateTimeText>,
    /// The IP address that consented to the credit check.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_ip_address: Option<String>,
    /// How far the identity verification is.
    identity_verification_status: IdentityStatus,
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
    pub(crate) fn new(customer: &Customer) -> Self {
        let Customer {
            mode,
            profile,
            screening,
            ..
        } = customer;
        let text = |line: &Option<Line>| line.as_ref().map(ToString::to_string);
        let processor_id = |of: Mode| screening.processor_id.clone().filter(|_| of == *mode);
        Self {
            id: customer.id.into(),
            user_id: customer.user_id.get(),
            created_at: customer.created_at.into(),
            updated_at: customer.updated_at.into(),
            erased_at: customer.erased_at.map(Into::into),
            metadata: wire::metadata_record(&customer.metadata),
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
            birth_date: profile.birth_date.map(Into::into),
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
