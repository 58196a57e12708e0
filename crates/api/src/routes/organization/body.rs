//! The organization as requests have it.

use lessor_domain::organization::ServiceArea;
use lessor_domain::services::Error;
use lessor_domain::services::organizations::{ChangeOrganization, FaceChanges};
use serde::Deserialize;
use utoipa::ToSchema;

use super::settings::{CreditMembers, CreditRulesBody, SignerMembers};
use crate::request::{List, Plain as _, given};
use crate::state::AppState;
use crate::wire::{
    AgreementText, Color, CreditKind, Email, Line, Name, Region, SignerKind, SigningSecret, Url,
};

/// Where an organization delivers.
type Regions = List<Region, 1000>;

/// What is to change in the organization: a member that is left out stays, `null` clears one.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateOrganization)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateOrganizationBody {
    /// Where it delivers: countries (`US`), states (`US-CA`) and postal codes that begin so (`US:941*`).
    /// None: everywhere.
    #[serde(default, with = "serde_with::rust::double_option")]
    service_area: Option<Option<Regions>>,
    /// The name that customers know.
    #[serde(default, with = "serde_with::rust::double_option")]
    display_name: Option<Option<Name>>,
    /// The logo on the checkout page: https.
    #[serde(default, with = "serde_with::rust::double_option")]
    logo_url: Option<Option<Url>>,
    /// What the checkout page's buttons are filled with; their text is black or white, whichever is
    /// read more easily.
    #[serde(default, with = "serde_with::rust::double_option")]
    accent_color: Option<Option<Color>>,
    /// Where customers write to.
    #[serde(default, with = "serde_with::rust::double_option")]
    support_email: Option<Option<Email>>,
    /// Where customers call, in international form.
    #[serde(default, with = "serde_with::rust::double_option")]
    support_phone: Option<Option<Line>>,
    /// The terms of business: https.
    #[serde(default, with = "serde_with::rust::double_option")]
    terms_url: Option<Option<Url>>,
    /// What is done with personal data: https.
    #[serde(default, with = "serde_with::rust::double_option")]
    privacy_url: Option<Option<Url>>,
    /// Where the organization itself is written to. Customers are not shown it.
    #[serde(default, with = "serde_with::rust::double_option")]
    notify_email: Option<Option<Email>>,
    /// Its own terms in Markdown, for agreements that are made from now on.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    agreement_terms: Option<AgreementText>,
    /// How it decides about credit in the key's mode.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    credit: Option<CreditKind>,
    /// Where decisions are asked for, with `http`.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    credit_url: Option<Url>,
    /// What these requests are signed with; `null` has another made, which the answer shows. With the first
    /// URL one is made unless it is given.
    #[serde(default, with = "serde_with::rust::double_option")]
    #[schema(write_only)]
    credit_secret: Option<Option<SigningSecret>>,
    /// Its limits, with `rules`: they take the place of those that are set.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    credit_rules: Option<CreditRulesBody>,
    /// Where it has its agreements signed in the key's mode.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    signer: Option<SignerKind>,
    /// Where documents are sent, with `http`.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    signer_url: Option<Url>,
    /// As `creditSecret`.
    #[serde(default, with = "serde_with::rust::double_option")]
    #[schema(write_only)]
    signer_secret: Option<Option<SigningSecret>>,
}

impl UpdateOrganizationBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// [`Error::Invalid`] of a URL that is not asked.
    pub(super) fn command(self, state: &AppState) -> Result<ChangeOrganization, Error> {
        let area = self.service_area.plain();
        let credit = CreditMembers {
            kind: self.credit,
            url: self.credit_url,
            secret: self.credit_secret,
            rules: self.credit_rules,
        };
        let signer = SignerMembers {
            kind: self.signer,
            url: self.signer_url,
            secret: self.signer_secret,
        };
        Ok(ChangeOrganization {
            terms: self.agreement_terms.plain(),
            credit: credit.change(state)?,
            signer: signer.change(state)?,
            service_area: area.map(|regions| ServiceArea::new(regions.unwrap_or_default())),
            face: FaceChanges {
                display_name: self.display_name.plain().into(),
                logo_url: self.logo_url.plain().into(),
                accent_color: self.accent_color.plain().into(),
                support_email: self.support_email.plain().into(),
                support_phone: self.support_phone.plain().into(),
                terms_url: self.terms_url.plain().into(),
                privacy_url: self.privacy_url.plain().into(),
                notify_email: self.notify_email.plain().into(),
            },
        })
    }
}
