//! What bills every month, as far as Lessor reads it: subscriptions, invoices, their payments.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::wire::{Expandable, Metadata, Page, Price, Reference, SubscriptionStatus, identified};
use super::wire_payments::PaymentIntent;

identified! { Invoice, Subscription }

/// A subscription.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Subscription {
    pub(super) id: String,
    /// How far it is.
    pub(super) status: SubscriptionStatus,
    /// The instant from which months are counted, Unix seconds.
    pub(super) billing_cycle_anchor: i64,
    /// When it is to end, Unix seconds.
    #[serde(default)]
    pub(super) cancel_at: Option<i64>,
    /// What becomes of invoices while they are not collected; there when they are not.
    #[serde(default)]
    pub(super) pause_collection: Option<IgnoredAny>,
    /// What it is of.
    pub(super) items: Page<SubscriptionItem>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// What a subscription is of.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SubscriptionItem {
    /// What one of them costs.
    pub(super) price: Price,
    /// How many of them; one when it is not said.
    #[serde(default)]
    pub(super) quantity: Option<i64>,
}

/// An invoice.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Invoice {
    pub(super) id: String,
    /// Such as `paid`.
    #[serde(default)]
    pub(super) status: Option<String>,
    /// When it was made, Unix seconds.
    pub(super) created: i64,
    /// What is to be paid, in the processor's minor units.
    pub(super) amount_due: i64,
    /// What was paid.
    pub(super) amount_paid: i64,
    /// Lower case.
    pub(super) currency: String,
    /// How often it was tried to be collected.
    #[serde(default)]
    pub(super) attempt_count: u32,
    /// Such as `subscription_create`.
    #[serde(default)]
    pub(super) billing_reason: Option<String>,
    /// When it became what it is.
    #[serde(default)]
    pub(super) status_transitions: Option<Transitions>,
    /// What it is for, the first ten at least.
    #[serde(default)]
    pub(super) lines: Option<Page<Line>>,
    /// What pays it, when that was asked for.
    #[serde(default)]
    pub(super) payments: Option<Page<InvoicePayment>>,
    /// What made it.
    #[serde(default)]
    pub(super) parent: Option<InvoiceParent>,
    // Where older versions of the API keep what `parent` and `payments` have: messages are of the
    // version that the account or the endpoint has.
    #[serde(default)]
    subscription: Option<Expandable<Reference>>,
    #[serde(default)]
    subscription_details: Option<SubscriptionDetails>,
    #[serde(default)]
    payment_intent: Option<Expandable<Reference>>,
}

impl Invoice {
    /// The subscription that made it.
    pub(super) fn subscription_id(&self) -> Option<&str> {
        let told = self.details().and_then(|told| told.subscription.as_ref());
        told.or(self.subscription.as_ref()).map(Expandable::id)
    }

    /// The subscription's metadata, as they were when it was made.
    pub(super) fn metadata(&self) -> Metadata {
        let told = self.details().and_then(|told| told.metadata.clone());
        told.unwrap_or_default()
    }

    /// The payment that pays it, when that was asked for.
    pub(super) fn payment_intent_id(&self) -> Option<&str> {
        let payments = self.payments.iter().flat_map(|page| &page.data);
        let mut standing = payments.filter(|paid| paid.status.as_deref() != Some("canceled"));
        let told = standing.find_map(|paid| paid.payment.payment_intent.as_ref());
        told.map(Expandable::id)
            .or_else(|| self.payment_intent.as_ref().map(Expandable::id))
    }

    fn details(&self) -> Option<&SubscriptionDetails> {
        let parent = self.parent.as_ref();
        let told = parent.and_then(|parent| parent.subscription_details.as_ref());
        told.or(self.subscription_details.as_ref())
    }
}

/// When an invoice became what it is, Unix seconds.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Transitions {
    /// Payable.
    #[serde(default)]
    pub(super) finalized_at: Option<i64>,
    #[serde(default)]
    pub(super) paid_at: Option<i64>,
    /// Called off.
    #[serde(default)]
    pub(super) voided_at: Option<i64>,
    /// Given up.
    #[serde(default)]
    pub(super) marked_uncollectible_at: Option<i64>,
}

/// What an invoice is for.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    #[serde(default)]
    parent: Option<LineParent>,
    // Where older versions of the API keep it.
    #[serde(default)]
    proration: bool,
}

impl Line {
    /// Whether it is for a part of a month.
    pub(super) fn is_proration(&self) -> bool {
        let parent = self.parent.as_ref();
        let of = |details: Option<&LineDetails>| details.is_some_and(|told| told.proration);
        self.proration
            || parent.is_some_and(|parent| {
                of(parent.subscription_item_details.as_ref())
                    || of(parent.invoice_item_details.as_ref())
            })
    }
}

#[derive(Debug, Clone, Deserialize)]
struct LineParent {
    #[serde(default)]
    subscription_item_details: Option<LineDetails>,
    #[serde(default)]
    invoice_item_details: Option<LineDetails>,
}

#[derive(Debug, Clone, Deserialize)]
struct LineDetails {
    #[serde(default)]
    proration: bool,
}

/// What made an invoice.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InvoiceParent {
    /// The subscription, when one did.
    #[serde(default)]
    subscription_details: Option<SubscriptionDetails>,
}

/// The subscription that made an invoice.
#[derive(Debug, Clone, Deserialize)]
struct SubscriptionDetails {
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    subscription: Option<Expandable<Reference>>,
}

/// A payment of an invoice.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InvoicePayment {
    /// What pays it.
    pub(super) payment: InvoicePaymentSource,
    #[serde(default)]
    pub(super) invoice: Option<Expandable<Invoice>>,
    /// Such as `paid`.
    #[serde(default)]
    pub(super) status: Option<String>,
}

/// What pays an invoice.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InvoicePaymentSource {
    #[serde(default)]
    pub(super) payment_intent: Option<Expandable<PaymentIntent>>,
}
