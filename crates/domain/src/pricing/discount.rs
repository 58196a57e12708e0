//! What a payment of the future is worth today.

use num_bigint::BigUint;

use super::fixed::{Fixed, Powers};
use super::implicit_rate::ImplicitRate;
use crate::percentage::{AnnualRate, TermMonths};

/// The factor `v = 1/(1 + rate/1200)` that one month discounts by, as a fraction of integers.
#[derive(Clone, Copy)]
pub(super) struct Discount {
    numerator: u64,
    denominator: u64,
}

impl Discount {
    /// Whether the rate is below zero: later payments are worth more than earlier ones.
    pub(super) const fn is_premium(self) -> bool {
        self.numerator > self.denominator
    }

    /// The factor in fixed point. `None` when it is beyond the range of [`Fixed`].
    pub(super) fn factor(self) -> Option<Fixed> {
        Fixed::ratio(self.numerator, self.denominator)
    }

    /// Numerator and denominator, without common factors.
    pub(super) fn big_fraction(self) -> (BigUint, BigUint) {
        let (mut divisor, mut rest) = (self.numerator, self.denominator);
        while let Some(next) = divisor.checked_rem(rest) {
            (divisor, rest) = (rest, next);
        }
        let reduced = |value: u64| BigUint::from(value.checked_div(divisor).unwrap_or(value));
        (reduced(self.numerator), reduced(self.denominator))
    }
}

impl From<ImplicitRate> for Discount {
    fn from(rate: ImplicitRate) -> Self {
        // 100 % a year is the least rate, a twelfth below one: the sum stays above zero.
        let denominator = ImplicitRate::UNITS_IN_ONE_A_MONTH.saturating_add_signed(rate.units());
        Self {
            numerator: ImplicitRate::UNITS_IN_ONE_A_MONTH,
            denominator,
        }
    }
}

impl From<AnnualRate> for Discount {
    fn from(rate: AnnualRate) -> Self {
        ImplicitRate::from(rate).into()
    }
}

/// The worth at signing of the payments and of the residual value.
pub(super) struct Annuity {
    /// `k + v + … + v^(n−k)`: what a payment of one is worth at signing.
    pub(super) payments_factor: Fixed,
    /// `v^n`: what a residual value of one is worth at signing.
    pub(super) residual_factor: Fixed,
}

impl Annuity {
    /// For `term` payments, `advance` of them made at signing and the others one at the end of
    /// each month. `None` when more are in advance than there are.
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
