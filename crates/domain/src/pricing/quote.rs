use super::amounts::{WHOLE, check_amount, money, share};
use super::error::PricingError;
use super::payment::BasePayment;
use super::plan::PaymentPlan;
use super::rate_card::RateCard;
use crate::money::{Currency, Money};
use crate::percentage::{Percentage, TermMonths};

/// What one item costs when it is leased for one term. All amounts are of `currency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Quote {
    /// Length of the lease.
    pub term: TermMonths,
    /// Currency of every amount.
    pub currency: Currency,
    /// List price.
    pub msrp: Money,
    /// Discount in percent of the list price.
    pub discount: Percentage,
    /// List price less discount, `C`.
    pub capitalized_cost: Money,
    /// Value at the end of the term, at most the capitalized cost, `R`.
    pub residual_value: Money,
    /// `C − R`.
    pub depreciation: Money,
    /// What the payments exceed the depreciation by. Below zero by less than a minor unit per
    /// month when the rate is zero and the payment was rounded down.
    pub rent_charge: Money,
    /// Base payment, insurance not included.
    pub monthly_payment: Money,
    /// Insurance a month.
    pub insurance: Money,
    /// `monthly_payment + insurance`.
    pub total_monthly_payment: Money,
    /// Deposit in percent of the list price.
    pub deposit_percentage: Percentage,
    /// Refundable deposit.
    pub deposit: Money,
    /// Deposit and the first total monthly payment.
    pub total_due_at_signing: Money,
    /// The total monthly payment times the months. The deposit is not part of it.
    pub total_of_payments: Money,
}

impl Quote {
    /// The payments of the lease, without insurance: from them follow its schedule, its implicit
    /// rate and what ending or extending it costs.
    #[must_use]
    pub const fn plan(&self) -> PaymentPlan {
        PaymentPlan::of_quote(
            self.capitalized_cost,
            self.residual_value,
            self.monthly_payment,
            self.term,
            1,
        )
    }
}

/// Prices an item at a list price for one rate card.
///
/// With `d` the discount and `n` the months: `C = msrp × (1 − d/100)`, `R = msrp × residual/100`
/// but at most `C`, and the monthly payment is
///
/// - `(C − R)/n + (C + R) × f` for the money factor `f`,
/// - `(C − R·v^n) / (1 + v + … + v^(n−1))` for an annual rate, `v = 1/(1 + rate/1200)`: constant
///   yield, payments in advance.
///
/// # Errors
/// [`PricingError::AmountOutOfRange`] when `msrp` is negative or above
/// [`Money::largest_amount`].
///
/// ```
/// use lessor_domain::money::{Currency, Money};
/// use lessor_domain::percentage::Percentage;
/// use lessor_domain::pricing::{Rate, RateCard, quote};
///
/// let card = RateCard {
///     term: "24".parse()?,
///     rate: Rate::MoneyFactor("0.0025".parse()?),
///     residual: "45".parse()?,
///     deposit: "10".parse()?,
///     insurance: "6".parse()?,
/// };
/// let quote = quote(Money::parse("1299.00", Currency::USD)?, Percentage::ZERO, &card)?;
/// assert_eq!(quote.monthly_payment.to_string(), "34.48");
/// assert_eq!(quote.total_monthly_payment.to_string(), "40.98");
/// assert_eq!(quote.total_due_at_signing.to_string(), "170.88");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn quote(msrp: Money, discount: Percentage, card: &RateCard) -> Result<Quote, PricingError> {
    check_amount("the list price", msrp)?;
    let months = u32::from(card.term.get());
    let capitalized_cost = share(msrp, WHOLE.saturating_sub(discount.units()), WHOLE)?;
    let residual_value =
        share(msrp, card.residual.units(), WHOLE)?.checked_min(capitalized_cost)?;

    let monthly_payment = BasePayment {
        capitalized_cost: capitalized_cost.minor().unsigned_abs(),
        residual_value: residual_value.minor().unsigned_abs(),
        term: card.term,
        payments_in_advance: 1,
    }
    .at(card.rate)?;
    let monthly_payment = money(monthly_payment, msrp.currency())?;
    let depreciation = capitalized_cost.checked_sub(residual_value)?;
    let rent_charge = monthly_payment
        .checked_mul(months)?
        .checked_sub(depreciation)?;
    let insurance = share(msrp, card.insurance.units(), WHOLE.saturating_mul(12))?;
    let total_monthly_payment = monthly_payment.checked_add(insurance)?;
    let deposit = share(msrp, card.deposit.units(), WHOLE)?;

    Ok(Quote {
        term: card.term,
        currency: msrp.currency(),
        msrp,
        discount,
        capitalized_cost,
        residual_value,
        depreciation,
        rent_charge,
        monthly_payment,
        insurance,
        total_monthly_payment,
        deposit_percentage: card.deposit,
        deposit,
        total_due_at_signing: deposit.checked_add(total_monthly_payment)?,
        total_of_payments: total_monthly_payment.checked_mul(months)?,
    })
}
