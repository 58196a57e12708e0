//! The rate that the payments of a plan come to.

use super::discount::{Annuity, Discount};
use super::error::PricingError;
use super::fixed::AMOUNT_FRACTION_BITS;
use super::implicit_rate::ImplicitRate;
use super::plan::PaymentPlan;
use crate::exact::round_half_away_from_zero;

impl PaymentPlan {
    /// Solves the plan for its rate, by halving the range of [`ImplicitRate`]: about 60 steps,
    /// whatever the plan.
    ///
    /// It is zero for a plan whose payment is the one that a rate of zero gives, `(C − R)/n`
    /// rounded: what the payments then miss the depreciation by is rounding and no rate.
    ///
    /// # Errors
    /// [`PricingError::NothingFinanced`] when the payments at signing reach the capitalized cost,
    /// so that no rate can be charged on the rest: a lease of one month without a residual value,
    /// or by a money factor near one. [`PricingError::RateOutOfRange`] when the rate is outside the
    /// range of [`ImplicitRate`]. Such a plan has a schedule and quotes all the same.
    pub fn implicit_rate(&self) -> Result<ImplicitRate, PricingError> {
        if self.is_at_rate_zero() {
            return Ok(ImplicitRate::ZERO);
        }
        let at_signing = self
            .payment()
            .checked_mul(self.payments_in_advance().into())?;
        if at_signing.checked_cmp(self.capitalized_cost())?.is_ge() {
            return Err(PricingError::NothingFinanced);
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

    /// Whether the payment is the one that a rate of zero gives. Payments and depreciation then
    /// differ by at most half a minor unit a month.
    pub(super) fn is_at_rate_zero(&self) -> bool {
        let depreciation = i128::from(self.capitalized_cost().minor())
            .checked_sub(self.residual_value().minor().into());
        depreciation
            .and_then(|depreciation| {
                round_half_away_from_zero(depreciation, self.term().get().into())
            })
            .is_some_and(|payment| payment == self.payment().minor().into())
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
