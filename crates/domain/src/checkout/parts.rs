//! What a checkout carries besides its state.

use super::StockTaken;
use crate::address::Address;
use crate::fulfillment::{Carrier, TrackingNumber, TrackingStatus};
use crate::ids::{CheckoutItemPubId, LeaseTermId, LeaseTermPubId, ProductVariantPubId};
use crate::money::{Money, MoneyError};
use crate::names::named_enum;
use crate::organization::NotServed;
use crate::percentage::TermMonths;
use crate::pricing::Quote;
use crate::text::{Line, Name, Notes, Sku, Url};
use crate::time::{Day, Timestamp};

named_enum! {
    /// The insurance of the leased goods.
    pub enum InsuranceStatus {
        /// Not decided.
        Pending = "pending",
        /// Insured.
        Approved = "approved",
        /// Refused by an operator.
        Denied = "denied",
    }
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

named_enum! {
    /// What a checkout waits for.
    pub enum WaitlistReason {
        /// Stock, or the product to be offered.
        Inventory = "inventory",
        /// The organization to serve the address.
        Location = "location",
    }
}

/// The lease term that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenTerm {
    /// Its public id.
    pub id: LeaseTermPubId,
    /// Its number.
    pub lease_term_id: LeaseTermId,
    /// Its months.
    pub months: TermMonths,
}

/// One leased thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutItem {
    /// Its id.
    pub id: CheckoutItemPubId,
    /// Which variant.
    pub variant_id: ProductVariantPubId,
    /// The variant's stock keeping unit when it was ordered.
    pub sku: Sku,
    /// The variant's name when it was ordered.
    pub name: Name,
    /// The serial number of the goods that were shipped.
    pub serial_number: Option<Line>,
}

/// Something bought along with the lease, paid with the deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PurchaseItem {
    /// What it is.
    pub name: Name,
    /// Price of one.
    pub amount: Money,
    /// How many, 1 to 1,000.
    pub quantity: u32,
    /// The add-on variant, if it is one of the catalog.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub variant_id: Option<ProductVariantPubId>,
}

impl PurchaseItem {
    /// Most purchase items of a checkout.
    pub const MAX: usize = 50;
    /// Most of one.
    pub const MAX_QUANTITY: u32 = 1_000;

    /// Price of all of them.
    ///
    /// # Errors
    /// [`MoneyError`] when it is more than can be counted.
    pub fn total(&self) -> Result<Money, MoneyError> {
        self.amount.checked_mul(self.quantity)
    }
}

/// Where the customer's browser goes from the checkout page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redirects {
    /// After the confirmation.
    pub success: Option<Url>,
    /// After a cancel.
    pub cancel: Option<Url>,
    /// After a failure.
    pub failure: Option<Url>,
}

/// An address of a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckoutAddress {
    /// The address, when it is known.
    pub address: Option<Address>,
    /// Whether the organization gave it, so that the customer cannot change it.
    pub locked: bool,
}

/// The deposit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deposit {
    /// The processor's id of the method that the customer named to pay it.
    pub method_id: Option<String>,
    /// The processor's id of the pre-authorization.
    pub payment_intent_id: Option<String>,
    /// When the pre-authorization ends unless captured.
    pub preauth_expires_at: Option<Timestamp>,
    /// The processor's id of the captured deposit's invoice or charge.
    pub invoice_id: Option<String>,
    /// When it was captured.
    pub captured_at: Option<Timestamp>,
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

/// The recurring payments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurring {
    /// Whether they run.
    pub status: RecurringPaymentStatus,
    /// When the subscription was asked for: once for each checkout, ever.
    pub requested_at: Option<Timestamp>,
    /// The processor's id of the subscription.
    pub subscription_id: Option<String>,
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

impl Default for Recurring {
    fn default() -> Self {
        Self {
            status: RecurringPaymentStatus::Pending,
            requested_at: None,
            subscription_id: None,
            method: None,
            paid_cycles: 0,
            failure_count: 0,
            dispute_id: None,
            settled_dispute_id: None,
            last_failure: None,
        }
    }
}

/// A tracking number and the carrier that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracking {
    /// The number, normalized.
    pub number: TrackingNumber,
    /// The carrier.
    pub carrier: Carrier,
}

/// The way of the goods to the customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shipment {
    /// Tracking, when the goods are tracked.
    pub tracking: Option<Tracking>,
    /// What the carrier said last.
    pub status: Option<TrackingStatus>,
    /// When they were shipped.
    pub shipped_at: Option<Timestamp>,
    /// When they were delivered.
    pub delivered_at: Option<Timestamp>,
    /// Who signed for them.
    pub signed_by: Option<Line>,
}

/// The way of the goods back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Return {
    /// When it began.
    pub initiated_at: Option<Timestamp>,
    /// When the goods were back.
    pub completed_at: Option<Timestamp>,
    /// When it was called off.
    pub cancelled_at: Option<Timestamp>,
    /// Why.
    pub reason: Option<Line>,
    /// What else there is to say.
    pub notes: Option<Notes>,
}

/// What a checkout waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waitlist {
    /// Stock or location.
    pub reason: WaitlistReason,
    /// The address that is not served.
    pub address: Option<Address>,
    /// Why it is not served.
    pub reason_code: Option<NotServed>,
}

/// The lease itself, once it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeaseDates {
    /// The day on which billing started.
    pub start: Option<Day>,
    /// The day on which the term ends.
    pub end: Option<Day>,
}

/// When the milestones after the confirmation were reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MilestoneTimes {
    /// The order was confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// The lease became active.
    pub active_at: Option<Timestamp>,
}

/// The price of a checkout's lease, frozen when the deposit is authorized.
pub type FrozenQuote = Quote;

impl StockTaken {
    /// Whether the checkout may go ahead.
    #[must_use]
    pub const fn is_available(self) -> bool {
        !matches!(self, Self::NoneLeft)
    }
}
