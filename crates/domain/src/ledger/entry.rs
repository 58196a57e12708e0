//! A row of the ledger.

use super::told::{
    Authorization, HoldState, Refund, RefundState, SessionPurpose, SessionState, Subscription,
    SubscriptionState,
};
use crate::checkout::{Invoice, InvoiceOutcome};
use crate::ids::CheckoutPubId;
use crate::money::Money;
use crate::names::named_enum;
use crate::time::{Timestamp, add_months_at};

named_enum! {
    /// The kinds of things.
    pub enum EntryKind {
        /// A pre-authorization.
        Hold = "hold",
        /// A subscription.
        Subscription = "subscription",
        /// An invoice of a subscription.
        Invoice = "invoice",
        /// A refund.
        Refund = "refund",
        /// A customer's session on the processor's own pages.
        Session = "session",
    }
}

/// What a row is about, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// A pre-authorization, by the id of its payment intent.
    Hold {
        /// How far it is.
        state: HoldState,
        /// When it ends unless captured.
        ends_at: Timestamp,
    },
    Subscription {
        /// How far it is.
        state: SubscriptionState,
        /// When it was made: its months count from there.
        anchor: Timestamp,
        /// How many payments it is to take.
        payments: u16,
        /// When it ends by itself, where the processor says so.
        ends_at: Option<Timestamp>,
    },
    /// An invoice of a subscription.
    Invoice {
        /// The processor's id of the subscription.
        subscription_id: String,
        /// The processor's id of the payment: what a dispute names.
        payment_intent_id: Option<String>,
        /// Whether it is for a month of the term, and no correction or extra charge.
        is_cycle: bool,
        /// How it ended for now.
        outcome: InvoiceOutcome,
    },
    Refund {
        /// The processor's id of the payment that is paid back.
        payment_intent_id: String,
        /// How far it is.
        state: RefundState,
        /// Why it failed, in the processor's word.
        failure: Option<String>,
    },
    /// A customer's session on the processor's own pages. Its row is there before it is opened, and
    /// bears an id of ours, under which the processor is asked for it: asked again it is the same one.
    Session {
        /// The processor's id, once it was opened.
        session_id: Option<String>,
        /// What the customer is sent there for.
        purpose: SessionPurpose,
        /// How far it is.
        state: SessionState,
        /// When it closes by itself.
        ends_at: Timestamp,
    },
}

/// Something that was made at the processor for a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The processor's id; of a session ours.
    pub id: String,
    /// The checkout that it was made for.
    pub checkout: CheckoutPubId,
    /// Of a hold what is held, of a subscription each payment, else the whole.
    pub amount: Money,
    /// Since when it is as it is, by the processor's word where it has one.
    pub at: Timestamp,
    /// What it is, and how far.
    pub thing: Thing,
}

impl Entry {
    /// The row of a pre-authorization.
    #[must_use]
    pub fn hold(checkout: CheckoutPubId, hold: &Authorization, at: Timestamp) -> Self {
        Self {
            id: hold.payment_intent_id.clone(),
            checkout,
            amount: hold.amount,
            at,
            thing: Thing::Hold {
                state: hold.state,
                ends_at: hold.expires_at,
            },
        }
    }

    /// The row of a subscription that is to take so many payments.
    #[must_use]
    pub fn subscription(
        checkout: CheckoutPubId,
        subscription: &Subscription,
        payments: u16,
        at: Timestamp,
    ) -> Self {
        Self {
            id: subscription.id.clone(),
            checkout,
            amount: subscription.monthly,
            at,
            thing: Thing::Subscription {
                state: subscription.state,
                anchor: subscription.anchor,
                payments,
                ends_at: subscription.ends_at,
            },
        }
    }

    /// The row of an invoice.
    #[must_use]
    pub fn of_invoice(checkout: CheckoutPubId, invoice: &Invoice) -> Self {
        Self {
            id: invoice.id.clone(),
            checkout,
            amount: invoice.amount,
            at: invoice.at,
            thing: Thing::Invoice {
                subscription_id: invoice.subscription_id.clone(),
                payment_intent_id: invoice.payment_intent_id.clone(),
                is_cycle: invoice.is_cycle,
                outcome: invoice.outcome.clone(),
            },
        }
    }

    /// The row of a refund.
    #[must_use]
    pub fn refund(checkout: CheckoutPubId, refund: &Refund) -> Self {
        Self {
            id: refund.id.clone(),
            checkout,
            amount: refund.amount,
            at: refund.at,
            thing: Thing::Refund {
                payment_intent_id: refund.payment_intent_id.clone(),
                state: refund.state,
                failure: refund.failure.clone(),
            },
        }
    }

    /// What kind of thing it is.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        match self.thing {
            Thing::Hold { .. } => EntryKind::Hold,
            Thing::Subscription { .. } => EntryKind::Subscription,
            Thing::Invoice { .. } => EntryKind::Invoice,
            Thing::Refund { .. } => EntryKind::Refund,
            Thing::Session { .. } => EntryKind::Session,
        }
    }

    /// How far it is, when it is a pre-authorization.
    #[must_use]
    pub const fn hold_state(&self) -> Option<HoldState> {
        match self.thing {
            Thing::Hold { state, .. } => Some(state),
            _ => None,
        }
    }

    /// How far it is, when it is a subscription.
    #[must_use]
    pub const fn subscription_state(&self) -> Option<SubscriptionState> {
        match self.thing {
            Thing::Subscription { state, .. } => Some(state),
            _ => None,
        }
    }

    /// What it is for and how far it is, when it is a session on the processor's own pages.
    #[must_use]
    pub const fn session(&self) -> Option<(SessionPurpose, SessionState)> {
        match self.thing {
            Thing::Session { purpose, state, .. } => Some((purpose, state)),
            _ => None,
        }
    }

    /// Whether it is a session of this purpose that something may come of.
    #[must_use]
    pub fn is_open_session(&self, of: SessionPurpose) -> bool {
        self.session()
            .is_some_and(|(purpose, state)| purpose == of && !state.is_over())
    }

    /// The processor's id of the session, when it is one that was opened.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        match &self.thing {
            Thing::Session { session_id, .. } => session_id.as_deref(),
            _ => None,
        }
    }

    /// The row of a session that stands so by now; any other row as it is.
    #[must_use]
    pub fn with_session(&self, id: Option<&str>, state: SessionState, at: Timestamp) -> Self {
        let mut changed = self.clone();
        if let Thing::Session {
            session_id,
            state: known,
            ..
        } = &mut changed.thing
        {
            if let Some(id) = id {
                *session_id = Some(id.to_owned());
            }
            *known = state;
            changed.at = at;
        }
        changed
    }

    /// When the subscription is to end, exactly: so many months after its anchor, counted from the
    /// anchor's own day. An end at any other instant makes the processor prorate.
    #[must_use]
    pub fn last_instant(&self) -> Option<Timestamp> {
        match self.thing {
            Thing::Subscription {
                anchor, payments, ..
            } => add_months_at(anchor, u32::from(payments)),
            _ => None,
        }
    }

    /// The invoice, when it is one.
    #[must_use]
    pub fn invoice(&self) -> Option<Invoice> {
        let Thing::Invoice {
            subscription_id,
            payment_intent_id,
            is_cycle,
            outcome,
        } = &self.thing
        else {
            return None;
        };
        Some(Invoice {
            id: self.id.clone(),
            subscription_id: subscription_id.clone(),
            payment_intent_id: payment_intent_id.clone(),
            amount: self.amount,
            is_cycle: *is_cycle,
            outcome: outcome.clone(),
            at: self.at,
        })
    }

    /// The payment that brought money, where this did: a captured hold's, a paid invoice's.
    #[must_use]
    pub fn payment(&self) -> Option<&str> {
        match &self.thing {
            Thing::Hold {
                state: HoldState::Captured,
                ..
            } => Some(&self.id),
            Thing::Invoice {
                payment_intent_id: Some(intent),
                outcome: InvoiceOutcome::Paid,
                ..
            } => Some(intent),
            _ => None,
        }
    }

    /// The subscription that this bills for, is one of, or pays.
    #[must_use]
    pub fn subscription_id(&self) -> Option<&str> {
        match &self.thing {
            Thing::Subscription { .. } => Some(&self.id),
            Thing::Invoice {
                subscription_id, ..
            } => Some(subscription_id),
            Thing::Hold { .. } | Thing::Refund { .. } | Thing::Session { .. } => None,
        }
    }

    /// Whether this says more than the row that is known of the same thing. News come late and in
    /// any order: what is over stays over, and what is paid stays paid.
    #[must_use]
    pub fn supersedes(&self, known: &Self) -> bool {
        match (&self.thing, &known.thing) {
            (
                Thing::Hold { state, ends_at },
                Thing::Hold {
                    state: known,
                    ends_at: known_end,
                },
            ) => *known == HoldState::Held && (state != known || ends_at != known_end),
            (
                Thing::Subscription { .. },
                Thing::Subscription {
                    state: SubscriptionState::Ended,
                    ..
                },
            ) => false,
            (Thing::Subscription { .. }, Thing::Subscription { .. }) => {
                self.thing != known.thing || self.amount != known.amount
            }
            (
                Thing::Invoice {
                    outcome,
                    payment_intent_id,
                    ..
                },
                Thing::Invoice {
                    outcome: known,
                    payment_intent_id: known_intent,
                    ..
                },
            ) => {
                outcome.supersedes(known)
                    || outcome == known && payment_intent_id.is_some() && known_intent.is_none()
            }
            (Thing::Refund { state, .. }, Thing::Refund { state: known, .. }) => {
                match (state, known) {
                    (_, RefundState::Failed)
                    | (RefundState::Pending, _)
                    | (RefundState::Succeeded, RefundState::Succeeded) => false,
                    (RefundState::Succeeded | RefundState::Failed, _) => true,
                }
            }
            (
                Thing::Session { .. },
                Thing::Session {
                    state: known_state, ..
                },
            ) => !known_state.is_over() && self.thing != known.thing,
            // Ids are one thing's each.
            _ => false,
        }
    }
}
