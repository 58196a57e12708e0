//! Settings that name an endpoint of the organization, as requests and answers have them.

use lessor_adapters::outbound::new_secret;
use lessor_domain::credit::{CreditPolicy, CreditRules};
use lessor_domain::ports::Entropy;
use lessor_domain::secret::Secret;
use lessor_domain::services::Error;
use lessor_domain::services::credit::{CreditChange, GivenRules};
use lessor_domain::services::endpoints::{EndpointChange, SecretChange};
use lessor_domain::services::signers::SignerChange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request::{List, Parsed, Plain as _, Whole};
use crate::state::AppState;
use crate::wire::{Amount, Country, CreditKind, SignerKind, SigningSecret, Url};

/// How many leases.
type Leases = Parsed<Whole<u32, 0, { u32::MAX as i64 }>>;
/// The countries of a limit.
type Countries = List<Country, 250>;

/// Limits within which the organization leases without asking anybody. Each is inclusive; one that is left
/// out decides nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreditRulesInput)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreditRulesBody {
    /// What a customer may pay for the lease each month.
    max_monthly_payment: Option<Amount>,
    /// How many leases a customer may have, the new one included.
    max_open_leases: Option<Leases>,
    /// What a customer may still have to pay, the new lease included.
    max_total_exposure: Option<Amount>,
    /// Where customers may live; anywhere where none is named.
    countries: Option<Countries>,
}

impl From<CreditRulesBody> for GivenRules {
    fn from(body: CreditRulesBody) -> Self {
        Self {
            max_monthly_payment: body.max_monthly_payment.plain(),
            max_open_leases: body.max_open_leases.plain().map(Whole::get),
            max_total_exposure: body.max_total_exposure.plain(),
            countries: body.countries.plain().unwrap_or_default(),
        }
    }
}

/// How the organization decides about credit, as a request changes it in its key's mode.
pub(super) struct CreditMembers {
    pub(super) kind: Option<CreditKind>,
    pub(super) url: Option<Url>,
    /// `null` has another made.
    pub(super) secret: Option<Option<SigningSecret>>,
    pub(super) rules: Option<CreditRulesBody>,
}

impl CreditMembers {
    /// The change, where anything is said of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] of a URL that is not asked.
    pub(super) fn change(self, state: &AppState) -> Result<Option<CreditChange>, Error> {
        let is_said = self.kind.is_some()
            || self.url.is_some()
            || self.secret.is_some()
            || self.rules.is_some();
        if !is_said {
            return Ok(None);
        }
        Ok(Some(CreditChange {
            kind: self.kind.plain(),
            endpoint: endpoint(state, "creditUrl", self.url, self.secret)?,
            rules: self.rules.map(Into::into),
        }))
    }
}

/// Where the organization has its agreements signed, as a request changes it in its key's mode.
pub(super) struct SignerMembers {
    pub(super) kind: Option<SignerKind>,
    pub(super) url: Option<Url>,
    /// `null` has another made.
    pub(super) secret: Option<Option<SigningSecret>>,
}

impl SignerMembers {
    /// The change, where anything is said of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] of a URL that is not asked.
    pub(super) fn change(self, state: &AppState) -> Result<Option<SignerChange>, Error> {
        if self.kind.is_none() && self.url.is_none() && self.secret.is_none() {
            return Ok(None);
        }
        Ok(Some(SignerChange {
            kind: self.kind.plain(),
            endpoint: endpoint(state, "signerUrl", self.url, self.secret)?,
        }))
    }
}

fn endpoint(
    state: &AppState,
    member: &'static str,
    url: Option<Url>,
    secret: Option<Option<SigningSecret>>,
) -> Result<EndpointChange, Error> {
    let url = url.plain();
    if let Some(url) = &url {
        let targets = &state.settings.targets;
        targets
            .check(url.as_str())
            .map_err(|refused| Error::invalid(member, refused))?;
    }
    let entropy: &dyn Entropy = &*state.engine.entropy;
    Ok(EndpointChange {
        url,
        secret: match secret.plain() {
            None => SecretChange::Keep {
                fresh: new_secret(entropy),
            },
            Some(None) => SecretChange::Make(new_secret(entropy)),
            Some(Some(given)) => SecretChange::Give(Secret::from(given)),
        },
    })
}

/// Limits, as answers have them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreditRules)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreditRulesRecord {
    /// What a customer may pay for the lease each month.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_monthly_payment: Option<String>,
    /// How many leases a customer may have, the new one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_open_leases: Option<u32>,
    /// What a customer may still have to pay, the new lease included.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_total_exposure: Option<String>,
    /// Where customers may live; anywhere where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    countries: Vec<String>,
}

impl CreditRulesRecord {
    /// Those of the policy, where it decides by limits.
    pub(super) fn of(policy: &CreditPolicy) -> Option<Self> {
        match policy {
            CreditPolicy::Rules(rules) => Some(rules.into()),
            CreditPolicy::Manual
            | CreditPolicy::Http(_)
            | CreditPolicy::None
            | CreditPolicy::Simulated => None,
        }
    }
}

impl From<&CreditRules> for CreditRulesRecord {
    fn from(rules: &CreditRules) -> Self {
        Self {
            max_monthly_payment: rules.max_monthly_payment.map(|amount| amount.to_string()),
            max_open_leases: rules.max_open_leases,
            max_total_exposure: rules.max_total_exposure.map(|amount| amount.to_string()),
            countries: rules.countries.iter().map(ToString::to_string).collect(),
        }
    }
}
