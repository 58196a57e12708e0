use num_bigint::BigUint;

use super::amounts::{check_amount, money};
use super::discount::Discount;
use super::error::PricingError;
use super::payment::{BasePayment, round_half_up};
use super::plan::{PaymentPlan, check_residual};
use super::rate_card::Rate;
use super::schedule::RentMethod;
use crate::money::Money;
use crate::percentage::TermMonths;

/// What stays fixed when a running lease is extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum ExtensionTerms {
    /// The payment and the rate go on as they were; the residual value is what they leave. It
    /// rises where the payment is below the rent, as it may be after several in advance.
    SamePayment,
    /// The payment is computed again, at the lease's own implicit rate, for a residual value at
    /// the new end.
    SameRate {
        /// Value at the new end, from 0 to the balance.
        residual_value: Money,
    },
    /// The payment is computed again at another rate, for a residual value at the new end.
    NewRate {
        /// Value at the new end, from 0 to the balance.
        residual_value: Money,
        /// The rate from now on.
        rate: Rate,
    },
}

/// A running lease that goes on for longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extension {
    /// Months that have passed.
    pub month: u16,
    /// Months that the lease is longer by.
    pub added: TermMonths,
    /// The lease from here on: it finances the balance over the remaining and the added months.
    pub plan: PaymentPlan,
}

impl PaymentPlan {
    /// Extends the lease by `added` months after `month` months have passed.
    ///
    /// What is left of the capitalized cost by constant yield is financed anew over the remaining
    /// and the added months, one payment in advance (none, where the lease has none). A lease with
    /// several payments in advance pays monthly again from here on. With [`PaymentPlan::schedule`]
    /// of the result the extended lease has its schedule, its rate and its termination quotes.
    ///
    /// # Errors
    /// [`PricingError::CountOutOfRange`] unless the month is from 1 to the term and the remaining
    /// and added months are together at most 120,
    /// [`PricingError::AmountOutOfRange`] for a residual value that is not from 0 to the balance,
    /// [`PricingError::BalanceRunsOut`] when the same payment pays off the balance before the new
    /// end, and, unless the rate is a new one, those of [`implicit_rate`](Self::implicit_rate).
    ///
    /// ```
    /// use lessor_domain::money::{Currency, Money};
    /// use lessor_domain::pricing::{ExtensionTerms, PaymentPlan};
    ///
    /// let usd = |amount| Money::parse(amount, Currency::USD);
    /// let plan = PaymentPlan::new(
    ///     usd("18800")?, usd("12350")?, usd("244.69")?, "48".parse()?, 1,
    /// )?;
    /// // At the end of the term, six months more at the same payment.
    /// let extension = plan.extend(48, "6".parse()?, ExtensionTerms::SamePayment)?;
    /// assert_eq!(extension.plan.capitalized_cost(), plan.residual_value());
    /// assert_eq!(extension.plan.residual_value().to_string(), "11379.12");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend(
        &self,
        month: u16,
        added: TermMonths,
        terms: ExtensionTerms,
    ) -> Result<Extension, PricingError> {
        let balance = self.balance_at(month, RentMethod::ConstantYield)?;
        let remaining = self.term().get().saturating_sub(month);
        let term = TermMonths::new(remaining.saturating_add(added.get())).map_err(|_| {
            PricingError::CountOutOfRange {
                figure: "the number of added months",
                min: 1,
                max: TermMonths::MAX.get().saturating_sub(remaining),
            }
        })?;
        let payments_in_advance = self.payments_in_advance().min(1);
        let payment_for = |residual_value: Money| {
            check_residual(residual_value, balance)?;
            Ok::<_, PricingError>(BasePayment {
                capitalized_cost: balance.minor().unsigned_abs(),
                residual_value: residual_value.minor().unsigned_abs(),
                term,
                payments_in_advance,
            })
        };
        let (residual_value, payment) = match terms {
            ExtensionTerms::SamePayment => (
                self.balance_of_same_payment(balance, term, payments_in_advance)?,
                self.payment(),
            ),
            ExtensionTerms::SameRate { residual_value } => {
                let discount = Discount::from(self.implicit_rate()?);
                let payment = payment_for(residual_value)?.at_discount(discount)?;
                (residual_value, money(payment, self.currency())?)
            }
            ExtensionTerms::NewRate {
                residual_value,
                rate,
            } => {
                let payment = payment_for(residual_value)?.at(rate)?;
                (residual_value, money(payment, self.currency())?)
            }
        };
        Ok(Extension {
            month,
            added,
            plan: PaymentPlan::of_quote(
                balance,
                residual_value,
                payment,
                term,
                payments_in_advance,
            ),
        })
    }

    /// What a balance comes to after `term` more payments at the rate of the lease, with `v = N/M`:
    /// `(C·M^n − P·(k·M^n + … + N^(n−k)·M^k)) / N^n`.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "big integers do not overflow, and the one subtraction is guarded"
    )]
    fn balance_of_same_payment(
        &self,
        balance: Money,
        term: TermMonths,
        payments_in_advance: u16,
    ) -> Result<Money, PricingError> {
        let (n, m) = Discount::from(self.implicit_rate()?).big_fraction();
        let months = u32::from(term.get());
        let first = u32::from(payments_in_advance == 0);
        let paid = (first..months.saturating_add(first))
            .map(|month| n.pow(month) * m.pow(months.saturating_sub(month)))
            .sum::<BigUint>()
            * self.payment().minor().unsigned_abs();
        let financed = m.pow(months) * balance.minor().unsigned_abs();
        if financed < paid {
            return Err(PricingError::BalanceRunsOut);
        }
        let left = round_half_up(financed - paid, n.pow(months)).ok_or(PricingError::OVERFLOW)?;
        let left = money(left, self.currency())?;
        check_amount("the residual value", left)?;
        Ok(left)
    }
}
