use crate::money::{Currency, Money, MoneyError};
use crate::quantity::Quantity;

/// Why a lease cannot be priced, or a priced one not be trusted. Each names what is wrong and what
/// is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PricingError {
    /// Two amounts could not be combined: other currencies, or beyond 64 bits.
    #[error(transparent)]
    Money(#[from] MoneyError),
    /// An input is negative or beyond what a request may carry.
    #[error("{figure} is from 0 to {max}")]
    AmountOutOfRange {
        /// The input.
        figure: &'static str,
        /// The largest amount allowed.
        max: Money,
    },
    /// A count is outside its range.
    #[error("{figure} is from {min} to {max}")]
    CountOutOfRange {
        /// The input.
        figure: &'static str,
        /// The least count allowed.
        min: u16,
        /// The greatest count allowed.
        max: u16,
    },
    /// An amount of a quote is of another currency than the quote.
    #[error("{figure} is in {found}, and the quote in {expected}")]
    OtherCurrency {
        /// The amount.
        figure: &'static str,
        /// Its currency.
        found: Currency,
        /// The currency of the quote.
        expected: Currency,
    },
    /// A figure of a quote is not what its other figures come to: one of them was changed.
    #[error("{figure} contradicts the other figures, which give {expected}")]
    Contradiction {
        figure: &'static str,
        /// What the others come to.
        expected: Money,
    },
    /// An amount of a quote is not so many times an amount.
    #[error("the amounts are not {quantity} times those of one")]
    NotSoMany {
        /// How many were asked about.
        quantity: Quantity,
    },
    /// The payments made at signing reach the capitalized cost, so that no rate can be charged on
    /// the rest.
    #[error("payments at signing must be below the capitalized cost: nothing is financed")]
    NothingFinanced,
    /// The payments fit no rate within the range of [`ImplicitRate`](super::ImplicitRate).
    #[error("the rate of a lease is from -100 to 1000000 percent a year")]
    RateOutOfRange,
    /// The payment of a lease pays its balance off before the end of the extension.
    #[error(
        "the payment pays off the balance before the added months end: add fewer, or set a residual value"
    )]
    BalanceRunsOut,
}

impl PricingError {
    /// A figure is beyond what its type holds.
    pub(super) const OVERFLOW: Self = Self::Money(MoneyError::Overflow);
}
