//! What the payment processor tells of the things that were made there.

use crate::checkout::{Invoice, PaymentMethod};
use crate::ids::CheckoutPubId;
use crate::money::Money;
use crate::names::named_enum;
use crate::time::Timestamp;

named_enum! {
    /// How far a pre-authorization is.
    pub enum HoldState {
        /// The money is held on the customer's method.
        Held = "held",
        /// It is taken.
        Captured = "captured",
        /// It was let go of, or lapsed: nothing is held any more.
        Released = "released",
    }
}

named_enum! {
    /// How far a subscription is, in the words of the processor.
    pub enum SubscriptionState {
        /// Its first payment is not made; the processor gives it up after a day.
        Incomplete = "incomplete",
        /// It bills every month.
        Active = "active",
        /// A payment failed and is tried again.
        PastDue = "pastDue",
        /// Payments failed and are not tried any more; it goes on.
        Unpaid = "unpaid",
        /// Somebody paused it: nothing is collected.
        Paused = "paused",
        /// It has ended.
        Ended = "ended",
    }
}

named_enum! {
    /// How far a refund is.
    pub enum RefundState {
        /// On its way.
        Pending = "pending",
        /// The customer has the money.
        Succeeded = "succeeded",
        /// It came back: the customer has nothing.
        Failed = "failed",
    }
}

named_enum! {
    /// What a customer is sent to the processor's own pages for.
    pub enum SessionPurpose {
        /// The deposit is held on a card of theirs, which is kept for the monthly payments.
        Deposit = "deposit",
        /// A card is left that pays every month from then on.
        Method = "method",
    }
}

named_enum! {
    /// How far a customer's session on the processor's own pages is.
    pub enum SessionState {
        /// It is to be opened: nobody was sent there yet.
        Asked = "asked",
        /// The customer can go on with it.
        Open = "open",
        /// They did what they were sent for.
        Completed = "completed",
        /// It was closed, or its time is over: nothing comes of it any more.
        Expired = "expired",
    }
}

impl SessionState {
    /// Whether nothing more happens on the page.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Expired)
    }
}

/// A customer's session on the processor's own pages, as the processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedSession {
    /// The processor's id.
    pub id: String,
    /// How far it is; never [`SessionState::Asked`].
    pub state: SessionState,
    /// Where the customer goes on, while it is open.
    pub url: Option<String>,
    /// What is held of the deposit, once it was paid there.
    pub authorization: Option<Authorization>,
    /// The card that was left there, once one was.
    pub method: Option<PaymentMethod>,
}

/// A pre-authorization, as the processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The processor's id of the payment.
    pub payment_intent_id: String,
    /// The checkout that the payment says it is for.
    pub checkout: Option<CheckoutPubId>,
    /// How much is or was held.
    pub amount: Money,
    /// How far it is.
    pub state: HoldState,
    /// When it ends unless captured.
    pub expires_at: Timestamp,
    /// The processor's id of the charge, once it is captured.
    pub charge_id: Option<String>,
    /// The method that pays.
    pub method: Option<PaymentMethod>,
}

/// A subscription, as the processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The processor's id.
    pub id: String,
    /// The checkout that it says it is for.
    pub checkout: Option<CheckoutPubId>,
    /// How far it is.
    pub state: SubscriptionState,
    /// What it takes each month.
    pub monthly: Money,
    /// The instant of the first payment, from which its months count.
    pub anchor: Timestamp,
    /// When it ends by itself.
    pub ends_at: Option<Timestamp>,
    /// Its invoices, as far as they were asked for: the last one at least.
    pub invoices: Vec<Invoice>,
}

impl Subscription {
    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == SubscriptionState::Ended
    }
}

/// A refund, as the processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// The processor's id.
    pub id: String,
    /// The processor's id of the payment that is paid back.
    pub payment_intent_id: String,
    /// How much of it.
    pub amount: Money,
    /// How far it is.
    pub state: RefundState,
    /// Why it failed, in the processor's word.
    pub failure: Option<String>,
    /// Since when it is so.
    pub at: Timestamp,
}

/// A payment that the customer's bank contests, as the processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// The processor's id.
    pub id: String,
    /// The processor's id of the payment.
    pub payment_intent_id: String,
    /// Whether it is settled, one way or the other.
    pub is_settled: bool,
}
