//! An organization's own limits.

use std::cmp::Ordering;

use crate::address::Country;
use crate::money::Money;
use crate::names::named_enum;

/// Limits within which an organization leases without asking anybody. Each is inclusive, and one that
/// is not set decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreditRules {
    /// What the customer may pay for this lease each month.
    pub max_monthly_payment: Option<Money>,
    /// How many leases the customer may have, this one included.
    pub max_open_leases: Option<u32>,
    /// What the customer may still have to pay, this lease included.
    pub max_total_exposure: Option<Money>,
    /// Where the customer may live; anywhere where none is named.
    pub countries: Vec<Country>,
}

impl CreditRules {
    /// Whether no limit is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.max_monthly_payment.is_none()
            && self.max_open_leases.is_none()
            && self.max_total_exposure.is_none()
            && self.countries.is_empty()
    }
}

named_enum! {
    /// A limit of [`CreditRules`].
    pub enum Limit {
        MaxMonthlyPayment = "maxMonthlyPayment",
        MaxOpenLeases = "maxOpenLeases",
        MaxTotalExposure = "maxTotalExposure",
        Countries = "countries",
    }
}

/// Who asks for a lease, as far as limits look at it. What is not known is within no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applicant {
    /// What the lease costs each month; none while no term is chosen.
    pub monthly_payment: Option<Money>,
    /// How many leases they have, this one included.
    pub open_leases: u32,
    /// What they have still to pay, this lease included; none while that cannot be said.
    pub exposure: Option<Money>,
    /// Where they live.
    pub country: Option<Country>,
}

/// What limits say of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesVerdict {
    /// They are within all of them.
    Passed,
    /// A person decides: no limit is set, or these are passed over.
    Manual(Vec<Limit>),
}

/// Whether the amount is known, of the limit's currency, and no more than the limit.
fn is_within(amount: Option<Money>, limit: Money) -> bool {
    amount.is_some_and(|amount| {
        matches!(
            amount.checked_cmp(limit),
            Ok(Ordering::Less | Ordering::Equal)
        )
    })
}

impl CreditRules {
    /// What the limits say. They refuse nobody: what they do not decide a person does.
    #[must_use]
    pub fn judge(&self, applicant: &Applicant) -> RulesVerdict {
        if self.is_empty() {
            return RulesVerdict::Manual(Vec::new());
        }
        let monthly = self.max_monthly_payment;
        let exposure = self.max_total_exposure;
        let lives_there = applicant
            .country
            .is_some_and(|country| self.countries.contains(&country));
        let outside = [
            (
                Limit::MaxMonthlyPayment,
                monthly.is_some_and(|limit| !is_within(applicant.monthly_payment, limit)),
            ),
            (
                Limit::MaxOpenLeases,
                self.max_open_leases
                    .is_some_and(|limit| applicant.open_leases > limit),
            ),
            (
                Limit::MaxTotalExposure,
                exposure.is_some_and(|limit| !is_within(applicant.exposure, limit)),
            ),
            (Limit::Countries, !self.countries.is_empty() && !lives_there),
        ];
        let outside: Vec<Limit> = outside
            .into_iter()
            .filter_map(|(limit, is_outside)| is_outside.then_some(limit))
            .collect();
        if outside.is_empty() {
            RulesVerdict::Passed
        } else {
            RulesVerdict::Manual(outside)
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "amounts and days of tests are small"
)]
mod tests {
    use super::*;
    use crate::money::Currency;

    const fn dollars(amount: i64) -> Money {
        Money::from_minor(amount * 100, Currency::USD)
    }

    fn countries(codes: &[&str]) -> Vec<Country> {
        codes.iter().map(|code| code.parse().unwrap()).collect()
    }

    fn applicant() -> Applicant {
        Applicant {
            monthly_payment: Some(dollars(50)),
            open_leases: 2,
            exposure: Some(dollars(1_000)),
            country: "US".parse().ok(),
        }
    }

    fn rules(alter: impl FnOnce(&mut CreditRules)) -> CreditRules {
        let mut rules = CreditRules::default();
        alter(&mut rules);
        rules
    }

    #[test]
    fn limits_are_inclusive_and_refuse_nobody() {
        let passed = RulesVerdict::Passed;
        let outside = |limit| RulesVerdict::Manual(vec![limit]);
        let table = [
            (rules(|_| {}), RulesVerdict::Manual(Vec::new())),
            (
                rules(|it| it.max_monthly_payment = Some(dollars(50))),
                passed.clone(),
            ),
            (
                rules(|it| it.max_monthly_payment = Some(dollars(49))),
                outside(Limit::MaxMonthlyPayment),
            ),
            (rules(|it| it.max_open_leases = Some(2)), passed.clone()),
            (
                rules(|it| it.max_open_leases = Some(1)),
                outside(Limit::MaxOpenLeases),
            ),
            (
                rules(|it| it.max_total_exposure = Some(dollars(1_000))),
                passed.clone(),
            ),
            (
                rules(|it| it.max_total_exposure = Some(dollars(999))),
                outside(Limit::MaxTotalExposure),
            ),
            // An amount of another currency is within no limit.
            (
                rules(|it| {
                    it.max_total_exposure =
                        Some(Money::from_minor(900_000, "EUR".parse().unwrap()));
                }),
                outside(Limit::MaxTotalExposure),
            ),
            (
                rules(|it| it.countries = countries(&["CA", "US"])),
                passed.clone(),
            ),
            (
                rules(|it| it.countries = countries(&["CA"])),
                outside(Limit::Countries),
            ),
            (
                rules(|it| {
                    it.max_open_leases = Some(1);
                    it.countries = countries(&["CA"]);
                    it.max_monthly_payment = Some(dollars(60));
                }),
                RulesVerdict::Manual(vec![Limit::MaxOpenLeases, Limit::Countries]),
            ),
        ];
        for (rules, expected) in table {
            assert_eq!(rules.judge(&applicant()), expected, "{rules:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_within_no_limit() {
        let unknown = Applicant {
            monthly_payment: None,
            open_leases: 1,
            exposure: None,
            country: None,
        };
        let all = CreditRules {
            max_monthly_payment: Some(dollars(1_000)),
            max_open_leases: Some(1),
            max_total_exposure: Some(dollars(1_000)),
            countries: countries(&["US"]),
        };
        assert_eq!(
            all.judge(&unknown),
            RulesVerdict::Manual(vec![
                Limit::MaxMonthlyPayment,
                Limit::MaxTotalExposure,
                Limit::Countries
            ])
        );
    }
}
