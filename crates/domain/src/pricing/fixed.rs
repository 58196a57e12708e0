//! Discount factors in binary fixed point: 128 bits, 104 of them behind the point.
//!
//! A decimal type spends microseconds on the powers of an annuity; these take nanoseconds, and
//! their error is known. Every operation truncates, so a value is never above the true one. With
//! `u = 2^-104` and factors up to one, by induction over the doubling steps of [`Powers`]:
//!
//! - a power `v^n` is low by less than `2n·u`,
//! - a series `1 + v + … + v^(n−1)` is low by at most `2n²·u`.
//!
//! For the 121 terms of the longest lease that is 2^-96 and 2^-89. The payment formula relies on
//! these bounds to know when it has to decide with big integers instead.

/// Bits behind the binary point.
const FRACTION_BITS: u32 = 104;
/// Bits behind the binary point of an amount of money, [`Fixed::times`].
pub(super) const AMOUNT_FRACTION_BITS: u32 = 64;
const DROPPED_BITS: u32 = FRACTION_BITS - AMOUNT_FRACTION_BITS;

/// A number from 0 to 2^24, truncated to 104 bits behind the point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Fixed(u128);

impl Fixed {
    pub(super) const ZERO: Self = Self(0);
    pub(super) const ONE: Self = Self(1 << FRACTION_BITS);

    /// A whole number.
    pub(super) fn whole(value: u16) -> Self {
        Self(u128::from(value) << FRACTION_BITS)
    }

    /// `numerator / denominator`, low by less than 2^-104. `None` for a zero denominator or a
    /// quotient of 2^24 or more.
    pub(super) fn ratio(numerator: u64, denominator: u64) -> Option<Self> {
        let denominator = u128::from(denominator);
        // Long division in digits of 64 and 40 bits: a remainder is below 2^64, so it can be shifted.
        let whole = u128::from(numerator).checked_div(denominator)?;
        let rest = u128::from(numerator).checked_rem(denominator)? << 64;
        let high = rest.checked_div(denominator)?;
        let rest = rest.checked_rem(denominator)? << DROPPED_BITS;
        let low = rest.checked_div(denominator)?;
        if whole >> (u128::BITS - FRACTION_BITS) != 0 {
            return None;
        }
        Some(Self(
            (whole << FRACTION_BITS) | (high << DROPPED_BITS) | low,
        ))
    }

    pub(super) fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(super) fn checked_mul(self, other: Self) -> Option<Self> {
        let (low, high) = self.0.carrying_mul(other.0, 0);
        if high >> FRACTION_BITS != 0 {
            return None;
        }
        Some(Self(
            (high << (u128::BITS - FRACTION_BITS)) | (low >> FRACTION_BITS),
        ))
    }

    /// The product with an amount in minor units, with 64 bits behind the point.
    pub(super) fn times(self, amount: u64) -> Option<u128> {
        let (low, high) = self.0.carrying_mul(u128::from(amount), 0);
        if high >> DROPPED_BITS != 0 {
            return None;
        }
        Some((high << (u128::BITS - DROPPED_BITS)) | (low >> DROPPED_BITS))
    }

    /// The number with 64 bits behind the point.
    pub(super) fn to_amount_fraction(self) -> u128 {
        self.0 >> DROPPED_BITS
    }
}

/// `v^n` and `1 + v + … + v^(n−1)`, computed together without a subtraction that would cancel.
#[derive(Clone, Copy)]
pub(super) struct Powers {
    pub(super) power: Fixed,
    pub(super) series: Fixed,
}

impl Powers {
    /// The powers of `v` for `n` terms, in one doubling step per binary digit of `n`.
    pub(super) fn new(v: Fixed, n: u16) -> Option<Self> {
        let mut so_far = Self {
            power: Fixed::ONE,
            series: Fixed::ZERO,
        };
        for digit in (0..u16::BITS.saturating_sub(n.leading_zeros())).rev() {
            so_far = Self {
                series: so_far
                    .series
                    .checked_mul(Fixed::ONE.checked_add(so_far.power)?)?,
                power: so_far.power.checked_mul(so_far.power)?,
            };
            if n & (1 << digit) != 0 {
                so_far = Self {
                    series: so_far.series.checked_add(so_far.power)?,
                    power: so_far.power.checked_mul(v)?,
                };
            }
        }
        Some(so_far)
    }
}

/// Rounds an amount with 64 bits behind the point to minor units, a half upwards: amounts here
/// are not negative. What truncation may have taken, at most 2^-30 of a minor unit, is given back
/// before, so that a half stays a half.
pub(super) fn round_amount(amount: u128) -> Option<u64> {
    const HALF: u128 = 1 << (AMOUNT_FRACTION_BITS - 1);
    const TRUNCATED: u128 = 1 << (AMOUNT_FRACTION_BITS - 30);
    let minor = amount.checked_add(HALF | TRUNCATED)? >> AMOUNT_FRACTION_BITS;
    u64::try_from(minor).ok()
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the reference computes with big integers and small constants"
)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::{AMOUNT_FRACTION_BITS, FRACTION_BITS, Fixed, Powers, round_amount};

    /// 1,200 % in units of 10^-12: the numerator of every discount factor.
    const YEAR: u64 = 1_200_000_000_000_000;

    fn shifted(value: impl Into<BigUint>) -> BigUint {
        value.into() << FRACTION_BITS
    }

    #[test]
    fn a_ratio_is_truncated_at_the_last_bit() {
        for (numerator, denominator) in [
            (0, 1),
            (1, 1),
            (1, 3),
            (2, 3),
            (5, 2),
            (355, 113),
            ((1 << 24) - 1, 1),
            (1, u64::MAX),
            (u64::MAX - 1, u64::MAX),
            (YEAR, YEAR + 8_497_144_383_085),
        ] {
            let exact = shifted(numerator) / denominator;
            let ratio = Fixed::ratio(numerator, denominator).unwrap();
            assert_eq!(BigUint::from(ratio.0), exact, "{numerator}/{denominator}");
        }
        assert_eq!(Fixed::ratio(1, 1), Some(Fixed::ONE));
        assert_eq!(Fixed::whole(120), Fixed::ratio(120, 1).unwrap());
        assert_eq!(Fixed::ratio(1, 0), None);
        assert_eq!(Fixed::ratio(1 << 24, 1), None);
        assert_eq!(Fixed::ratio(u64::MAX, 1), None);
    }

    #[test]
    fn a_product_beyond_the_range_is_refused() {
        let (large, small) = (Fixed::whole(4_096), Fixed::whole(4_095));
        assert_eq!(large.checked_mul(large), None);
        let product = large.checked_mul(small).unwrap();
        assert_eq!(BigUint::from(product.0), shifted(4_096_u32 * 4_095));
        let most = Fixed(u128::MAX);
        assert_eq!(most.checked_mul(Fixed::ONE), Some(most));
        assert_eq!(most.checked_add(Fixed::ONE), None);
        assert_eq!(most.times(u64::MAX), None);
        assert_eq!(
            Fixed::ONE.times(u64::MAX),
            Some(u128::from(u64::MAX) << AMOUNT_FRACTION_BITS)
        );
        assert_eq!(
            Fixed::whole(2).times((1 << 63) - 1),
            Some(((1 << 64) - 2) << AMOUNT_FRACTION_BITS)
        );
        assert_eq!(Fixed::whole(2).times(1 << 63), None);
        assert_eq!(
            Fixed::whole(3).to_amount_fraction(),
            3 << AMOUNT_FRACTION_BITS
        );
    }

    #[test]
    fn an_amount_is_rounded_with_what_truncation_took() {
        let one: u128 = 1 << AMOUNT_FRACTION_BITS;
        let half = one / 2;
        let taken = one >> 30;
        for (amount, minor) in [
            (0, 0),
            (one, 1),
            (half, 1),
            (half - taken, 1),
            (half - taken - 1, 0),
            (one + half, 2),
            (one + half - taken - 1, 1),
            (u128::from(u64::MAX) << AMOUNT_FRACTION_BITS, u64::MAX),
        ] {
            assert_eq!(round_amount(amount), Some(minor), "{amount}");
        }
        assert_eq!(round_amount(u128::MAX), None);
    }

    proptest! {
        /// The bounds that the payment formula relies on.
        #[test]
        fn powers_are_low_by_no_more_than_their_bound(percent in 0_u64..=100_000_000_000_000, n in 0_u16..=121) {
            let denominator = YEAR + percent;
            let powers = Powers::new(Fixed::ratio(YEAR, denominator).unwrap(), n).unwrap();
            let months = u32::from(n);
            let power = |k: u32| shifted(1_u32) * BigUint::from(YEAR).pow(k) / BigUint::from(denominator).pow(k);
            let series: BigUint = (0..months).map(power).sum();

            let low_power = power(months) - BigUint::from(powers.power.0);
            prop_assert!(low_power <= BigUint::from(2 * months), "power low by {}", low_power);
            // The exact series is itself truncated once for each term.
            prop_assert!(BigUint::from(powers.series.0) <= &series + months);
            prop_assert!(series <= BigUint::from(powers.series.0) + 2 * months * months);
        }
    }
}
