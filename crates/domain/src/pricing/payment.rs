//! The base payment of a lease, rounded once.

use num_bigint::BigUint;

use super::amounts::WHOLE;
use super::discount::{Annuity, Discount};
use super::error::PricingError;
use super::fixed::AMOUNT_FRACTION_BITS;
use super::rate_card::Rate;
use crate::exact::round_half_away_from_zero;
use crate::percentage::{MoneyFactor, Percentage, TermMonths};

/// What determines the base payment, in minor units of one currency.
///
/// Both amounts are at most [`Money::largest_amount`](crate::money::Money::largest_amount), which
/// is below 2^44.
#[derive(Clone, Copy)]
pub(super) struct BasePayment {
    pub(super) capitalized_cost: u64,
    pub(super) residual_value: u64,
    pub(super) term: TermMonths,
    pub(super) payments_in_advance: u16,
}

impl BasePayment {
    /// The payment at a rate, rounded to a minor unit.
    #[inline]
    pub(super) fn at(&self, rate: Rate) -> Result<u64, PricingError> {
        match rate {
            Rate::MoneyFactor(factor) => self.level(factor, 1, 1).ok_or(PricingError::OVERFLOW),
            Rate::AnnualRate(rate) => self.at_discount(Discount::from(rate)),
        }
    }

    /// The payment at a monthly discount, rounded to a minor unit.
    #[inline]
    pub(super) fn at_discount(&self, discount: Discount) -> Result<u64, PricingError> {
        self.constant_yield_fast(discount)
            .or_else(|| self.constant_yield_exact(discount, 1, 1))
            .ok_or(PricingError::OVERFLOW)
    }

    /// The payment with a tax on its unrounded value, the sum rounded to a minor unit.
    pub(super) fn with_tax(&self, rate: Rate, tax: Percentage) -> Result<u64, PricingError> {
        let taxed = WHOLE.saturating_add(tax.units());
        match rate {
            Rate::MoneyFactor(factor) => self.level(factor, taxed, WHOLE),
            Rate::AnnualRate(rate) => self.constant_yield_exact(rate.into(), taxed, WHOLE),
        }
        .ok_or(PricingError::OVERFLOW)
    }

    /// `((C − R)/n + (C + R)·f) · scale/of`, as one fraction of integers.
    #[inline]
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
    /// rounding open, on a half and for hardly any other payment, or when `v` is above one.
    fn constant_yield_fast(&self, discount: Discount) -> Option<u64> {
        if discount.is_premium() {
            return None;
        }
        let annuity = Annuity::new(discount.factor()?, self.term, self.payments_in_advance)?;
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

    /// The same times `scale/of` as one fraction of big integers: with `v = N/M`,
    /// `(C·M^n − R·N^n) / (k·M^n + N·M^(n−1) + … + N^(n−k)·M^k)`.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "big integers do not overflow, and the smaller is subtracted"
    )]
    fn constant_yield_exact(&self, discount: Discount, scale: u32, of: u32) -> Option<u64> {
        let (n, m) = discount.big_fraction();
        let months = u32::from(self.term.get());
        let advance = u32::from(self.payments_in_advance);
        let whole = m.pow(months);
        let (cost, residual) = (
            &whole * self.capitalized_cost,
            n.pow(months) * self.residual_value,
        );
        // A rate below zero may leave a payment just below zero, which rounds to nothing.
        let negative = cost < residual;
        let financed = if negative {
            residual - cost
        } else {
            cost - residual
        };
        let mut divisor = whole * advance;
        for month in 1..=months.checked_sub(advance)? {
            divisor += n.pow(month) * m.pow(months.checked_sub(month)?);
        }
        round_half_up(financed * scale, divisor * of).filter(|payment| !negative || *payment == 0)
    }
}

/// The quotient of two big integers that are not negative, where a half upwards is a half away
/// from zero. `None` for a zero denominator or a quotient beyond 64 bits.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "big integers do not overflow, and the divisor is not zero"
)]
pub(super) fn round_half_up(numerator: BigUint, denominator: BigUint) -> Option<u64> {
    if denominator == BigUint::ZERO {
        return None;
    }
    u64::try_from((numerator * 2_u32 + &denominator) / (denominator * 2_u32)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::implicit_rate::ImplicitRate;
    use super::{BasePayment, Discount, Rate, TermMonths};
    use proptest::prelude::*;

    fn payment(cost: u64, residual: u64, months: u16, advance: u16) -> BasePayment {
        BasePayment {
            capitalized_cost: cost,
            residual_value: residual,
            term: TermMonths::new(months).unwrap(),
            payments_in_advance: advance,
        }
    }

    fn discount(rate: &str) -> Discount {
        Discount::from(rate.parse::<crate::percentage::AnnualRate>().unwrap())
    }

    #[test]
    fn a_payment_on_a_half_is_left_to_the_exact_path() {
        // v = 15/16, so that the payment is 20 − 8·15/16 = 12.5.
        let tie = payment(20, 8, 1, 1);
        assert_eq!(tie.constant_yield_fast(discount("80")), None);
        assert_eq!(tie.constant_yield_exact(discount("80"), 1, 1), Some(13));
        // Half a minor unit: 8 − 7.5.
        let tie = payment(8, 8, 1, 1);
        assert_eq!(tie.constant_yield_fast(discount("80")), None);
        assert_eq!(tie.at_discount(discount("80")), Ok(1));
        // Both payments in advance: 201/2.
        let tie = payment(201, 0, 2, 2);
        assert_eq!(tie.at_discount(discount("50")).unwrap(), 101);
        assert_eq!(tie.constant_yield_fast(discount("50")), None);
    }

    #[test]
    fn a_payment_beside_a_half_is_not() {
        assert_eq!(
            payment(19, 8, 1, 1).constant_yield_fast(discount("80")),
            None
        );
        assert_eq!(
            payment(20, 9, 1, 1).constant_yield_fast(discount("80")),
            Some(12)
        );
        assert_eq!(
            payment(20, 7, 1, 1).constant_yield_fast(discount("80")),
            Some(13)
        );
    }

    #[test]
    fn the_fast_path_serves_the_rates_that_its_bound_is_proven_for() {
        let lease = payment(100, 0, 3, 1);
        assert_eq!(lease.constant_yield_fast(discount("0")), Some(33));
        let premium = Discount::from(ImplicitRate::MIN);
        assert_eq!(lease.constant_yield_fast(premium), None);
        assert_eq!(
            lease.at_discount(premium).ok(),
            lease.constant_yield_exact(premium, 1, 1)
        );
    }

    #[test]
    fn a_tax_on_the_unrounded_payment_is_exact_by_both_methods() {
        let lease = payment(100, 0, 3, 1);
        let tax = "50".parse().unwrap();
        let free = Rate::AnnualRate("0".parse().unwrap());
        let factor = Rate::MoneyFactor("0".parse().unwrap());
        // 100/3 · 1.5 = 50, where 1.5 of the rounded 33 would be 49.5.
        assert_eq!(lease.with_tax(free, tax).unwrap(), 50);
        assert_eq!(lease.with_tax(factor, tax).unwrap(), 50);
    }

    proptest! {
        #[test]
        fn the_fast_path_agrees_with_the_exact_one(
            (cost, residual) in (0_u64..=9_999_999_999_900).prop_flat_map(|cost| (Just(cost), 0..=cost)),
            (months, advance) in (1_u16..=120).prop_flat_map(|months| (Just(months), 0..=months)),
            rate in 0_i64..=100_000_000,
        ) {
            let rate = crate::percentage::AnnualRate::new(rust_decimal::Decimal::new(rate, 6)).unwrap();
            let lease = payment(cost, residual, months, advance);
            let exact = lease.constant_yield_exact(rate.into(), 1, 1);
            prop_assert!(exact.is_some());
            if let Some(fast) = lease.constant_yield_fast(rate.into()) {
                prop_assert_eq!(Some(fast), exact);
            }
        }

        #[test]
        fn small_leases_agree_too(
            (cost, residual) in (0_u64..=50).prop_flat_map(|cost| (Just(cost), 0..=cost)),
            (months, advance) in (1_u16..=12).prop_flat_map(|months| (Just(months), 0..=months)),
            rate in prop::sample::select(vec!["0", "20", "30", "50", "60", "75", "80", "100"]),
        ) {
            let lease = payment(cost, residual, months, advance);
            let exact = lease.constant_yield_exact(discount(rate), 1, 1);
            prop_assert_eq!(lease.at_discount(discount(rate)).ok(), exact);
        }
    }
}
