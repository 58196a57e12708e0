use super::amounts::{WHOLE, check_amount, check_currency, check_sum, check_up_to, money, share};
use super::error::PricingError;
use super::payment::BasePayment;
use super::plan::{PaymentPlan, check_advance, check_payment, check_residual};
use super::rate_card::Rate;
use crate::exact::round_half_away_from_zero;
use crate::money::{Currency, Money};
use crate::percentage::{Percentage, TermMonths};

/// Tax on each payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum PaymentTax {
    /// No tax.
    None,
    /// A fixed amount on each payment.
    Amount(Money),
    /// A percentage of the printed base payment: what the payer can check.
    Percentage(Percentage),
    /// A percentage of the base payment before it is rounded, as some published calculators take
    /// it. The printed tax is the difference that the two printed payments leave.
    PercentageOfUnrounded(Percentage),
}

/// What a lease is priced from, beyond a catalog item with a rate card: capitalized fees,
/// reductions, any number of payments in advance, and tax.
///
/// ```
/// use lessor_domain::money::{Currency, Money};
/// use lessor_domain::pricing::{LeaseTerms, PaymentTax, Rate};
///
/// // The filled sample of the consumer lease form that the Federal Reserve Board published.
/// let usd = |amount| Money::parse(amount, Currency::USD);
/// let lease = LeaseTerms::new(
///     usd("21500")?,
///     usd("12350")?,
///     "48".parse()?,
///     Rate::AnnualRate("8.4972".parse()?),
/// )
/// .capitalized_fees(usd("800")?)
/// .trade_in(usd("2500")?)
/// .cash_reduction(usd("1000")?)
/// .tax(PaymentTax::Amount(usd("12.25")?))
/// .quote()?;
///
/// assert_eq!(lease.adjusted_capitalized_cost.to_string(), "18800.00");
/// assert_eq!(lease.base_payment.to_string(), "244.69");
/// assert_eq!(lease.monthly_payment.to_string(), "256.94");
/// assert_eq!(lease.rent_charge.to_string(), "5295.12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "terms are priced by `quote`"]
pub struct LeaseTerms {
    agreed_value: Money,
    residual_value: Money,
    term: TermMonths,
    rate: Rate,
    capitalized_fees: Money,
    trade_in: Money,
    rebate: Money,
    cash_reduction: Money,
    payments_in_advance: u16,
    tax: PaymentTax,
}

impl LeaseTerms {
    /// Terms with one payment in advance and without fees, reductions and tax.
    pub const fn new(
        agreed_value: Money,
        residual_value: Money,
        term: TermMonths,
        rate: Rate,
    ) -> Self {
        let nothing = Money::zero(agreed_value.currency());
        Self {
            agreed_value,
            residual_value,
            term,
            rate,
            capitalized_fees: nothing,
            trade_in: nothing,
            rebate: nothing,
            cash_reduction: nothing,
            payments_in_advance: 1,
            tax: PaymentTax::None,
        }
    }

    /// What is paid over the term beside the agreed value: an acquisition fee, a service
    /// contract, the balance of another lease.
    pub const fn capitalized_fees(mut self, fees: Money) -> Self {
        self.capitalized_fees = fees;
        self
    }

    /// Net allowance for what the lessee trades in.
    pub const fn trade_in(mut self, allowance: Money) -> Self {
        self.trade_in = allowance;
        self
    }

    /// Rebates and credits that are not cash.
    pub const fn rebate(mut self, rebate: Money) -> Self {
        self.rebate = rebate;
        self
    }

    /// Cash that the lessee pays to reduce the capitalized cost.
    pub const fn cash_reduction(mut self, cash: Money) -> Self {
        self.cash_reduction = cash;
        self
    }

    /// Payments made at signing, from none (payments at the end of each month) to all of them.
    pub const fn payments_in_advance(mut self, payments: u16) -> Self {
        self.payments_in_advance = payments;
        self
    }

    /// Tax on each payment.
    pub const fn tax(mut self, tax: PaymentTax) -> Self {
        self.tax = tax;
        self
    }

    /// Prices the terms.
    ///
    /// With the gross capitalized cost `G` = agreed value + fees, the reduction `D` = trade-in +
    /// rebate + cash and `C = G − D`, the base payment for `k` payments in advance is
    ///
    /// - `(C − R)/n + (C + R) × f` for the money factor `f`, whatever `k`,
    /// - `(C − R·v^n) / (k + v + … + v^(n−k))` for an annual rate, `v = 1/(1 + rate/1200)`.
    ///
    /// # Errors
    /// [`PricingError`] names the input at fault and its range: every amount is from 0 to
    /// [`Money::largest_amount`], `G` included, `D` is at most `G` and the residual value at most
    /// `C`, payments in advance at most the months, and all amounts are of one currency.
    pub fn quote(&self) -> Result<LeaseQuote, PricingError> {
        check_amount("the agreed value", self.agreed_value)?;
        check_amount("the sum of capitalized fees", self.capitalized_fees)?;
        check_amount("the trade-in allowance", self.trade_in)?;
        check_amount("the rebate", self.rebate)?;
        check_amount("the cash reduction", self.cash_reduction)?;
        check_advance(self.payments_in_advance, self.term)?;

        let gross_capitalized_cost = self.agreed_value.checked_add(self.capitalized_fees)?;
        check_amount("the gross capitalized cost", gross_capitalized_cost)?;
        let capitalized_cost_reduction = self
            .trade_in
            .checked_add(self.rebate)?
            .checked_add(self.cash_reduction)?;
        check_up_to(
            "the capitalized cost reduction",
            capitalized_cost_reduction,
            gross_capitalized_cost,
        )?;
        let adjusted_capitalized_cost =
            gross_capitalized_cost.checked_sub(capitalized_cost_reduction)?;
        check_residual(self.residual_value, adjusted_capitalized_cost)?;

        let formula = BasePayment {
            capitalized_cost: adjusted_capitalized_cost.minor().unsigned_abs(),
            residual_value: self.residual_value.minor().unsigned_abs(),
            term: self.term,
            payments_in_advance: self.payments_in_advance,
        };
        let currency = self.agreed_value.currency();
        let base_payment = money(formula.at(self.rate)?, currency)?;
        let payment_tax = match self.tax {
            PaymentTax::None => Money::zero(currency),
            PaymentTax::Amount(tax) => {
                check_amount("the tax on a payment", tax)?;
                tax
            }
            PaymentTax::Percentage(tax) => share(base_payment, tax.units(), WHOLE)?,
            PaymentTax::PercentageOfUnrounded(tax) => {
                money(formula.with_tax(self.rate, tax)?, currency)?.checked_sub(base_payment)?
            }
        };
        let months = u32::from(self.term.get());
        let depreciation = adjusted_capitalized_cost.checked_sub(self.residual_value)?;
        let total_of_base_payments = base_payment.checked_mul(months)?;
        let monthly_payment = base_payment.checked_add(payment_tax)?;

        Ok(LeaseQuote {
            term: self.term,
            currency,
            payments_in_advance: self.payments_in_advance,
            agreed_value: self.agreed_value,
            capitalized_fees: self.capitalized_fees,
            gross_capitalized_cost,
            trade_in: self.trade_in,
            rebate: self.rebate,
            cash_reduction: self.cash_reduction,
            capitalized_cost_reduction,
            adjusted_capitalized_cost,
            residual_value: self.residual_value,
            depreciation,
            rent_charge: total_of_base_payments.checked_sub(depreciation)?,
            total_of_base_payments,
            base_payment,
            payment_tax,
            monthly_payment,
            total_of_monthly_payments: monthly_payment.checked_mul(months)?,
        })
    }
}

/// A priced lease. The printed figures add up; all amounts are of `currency`.
///
/// [`LeaseTerms::quote`] makes them, and a stored one is read only when its figures fit together.
/// The fields can be changed nevertheless, so [`plan`](Self::plan) looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct LeaseQuote {
    /// Length of the lease, and number of its payments.
    pub term: TermMonths,
    /// Currency of every amount.
    pub currency: Currency,
    /// Payments made at signing.
    pub payments_in_advance: u16,
    /// Agreed value of the property.
    pub agreed_value: Money,
    /// What is paid over the term beside it.
    pub capitalized_fees: Money,
    /// `agreed_value + capitalized_fees`.
    pub gross_capitalized_cost: Money,
    /// Net trade-in allowance.
    pub trade_in: Money,
    /// Rebates and credits that are not cash.
    pub rebate: Money,
    /// Cash that reduces the capitalized cost.
    pub cash_reduction: Money,
    /// `trade_in + rebate + cash_reduction`.
    pub capitalized_cost_reduction: Money,
    /// `gross_capitalized_cost − capitalized_cost_reduction`, `C`.
    pub adjusted_capitalized_cost: Money,
    /// Value of the property at the end of the term, `R`.
    pub residual_value: Money,
    /// `C − R`.
    pub depreciation: Money,
    /// `total_of_base_payments − depreciation`.
    pub rent_charge: Money,
    /// `n` times the base payment.
    pub total_of_base_payments: Money,
    /// Payment before tax.
    pub base_payment: Money,
    /// Tax on each payment.
    pub payment_tax: Money,
    /// `base_payment + payment_tax`.
    pub monthly_payment: Money,
    /// `n` times the monthly payment.
    pub total_of_monthly_payments: Money,
}

impl LeaseQuote {
    /// The payments of the lease, without tax: from them follow its schedule, its implicit rate
    /// and what ending or extending it costs.
    ///
    /// # Errors
    /// [`PricingError::OtherCurrency`] for an amount that is not of `currency`,
    /// [`PricingError::AmountOutOfRange`] or [`PricingError::CountOutOfRange`] for a figure that no
    /// lease has, [`PricingError::Contradiction`] for a sum that is not the sum of its parts. None
    /// of them for a quote as [`LeaseTerms::quote`] made it.
    pub fn plan(&self) -> Result<PaymentPlan, PricingError> {
        self.check()?;
        Ok(PaymentPlan::of_quote(
            self.adjusted_capitalized_cost,
            self.residual_value,
            self.base_payment,
            self.term,
            self.payments_in_advance,
        ))
    }

    /// Refuses figures that no quote has together.
    pub(super) fn check(&self) -> Result<(), PricingError> {
        check_currency(
            self.currency,
            [
                ("the agreed value", self.agreed_value),
                ("the sum of capitalized fees", self.capitalized_fees),
                ("the gross capitalized cost", self.gross_capitalized_cost),
                ("the trade-in allowance", self.trade_in),
                ("the rebate", self.rebate),
                ("the cash reduction", self.cash_reduction),
                (
                    "the capitalized cost reduction",
                    self.capitalized_cost_reduction,
                ),
                (
                    "the adjusted capitalized cost",
                    self.adjusted_capitalized_cost,
                ),
                ("the residual value", self.residual_value),
                ("the depreciation", self.depreciation),
                ("the rent charge", self.rent_charge),
                ("the total of base payments", self.total_of_base_payments),
                ("the base payment", self.base_payment),
                ("the tax on a payment", self.payment_tax),
                ("the monthly payment", self.monthly_payment),
                (
                    "the total of monthly payments",
                    self.total_of_monthly_payments,
                ),
            ],
        )?;
        check_advance(self.payments_in_advance, self.term)?;
        check_amount("the agreed value", self.agreed_value)?;
        check_amount("the sum of capitalized fees", self.capitalized_fees)?;
        check_amount("the trade-in allowance", self.trade_in)?;
        check_amount("the rebate", self.rebate)?;
        check_amount("the cash reduction", self.cash_reduction)?;
        check_sum(
            "the gross capitalized cost",
            self.gross_capitalized_cost,
            self.agreed_value.checked_add(self.capitalized_fees)?,
        )?;
        check_amount("the gross capitalized cost", self.gross_capitalized_cost)?;
        check_sum(
            "the capitalized cost reduction",
            self.capitalized_cost_reduction,
            self.trade_in
                .checked_add(self.rebate)?
                .checked_add(self.cash_reduction)?,
        )?;
        check_up_to(
            "the capitalized cost reduction",
            self.capitalized_cost_reduction,
            self.gross_capitalized_cost,
        )?;
        check_sum(
            "the adjusted capitalized cost",
            self.adjusted_capitalized_cost,
            self.gross_capitalized_cost
                .checked_sub(self.capitalized_cost_reduction)?,
        )?;
        check_residual(self.residual_value, self.adjusted_capitalized_cost)?;
        check_payment(
            "the base payment",
            self.base_payment,
            self.adjusted_capitalized_cost,
        )?;
        // A fixed tax is an amount of its own, and a percentage at most the greatest payment.
        let greatest_tax = Money::largest_amount(self.currency).checked_mul(2)?;
        check_up_to("the tax on a payment", self.payment_tax, greatest_tax)?;

        let months = u32::from(self.term.get());
        let depreciation = self
            .adjusted_capitalized_cost
            .checked_sub(self.residual_value)?;
        check_sum("the depreciation", self.depreciation, depreciation)?;
        let total_of_base_payments = self.base_payment.checked_mul(months)?;
        check_sum(
            "the total of base payments",
            self.total_of_base_payments,
            total_of_base_payments,
        )?;
        check_sum(
            "the rent charge",
            self.rent_charge,
            total_of_base_payments.checked_sub(depreciation)?,
        )?;
        let monthly_payment = self.base_payment.checked_add(self.payment_tax)?;
        check_sum("the monthly payment", self.monthly_payment, monthly_payment)?;
        check_sum(
            "the total of monthly payments",
            self.total_of_monthly_payments,
            monthly_payment.checked_mul(months)?,
        )
    }

    /// Depreciation of an average month, `(C − R)/n`.
    ///
    /// # Errors
    /// [`PricingError::Money`] when it does not fit.
    pub fn depreciation_per_month(&self) -> Result<Money, PricingError> {
        round_half_away_from_zero(self.depreciation.minor().into(), self.term.get().into())
            .and_then(|minor| i64::try_from(minor).ok())
            .map(|minor| Money::from_minor(minor, self.currency))
            .ok_or(PricingError::OVERFLOW)
    }

    /// Rent of an average month: what the depreciation leaves of the base payment.
    ///
    /// # Errors
    /// [`PricingError::Money`] when it does not fit.
    pub fn rent_per_month(&self) -> Result<Money, PricingError> {
        Ok(self
            .base_payment
            .checked_sub(self.depreciation_per_month()?)?)
    }
}

#[cfg(feature = "serde")]
mod wire {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    use super::{Currency, LeaseQuote, Money, TermMonths};

    /// The figures as they stand, before they are checked.
    #[derive(Deserialize)]
    #[serde(remote = "LeaseQuote", rename_all = "camelCase")]
    struct Figures {
        term: TermMonths,
        currency: Currency,
        payments_in_advance: u16,
        agreed_value: Money,
        capitalized_fees: Money,
        gross_capitalized_cost: Money,
        trade_in: Money,
        rebate: Money,
        cash_reduction: Money,
        capitalized_cost_reduction: Money,
        adjusted_capitalized_cost: Money,
        residual_value: Money,
        depreciation: Money,
        rent_charge: Money,
        total_of_base_payments: Money,
        base_payment: Money,
        payment_tax: Money,
        monthly_payment: Money,
        total_of_monthly_payments: Money,
    }

    impl<'de> Deserialize<'de> for LeaseQuote {
        /// Refuses figures that do not fit together, with the message of
        /// [`PricingError`](crate::pricing::PricingError).
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let quote = Figures::deserialize(deserializer)?;
            quote.check().map_err(D::Error::custom)?;
            Ok(quote)
        }
    }
}
