//! The organization as answers have it.

use lessor_domain::agreement::Signer;
use lessor_domain::credit::CreditPolicy;
use lessor_domain::secret::Secret;
use lessor_domain::services::organizations::OrganizationView;
use serde::Serialize;
use utoipa::ToSchema;

use super::settings::CreditRulesRecord;
use crate::wire::{CreditKind, DateTimeText, OrganizationId, SignerKind};

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
    /// Its own terms in Markdown, which are in its agreements.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_terms: Option<String>,
    /// The version of these terms, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_terms_version: Option<u32>,
    /// How it decides about credit in the key's mode.
    credit: CreditKind,
    /// Where decisions are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri")]
    credit_url: Option<String>,
    /// What these requests are signed with: in the answer that made it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_secret: Option<String>,
    /// Its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    credit_rules: Option<CreditRulesRecord>,
    /// Where it has its agreements signed in the key's mode.
    signer: SignerKind,
    /// Where documents are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri")]
    signer_url: Option<String>,
    /// What these requests are signed with: in the answer that made it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_secret: Option<String>,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

fn shown(made: Option<&Secret>) -> Option<String> {
    made.map(|secret| secret.expose().to_owned())
}

impl From<&OrganizationView> for OrganizationRecord {
    fn from(view: &OrganizationView) -> Self {
        let organization = &view.organization;
        let credit_url = match &view.credit {
            CreditPolicy::Http(endpoint) => Some(endpoint.url.to_string()),
            CreditPolicy::Manual
            | CreditPolicy::Rules(_)
            | CreditPolicy::None
            | CreditPolicy::Simulated => None,
        };
        let signer_url = match &view.signer {
            Signer::Http(endpoint) => Some(endpoint.url.to_string()),
            Signer::Builtin => None,
        };
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
            agreement_terms: view.terms.as_ref().map(|terms| terms.text.to_string()),
            agreement_terms_version: view.terms.as_ref().map(|terms| terms.version),
            credit: view.credit.kind().into(),
            credit_url,
            credit_secret: shown(view.made_credit_secret.as_ref()),
            credit_rules: CreditRulesRecord::of(&view.credit),
            signer: view.signer.kind().into(),
            signer_url,
            signer_secret: shown(view.made_signer_secret.as_ref()),
            created_at: organization.created_at.into(),
            updated_at: organization.updated_at.into(),
        }
    }
}
