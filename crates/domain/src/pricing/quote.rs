use super::amounts::{WHOLE, check_amount, check_currency, check_sum, check_up_to, money, share};
use super::error::PricingError;
use super::payment::BasePayment;
use super::plan::{PaymentPlan, check_payment, check_residual};
use super::rate_card::RateCard;
use crate::money::{Currency, Money};
use crate::percentage::{Percentage, TermMonths};
use crate::quantity::Quantity;

/// What one item costs when it is leased for one term, or several of it [together](Self::times). All
/// amounts are of `currency`.
///
/// [`quote()`] makes them, and a stored one is read only when its figures fit together. The fields
/// can be changed nevertheless, so [`plan`](Self::plan) looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    ///
    /// # Errors
    /// [`PricingError::OtherCurrency`] for an amount that is not of `currency`,
    /// [`PricingError::AmountOutOfRange`] for one that no quote has,
    /// [`PricingError::Contradiction`] for a sum that is not the sum of its parts. None of them
    /// for a quote as [`quote()`] made it.
    ///
    /// ```
    /// use lessor_domain::money::{Currency, Money};
    /// use lessor_domain::percentage::Percentage;
    /// use lessor_domain::pricing::{Rate, RateCard, quote};
    ///
    /// let rate = Rate::MoneyFactor("0.0025".parse()?);
    /// let card = RateCard::new("24".parse()?, rate, "45".parse()?);
    /// let mut quote = quote(Money::parse("1299.00", Currency::USD)?, Percentage::ZERO, &card)?;
    /// assert_eq!(quote.plan()?.payment(), quote.monthly_payment);
    ///
    /// quote.term = "12".parse()?;
    /// assert_eq!(
    ///     quote.plan().unwrap_err().to_string(),
    ///     "the rent charge contradicts the other figures, which give -300.69"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(&self) -> Result<PaymentPlan, PricingError> {
        self.check()?;
        Ok(PaymentPlan::of_quote(
            self.capitalized_cost,
            self.residual_value,
            self.monthly_payment,
            self.term,
            1,
        ))
    }

    /// What so many of it cost together. Each amount is that of one, rounded as it is billed, times
    /// the number: what the price list says times the number is what is paid. Percentages and the
    /// term stay, and sums stay the sums of their parts.
    ///
    /// # Errors
    /// [`PricingError::AmountOutOfRange`] when their list prices come to more than
    /// [`Money::largest_amount`], [`PricingError::Money`] for an amount that cannot be counted.
    ///
    /// ```
    /// use lessor_domain::money::{Currency, Money};
    /// use lessor_domain::percentage::Percentage;
    /// use lessor_domain::pricing::{Rate, RateCard, quote};
    /// use lessor_domain::quantity::Quantity;
    ///
    /// let rate = Rate::MoneyFactor("0.0025".parse()?);
    /// let card = RateCard::new("24".parse()?, rate, "45".parse()?);
    /// let one = quote(Money::parse("1299.00", Currency::USD)?, Percentage::ZERO, &card)?;
    /// let three = one.times(Quantity::new(3)?)?;
    /// assert_eq!(one.monthly_payment.to_string(), "34.48");
    /// assert_eq!(three.monthly_payment.to_string(), "103.44");
    /// assert_eq!(three.one_of(Quantity::new(3)?)?, one);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn times(&self, quantity: Quantity) -> Result<Self, PricingError> {
        let all = self.with_amounts(|each| Ok(quantity.of(each)?))?;
        check_amount("the list price of all of them", all.msrp)?;
        Ok(all)
    }

    /// What one costs where so many cost this.
    ///
    /// # Errors
    /// [`PricingError::NotSoMany`] for amounts that are not so many times another.
    pub fn one_of(&self, quantity: Quantity) -> Result<Self, PricingError> {
        let not_so_many = PricingError::NotSoMany { quantity };
        self.with_amounts(|all| quantity.each_of(all).ok_or(not_so_many))
    }

    fn with_amounts(
        &self,
        of: impl Fn(Money) -> Result<Money, PricingError>,
    ) -> Result<Self, PricingError> {
        Ok(Self {
            term: self.term,
            currency: self.currency,
            msrp: of(self.msrp)?,
            discount: self.discount,
            capitalized_cost: of(self.capitalized_cost)?,
            residual_value: of(self.residual_value)?,
            depreciation: of(self.depreciation)?,
            rent_charge: of(self.rent_charge)?,
            monthly_payment: of(self.monthly_payment)?,
            insurance: of(self.insurance)?,
            total_monthly_payment: of(self.total_monthly_payment)?,
            deposit_percentage: self.deposit_percentage,
            deposit: of(self.deposit)?,
            total_due_at_signing: of(self.total_due_at_signing)?,
            total_of_payments: of(self.total_of_payments)?,
        })
    }

    /// Refuses figures that no quote has together. Percentages are not applied again: a stored
    /// quote stays what was agreed, should figures be rounded otherwise one day.
    pub(super) fn check(&self) -> Result<(), PricingError> {
        check_currency(
            self.currency,
            [
                ("the list price", self.msrp),
                ("the capitalized cost", self.capitalized_cost),
                ("the residual value", self.residual_value),
                ("the depreciation", self.depreciation),
                ("the rent charge", self.rent_charge),
                ("the monthly payment", self.monthly_payment),
                ("the insurance", self.insurance),
                ("the total monthly payment", self.total_monthly_payment),
                ("the deposit", self.deposit),
                ("the total due at signing", self.total_due_at_signing),
                ("the total of payments", self.total_of_payments),
            ],
        )?;
        check_amount("the list price", self.msrp)?;
        check_up_to("the capitalized cost", self.capitalized_cost, self.msrp)?;
        check_residual(self.residual_value, self.capitalized_cost)?;
        check_payment(
            "the monthly payment",
            self.monthly_payment,
            self.capitalized_cost,
        )?;
        check_up_to("the insurance", self.insurance, self.msrp)?;
        check_up_to("the deposit", self.deposit, self.msrp)?;

        let months = u32::from(self.term.get());
        let depreciation = self.capitalized_cost.checked_sub(self.residual_value)?;
        check_sum("the depreciation", self.depreciation, depreciation)?;
        let rent_charge = self
            .monthly_payment
            .checked_mul(months)?
            .checked_sub(depreciation)?;
        check_sum("the rent charge", self.rent_charge, rent_charge)?;
        let total_monthly_payment = self.monthly_payment.checked_add(self.insurance)?;
        check_sum(
            "the total monthly payment",
            self.total_monthly_payment,
            total_monthly_payment,
        )?;
        check_sum(
            "the total due at signing",
            self.total_due_at_signing,
            self.deposit.checked_add(total_monthly_payment)?,
        )?;
        check_sum(
            "the total of payments",
            self.total_of_payments,
            total_monthly_payment.checked_mul(months)?,
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

#[cfg(feature = "serde")]
mod wire {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    use super::{Currency, Money, Percentage, Quote, TermMonths};

    /// The figures as they stand, before they are checked.
    #[derive(Deserialize)]
    #[serde(remote = "Quote", rename_all = "camelCase")]
    struct Figures {
        term: TermMonths,
        currency: Currency,
        msrp: Money,
        discount: Percentage,
        capitalized_cost: Money,
        residual_value: Money,
        depreciation: Money,
        rent_charge: Money,
        monthly_payment: Money,
        insurance: Money,
        total_monthly_payment: Money,
        deposit_percentage: Percentage,
        deposit: Money,
        total_due_at_signing: Money,
        total_of_payments: Money,
    }

    impl<'de> Deserialize<'de> for Quote {
        /// Refuses figures that do not fit together, with the message of
        /// [`PricingError`](crate::pricing::PricingError).
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let quote = Figures::deserialize(deserializer)?;
            quote.check().map_err(D::Error::custom)?;
            Ok(quote)
        }
    }
}
