//! What `lessor org update` sets of credit.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::outbound::{Targets, new_secret};
use lessor_adapters::processor::standard_webhooks::SharedSecret;
use lessor_domain::access::Mode;
use lessor_domain::address::Country;
use lessor_domain::credit::{CreditEndpoint, CreditKind, CreditPolicy, CreditRules};
use lessor_domain::money::{Amount, Currency, Money};
use lessor_domain::ports::UnitOfWork;
use lessor_domain::secret::Secret;
use lessor_domain::services::{Error, credit};
use lessor_domain::text::Url;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

/// The longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// How an organization decides about credit.
#[derive(Debug, Args)]
pub(crate) struct CreditArgs {
    /// The mode that --credit is for, live or sandbox
    #[arg(long)]
    mode: Option<Mode>,
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

/// What is to be set.
pub(crate) struct Wanted {
    pub(crate) mode: Mode,
    pub(crate) policy: CreditPolicy,
    /// A secret that was made, to be shown once.
    made: Option<Secret>,
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

    /// What is asked for, of an organization of this currency in whose name the work goes on.
    ///
    /// # Errors
    /// [`Error::Invalid`] of what does not fit together; a file that cannot be read.
    pub(crate) async fn wanted(
        &self,
        uow: &mut dyn UnitOfWork,
        organization: &lessor_domain::organization::Organization,
        targets: Targets,
    ) -> anyhow::Result<Option<Wanted>> {
        let (Some(kind), Some(mode)) = (self.credit, self.mode) else {
            return Ok(None);
        };
        let is_http = kind == CreditKind::Http;
        for (given, flag) in [
            (self.credit_url.is_some(), "--credit-url"),
            (self.credit_secret_file.is_some(), "--credit-secret-file"),
        ] {
            if given && !is_http {
                return Err(Error::invalid("credit", format!("{flag} is for http")).into());
            }
        }
        if self.credit_rules.is_some() && kind != CreditKind::Rules {
            return Err(Error::invalid("credit", "--credit-rules is for rules").into());
        }
        let mut made = None;
        let policy = match kind {
            CreditKind::Manual => CreditPolicy::Manual,
            CreditKind::None => CreditPolicy::None,
            CreditKind::Simulated => CreditPolicy::Simulated,
            CreditKind::Http => {
                let known = match credit::policy_of(uow, organization.id, mode).await? {
                    CreditPolicy::Http(endpoint) => Some(endpoint.url),
                    _ => None,
                };
                let url =
                    self.credit_url.clone().or(known).ok_or_else(|| {
                        Error::invalid("creditUrl", "is needed: no URL is known yet")
                    })?;
                targets
                    .check(url.as_str())
                    .map_err(|refused| Error::invalid("creditUrl", refused))?;
                let secret = match &self.credit_secret_file {
                    Some(file) => secret_in(file)?,
                    None => made.insert(new_secret(&SystemEntropy)).clone(),
                };
                CreditPolicy::Http(CreditEndpoint { url, secret })
            }
            CreditKind::Rules => CreditPolicy::Rules(match &self.credit_rules {
                Some(file) => rules_in(&read(file)?, organization.currency)?,
                None => CreditRules::default(),
            }),
        };
        Ok(Some(Wanted { mode, policy, made }))
    }
}

impl Wanted {
    /// What the reply shows of it.
    pub(crate) fn shown(&self) -> Vec<(&'static str, Value)> {
        let mut members = vec![
            ("mode", json!(self.mode.as_str())),
            ("credit", json!(self.policy.kind().as_str())),
        ];
        if let CreditPolicy::Http(endpoint) = &self.policy {
            members.push(("creditUrl", json!(endpoint.url.as_str())));
        }
        if let Some(secret) = &self.made {
            members.push(("creditSecret", json!(secret.expose())));
        }
        members
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(LONGEST_FILE).read_to_string(&mut text))
        .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text)
}

fn secret_in(file: &Path) -> anyhow::Result<Secret> {
    let text = read(file)?;
    let text = text.trim();
    text.parse::<SharedSecret>()
        .map_err(|refused| Error::invalid("creditSecret", refused))?;
    Ok(Secret::new(text.to_owned()))
}

/// The limits of a file.
///
/// # Errors
/// [`Error::Invalid`] naming the member at fault.
fn rules_in(text: &str, currency: Currency) -> Result<CreditRules, Error> {
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
    Ok(CreditRules {
        max_monthly_payment: amount("maxMonthlyPayment", file.max_monthly_payment, currency)?,
        max_open_leases: file.max_open_leases,
        max_total_exposure: amount("maxTotalExposure", file.max_total_exposure, currency)?,
        countries,
    })
}

fn amount(member: &str, given: Option<Value>, currency: Currency) -> Result<Option<Money>, Error> {
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
    let amount: Amount = text
        .parse()
        .map_err(|refused| Error::invalid(param.as_str(), refused))?;
    let money = amount
        .in_currency(currency)
        .map_err(|refused| Error::invalid(param, refused))?;
    Ok(Some(money))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match rules_in(text, Currency::USD) {
            Err(Error::Invalid { param, .. }) => param,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn limits_are_read_exactly() {
        let text = r#"{"maxMonthlyPayment": "120.10", "maxOpenLeases": 2, "maxTotalExposure": 5000,
            "countries": ["us", "CA"]}"#;
        let rules = rules_in(text, Currency::USD).unwrap();
        let expected = CreditRules {
            max_monthly_payment: Some(Money::from_minor(12_010, Currency::USD)),
            max_open_leases: Some(2),
            max_total_exposure: Some(Money::from_minor(500_000, Currency::USD)),
            countries: vec!["US".parse().unwrap(), "CA".parse().unwrap()],
        };
        assert_eq!(rules, expected);
        assert_eq!(
            rules_in("{}", Currency::USD).unwrap(),
            CreditRules::default()
        );
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
