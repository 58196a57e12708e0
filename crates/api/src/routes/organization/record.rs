//! The organization as answers have it.

use lessor_domain::organization::Organization;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{DateTimeText, OrganizationId};

/// A lessor.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Organization)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrganizationRecord {
    /// Its public id, `org_…`.
    id: OrganizationId,
    /// Its number.
    organization_id: i64,
    /// Its name, which its operator gave it.
    name: String,
    /// The one currency that it prices in, ISO 4217.
    currency: String,
    /// Where it delivers: countries (`US`), states (`US-CA`) and postal codes that begin so (`US:941*`).
    /// None: everywhere.
    service_area: Vec<String>,
    /// The name that customers know, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// The logo on the checkout page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri")]
    logo_url: Option<String>,
    /// What the checkout page's buttons are filled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    accent_color: Option<String>,
    /// Where customers write to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "email")]
    support_email: Option<String>,
    /// Where customers call.
    #[serde(skip_serializing_if = "Option::is_none")]
    support_phone: Option<String>,
    /// The terms of business.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri")]
    terms_url: Option<String>,
    /// What is done with personal data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri")]
    privacy_url: Option<String>,
    /// Where the organization itself is written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "email")]
    notify_email: Option<String>,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

impl From<&Organization> for OrganizationRecord {
    fn from(organization: &Organization) -> Self {
        let face = &organization.face;
        let regions = organization.service_area.regions().iter();
        Self {
            id: organization.pub_id.into(),
            organization_id: organization.id.get(),
            name: organization.name.to_string(),
            currency: organization.currency.to_string(),
            service_area: regions.map(ToString::to_string).collect(),
            display_name: text(face.display_name.as_ref()),
            logo_url: text(face.logo_url.as_ref()),
            accent_color: text(face.accent_color.as_ref()),
            support_email: text(face.support_email.as_ref()),
            support_phone: text(face.support_phone.as_ref()),
            terms_url: text(face.terms_url.as_ref()),
            privacy_url: text(face.privacy_url.as_ref()),
            notify_email: text(face.notify_email.as_ref()),
            created_at: organization.created_at.into(),
            updated_at: organization.updated_at.into(),
        }
    }
}
