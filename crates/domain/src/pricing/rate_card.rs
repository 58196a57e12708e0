use crate::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};

/// How the rent charge of a lease is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum Rate {
    /// Level rent: each month the factor times the sum of capitalized cost and residual value.
    MoneyFactor(MoneyFactor),
    /// Constant yield: a twelfth of the rate each month on the balance.
    AnnualRate(AnnualRate),
}

/// The conditions at which an organization leases for one term.
///
/// ```
/// use lessor_domain::pricing::{Rate, RateCard};
///
/// let card = RateCard::new("24".parse()?, Rate::MoneyFactor("0.0025".parse()?), "45".parse()?)
///     .with_deposit("10".parse()?)
///     .with_insurance("6".parse()?);
/// assert_eq!(card.deposit.to_string(), "10");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct RateCard {
    /// Length of the lease.
    pub term: TermMonths,
    /// Price of the money.
    pub rate: Rate,
    /// Residual value in percent of the list price.
    pub residual: Percentage,
    /// Refundable deposit in percent of the list price.
    pub deposit: Percentage,
    /// Insurance in percent of the list price a year, billed monthly.
    pub insurance: Percentage,
}

impl RateCard {
    /// Conditions without deposit and insurance.
    #[must_use]
    pub const fn new(term: TermMonths, rate: Rate, residual: Percentage) -> Self {
        Self {
            term,
            rate,
            residual,
            deposit: Percentage::ZERO,
            insurance: Percentage::ZERO,
        }
    }

    /// With a refundable deposit, in percent of the list price.
    #[must_use]
    pub const fn with_deposit(mut self, deposit: Percentage) -> Self {
        self.deposit = deposit;
        self
    }

    /// With insurance, in percent of the list price a year.
    #[must_use]
    pub const fn with_insurance(mut self, insurance: Percentage) -> Self {
        self.insurance = insurance;
        self
    }
}
