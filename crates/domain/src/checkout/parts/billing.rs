//! The recurring payments: what pays, the subscription and its invoices.

use crate::money::Money;
use crate::names::named_enum;
use crate::time::{Day, Timestamp};

/// A refusal of the payment processor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Refusal {
    /// The processor's code, such as `card_declined`.
    pub code: String,
    /// What it says to people.
    pub message: String,
}

named_enum! {
    /// The recurring subscription.
    pub enum RecurringPaymentStatus {
        /// None yet.
        Pending = "pending",
        /// Bills every month.
        Active = "active",
        /// Ended.
        Cancelled = "cancelled",
    }
}

/// A payment method at the processor, as far as people may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PaymentMethod {
    /// The processor's id.
    pub id: String,
    /// Such as `card`.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub kind: String,
    /// Such as `visa`.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub brand: Option<String>,
    /// The last four digits.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub last4: Option<String>,
    /// Month of expiry, 1 to 12.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub exp_month: Option<u8>,
    /// Year of expiry.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub exp_year: Option<u16>,
}

/// A payment that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PaymentFailure {
    /// What the processor said.
    pub message: String,
    /// The processor's code.
    pub code: String,
    /// When.
    pub at: Timestamp,
}

named_enum! {
    /// Whether a subscription takes what it is to take.
    pub enum Standing {
        /// It does.
        Good = "good",
        /// A payment failed and is tried again.
        PastDue = "pastDue",
        /// Payments failed and are tried no more.
        Unpaid = "unpaid",
        /// Somebody paused it at the processor.
        Paused = "paused",
    }
}

/// The subscription of a lease: one at a time, and another only for what is left to pay when the
/// one before has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        tag = "state",
        rename_all = "camelCase",
        rename_all_fields = "camelCase"
    )
)]
pub enum Billing {
    /// Nobody has asked for it.
    #[default]
    NotRequested,
    /// It was asked for.
    Requested {
        /// When.
        at: Timestamp,
    },
    /// It is there, but its first payment is not made: the processor gives it up after a day.
    Incomplete {
        /// When it was asked for.
        requested_at: Timestamp,
        /// The processor's id of it.
        subscription_id: String,
    },
    /// It bills every month.
    Active {
        /// When it was asked for.
        requested_at: Timestamp,
        /// The processor's id of it.
        subscription_id: String,
        /// Whether it takes what it is to take.
        standing: Standing,
    },
    /// It has ended.
    Ended {
        /// When it was asked for.
        requested_at: Timestamp,
        /// The processor's id of it.
        subscription_id: String,
    },
}

impl Billing {
    /// What people are told of it.
    #[must_use]
    pub const fn status(&self) -> RecurringPaymentStatus {
        match self {
            Self::NotRequested | Self::Requested { .. } | Self::Incomplete { .. } => {
                RecurringPaymentStatus::Pending
            }
            Self::Active { .. } => RecurringPaymentStatus::Active,
            Self::Ended { .. } => RecurringPaymentStatus::Cancelled,
        }
    }

    /// When it was asked for.
    #[must_use]
    pub const fn requested_at(&self) -> Option<Timestamp> {
        match self {
            Self::NotRequested => None,
            Self::Requested { at } => Some(*at),
            Self::Incomplete { requested_at, .. }
            | Self::Active { requested_at, .. }
            | Self::Ended { requested_at, .. } => Some(*requested_at),
        }
    }

    /// The processor's id of the subscription, once it is known.
    #[must_use]
    pub fn subscription_id(&self) -> Option<&str> {
        match self {
            Self::NotRequested | Self::Requested { .. } => None,
            Self::Incomplete {
                subscription_id, ..
            }
            | Self::Active {
                subscription_id, ..
            }
            | Self::Ended {
                subscription_id, ..
            } => Some(subscription_id),
        }
    }
}

/// The recurring payments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Recurring {
    /// The subscription.
    pub billing: Billing,
    /// What pays.
    pub method: Option<PaymentMethod>,
    /// How many payments were made.
    pub paid_cycles: u32,
    /// How many failed since the last that was made.
    pub failure_count: u32,
    /// The processor's id of a payment that the customer's bank contests.
    pub dispute_id: Option<String>,
    /// The processor's id of the contest that was settled last, so that a late word of
    /// its beginning does not open it again.
    pub settled_dispute_id: Option<String>,
    /// The last that failed, until one is made.
    pub last_failure: Option<PaymentFailure>,
}

impl Recurring {
    pub(in crate::checkout) fn fail(&mut self, refusal: Refusal, at: Timestamp) {
        let Refusal { code, message } = refusal;
        self.last_failure = Some(PaymentFailure { message, code, at });
    }
}

/// The lease itself, once it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct LeaseDates {
    /// The day on which billing started.
    pub start: Option<Day>,
    /// The day on which the term ends.
    pub end: Option<Day>,
}

/// What is known of one invoice of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Invoice {
    /// The processor's id of it.
    pub id: String,
    /// The processor's id of the subscription.
    pub subscription_id: String,
    /// The processor's id of the payment, once there is one: what a dispute names.
    pub payment_intent_id: Option<String>,
    /// How much it is for.
    pub amount: Money,
    /// Whether it is for a month of the term, and no correction or extra charge.
    pub is_cycle: bool,
    /// Paid, or how it failed.
    pub outcome: InvoiceOutcome,
    /// When that happened, by the processor's word.
    pub at: Timestamp,
}

/// How an invoice ended for now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum InvoiceOutcome {
    /// It waits for its first try.
    Open,
    /// A try to pay it failed.
    Failed {
        /// How many tries have failed.
        attempts: u32,
        /// Why, where it is known.
        refusal: Refusal,
    },
    /// It was called off: nobody is charged for it any more.
    Void,
    /// It is paid.
    Paid,
}

impl InvoiceOutcome {
    /// Whether this says more of an invoice than what is known: paid stays paid, what is called off
    /// can only be paid, and of two failures the one with more attempts counts.
    #[must_use]
    pub const fn supersedes(&self, known: &Self) -> bool {
        match (self, known) {
            (Self::Failed { attempts: new, .. }, Self::Failed { attempts: old, .. }) => *new > *old,
            (new, known) => new.rank() > known.rank(),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Failed { .. } => 1,
            Self::Void => 2,
            Self::Paid => 3,
        }
    }
}

/// What all the invoices of a checkout come to, in whatever order they were told of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvoiceTally {
    /// How many months of the term are paid.
    pub paid: u32,
    /// How many tries failed of those that are still to be paid.
    pub failed_attempts: u32,
    /// The newest failure of those.
    pub last_failure: Option<PaymentFailure>,
}

impl InvoiceTally {
    /// What the invoices come to, each of which is told of once.
    #[must_use]
    pub fn of<'a>(invoices: impl IntoIterator<Item = &'a Invoice>) -> Self {
        let mut tally = Self::default();
        let mut newest: Option<(Timestamp, &str)> = None;
        for invoice in invoices {
            let (attempts, refusal) = match &invoice.outcome {
                InvoiceOutcome::Paid if invoice.is_cycle => {
                    tally.paid = tally.paid.saturating_add(1);
                    continue;
                }
                InvoiceOutcome::Paid | InvoiceOutcome::Open | InvoiceOutcome::Void => continue,
                InvoiceOutcome::Failed { attempts, refusal } => (attempts, refusal),
            };
            tally.failed_attempts = tally.failed_attempts.saturating_add(*attempts);
            let place = (invoice.at, invoice.id.as_str());
            if newest.is_none_or(|newest| newest < place) {
                newest = Some(place);
                tally.last_failure = Some(PaymentFailure {
                    message: refusal.message.clone(),
                    code: refusal.code.clone(),
                    at: invoice.at,
                });
            }
        }
        tally
    }
}
