//! How organizations decide about credit.

use super::Error;
use super::audit::{self, Entry};
use super::endpoints::{EndpointChange, Members};
use super::organizations::entered;
use crate::access::Mode;
use crate::address::Country;
use crate::audit::Origin;
use crate::credit::{CreditKind, CreditPolicy, CreditRules};
use crate::ids::{OrganizationId, OrganizationRef};
use crate::money::{Amount, Currency, Money};
use crate::organization::Organization;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::secret::Secret;
use crate::time::Timestamp;

const ENDPOINT: Members = Members {
    url: "creditUrl",
    secret: "creditSecret",
};

/// Limits before the currency of their amounts is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenRules {
    pub max_monthly_payment: Option<Amount>,
    pub max_open_leases: Option<u32>,
    pub max_total_exposure: Option<Amount>,
    pub countries: Vec<Country>,
}

impl GivenRules {
    /// The limits in the currency.
    ///
    /// # Errors
    /// [`Error::Invalid`] of an amount that the currency has no unit for.
    pub fn in_currency(self, currency: Currency) -> Result<CreditRules, Error> {
        let money = |member: &str, amount: Option<Amount>| -> Result<Option<Money>, Error> {
            let money = amount.map(|amount| amount.in_currency(currency));
            money
                .transpose()
                .map_err(|refused| Error::invalid(format!("creditRules.{member}"), refused))
        };
        Ok(CreditRules {
            max_monthly_payment: money("maxMonthlyPayment", self.max_monthly_payment)?,
            max_open_leases: self.max_open_leases,
            max_total_exposure: money("maxTotalExposure", self.max_total_exposure)?,
            countries: self.countries,
        })
    }
}

/// What is to change in how an organization decides in a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditChange {
    /// None: it decides as before.
    pub kind: Option<CreditKind>,
    /// Where decisions are asked for.
    pub endpoint: EndpointChange,
    /// None: those that are set stay.
    pub rules: Option<GivenRules>,
}

impl CreditChange {
    /// Whether nothing is said that changes anything.
    pub(super) fn is_empty(&self) -> bool {
        let says_nothing = self.endpoint.none_said(&ENDPOINT).is_ok();
        self.kind.is_none() && self.rules.is_none() && says_nothing && !self.endpoint.renews()
    }

    /// How the organization decides from now on, and the secret that was made for it, which is shown this
    /// once.
    ///
    /// # Errors
    /// [`Error::Invalid`] of what does not fit together.
    pub fn over(
        self,
        known: &CreditPolicy,
        currency: Currency,
    ) -> Result<(CreditPolicy, Option<Secret>), Error> {
        let kind = self.kind.unwrap_or(known.kind());
        if kind != CreditKind::Http {
            self.endpoint.none_said(&ENDPOINT)?;
        }
        if kind != CreditKind::Rules && self.rules.is_some() {
            return Err(Error::invalid("creditRules", "is for rules"));
        }
        let policy = match kind {
            CreditKind::Manual => CreditPolicy::Manual,
            CreditKind::None => CreditPolicy::None,
            CreditKind::Simulated => CreditPolicy::Simulated,
            CreditKind::Http => {
                let endpoint = match known {
                    CreditPolicy::Http(endpoint) => Some(endpoint),
                    _ => None,
                };
                let (endpoint, made) = self.endpoint.over(endpoint, &ENDPOINT)?;
                return Ok((CreditPolicy::Http(endpoint), made));
            }
            CreditKind::Rules => CreditPolicy::Rules(match (self.rules, known) {
                (Some(given), _) => given.in_currency(currency)?,
                (None, CreditPolicy::Rules(known)) => known.clone(),
                (None, _) => CreditRules::default(),
            }),
        };
        Ok((policy, None))
    }
}

/// How the organization decides in the mode.
///
/// # Errors
/// [`Error::Store`].
pub async fn policy_of(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    mode: Mode,
) -> Result<CreditPolicy, Error> {
    let said = uow.credit_policies().get(organization, mode).await?;
    Ok(said.unwrap_or(CreditPolicy::default_of(mode)))
}

/// Sets how the organization decides in the mode, for every check from then on.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Invalid`] of the simulated checker in live mode.
pub async fn set_policy(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    mode: Mode,
    policy: CreditPolicy,
) -> Result<Organization, Error> {
    let organization = entered(uow, organization).await?;
    if mode == Mode::Live && policy.kind() == CreditKind::Simulated {
        return Err(Error::invalid(
            "credit",
            "simulated is for the sandbox alone: nobody's credit is checked by it",
        ));
    }
    let before = policy_of(uow, organization.id, mode).await?;
    uow.credit_policies()
        .put(organization.id, mode, &policy, now)
        .await?;
    let set = Entry::credit_set(&organization, mode, &before, &policy);
    audit::record(uow, ids, now, origin, organization.id, set).await?;
    Ok(organization)
}
