//! What `lessor org update` sets of credit.

use std::path::PathBuf;

use clap::Args;
use lessor_adapters::outbound::Targets;
use lessor_domain::access::Mode;
use lessor_domain::address::Country;
use lessor_domain::credit::{CreditKind, CreditPolicy};
use lessor_domain::ids::OrganizationRef;
use lessor_domain::money::Amount;
use lessor_domain::organization::Organization;
use lessor_domain::ports::UnitOfWork;
use lessor_domain::services::Error;
use lessor_domain::services::credit::{self, CreditChange, GivenRules};
use lessor_domain::text::Url;
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::{Named, read};
use super::session::Session;

const NAMED: Named = Named {
    kind: "credit",
    url: "creditUrl",
    secret: "creditSecret",
};

/// How an organization decides about credit.
#[derive(Debug, Args)]
pub(crate) struct CreditArgs {
    /// How it decides about credit in the mode: manual, http, rules, none, or simulated in the sandbox
    #[arg(long, value_name = "KIND", requires = "mode")]
    credit: Option<CreditKind>,
    /// Where decisions are asked for, with --credit http; the one that is set stays when not given
    #[arg(long, value_name = "URL", requires = "credit")]
    credit_url: Option<Url>,
    /// File of what requests are signed with (whsec_…); made and shown once when not given
    #[arg(long, value_name = "FILE", requires = "credit")]
    credit_secret_file: Option<PathBuf>,
    /// File of the limits, with --credit rules: {"maxMonthlyPayment", "maxOpenLeases", "maxTotalExposure", "countries"}
    #[arg(long, value_name = "FILE", requires = "credit")]
    credit_rules: Option<PathBuf>,
}

/// Limits as the file has them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RulesFile {
    max_monthly_payment: Option<Value>,
    max_open_leases: Option<u32>,
    max_total_exposure: Option<Value>,
    countries: Option<Vec<String>>,
}

impl CreditArgs {
    /// Whether a secret is kept, for which the server's key is needed.
    pub(crate) fn seals(&self) -> bool {
        self.credit == Some(CreditKind::Http)
    }

    /// Sets what is asked for, of an organization in whose name the work goes on, and tells what the reply
    /// shows of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] of what does not fit together; a file that cannot be read.
    pub(crate) async fn set(
        self,
        session: &Session,
        uow: &mut dyn UnitOfWork,
        organization: &Organization,
        mode: Option<Mode>,
        targets: Targets,
    ) -> anyhow::Result<Vec<(&'static str, Value)>> {
        let (Some(kind), Some(mode)) = (self.credit, mode) else {
            return Ok(Vec::new());
        };
        let file = self.credit_secret_file.as_deref();
        let rules = self.credit_rules.as_deref();
        let wanted = CreditChange {
            kind: Some(kind),
            endpoint: NAMED.change(self.credit_url, file, targets)?,
            rules: match rules {
                Some(file) => Some(rules_in(&read(file)?)?),
                None => None,
            },
        };
        let known = credit::policy_of(uow, organization.id, mode).await?;
        let (policy, made) = wanted.over(&known, organization.currency)?;
        let url = match &policy {
            CreditPolicy::Http(endpoint) => Some(&endpoint.url),
            CreditPolicy::Manual
            | CreditPolicy::Rules(_)
            | CreditPolicy::None
            | CreditPolicy::Simulated => None,
        };
        let shown = NAMED.shown(kind.as_str(), url, made.as_ref());
        let (ids, now, origin) = (session.ids(), session.now(), session.origin());
        let named = OrganizationRef::Number(organization.id);
        credit::set_policy(uow, ids, now, origin, named, mode, policy).await?;
        Ok(shown)
    }
}

/// The limits of a file.
///
/// # Errors
/// [`Error::Invalid`] naming the member at fault.
fn rules_in(text: &str) -> Result<GivenRules, Error> {
    let file: RulesFile =
        serde_json::from_str(text).map_err(|refused| Error::invalid("creditRules", refused))?;
    let countries: Vec<Country> = file
        .countries
        .unwrap_or_default()
        .iter()
        .map(|code| {
            code.parse()
                .map_err(|refused| Error::invalid("creditRules.countries", refused))
        })
        .collect::<Result<_, _>>()?;
    Ok(GivenRules {
        max_monthly_payment: amount("maxMonthlyPayment", file.max_monthly_payment)?,
        max_open_leases: file.max_open_leases,
        max_total_exposure: amount("maxTotalExposure", file.max_total_exposure)?,
        countries,
    })
}

fn amount(member: &str, given: Option<Value>) -> Result<Option<Amount>, Error> {
    let param = format!("creditRules.{member}");
    let text = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => {
            return Err(Error::invalid(
                param,
                "must be an amount, such as \"120.00\"",
            ));
        }
    };
    text.parse()
        .map(Some)
        .map_err(|refused| Error::invalid(param, refused))
}

#[cfg(test)]
mod tests {
    use lessor_domain::credit::CreditRules;
    use lessor_domain::money::{Currency, Money};

    use super::*;

    fn in_dollars(text: &str) -> Result<CreditRules, Error> {
        rules_in(text)?.in_currency(Currency::USD)
    }

    fn refused(text: &str) -> String {
        match in_dollars(text) {
            Err(Error::Invalid { param, .. }) => param,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn limits_are_read_exactly() {
        let text = r#"{"maxMonthlyPayment": "120.10", "maxOpenLeases": 2, "maxTotalExposure": 5000,
            "countries": ["us", "CA"]}"#;
        let rules = in_dollars(text).unwrap();
        let expected = CreditRules {
            max_monthly_payment: Some(Money::from_minor(12_010, Currency::USD)),
            max_open_leases: Some(2),
            max_total_exposure: Some(Money::from_minor(500_000, Currency::USD)),
            countries: vec!["US".parse().unwrap(), "CA".parse().unwrap()],
        };
        assert_eq!(rules, expected);
        assert_eq!(in_dollars("{}").unwrap(), CreditRules::default());
    }

    #[test]
    fn what_is_no_limit_is_named() {
        for (text, param) in [
            ("", "creditRules"),
            (r#"{"maxPayment": 1}"#, "creditRules"),
            (r#"{"maxOpenLeases": -1}"#, "creditRules"),
            (
                r#"{"maxMonthlyPayment": "1.234"}"#,
                "creditRules.maxMonthlyPayment",
            ),
            (
                r#"{"maxTotalExposure": true}"#,
                "creditRules.maxTotalExposure",
            ),
            (r#"{"countries": ["Mars"]}"#, "creditRules.countries"),
        ] {
            assert_eq!(refused(text), param, "{text}");
        }
    }
}
