//! Sums over rows.

use super::entry::{Entry, Thing};
use super::told::{HoldState, RefundState};
use crate::checkout::InvoiceOutcome;
use crate::money::{Money, MoneyError};

/// What a checkout's rows come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// Held, neither taken nor let go.
    pub held: Money,
    /// Taken as deposits.
    pub captured: Money,
    /// Taken by invoices.
    pub paid: Money,
    /// Paid back, or on its way back.
    pub refunded: Money,
}

impl Balance {
    /// What the rows come to, all of one currency.
    ///
    /// # Errors
    /// [`MoneyError`] when the currencies differ, or it is more than can be counted.
    pub fn of<'a>(
        zero: Money,
        rows: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<Self, MoneyError> {
        let mut balance = Self {
            held: zero,
            captured: zero,
            paid: zero,
            refunded: zero,
        };
        for row in rows {
            let sum = match &row.thing {
                Thing::Hold { state, .. } => match state {
                    HoldState::Held => &mut balance.held,
                    HoldState::Captured => &mut balance.captured,
                    HoldState::Released => continue,
                },
                Thing::Invoice { outcome, .. } if *outcome == InvoiceOutcome::Paid => {
                    &mut balance.paid
                }
                Thing::Refund { state, .. } if *state != RefundState::Failed => {
                    &mut balance.refunded
                }
                Thing::Invoice { .. }
                | Thing::Refund { .. }
                | Thing::Subscription { .. }
                | Thing::Session { .. } => continue,
            };
            *sum = sum.checked_add(row.amount)?;
        }
        Ok(balance)
    }
}

/// What was paid back of a payment, or is on its way back.
///
/// # Errors
/// [`MoneyError`] when the currencies differ, or it is more than can be counted.
pub fn refunded_of(payment: &str, zero: Money, rows: &[Entry]) -> Result<Money, MoneyError> {
    rows.iter()
        .filter(|row| {
            matches!(&row.thing, Thing::Refund { payment_intent_id, state, .. }
                if payment_intent_id == payment && *state != RefundState::Failed)
        })
        .try_fold(zero, |sum, row| sum.checked_add(row.amount))
}

/// What was paid for months of the term, and for how many.
///
/// # Errors
/// [`MoneyError`] when the currencies differ, or it is more than can be counted.
pub fn paid_by(zero: Money, rows: &[Entry]) -> Result<(u32, Money), MoneyError> {
    let mut months = 0_u32;
    let mut paid = zero;
    for row in rows {
        if let Thing::Invoice {
            is_cycle: true,
            outcome: InvoiceOutcome::Paid,
            ..
        } = row.thing
        {
            months = months.saturating_add(1);
            paid = paid.checked_add(row.amount)?;
        }
    }
    Ok((months, paid))
}
