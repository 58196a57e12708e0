use super::amounts::{WHOLE, check_amount, share};
use super::error::PricingError;
use super::plan::PaymentPlan;
use super::schedule::RentMethod;
use crate::money::{Currency, Money};
use crate::percentage::Percentage;

/// What a lessee owes or is credited with when a lease ends early, beside the balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct TerminationCharges {
    /// Payments that were due and are not made.
    pub past_due: Money,
    /// Charge for ending the lease early.
    pub termination_fee: Money,
    /// Charge for disposing of the property.
    pub disposition_fee: Money,
    /// Official fees and taxes of the termination.
    pub official_fees: Money,
    /// What the property is worth or was sold for.
    pub realized_value: Money,
    /// Deposit that is held and counts towards what is owed.
    pub deposit: Money,
}

impl TerminationCharges {
    /// No charges and no credits.
    #[must_use]
    pub const fn none(currency: Currency) -> Self {
        let nothing = Money::zero(currency);
        Self {
            past_due: nothing,
            termination_fee: nothing,
            disposition_fee: nothing,
            official_fees: nothing,
            realized_value: nothing,
            deposit: nothing,
        }
    }
}

/// What ending a lease after a month costs. The printed figures add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct TerminationQuote {
    /// Months that have passed.
    pub month: u16,
    /// How the rent was earned until then.
    pub method: RentMethod,
    /// What is left of the capitalized cost.
    pub balance: Money,
    /// Payments that fall away.
    pub remaining_payments: u16,
    /// The sum of the payments that fall away.
    pub total_of_remaining_payments: Money,
    /// Rent that is not charged: remaining payments and residual value less the balance; zero
    /// where the rounded payments of a lease at rate zero fall short of it.
    pub unearned_rent: Money,
    /// What the charges were.
    pub charges: TerminationCharges,
    /// Balance, past due payments, fees.
    pub payoff: Money,
    /// What the payoff exceeds the realized value by, at least zero.
    pub early_termination_charge: Money,
    /// The early termination charge less the deposit; below zero it is refunded.
    pub due: Money,
}

/// Conditions of buying the property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PurchaseCharges {
    /// Charge for exercising the option.
    pub option_fee: Money,
    /// Payments that were due and are not made.
    pub past_due: Money,
    /// Sales tax on price and option fee.
    pub tax: Percentage,
    /// Deposit that is held and counts towards what is owed.
    pub deposit: Money,
}

impl PurchaseCharges {
    /// No charges and no credits.
    #[must_use]
    pub const fn none(currency: Currency) -> Self {
        let nothing = Money::zero(currency);
        Self {
            option_fee: nothing,
            past_due: nothing,
            tax: Percentage::ZERO,
            deposit: nothing,
        }
    }
}

/// What buying the property after a month costs. The printed figures add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PurchaseQuote {
    /// Months that have passed.
    pub month: u16,
    /// How the rent was earned until then.
    pub method: RentMethod,
    /// The balance; at the end of the term the residual value.
    pub price: Money,
    /// What the charges were.
    pub charges: PurchaseCharges,
    /// Sales tax on price and option fee.
    pub tax: Money,
    /// Price, option fee, tax and past due payments.
    pub total: Money,
    /// The total less the deposit; below zero it is refunded.
    pub due: Money,
}

impl PaymentPlan {
    /// What the lessee owes who ends the lease after `month` months and returns the property.
    ///
    /// The payments due by the end of the month count as made; what of them is not belongs into
    /// [`TerminationCharges::past_due`].
    ///
    /// # Errors
    /// [`PricingError::CountOutOfRange`] unless the month is from 1 to the term,
    /// [`PricingError::AmountOutOfRange`] for a charge that is negative or too large,
    /// [`PricingError::Money`] when a charge is of another currency, and those of
    /// [`schedule`](Self::schedule).
    pub fn termination_quote(
        &self,
        month: u16,
        method: RentMethod,
        charges: TerminationCharges,
    ) -> Result<TerminationQuote, PricingError> {
        check_amount("the amount past due", charges.past_due)?;
        check_amount("the termination fee", charges.termination_fee)?;
        check_amount("the disposition fee", charges.disposition_fee)?;
        check_amount("the sum of official fees", charges.official_fees)?;
        check_amount("the realized value", charges.realized_value)?;
        check_amount("the deposit", charges.deposit)?;

        let balance = self.balance_at(month, method)?;
        let remaining_payments = self
            .term()
            .get()
            .saturating_sub(self.payments_made_by(month));
        let total_of_remaining_payments = self.payment().checked_mul(remaining_payments.into())?;
        let payoff = balance
            .checked_add(charges.past_due)?
            .checked_add(charges.termination_fee)?
            .checked_add(charges.disposition_fee)?
            .checked_add(charges.official_fees)?;
        let early_termination_charge = payoff
            .checked_sub(charges.realized_value)?
            .checked_max(Money::zero(self.currency()))?;

        Ok(TerminationQuote {
            month,
            method,
            balance,
            remaining_payments,
            total_of_remaining_payments,
            unearned_rent: self.rent_between(
                balance,
                total_of_remaining_payments,
                self.residual_value(),
            )?,
            charges,
            payoff,
            early_termination_charge,
            due: early_termination_charge.checked_sub(charges.deposit)?,
        })
    }

    /// What the lessee pays who buys the property after `month` months. After the last it is the
    /// purchase option at the end of the term.
    ///
    /// # Errors
    /// As [`termination_quote`](Self::termination_quote).
    pub fn purchase_quote(
        &self,
        month: u16,
        method: RentMethod,
        charges: PurchaseCharges,
    ) -> Result<PurchaseQuote, PricingError> {
        check_amount("the option fee", charges.option_fee)?;
        check_amount("the amount past due", charges.past_due)?;
        check_amount("the deposit", charges.deposit)?;

        let price = self.balance_at(month, method)?;
        let taxable = price.checked_add(charges.option_fee)?;
        let tax = share(taxable, charges.tax.units(), WHOLE)?;
        let total = taxable.checked_add(tax)?.checked_add(charges.past_due)?;

        Ok(PurchaseQuote {
            month,
            method,
            price,
            charges,
            tax,
            total,
            due: total.checked_sub(charges.deposit)?,
        })
    }

    /// The balance after a month that has passed.
    pub(super) fn balance_at(&self, month: u16, method: RentMethod) -> Result<Money, PricingError> {
        if month == 0 || month > self.term().get() {
            return Err(PricingError::CountOutOfRange {
                figure: "the month",
                min: 1,
                max: self.term().get(),
            });
        }
        self.balance_after(month, method)
    }
}
