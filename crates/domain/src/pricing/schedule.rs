use super::amounts;
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
    /// On the balance, at the implicit rate of the lease; where there is none, by what is paid
    /// beyond the depreciation.
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
    /// Part of the rent charge that the month earns. Below zero only for a plan that loses money.
    pub rent: Money,
    /// What the balance falls by: `payment − rent`, and in the last month of a plan at rate zero
    /// also what its rounded payments fall short by. Below zero where rent is earned and nothing
    /// paid.
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
    /// No rent is below zero where the rent charge is not.
    ///
    /// At a rate of zero, by either method, a payment is depreciation until the residual value is
    /// reached, and rent after that; the last month takes what the payments fall short by. The
    /// rents then add up to zero, and the rent charge is that bit below. A plan without a yield
    /// ([`implicit_rate`](Self::implicit_rate) says why) has the same lines: after signing
    /// nothing of the cost is left but the residual value.
    ///
    /// # Errors
    /// [`PricingError::Money`] when a figure does not fit, as it does for every quote.
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
            lines.push(ScheduleLine {
                month,
                payment,
                rent: self.rent_between(before, payment, balance)?,
                depreciation: before.checked_sub(balance)?,
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

    /// The rent that payments leave while one balance falls to another. What the payments of a
    /// plan at rate zero fall short by is no rent.
    pub(super) fn rent_between(
        &self,
        before: Money,
        payments: Money,
        after: Money,
    ) -> Result<Money, PricingError> {
        let rent = payments.checked_add(after)?.checked_sub(before)?;
        if rent.is_negative() && self.is_at_rate_zero() {
            return Ok(Money::zero(self.currency()));
        }
        Ok(rent)
    }

    fn balances(&self, method: RentMethod) -> Result<Balances<'_>, PricingError> {
        let earning = match method {
            _ if self.is_at_rate_zero() => Earning::BeyondDepreciation,
            RentMethod::ConstantYield => match self.implicit_rate() {
                Ok(rate) => {
                    let factor = Discount::from(rate).factor();
                    Earning::AtYield(factor.ok_or(PricingError::OVERFLOW)?)
                }
                Err(PricingError::NothingFinanced | PricingError::RateOutOfRange) => {
                    Earning::BeyondDepreciation
                }
                Err(error) => return Err(error),
            },
            RentMethod::RuleOf78 => Earning::ByDigits,
        };
        Ok(Balances {
            plan: self,
            earning,
        })
    }
}

/// When the rent of a plan is earned.
enum Earning {
    /// Each month on what is then financed, at the rate of this discount factor.
    AtYield(Fixed),
    /// In proportion to the months that remain.
    ByDigits,
    /// By what payments are made after the balance has come to the residual value.
    BeyondDepreciation,
}

/// The balances of a plan.
struct Balances<'a> {
    plan: &'a PaymentPlan,
    earning: Earning,
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
        match self.earning {
            Earning::AtYield(v) => self
                .constant_yield(v, remaining)
                .ok_or(PricingError::OVERFLOW)
                .and_then(|minor| amounts::money(minor, plan.currency())),
            Earning::ByDigits => self.rule_of_78(month),
            Earning::BeyondDepreciation if remaining == 0 => Ok(plan.residual_value()),
            Earning::BeyondDepreciation => Ok(plan
                .capitalized_cost()
                .checked_sub(self.paid_by(month)?)?
                .checked_max(plan.residual_value())?),
        }
    }

    fn paid_by(&self, month: u16) -> Result<Money, PricingError> {
        let payments = self.plan.payments_made_by(month);
        Ok(self.plan.payment().checked_mul(payments.into())?)
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
        Ok(plan
            .capitalized_cost()
            .checked_sub(self.paid_by(month)?)?
            .checked_add(Money::from_minor(earned, plan.currency()))?)
    }
}
