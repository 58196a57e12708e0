use super::discount::Discount;
use super::error::PricingError;
use super::fixed::{Fixed, Powers, round_amount};
use super::plan::{MinorUnits, PaymentPlan};
use crate::exact::round_half_away_from_zero;
use crate::money::Money;

/// How the rent charge is earned over the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum RentMethod {
    /// On the balance, at the implicit rate of the lease.
    ConstantYield,
    /// In proportion to the months that remain: with twelve, 12/78 in the first and 1/78 in the
    /// last. Dearer for a lessee who ends early, and barred for many consumer contracts.
    RuleOf78,
}

/// One month of a payment schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct ScheduleLine {
    /// The month, counted from 1.
    pub month: u16,
    /// What is paid for the month; in the first month all payments in advance.
    pub payment: Money,
    /// Part of the rent charge that the month earns.
    pub rent: Money,
    /// `payment − rent`: what the balance falls by. Below zero where rent is earned and nothing paid.
    pub depreciation: Money,
    /// Balance at the end of the month. The last one is the residual value.
    pub balance: Money,
}

impl PaymentPlan {
    /// The payment schedule, a line for each month.
    ///
    /// Each balance is computed exactly and rounded once, and a month's rent is the difference
    /// that the printed balances leave. So no rounding is carried from line to line, and the lines
    /// add up: payments to [`total_of_payments`](Self::total_of_payments), rents to
    /// [`rent_charge`](Self::rent_charge), depreciation to [`depreciation`](Self::depreciation).
    ///
    /// # Errors
    /// With [`RentMethod::ConstantYield`] those of [`implicit_rate`](Self::implicit_rate): such a
    /// plan has no yield. The rule of 78 fits every plan.
    ///
    /// ```
    /// use lessor_domain::money::{Currency, Money};
    /// use lessor_domain::pricing::{PaymentPlan, RentMethod};
    ///
    /// // The lease of the Federal Reserve Board's early-termination table.
    /// let usd = |amount| Money::parse(amount, Currency::USD);
    /// let plan = PaymentPlan::new(
    ///     usd("18800")?, usd("12350")?, usd("244.69")?, "48".parse()?, 1,
    /// )?;
    /// let schedule = plan.schedule(RentMethod::ConstantYield)?;
    /// let first = &schedule[0];
    /// assert_eq!(first.rent.to_string(), "131.39");
    /// assert_eq!(first.balance.to_string(), "18686.70");
    /// assert_eq!(schedule[47].balance, plan.residual_value());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schedule(&self, method: RentMethod) -> Result<Vec<ScheduleLine>, PricingError> {
        let balances = self.balances(method)?;
        let mut before = self.capitalized_cost();
        let mut lines = Vec::with_capacity(self.term().get().into());
        for month in 1..=self.term().get() {
            let payment = self.payment_of_month(month)?;
            let balance = balances.after(month)?;
            let depreciation = before.checked_sub(balance)?;
            lines.push(ScheduleLine {
                month,
                payment,
                rent: payment.checked_sub(depreciation)?,
                depreciation,
                balance,
            });
            before = balance;
        }
        Ok(lines)
    }

    /// The balance at the end of a month, before the payment of the next: what the lessee still
    /// owes of the capitalized cost. At month 0 it is the capitalized cost, at the last month the
    /// residual value.
    ///
    /// # Errors
    /// [`PricingError::CountOutOfRange`] for a month beyond the term, and those of
    /// [`schedule`](Self::schedule).
    pub fn balance_after(&self, month: u16, method: RentMethod) -> Result<Money, PricingError> {
        self.balances(method)?.after(month)
    }

    fn balances(&self, method: RentMethod) -> Result<Balances<'_>, PricingError> {
        let discount = match method {
            RentMethod::ConstantYield => Some(
                Discount::from(self.implicit_rate()?)
                    .factor()
                    .ok_or(PricingError::OVERFLOW)?,
            ),
            RentMethod::RuleOf78 => None,
        };
        Ok(Balances {
            plan: self,
            discount,
        })
    }
}

/// The balances of a plan: with a discount factor those of constant yield, else of the rule of 78.
struct Balances<'a> {
    plan: &'a PaymentPlan,
    discount: Option<Fixed>,
}

impl Balances<'_> {
    fn after(&self, month: u16) -> Result<Money, PricingError> {
        let plan = self.plan;
        let Some(remaining) = plan.term().get().checked_sub(month) else {
            return Err(PricingError::CountOutOfRange {
                figure: "the month",
                min: 0,
                max: plan.term().get(),
            });
        };
        if month == 0 {
            return Ok(plan.capitalized_cost());
        }
        match self.discount {
            Some(v) => self
                .constant_yield(v, remaining)
                .and_then(|minor| i64::try_from(minor).ok())
                .map(|minor| Money::from_minor(minor, plan.currency()))
                .ok_or(PricingError::OVERFLOW),
            None => self.rule_of_78(month),
        }
    }

    /// What the remaining payments and the residual value are worth: `P·(1 + v + …) + R·v^r`, the
    /// first payment due at once, or `P·(v + …) + R·v^r` when payments are at the end of a month.
    fn constant_yield(&self, v: Fixed, remaining: u16) -> Option<u64> {
        let MinorUnits {
            payment,
            residual_value,
            ..
        } = self.plan.minor_units();
        let payments_factor = match self.plan.payments_in_advance() {
            0 => Powers::new(v, remaining)?.series.checked_mul(v)?,
            advance => {
                let payments = remaining.saturating_sub(advance.saturating_sub(1));
                Powers::new(v, payments)?.series
            }
        };
        let worth = payments_factor
            .times(payment)?
            .checked_add(Powers::new(v, remaining)?.power.times(residual_value)?)?;
        round_amount(worth)
    }

    /// `C − payments made + rent earned`, with the rent earned in proportion to
    /// `n + (n − 1) + …`, a term for each month gone.
    fn rule_of_78(&self, month: u16) -> Result<Money, PricingError> {
        let plan = self.plan;
        let (n, m) = (i128::from(plan.term().get()), i128::from(month));
        let earned = n
            .checked_mul(2)
            .and_then(|twice| twice.checked_sub(m)?.checked_add(1)?.checked_mul(m))
            .and_then(|digits| digits.checked_mul(plan.rent_charge().ok()?.minor().into()))
            .and_then(|share| round_half_away_from_zero(share, n.checked_add(1)?.checked_mul(n)?))
            .and_then(|minor| i64::try_from(minor).ok())
            .ok_or(PricingError::OVERFLOW)?;
        let paid = plan
            .payment()
            .checked_mul(plan.payments_made_by(month).into())?;
        Ok(plan
            .capitalized_cost()
            .checked_sub(paid)?
            .checked_add(Money::from_minor(earned, plan.currency()))?)
    }
}
