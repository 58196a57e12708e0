//! What may differ between the checkouts and the processor's records.

use std::fmt;

use crate::cause::chain;
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::{HoldState, SubscriptionState};
use crate::money::Money;
use crate::services::Error;
use crate::time::Timestamp;

/// What differs between a checkout and the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The lease is billed by a subscription that the processor does not have.
    Lost {
        /// The subscription that the lease names.
        subscription_id: String,
    },
    /// The processor bills for a lease that does not know of it.
    Unrecorded {
        /// The processor's subscription.
        subscription_id: String,
    },
    /// Another subscription bills for the same lease.
    Double {
        /// The one too many.
        subscription_id: String,
    },
    /// The checkout has ended, its subscription has not.
    StillBilled { subscription_id: String },
    /// The subscription was asked for and neither is there nor on its way.
    NotBilled,
    /// The subscription stands otherwise than the lease knows.
    Status {
        subscription_id: String,
        /// What the lease knows.
        ours: SubscriptionState,
        /// What the processor says.
        theirs: SubscriptionState,
    },
    /// The subscription takes another amount each month than was agreed.
    Price {
        subscription_id: String,
        /// What was agreed.
        ours: Money,
        /// What it takes.
        theirs: Money,
    },
    /// The subscription ends at another time than after its last payment, or never.
    End {
        subscription_id: String,
        /// When it is to end.
        ours: Timestamp,
        /// When it will.
        theirs: Option<Timestamp>,
    },
    /// An invoice was paid, failed or called off, and the lease does not know.
    Invoice { invoice_id: String },
    /// A deposit is held, taken or let go of, and the checkout does not know.
    Deposit {
        payment_intent_id: String,
        /// How far it is.
        theirs: HoldState,
    },
    /// A deposit that the checkout has no use for is held, or was taken and not paid back.
    StillHeld { payment_intent_id: String },
    /// Months of the term were paid at another sum than was agreed, or more of them.
    Paid {
        /// What was agreed for them.
        ours: Money,
        /// What was paid.
        theirs: Money,
    },
    /// Money was paid back, or came back, and the checkout does not know.
    Repaid { refund_id: String },
    /// The customer's bank contests a payment, or that is settled, and the checkout does not know.
    Dispute { dispute_id: String },
    /// A refund failed: the customer has not got the money.
    Refund { refund_id: String },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { subscription_id } => {
                write!(f, "the processor has no subscription {subscription_id}")
            }
            Self::Unrecorded { subscription_id } => write!(
                f,
                "the lease does not know its subscription {subscription_id}"
            ),
            Self::Double { subscription_id } => {
                write!(f, "the subscription {subscription_id} bills a second time")
            }
            Self::StillBilled { subscription_id } => write!(
                f,
                "the subscription {subscription_id} bills a lease that has ended"
            ),
            Self::NotBilled => f.write_str("nothing bills the lease"),
            Self::Status {
                subscription_id,
                ours,
                theirs,
            } => write!(
                f,
                "the subscription {subscription_id} is {theirs}, the lease says {ours}"
            ),
            Self::Price {
                subscription_id,
                ours,
                theirs,
            } => write!(
                f,
                "the subscription {subscription_id} takes {theirs} each month, {ours} was agreed"
            ),
            Self::End {
                subscription_id,
                ours,
                theirs: Some(theirs),
            } => write!(
                f,
                "the subscription {subscription_id} ends at {theirs}, the last payment's month at \
                 {ours}"
            ),
            Self::End {
                subscription_id,
                ours,
                theirs: None,
            } => write!(
                f,
                "the subscription {subscription_id} never ends, the last payment's month does at \
                 {ours}"
            ),
            Self::Invoice { invoice_id } => {
                write!(
                    f,
                    "the lease does not know how far the invoice {invoice_id} is"
                )
            }
            Self::Deposit {
                payment_intent_id,
                theirs,
            } => write!(
                f,
                "the deposit {payment_intent_id} is {theirs}, the checkout does not know"
            ),
            Self::StillHeld { payment_intent_id } => write!(
                f,
                "the deposit {payment_intent_id} is held or taken, and nobody needs it"
            ),
            Self::Paid { ours, theirs } => {
                write!(f, "its payments come to {theirs}, {ours} was agreed")
            }
            Self::Repaid { refund_id } => {
                write!(
                    f,
                    "the checkout does not know how far the refund {refund_id} is"
                )
            }
            Self::Dispute { dispute_id } => {
                write!(
                    f,
                    "the checkout does not know how far the dispute {dispute_id} is"
                )
            }
            Self::Refund { refund_id } => write!(f, "the refund {refund_id} failed"),
        }
    }
}

impl Difference {
    /// Its name for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Lost { .. } => "lost",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Double { .. } => "double",
            Self::StillBilled { .. } => "stillBilled",
            Self::NotBilled => "notBilled",
            Self::Status { .. } => "status",
            Self::Price { .. } => "price",
            Self::End { .. } => "end",
            Self::Invoice { .. } => "invoice",
            Self::Deposit { .. } => "deposit",
            Self::StillHeld { .. } => "stillHeld",
            Self::Paid { .. } => "paid",
            Self::Repaid { .. } => "repaid",
            Self::Dispute { .. } => "dispute",
            Self::Refund { .. } => "refund",
        }
    }

    /// What a person is to do about it, or what mending does.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Lost { .. } => {
                "look at the processor why it is gone; bill again by POST …/payments/retry"
            }
            Self::Unrecorded { .. } => "mending takes it in",
            Self::Double { .. } => "mending ends it and pays back what it took",
            Self::StillBilled { .. } => "mending ends it",
            Self::NotBilled => "mending asks for the subscription again",
            Self::Status { .. }
            | Self::Invoice { .. }
            | Self::Deposit { .. }
            | Self::Repaid { .. }
            | Self::Dispute { .. } => "mending takes it in",
            Self::Paid { .. } => {
                "pay back what was paid too much, or collect what is missing, at the processor"
            }
            Self::Price { .. } => {
                "set the agreed price at the processor, and pay back what was taken too much"
            }
            Self::End { .. } => "mending sets the end",
            Self::StillHeld { .. } => "mending lets it go",
            Self::Refund { .. } => "pay it back in another way, or mend to try again",
        }
    }
}

/// A difference, where it is, since when it is known, and whether it was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub checkout: CheckoutPubId,
    /// What differs.
    pub difference: Difference,
    /// Since when it is known.
    pub since: Timestamp,
    /// Whether it was mended, or its mending asked for.
    pub mended: bool,
}

/// A checkout that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The checkout, when the failure is one's.
    pub checkout: Option<CheckoutPubId>,
    /// Why.
    pub problem: String,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How many subscriptions, invoices and deposits of checkouts the processor showed.
    pub compared: usize,
    /// What differs.
    pub findings: Vec<Finding>,
    /// What could not be compared.
    pub failures: Vec<Failure>,
    /// How many messages were taken in that had not come.
    pub messages: usize,
}

impl Report {
    /// Takes in what another account's comparison found.
    pub(super) fn add(&mut self, part: Self) {
        self.compared = self.compared.saturating_add(part.compared);
        self.findings.extend(part.findings);
        self.failures.extend(part.failures);
        self.messages = self.messages.saturating_add(part.messages);
    }

    /// An account could not be compared: the organization's own, or the one that all share.
    pub(super) fn failed(&mut self, own_account_of: Option<OrganizationId>, error: &Error) {
        let whose = own_account_of.map_or_else(
            || "the account that all share".to_owned(),
            |organization| format!("the account of organization {organization}"),
        );
        self.failures.push(Failure {
            checkout: None,
            problem: format!("{whose}: {}", chain(error)),
        });
    }
}
