use std::fmt;

use rust_decimal::Decimal;

use super::discount::{Annuity, Discount};
use super::error::PricingError;
use super::fixed::AMOUNT_FRACTION_BITS;
use super::plan::PaymentPlan;
use crate::exact::round_half_away_from_zero;
use crate::percentage::{AnnualRate, RateError};

/// The rate that a lease really charges: a nominal annual rate in percent, charged monthly, from
/// −100 to 1,000,000, to 12 decimals.
///
/// At this rate the payments and the residual value are worth the capitalized cost at signing. It
/// is below zero when the payments add up to less than the depreciation, as a rounded payment at
/// a rate of zero may.
///
/// ```
/// use lessor_domain::percentage::AnnualRate;
/// use lessor_domain::pricing::ImplicitRate;
///
/// let rate = ImplicitRate::from("8.4972".parse::<AnnualRate>()?);
/// assert_eq!(rate.to_string(), "8.4972");
/// assert_eq!(rate.to_annual_rate()?.to_string(), "8.4972");
/// # Ok::<(), lessor_domain::percentage::RateError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImplicitRate {
    units: i64,
}

impl ImplicitRate {
    /// Decimals of a rate.
    pub const DECIMALS: u32 = 12;
    /// Zero.
    pub const ZERO: Self = Self { units: 0 };
    /// The least rate, −100 % a year.
    pub const MIN: Self = Self {
        units: -100 * Self::SCALE,
    };
    /// The greatest rate, 1,000,000 % a year.
    pub const MAX: Self = Self {
        units: 1_000_000 * Self::SCALE,
    };
    const SCALE: i64 = 10_i64.pow(Self::DECIMALS);
    /// Units of 100 % a month, which is 1,200 % a year.
    pub(super) const UNITS_IN_ONE_A_MONTH: u64 = 1_200 * Self::SCALE.unsigned_abs();
    /// Units of the last decimal of an [`AnnualRate`].
    const ANNUAL_RATE_UNIT: i64 = Self::SCALE / AnnualRate::SCALE as i64;

    /// The rate in percent, without trailing zeros.
    #[must_use]
    pub fn as_decimal(self) -> Decimal {
        Decimal::new(self.units, Self::DECIMALS).normalize()
    }

    /// The rate rounded to the decimals of an [`AnnualRate`].
    ///
    /// # Errors
    /// [`RateError`] when it is below 0 or above 100.
    pub fn to_annual_rate(self) -> Result<AnnualRate, RateError> {
        // What could not be rounded would be out of range.
        let units = round_half_away_from_zero(self.units.into(), Self::ANNUAL_RATE_UNIT.into());
        AnnualRate::new(units.map_or(Decimal::MAX, |units| {
            Decimal::from_i128_with_scale(units, AnnualRate::DECIMALS)
        }))
    }

    /// The rate counted in its last decimal.
    pub(super) const fn units(self) -> i64 {
        self.units
    }
}

impl From<AnnualRate> for ImplicitRate {
    fn from(rate: AnnualRate) -> Self {
        Self {
            units: i64::from(rate.units()).saturating_mul(Self::ANNUAL_RATE_UNIT),
        }
    }
}

impl fmt::Display for ImplicitRate {
    /// The decimal string without trailing zeros, `8.4972`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_decimal().fmt(f)
    }
}

impl fmt::Debug for ImplicitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImplicitRate({self})")
    }
}

impl PaymentPlan {
    /// Solves the plan for its rate, by halving the range of [`ImplicitRate`]: about 60 steps,
    /// whatever the plan. Where every rate fits, because nothing is financed and nothing charged,
    /// it is zero.
    ///
    /// # Errors
    /// [`PricingError::NothingFinanced`] when the payments at signing reach the capitalized cost,
    /// [`PricingError::RateOutOfRange`] when the rate is outside the range of [`ImplicitRate`].
    pub fn implicit_rate(&self) -> Result<ImplicitRate, PricingError> {
        let at_signing = self
            .payment()
            .checked_mul(self.payments_in_advance().into())?;
        let later = self.payments_in_advance() < self.term().get() && !self.payment().is_zero();
        match at_signing.checked_cmp(self.capitalized_cost())? {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal if !later && self.residual_value().is_zero() => {
                return Ok(ImplicitRate::ZERO);
            }
            _ => return Err(PricingError::NothingFinanced),
        }

        let (mut low, mut high) = (ImplicitRate::MIN, ImplicitRate::MAX);
        if self.is_worth_less_than_cost_at(low) || !self.is_worth_less_than_cost_at(high) {
            return Err(PricingError::RateOutOfRange);
        }
        // The worth falls as the rate rises: it is at least the cost at `low`, and less at `high`.
        loop {
            let middle = ImplicitRate {
                units: low.units.midpoint(high.units),
            };
            if middle == low || middle == high {
                break;
            }
            if self.is_worth_less_than_cost_at(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Truncation makes a worth that equals the cost look less: the nearer of the two is the rate.
        let (above, below) = (self.excess_at(low), self.excess_at(high));
        Ok(match (above, below) {
            (Some(above), Some(below)) if below.unsigned_abs() < above.unsigned_abs() => high,
            _ => low,
        })
    }

    fn is_worth_less_than_cost_at(&self, rate: ImplicitRate) -> bool {
        self.excess_at(rate).is_some_and(i128::is_negative)
    }

    /// The worth at signing of payments and residual value less the capitalized cost, in minor
    /// units with 64 bits behind the point. `None` when the worth is beyond 2^63 minor units.
    fn excess_at(&self, rate: ImplicitRate) -> Option<i128> {
        let figures = self.minor_units();
        let annuity = Annuity::new(
            Discount::from(rate).factor()?,
            self.term(),
            self.payments_in_advance(),
        )?;
        let payments = annuity.payments_factor.times(figures.payment)?;
        let residual = annuity.residual_factor.times(figures.residual_value)?;
        let cost = u128::from(figures.capitalized_cost).checked_shl(AMOUNT_FRACTION_BITS)?;
        i128::try_from(payments.checked_add(residual)?)
            .ok()?
            .checked_sub_unsigned(cost)
    }
}
