use super::error::PricingError;
use crate::exact::round_half_away_from_zero;
use crate::money::{Currency, Money};
use crate::percentage::Percentage;

/// Units of a [`Percentage`] in 100 %.
pub(super) const WHOLE: u32 = 100 * Percentage::SCALE;

/// Refuses an input that is negative or above what a request may carry.
#[inline]
pub(super) fn check_amount(figure: &'static str, amount: Money) -> Result<(), PricingError> {
    check_up_to(figure, amount, Money::largest_amount(amount.currency()))
}

/// Refuses an amount that is not from 0 to `max`, which is of its currency.
#[inline]
pub(super) fn check_up_to(
    figure: &'static str,
    amount: Money,
    max: Money,
) -> Result<(), PricingError> {
    amount.same_currency(max)?;
    if amount.minor() < 0 || amount.minor() > max.minor() {
        return Err(PricingError::AmountOutOfRange { figure, max });
    }
    Ok(())
}

/// Refuses figures of a quote in another currency than its own.
pub(super) fn check_currency<const N: usize>(
    expected: Currency,
    figures: [(&'static str, Money); N],
) -> Result<(), PricingError> {
    for (figure, amount) in figures {
        let found = amount.currency();
        if found != expected {
            return Err(PricingError::OtherCurrency {
                figure,
                found,
                expected,
            });
        }
    }
    Ok(())
}

/// Refuses a figure of a quote that is not what its other figures come to.
pub(super) fn check_sum(
    figure: &'static str,
    stated: Money,
    expected: Money,
) -> Result<(), PricingError> {
    if stated == expected {
        Ok(())
    } else {
        Err(PricingError::Contradiction { figure, expected })
    }
}

/// `amount × part / of`, rounded to a minor unit.
#[inline]
pub(super) fn share(amount: Money, part: u32, of: u32) -> Result<Money, PricingError> {
    i128::from(amount.minor())
        .checked_mul(i128::from(part))
        .and_then(|product| round_half_away_from_zero(product, i128::from(of)))
        .and_then(|minor| i64::try_from(minor).ok())
        .map(|minor| Money::from_minor(minor, amount.currency()))
        .ok_or(PricingError::OVERFLOW)
}

/// Money of a count of minor units.
#[inline]
pub(super) fn money(minor: u64, currency: Currency) -> Result<Money, PricingError> {
    i64::try_from(minor)
        .map(|minor| Money::from_minor(minor, currency))
        .map_err(|_| PricingError::OVERFLOW)
}
