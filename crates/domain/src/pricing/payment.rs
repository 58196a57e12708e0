//! The base payment of a lease, rounded once.

use num_bigint::BigUint;

use super::amounts::WHOLE;
use super::error::PricingError;
use super::fixed::{AMOUNT_FRACTION_BITS, Fixed, Powers};
use super::rate_card::Rate;
use crate::exact::round_half_away_from_zero;
use crate::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};

/// Months of a year times percent: an annual rate in percent divided by this is a monthly rate.
const PERCENT_MONTHS: u64 = 1_200;

/// What determines the base payment, in minor units of one currency.
///
/// Both amounts are at most [`Money::largest_amount`](crate::money::Money::largest_amount), below
/// 2^44, and the residual value is not above the capitalized cost.
#[derive(Clone, Copy)]
pub(super) struct BasePayment {
    pub(super) capitalized_cost: u64,
    pub(super) residual_value: u64,
    pub(super) term: TermMonths,
    pub(super) payments_in_advance: u16,
    pub(super) rate: Rate,
}

impl BasePayment {
    /// The payment rounded to a minor unit.
    pub(super) fn rounded(&self) -> Result<u64, PricingError> {
        match self.rate {
            Rate::MoneyFactor(factor) => self.level(factor, 1, 1),
            Rate::AnnualRate(rate) => self
                .constant_yield_fast(rate)
                .or_else(|| self.constant_yield_exact(rate, 1, 1)),
        }
        .ok_or(PricingError::OVERFLOW)
    }

    /// The payment with a tax on its unrounded value, the sum rounded to a minor unit.
    pub(super) fn rounded_with_tax(&self, tax: Percentage) -> Result<u64, PricingError> {
        let taxed = WHOLE.saturating_add(tax.units());
        match self.rate {
            Rate::MoneyFactor(factor) => self.level(factor, taxed, WHOLE),
            Rate::AnnualRate(rate) => self.constant_yield_exact(rate, taxed, WHOLE),
        }
        .ok_or(PricingError::OVERFLOW)
    }

    /// `((C − R)/n + (C + R)·f) · scale`, as one fraction of integers.
    fn level(&self, factor: MoneyFactor, scale: u32, of: u32) -> Option<u64> {
        let months = i128::from(self.term.get());
        let cost = i128::from(self.capitalized_cost);
        let residual = i128::from(self.residual_value);
        let depreciation = cost
            .checked_sub(residual)?
            .checked_mul(i128::from(MoneyFactor::SCALE))?;
        let rent = cost
            .checked_add(residual)?
            .checked_mul(i128::from(factor.units()))?
            .checked_mul(months)?;
        let numerator = depreciation
            .checked_add(rent)?
            .checked_mul(i128::from(scale))?;
        let denominator = months
            .checked_mul(i128::from(MoneyFactor::SCALE))?
            .checked_mul(i128::from(of))?;
        u64::try_from(round_half_away_from_zero(numerator, denominator)?).ok()
    }

    /// `(C − R·v^n) / (k + v + … + v^(n−k))` in fixed point; `None` when its error leaves the
    /// rounding open, about once in 2^50 payments of ordinary size.
    fn constant_yield_fast(&self, rate: AnnualRate) -> Option<u64> {
        let annuity = Annuity::new(discount_factor(rate)?, self.term, self.payments_in_advance)?;
        let financed = u128::from(self.capitalized_cost)
            .checked_shl(AMOUNT_FRACTION_BITS)?
            .checked_sub(annuity.residual_factor.times(self.residual_value)?)?;
        let divisor = annuity.payments_factor.to_amount_fraction();
        let payment = financed.checked_div(divisor)?;
        let twice_rest = financed.checked_rem(divisor)?.checked_mul(2)?;
        // With errors counted in 2^-64: `financed` is high by at most R·2^-32 + 1 ≤ 2^13 and `divisor`
        // low by at most 2. So `twice_rest − divisor` is high, by less than this.
        let error = payment.checked_mul(4)?.checked_add(1 << 15)?;
        if twice_rest < divisor {
            u64::try_from(payment).ok()
        } else if twice_rest.checked_sub(divisor)? >= error {
            u64::try_from(payment.checked_add(1)?).ok()
        } else {
            None
        }
    }

    /// The same as one fraction of big integers: with `v = N/M`,
    /// `(C·M^n − R·N^n) / (k·M^n + N·M^(n−1) + … + N^(n−k)·M^k)`.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "big integers do not overflow, and the one subtraction is guarded"
    )]
    fn constant_yield_exact(&self, rate: AnnualRate, scale: u32, of: u32) -> Option<u64> {
        let (numerator, denominator) = discount_fraction(rate)?;
        let (n, m) = (BigUint::from(numerator), BigUint::from(denominator));
        let months = u32::from(self.term.get());
        let advance = u32::from(self.payments_in_advance);
        let whole = m.pow(months);
        let (cost, residual) = (
            whole.clone() * self.capitalized_cost,
            n.pow(months) * self.residual_value,
        );
        if cost < residual {
            return None;
        }
        let financed = cost - residual;
        let mut divisor = whole * advance;
        for month in 1..=months.checked_sub(advance)? {
            divisor += n.pow(month) * m.pow(months.checked_sub(month)?);
        }
        let (dividend, divisor) = (financed * scale, divisor * of);
        // Both are positive: a half upwards is a half away from zero.
        u64::try_from((dividend * 2_u32 + &divisor) / (divisor * 2_u32)).ok()
    }
}

/// The discount factors of the payments and of the residual value.
pub(super) struct Annuity {
    /// `k + v + … + v^(n−k)`: what a payment of one is worth at signing.
    pub(super) payments_factor: Fixed,
    /// `v^n`: what a residual value of one is worth at signing.
    pub(super) residual_factor: Fixed,
}

impl Annuity {
    /// For `term` payments of which `advance` are made at signing and the others at the end of
    /// each month, as far as they go.
    pub(super) fn new(v: Fixed, term: TermMonths, advance: u16) -> Option<Self> {
        let term = term.get();
        let Some(early) = advance.checked_sub(1) else {
            let powers = Powers::new(v, term)?;
            return Some(Self {
                payments_factor: powers.series.checked_mul(v)?,
                residual_factor: powers.power,
            });
        };
        // k + v + … + v^(n−k) = (k − 1) + (1 + v + … + v^(n−k))
        let regular = Powers::new(v, term.checked_sub(early)?)?;
        Some(Self {
            payments_factor: regular.series.checked_add(Fixed::whole(early))?,
            residual_factor: regular.power.checked_mul(Powers::new(v, early)?.power)?,
        })
    }
}

/// `v = 1/(1 + rate/1200)` as a fraction.
fn discount_fraction(rate: AnnualRate) -> Option<(u64, u64)> {
    let whole = PERCENT_MONTHS.checked_mul(u64::from(AnnualRate::SCALE))?;
    Some((whole, whole.checked_add(u64::from(rate.units()))?))
}

fn discount_factor(rate: AnnualRate) -> Option<Fixed> {
    let (numerator, denominator) = discount_fraction(rate)?;
    Fixed::ratio(numerator, denominator)
}
