//! The rate that the payments of a plan come to.

use std::cmp::Ordering;

use super::discount::{Annuity, Discount};
use super::error::PricingError;
use super::fixed::AMOUNT_FRACTION_BITS;
use super::implicit_rate::ImplicitRate;
use super::plan::PaymentPlan;

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
            Ordering::Less => {}
            Ordering::Equal if !later && self.residual_value().is_zero() => {
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
            let middle = low.midpoint(high);
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
