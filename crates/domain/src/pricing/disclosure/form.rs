//! The lines that both forms have.

use chrono::NaiveDate;

use crate::money::{Currency, Money};
use crate::percentage::TermMonths;
use crate::pricing::amounts::check_amount;
use crate::pricing::error::PricingError;

/// Who leases to whom, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct DisclosureHeader {
    /// Date of the disclosure.
    pub date: NaiveDate,
    /// Names of the lessors.
    pub lessors: Vec<String>,
    /// Names of the lessees.
    pub lessees: Vec<String>,
    /// When the first payment is due.
    pub first_payment_due: NaiveDate,
    /// Day of the month on which the further payments are due, 1 to 31.
    pub due_day: u8,
}

/// A line of the form that the lessor names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct NamedAmount {
    /// What the amount is for.
    pub name: String,
    pub amount: Money,
}

/// "Your first monthly payment of … is due on …, followed by … payments of … due on the … of each
/// month. The total of your monthly payments is …"
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct MonthlyPayments {
    /// Each payment, the first included.
    pub payment: Money,
    /// When the first is due.
    pub first_due: NaiveDate,
    /// Payments that follow the first, or follow those made at signing.
    pub further_payments: u16,
    /// Day of the month on which they are due.
    pub due_day: u8,
    /// All payments of the lease.
    pub total: Money,
}

/// Charges that are not part of the monthly payment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct OtherCharges {
    /// The charge at the end: disposition of a vehicle that is not bought, pick-up of goods.
    pub at_end: Money,
    /// Further charges, such as an annual tax.
    pub other: Vec<NamedAmount>,
    /// Their sum.
    pub total: Money,
}

/// The option to buy at the end of the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PurchaseOption {
    /// Price of the property.
    pub price: Money,
    /// Charge for exercising the option.
    pub fee: Money,
}

/// The payments of a lease as the forms count them.
#[derive(Clone, Copy)]
pub(super) struct Instalments {
    pub(super) payment: Money,
    pub(super) term: TermMonths,
    pub(super) in_advance: u16,
}

impl Instalments {
    /// The first payment, when it is made at signing.
    pub(super) fn first_at_signing(self) -> Money {
        if self.in_advance == 0 {
            Money::zero(self.payment.currency())
        } else {
            self.payment
        }
    }

    /// The payments in advance after the first.
    pub(super) fn further_at_signing(self) -> Result<Money, PricingError> {
        let further = self.in_advance.saturating_sub(1);
        Ok(self.payment.checked_mul(further.into())?)
    }

    fn total(self) -> Result<Money, PricingError> {
        Ok(self.payment.checked_mul(self.term.get().into())?)
    }

    pub(super) fn disclose(
        self,
        header: &DisclosureHeader,
    ) -> Result<MonthlyPayments, PricingError> {
        if !(1..=31).contains(&header.due_day) {
            return Err(PricingError::CountOutOfRange {
                figure: "the day of the month on which payments are due",
                min: 1,
                max: 31,
            });
        }
        Ok(MonthlyPayments {
            payment: self.payment,
            first_due: header.first_payment_due,
            further_payments: self.term.get().saturating_sub(self.in_advance.max(1)),
            due_day: header.due_day,
            total: self.total()?,
        })
    }

    /// What the lessee will have paid by the end of the lease: what is due at signing and not
    /// refundable, the payments not made at signing, and the other charges (§ 1013.4(e)).
    pub(super) fn total_of_payments(
        self,
        due_at_signing: Money,
        refundable: Money,
        other_charges: Money,
    ) -> Result<Money, PricingError> {
        let at_signing = self.payment.checked_mul(self.in_advance.into())?;
        Ok(due_at_signing
            .checked_sub(refundable)?
            .checked_add(self.total()?)?
            .checked_sub(at_signing)?
            .checked_add(other_charges)?)
    }
}

impl OtherCharges {
    pub(super) fn new(at_end: Money, other: Vec<NamedAmount>) -> Result<Self, PricingError> {
        let total = at_end.checked_add(sum(&other, at_end.currency())?)?;
        Ok(Self {
            at_end,
            other,
            total,
        })
    }
}

/// The sum of lines that the lessor names, each within the range of an amount.
pub(super) fn sum(lines: &[NamedAmount], currency: Currency) -> Result<Money, PricingError> {
    for line in lines {
        check_amount("the amount of a named line", line.amount)?;
    }
    Ok(Money::sum(lines.iter().map(|line| line.amount), currency)?)
}

pub(super) fn check_purchase_option(
    option: Option<PurchaseOption>,
    currency: Currency,
) -> Result<(), PricingError> {
    if let Some(option) = option {
        check_amount("the price of the purchase option", option.price)?;
        check_amount("the fee of the purchase option", option.fee)?;
        Money::sum([option.price, option.fee], currency)?;
    }
    Ok(())
}
