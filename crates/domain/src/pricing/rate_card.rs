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
