use super::error::PricingError;
use crate::exact::round_half_away_from_zero;
use crate::money::{Currency, Money};
use crate::percentage::Percentage;

/// Units of a [`Percentage`] in 100 %.
pub(super) const WHOLE: u32 = 100 * Percentage::SCALE;

/// Refuses an input that is negative or above what a request may carry.
pub(super) fn check_amount(figure: &'static str, amount: Money) -> Result<(), PricingError> {
    let max = Money::largest_amount(amount.currency());
    if amount.minor() < 0 || amount.minor() > max.minor() {
        return Err(PricingError::AmountOutOfRange { figure, max });
    }
    Ok(())
}

/// `amount × part / of`, rounded to a minor unit.
pub(super) fn share(amount: Money, part: u32, of: u32) -> Result<Money, PricingError> {
    i128::from(amount.minor())
        .checked_mul(i128::from(part))
        .and_then(|product| round_half_away_from_zero(product, i128::from(of)))
        .and_then(|minor| i64::try_from(minor).ok())
        .map(|minor| Money::from_minor(minor, amount.currency()))
        .ok_or(PricingError::OVERFLOW)
}

/// Money of a count of minor units.
pub(super) fn money(minor: u64, currency: Currency) -> Result<Money, PricingError> {
    i64::try_from(minor)
        .map(|minor| Money::from_minor(minor, currency))
        .map_err(|_| PricingError::OVERFLOW)
}
