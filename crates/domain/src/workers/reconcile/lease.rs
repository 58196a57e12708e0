//! One checkout beside what the processor says of it.

use std::collections::HashSet;

use super::Difference;
use crate::checkout::{Billing, Checkout, Effect};
use crate::ledger::{
    Entry, HoldState, RefundState, Subscription, SubscriptionState, Thing, refunded_of,
};
use crate::money::Money;
use crate::services::ledger;

/// A checkout with its rows and what is asked for it.
pub(super) struct Lease {
    pub(super) checkout: Checkout,
    pub(super) rows: Vec<Entry>,
    pub(super) awaited: Vec<Effect>,
}

impl Lease {
    pub(super) fn awaits(&self, effects: &[Effect]) -> bool {
        self.awaited.iter().any(|effect| effects.contains(effect))
    }

    pub(super) fn row(&self, id: &str) -> Option<&Entry> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// How the processor's subscription differs from what is known of it.
    pub(super) fn compare(&self, theirs: &Subscription) -> Vec<Difference> {
        let id = &theirs.id;
        let ours = self.checkout.recurring.billing.subscription_id();
        let on_its_way = self.awaits(&[
            Effect::CreateSubscription,
            Effect::CheckSubscription,
            Effect::PayInvoices,
            Effect::CancelSubscription,
        ]);
        let row = self.row(id);
        if on_its_way {
            return Vec::new();
        }
        if theirs.has_ended() {
            return match (row, ours) {
                (Some(row), Some(ours)) if ours == id => self.status(row, theirs).collect(),
                _ => Vec::new(),
            };
        }
        if self.checkout.lifecycle().is_ended() {
            return vec![Difference::StillBilled {
                subscription_id: id.clone(),
            }];
        }
        match ours {
            None => vec![Difference::Unrecorded {
                subscription_id: id.clone(),
            }],
            Some(ours) if ours != id => vec![Difference::Double {
                subscription_id: id.clone(),
            }],
            Some(_) => {
                let Some(row) = row else {
                    return vec![Difference::Unrecorded {
                        subscription_id: id.clone(),
                    }];
                };
                let mut found: Vec<Difference> = self.status(row, theirs).collect();
                let agreed = self.checkout.quote.map(|quote| quote.total_monthly_payment);
                if let Some(agreed) = agreed
                    && agreed != theirs.monthly
                {
                    found.push(Difference::Price {
                        subscription_id: id.clone(),
                        ours: agreed,
                        theirs: theirs.monthly,
                    });
                }
                // The processor takes no exact end before the first payment is made.
                if theirs.state != SubscriptionState::Incomplete
                    && let Some(exact) = row.last_instant()
                    && theirs.ends_at != Some(exact)
                {
                    found.push(Difference::End {
                        subscription_id: id.clone(),
                        ours: exact,
                        theirs: theirs.ends_at,
                    });
                }
                found
            }
        }
    }

    fn status(&self, row: &Entry, theirs: &Subscription) -> impl Iterator<Item = Difference> {
        let ours = row.subscription_state();
        let ours = ours.filter(|ours| *ours != theirs.state);
        ours.map(|ours| Difference::Status {
            subscription_id: theirs.id.clone(),
            ours,
            theirs: theirs.state,
        })
        .into_iter()
    }

    /// The subscription that the lease knows as running and the walk did not show.
    pub(super) fn missing<'a>(&'a self, seen: &HashSet<String>) -> Option<&'a str> {
        match &self.checkout.recurring.billing {
            Billing::Active {
                subscription_id, ..
            }
            | Billing::Incomplete {
                subscription_id, ..
            } if !seen.contains(subscription_id) => Some(subscription_id),
            _ => None,
        }
    }

    /// What the rows themselves show: nothing that bills, money that nobody needs, refunds that
    /// never arrived.
    pub(super) fn owed(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        if matches!(self.checkout.recurring.billing, Billing::Requested { .. })
            && !self.checkout.lifecycle().is_ended()
            && !self.awaits(&[Effect::CreateSubscription])
        {
            found.push(Difference::NotBilled);
        }
        if let Some((ours, theirs)) = ledger::mispaid(&self.checkout, &self.rows) {
            found.push(Difference::Paid { ours, theirs });
        }
        if self.awaits(&[
            Effect::VoidDeposit,
            Effect::RefundDeposit,
            Effect::RefundPayments,
        ]) {
            return found;
        }
        for row in &self.rows {
            if ledger::is_to_be_let_go(&self.checkout, row, &self.rows)
                && row.hold_state() != Some(HoldState::Released)
            {
                found.push(Difference::StillHeld {
                    payment_intent_id: row.id.clone(),
                });
            }
            if let Thing::Refund {
                payment_intent_id,
                state: RefundState::Failed,
                ..
            } = &row.thing
            {
                let zero = Money::zero(row.amount.currency());
                let again = refunded_of(payment_intent_id, zero, &self.rows);
                if again.is_ok_and(|again| again.minor() < row.amount.minor()) {
                    found.push(Difference::Refund {
                        refund_id: row.id.clone(),
                    });
                }
            }
        }
        found
    }
}
