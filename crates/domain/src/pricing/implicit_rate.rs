use std::fmt;

use rust_decimal::Decimal;

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

    /// The rate half-way between two.
    pub(super) const fn midpoint(self, other: Self) -> Self {
        Self {
            units: self.units.midpoint(other.units),
        }
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
