//! The rows as the customer reads them: what was paid, and what is still to come.

use super::entry::{Entry, Thing};
use super::told::{HoldState, RefundState, SubscriptionState};
use crate::checkout::InvoiceOutcome;
use crate::money::Money;
use crate::names::named_enum;
use crate::time::{Timestamp, add_months_at};

named_enum! {
    /// What a payment is for.
    pub enum PaymentFor {
        /// The deposit, and what is bought along.
        Deposit = "deposit",
        /// A month of the term.
        Month = "month",
        /// A correction or an extra charge.
        Extra = "extra",
        /// Money that goes back to the customer.
        Refund = "refund",
    }
}

named_enum! {
    /// How far a payment is.
    pub enum PaymentStanding {
        /// Held on the customer's card, and not taken.
        Reserved = "reserved",
        /// It is to be taken, or on its way.
        Pending = "pending",
        /// Done.
        Paid = "paid",
        /// It did not come; it may be tried again.
        Failed = "failed",
    }
}

/// A payment that was made, or tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payment {
    /// What it is for.
    pub what: PaymentFor,
    pub amount: Money,
    /// How far it is.
    pub standing: PaymentStanding,
    /// Since when.
    pub at: Timestamp,
}

/// A monthly payment that nobody has asked for yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instalment {
    pub amount: Money,
    /// When it is taken.
    pub at: Timestamp,
}

/// What the customer reads of a checkout's rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statement {
    /// Oldest first.
    pub made: Vec<Payment>,
    /// In the order in which they come.
    pub to_come: Vec<Instalment>,
}

impl Statement {
    /// What the rows come to. What was let go of or called off took nothing, and is not in it.
    #[must_use]
    pub fn of(rows: &[Entry]) -> Self {
        let mut made: Vec<Payment> = rows.iter().filter_map(payment).collect();
        made.sort_by_key(|payment| payment.at);
        let running = rows.iter().rev().find(|row| {
            row.subscription_state()
                .is_some_and(|state| state != SubscriptionState::Ended)
        });
        Self {
            made,
            to_come: running.map_or_else(Vec::new, |row| to_come(row, rows)),
        }
    }
}

/// The payment that a row tells of.
fn payment(row: &Entry) -> Option<Payment> {
    let (what, standing) = match &row.thing {
        Thing::Hold { state, .. } => match state {
            HoldState::Held => (PaymentFor::Deposit, PaymentStanding::Reserved),
            HoldState::Captured => (PaymentFor::Deposit, PaymentStanding::Paid),
            HoldState::Released => return None,
        },
        Thing::Invoice {
            is_cycle, outcome, ..
        } => {
            let what = if *is_cycle {
                PaymentFor::Month
            } else {
                PaymentFor::Extra
            };
            match outcome {
                InvoiceOutcome::Open => (what, PaymentStanding::Pending),
                InvoiceOutcome::Failed { .. } => (what, PaymentStanding::Failed),
                InvoiceOutcome::Paid => (what, PaymentStanding::Paid),
                InvoiceOutcome::Void => return None,
            }
        }
        Thing::Refund { state, .. } => match state {
            RefundState::Pending => (PaymentFor::Refund, PaymentStanding::Pending),
            RefundState::Succeeded => (PaymentFor::Refund, PaymentStanding::Paid),
            RefundState::Failed => (PaymentFor::Refund, PaymentStanding::Failed),
        },
        Thing::Subscription { .. } | Thing::Session { .. } => return None,
    };
    Some(Payment {
        what,
        amount: row.amount,
        standing,
        at: row.at,
    })
}

/// The months of the subscription that no invoice was written for yet.
fn to_come(subscription: &Entry, rows: &[Entry]) -> Vec<Instalment> {
    let Thing::Subscription {
        anchor, payments, ..
    } = subscription.thing
    else {
        return Vec::new();
    };
    let is_month = |row: &&Entry| {
        row.subscription_id() == Some(&subscription.id)
            && matches!(row.thing, Thing::Invoice { is_cycle: true, .. })
    };
    let written = rows.iter().filter(is_month).count();
    let first = u32::try_from(written).unwrap_or(u32::MAX);
    (first..u32::from(payments))
        .filter_map(|month| {
            Some(Instalment {
                amount: subscription.amount,
                at: add_months_at(anchor, month)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::checkout::Refusal;
    use crate::ids::CheckoutPubId;
    use crate::money::Currency;

    const MONTH: i64 = 8_000;

    fn start() -> Timestamp {
        "2026-01-31T10:00:00Z".parse().unwrap()
    }

    fn row(id: &str, minor: i64, day: i64, thing: Thing) -> Entry {
        Entry {
            id: id.to_owned(),
            checkout: CheckoutPubId::from_uuid(uuid::Uuid::from_u128(7)),
            amount: Money::from_minor(minor, Currency::USD),
            at: start().checked_add_signed(TimeDelta::days(day)).unwrap(),
            thing,
        }
    }

    fn hold(state: HoldState) -> Thing {
        Thing::Hold {
            state,
            ends_at: start(),
        }
    }

    fn subscription(state: SubscriptionState) -> Entry {
        let thing = Thing::Subscription {
            state,
            anchor: start(),
            payments: 4,
            ends_at: None,
        };
        row("sub_1", MONTH, 0, thing)
    }

    fn invoice(id: &str, subscription: &str, is_cycle: bool, outcome: InvoiceOutcome) -> Entry {
        let thing = Thing::Invoice {
            subscription_id: subscription.to_owned(),
            payment_intent_id: None,
            is_cycle,
            outcome,
        };
        row(id, MONTH, 1, thing)
    }

    fn failed() -> InvoiceOutcome {
        InvoiceOutcome::Failed {
            attempts: 1,
            refusal: Refusal {
                code: "card_declined".to_owned(),
                message: "Declined.".to_owned(),
            },
        }
    }

    #[test]
    fn each_row_is_read_as_what_it_took() {
        use PaymentFor::{Deposit, Extra, Month, Refund};
        use PaymentStanding::{Failed, Paid, Pending, Reserved};
        let refund = |state| Thing::Refund {
            payment_intent_id: "pi_1".to_owned(),
            state,
            failure: None,
        };
        for (row, read) in [
            (
                row("pi_1", 1, 0, hold(HoldState::Held)),
                Some((Deposit, Reserved)),
            ),
            (
                row("pi_1", 1, 0, hold(HoldState::Captured)),
                Some((Deposit, Paid)),
            ),
            (row("pi_1", 1, 0, hold(HoldState::Released)), None),
            (
                invoice("in_1", "sub_1", true, InvoiceOutcome::Open),
                Some((Month, Pending)),
            ),
            (
                invoice("in_1", "sub_1", true, failed()),
                Some((Month, Failed)),
            ),
            (
                invoice("in_1", "sub_1", false, InvoiceOutcome::Paid),
                Some((Extra, Paid)),
            ),
            (invoice("in_1", "sub_1", true, InvoiceOutcome::Void), None),
            (
                row("re_1", 1, 0, refund(RefundState::Pending)),
                Some((Refund, Pending)),
            ),
            (
                row("re_1", 1, 0, refund(RefundState::Succeeded)),
                Some((Refund, Paid)),
            ),
            (
                row("re_1", 1, 0, refund(RefundState::Failed)),
                Some((Refund, Failed)),
            ),
            (subscription(SubscriptionState::Active), None),
        ] {
            let made = Statement::of(std::slice::from_ref(&row)).made;
            let found = made.first().map(|payment| (payment.what, payment.standing));
            assert_eq!(found, read, "{row:?}");
        }
    }

    #[test]
    fn payments_are_in_the_order_of_their_times() {
        let rows = [
            row("pi_2", 2, 5, hold(HoldState::Captured)),
            row("pi_1", 1, 3, hold(HoldState::Captured)),
        ];
        let amounts: Vec<i64> = Statement::of(&rows)
            .made
            .iter()
            .map(|payment| payment.amount.minor())
            .collect();
        assert_eq!(amounts, [1, 2]);
    }

    #[test]
    fn what_is_to_come_are_the_months_without_an_invoice_on_the_anchors_day() {
        let running = subscription(SubscriptionState::Active);
        let days = |rows: &[Entry]| -> Vec<String> {
            Statement::of(rows)
                .to_come
                .iter()
                .map(|next| format!("{} {}", next.at.date_naive(), next.amount))
                .collect()
        };
        assert_eq!(
            days(std::slice::from_ref(&running)),
            [
                "2026-01-31 80.00",
                "2026-02-28 80.00",
                "2026-03-31 80.00",
                "2026-04-30 80.00"
            ]
        );
        let rows = [
            running,
            invoice("in_1", "sub_1", true, InvoiceOutcome::Paid),
            // Neither a correction nor another subscription's month counts.
            invoice("in_2", "sub_1", false, InvoiceOutcome::Paid),
            invoice("in_3", "sub_0", true, InvoiceOutcome::Paid),
            invoice("in_4", "sub_1", true, failed()),
        ];
        assert_eq!(days(&rows), ["2026-03-31 80.00", "2026-04-30 80.00"]);
    }

    #[test]
    fn nothing_comes_of_a_subscription_that_has_ended() {
        let ended = subscription(SubscriptionState::Ended);
        assert_eq!(Statement::of(&[ended]).to_come, []);
        assert_eq!(Statement::of(&[]), Statement::default());
    }
}
