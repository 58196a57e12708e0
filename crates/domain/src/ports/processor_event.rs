//! What the payment processor and the identity verifier tell of by themselves.

use super::IdentityResult;
use crate::access::Mode;
use crate::checkout::{Invoice, Refusal};
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationPubId};
use crate::ledger::{Authorization, Refund, SubscriptionState};
use crate::money::Money;
use crate::time::Timestamp;

/// A message that a provider sent by itself.
///
/// Messages come late, more than once and in any order: `id` tells repeated ones,
/// and `at` which of two that contradict each other is the newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorEvent {
    /// The provider's id of the message.
    pub id: String,
    /// When it happened, to the second.
    pub at: Timestamp,
    /// Live or sandbox.
    pub mode: Mode,
    /// Our records that it is about.
    pub about: OurIds,
    /// What happened.
    pub fact: ProcessorFact,
}

/// Our ids, as far as the provider's object carries them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OurIds {
    pub checkout: Option<CheckoutPubId>,
    /// The lessor.
    pub organization: Option<OrganizationPubId>,
    /// The lessee.
    pub customer: Option<CustomerPubId>,
}

/// What happened at a provider.
///
/// Facts about payments that Lessor did not ask for, such as those that a
/// subscription makes by itself, carry no checkout of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessorFact {
    /// An identity verification moved.
    Identity {
        /// The verifier's id.
        session_id: String,
        /// What is decided of it.
        result: IdentityResult,
    },
    /// A deposit was authorized, captured or let go.
    Deposit(Authorization),
    /// A session on the processor's own pages is over, one way or the other: the message does not say
    /// all of it, and the processor is asked.
    SessionOver {
        /// The processor's id.
        session_id: String,
    },
    /// A payment was refused.
    PaymentRefused {
        /// The processor's id.
        payment_intent_id: String,
        /// Why.
        refusal: Refusal,
    },
    /// A payment is paid back, or that failed.
    Refund(Refund),
    /// The customer's bank contests a payment.
    Disputed {
        /// The processor's id, when the payment had one.
        payment_intent_id: Option<String>,
        /// The processor's id of the dispute.
        dispute_id: String,
        /// How much.
        amount: Money,
        /// How far it is, in the processor's word, such as `needs_response`.
        status: String,
        /// Whether it is over.
        closed: bool,
    },
    /// An invoice of a subscription was paid, failed to be, or was called off.
    Invoice(Invoice),
    /// A subscription started, changed or ended.
    Subscription {
        /// The processor's id.
        subscription_id: String,
        /// How far it is.
        state: SubscriptionState,
        /// When it will end by itself.
        ends_at: Option<Timestamp>,
    },
    /// Something that Lessor has no use for.
    Unknown {
        /// The provider's name of it.
        kind: String,
    },
}
