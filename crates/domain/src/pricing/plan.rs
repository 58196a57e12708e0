use super::amounts;
use super::amounts::{check_amount, check_up_to};
use super::discount::Discount;
use super::error::PricingError;
use super::implicit_rate::ImplicitRate;
use super::payment::BasePayment;
use crate::money::{Currency, Money};
use crate::percentage::TermMonths;

/// The payments of one lease: what is financed, what is paid and when, and what is left.
///
/// Every quote has one ([`Quote::plan`](super::Quote::plan), [`LeaseQuote::plan`](super::LeaseQuote::plan)).
/// From it follow the implicit rate, the payment schedule, what the lessee owes when the lease
/// ends early, and its extension. Insurance and taxes are not part of it.
///
/// With `k` payments in advance, `k` are made at signing and one at the end of each of the next
/// `n − k` months, so that one in advance (the usual lease) is paid at the start of each month,
/// and none in advance at the end of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaymentPlan {
    capitalized_cost: Money,
    residual_value: Money,
    payment: Money,
    term: TermMonths,
    payments_in_advance: u16,
}

/// The amounts of a plan in minor units.
#[derive(Clone, Copy)]
pub(super) struct MinorUnits {
    pub(super) capitalized_cost: u64,
    pub(super) residual_value: u64,
    pub(super) payment: u64,
}

impl PaymentPlan {
    /// A plan from its figures, which may be another lessor's.
    ///
    /// # Errors
    /// [`PricingError`] when an amount is negative or above [`Money::largest_amount`], more
    /// payments are in advance than there are months, or the currencies differ.
    pub fn new(
        capitalized_cost: Money,
        residual_value: Money,
        payment: Money,
        term: TermMonths,
        payments_in_advance: u16,
    ) -> Result<Self, PricingError> {
        check_amount("the capitalized cost", capitalized_cost)?;
        check_amount("the residual value", residual_value)?;
        check_amount("the payment", payment)?;
        capitalized_cost.same_currency(residual_value)?;
        capitalized_cost.same_currency(payment)?;
        check_advance(payments_in_advance, term)?;
        Ok(Self::of_quote(
            capitalized_cost,
            residual_value,
            payment,
            term,
            payments_in_advance,
        ))
    }

    /// A plan whose figures are known to fit together: those of a quote that was checked.
    pub(super) const fn of_quote(
        capitalized_cost: Money,
        residual_value: Money,
        payment: Money,
        term: TermMonths,
        payments_in_advance: u16,
    ) -> Self {
        Self {
            capitalized_cost,
            residual_value,
            payment,
            term,
            payments_in_advance,
        }
    }

    /// What the lease finances, `C`.
    #[must_use]
    pub const fn capitalized_cost(&self) -> Money {
        self.capitalized_cost
    }

    /// What the payments leave at the end of the term, `R`.
    #[must_use]
    pub const fn residual_value(&self) -> Money {
        self.residual_value
    }

    /// The base payment.
    #[must_use]
    pub const fn payment(&self) -> Money {
        self.payment
    }

    /// Length of the lease, and number of its payments.
    #[must_use]
    pub const fn term(&self) -> TermMonths {
        self.term
    }

    /// Payments made at signing.
    #[must_use]
    pub const fn payments_in_advance(&self) -> u16 {
        self.payments_in_advance
    }

    /// Currency of every amount.
    #[must_use]
    pub const fn currency(&self) -> Currency {
        self.capitalized_cost.currency()
    }

    /// `n` times the payment.
    ///
    /// # Errors
    /// [`PricingError::Money`] when it does not fit.
    pub fn total_of_payments(&self) -> Result<Money, PricingError> {
        Ok(self.payment.checked_mul(self.term.get().into())?)
    }

    /// `C − R`.
    ///
    /// # Errors
    /// [`PricingError::Money`] when it does not fit.
    pub fn depreciation(&self) -> Result<Money, PricingError> {
        Ok(self.capitalized_cost.checked_sub(self.residual_value)?)
    }

    /// What the payments exceed the depreciation by.
    ///
    /// # Errors
    /// [`PricingError::Money`] when it does not fit.
    pub fn rent_charge(&self) -> Result<Money, PricingError> {
        Ok(self
            .total_of_payments()?
            .checked_sub(self.depreciation()?)?)
    }

    /// The payment that a rate gives for the same cost, residual value, term and advance:
    /// `(C − R·v^n) / (k + v + … + v^(n−k))`, the formula that
    /// [`implicit_rate`](Self::implicit_rate) inverts.
    ///
    /// # Errors
    /// [`PricingError::RateOutOfRange`] when the rate is so far below zero that the residual
    /// value alone is worth more than the capitalized cost.
    pub fn payment_at(&self, rate: ImplicitRate) -> Result<Money, PricingError> {
        let figures = self.minor_units();
        let payment = BasePayment {
            capitalized_cost: figures.capitalized_cost,
            residual_value: figures.residual_value,
            term: self.term,
            payments_in_advance: self.payments_in_advance,
        }
        .at_discount(Discount::from(rate))
        .map_err(|_| PricingError::RateOutOfRange)?;
        amounts::money(payment, self.currency())
    }

    pub(super) const fn minor_units(&self) -> MinorUnits {
        MinorUnits {
            capitalized_cost: self.capitalized_cost.minor().unsigned_abs(),
            residual_value: self.residual_value.minor().unsigned_abs(),
            payment: self.payment.minor().unsigned_abs(),
        }
    }

    /// What is paid for a month: at its start, or at its end when nothing is paid in advance.
    /// The first month has every payment in advance, the last ones then have none.
    pub(super) fn payment_of_month(&self, month: u16) -> Result<Money, PricingError> {
        let last_paid = self
            .term
            .get()
            .saturating_sub(self.payments_in_advance.saturating_sub(1));
        Ok(match month {
            1 => self
                .payment
                .checked_mul(self.payments_in_advance.max(1).into())?,
            _ if month <= last_paid => self.payment,
            _ => Money::zero(self.currency()),
        })
    }

    /// Payments made by the end of a month, the one due at the start of the next not included.
    pub(super) fn payments_made_by(&self, month: u16) -> u16 {
        month
            .saturating_add(self.payments_in_advance.saturating_sub(1))
            .min(self.term.get())
    }
}

/// Refuses a residual value that is not from 0 to the capitalized cost.
pub(super) fn check_residual(residual: Money, capitalized_cost: Money) -> Result<(), PricingError> {
    check_up_to("the residual value", residual, capitalized_cost)
}

/// Refuses a payment that no rate within its range gives: by the money factor 1, over one month,
/// it is twice the capitalized cost, and nowhere above.
pub(super) fn check_payment(
    figure: &'static str,
    payment: Money,
    capitalized_cost: Money,
) -> Result<(), PricingError> {
    check_up_to(figure, payment, capitalized_cost.checked_mul(2)?)
}

/// Refuses more payments in advance than there are.
pub(super) fn check_advance(payments: u16, term: TermMonths) -> Result<(), PricingError> {
    if payments > term.get() {
        return Err(PricingError::CountOutOfRange {
            figure: "the number of payments in advance",
            min: 0,
            max: term.get(),
        });
    }
    Ok(())
}
