use crate::money::{Money, MoneyError};

/// Why a lease cannot be priced. Each names what is wrong and what is allowed.
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
}

impl PricingError {
    /// A figure is beyond what its type holds.
    pub(super) const OVERFLOW: Self = Self::Money(MoneyError::Overflow);
}
