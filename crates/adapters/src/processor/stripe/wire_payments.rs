//! Payments, as far as Lessor reads them: methods, payments, charges, refunds, setups.

use serde::Deserialize;

use super::wire::{Expandable, IntentStatus, Metadata, Reference, RefundStatus, identified};

identified! { Charge, Dispute, PaymentIntent, Refund, SetupIntent }

/// A payment method.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PaymentMethod {
    pub(super) id: String,
    /// Such as `card`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The card, when it is one.
    #[serde(default)]
    pub(super) card: Option<Card>,
    /// Whose it is.
    #[serde(default)]
    pub(super) customer: Option<Expandable<Reference>>,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Card {
    /// Such as `visa`.
    #[serde(default)]
    pub(super) brand: Option<String>,
    /// The last four digits.
    #[serde(default)]
    pub(super) last4: Option<String>,
    /// 1 to 12.
    #[serde(default)]
    pub(super) exp_month: Option<u8>,
    /// Such as 2030.
    #[serde(default)]
    pub(super) exp_year: Option<u16>,
}

/// Why a payment or a setup failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PaymentError {
    /// Such as `card_declined`.
    #[serde(default)]
    pub(super) code: Option<String>,
    /// Why the bank declined, such as `insufficient_funds`.
    #[serde(default)]
    pub(super) decline_code: Option<String>,
    /// What the bank advises, such as `do_not_try_again`.
    #[serde(default)]
    pub(super) advice_code: Option<String>,
    /// What it says to people.
    #[serde(default)]
    pub(super) message: Option<String>,
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PaymentIntent {
    pub(super) id: String,
    /// How far it is.
    pub(super) status: IntentStatus,
    /// When it was made, Unix seconds.
    pub(super) created: i64,
    /// What is to be paid, in the processor's minor units.
    pub(super) amount: i64,
    /// What was taken of it.
    #[serde(default)]
    pub(super) amount_received: i64,
    /// Lower case.
    pub(super) currency: String,
    /// The method that pays.
    #[serde(default)]
    pub(super) payment_method: Option<Expandable<PaymentMethod>>,
    /// The last try to charge it.
    #[serde(default)]
    pub(super) latest_charge: Option<Expandable<Charge>>,
    /// Why the last try failed.
    #[serde(default)]
    pub(super) last_payment_error: Option<PaymentError>,
    /// Why it was let go.
    #[serde(default)]
    pub(super) cancellation_reason: Option<String>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// A charge.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Charge {
    pub(super) id: String,
    /// Such as `succeeded` or `failed`.
    #[serde(default)]
    pub(super) status: Option<String>,
    /// What the card's network said.
    #[serde(default)]
    pub(super) payment_method_details: Option<ChargeDetails>,
    /// The movement of money, there once it is captured.
    #[serde(default)]
    pub(super) balance_transaction: Option<Expandable<BalanceTransaction>>,
}

impl Charge {
    /// Whether nothing was ever held by it.
    pub(super) fn has_failed(&self) -> bool {
        self.status.as_deref() == Some("failed")
    }
}

/// What the card's network said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ChargeDetails {
    #[serde(default)]
    pub(super) card: Option<CardDetails>,
    /// Of cards that are at a reader.
    #[serde(default)]
    pub(super) card_present: Option<CardDetails>,
}

/// What a card's network said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct CardDetails {
    /// When the authorization ends unless captured, Unix seconds.
    #[serde(default)]
    pub(super) capture_before: Option<i64>,
}

/// A movement of money.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct BalanceTransaction {
    /// When, Unix seconds.
    pub(super) created: i64,
}

/// A refund.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Refund {
    pub(super) id: String,
    /// When it was made, Unix seconds.
    pub(super) created: i64,
    /// How much, in the processor's minor units.
    pub(super) amount: i64,
    /// Lower case.
    pub(super) currency: String,
    /// The payment that is paid back.
    #[serde(default)]
    pub(super) payment_intent: Option<Expandable<Reference>>,
    /// How far it is.
    #[serde(default)]
    pub(super) status: Option<RefundStatus>,
    /// Why it failed.
    #[serde(default)]
    pub(super) failure_reason: Option<String>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Option<Metadata>,
}

/// A method that is being set up.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SetupIntent {
    pub(super) id: String,
    /// How far it is.
    pub(super) status: IntentStatus,
    #[serde(default)]
    pub(super) payment_method: Option<Expandable<PaymentMethod>>,
    /// Why it failed.
    #[serde(default)]
    pub(super) last_setup_error: Option<PaymentError>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// A payment that the customer's bank contests.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Dispute {
    pub(super) id: String,
    /// How much, in the processor's minor units.
    pub(super) amount: i64,
    /// Lower case.
    pub(super) currency: String,
    /// How far it is.
    pub(super) status: String,
    #[serde(default)]
    pub(super) payment_intent: Option<Expandable<Reference>>,
    /// Ours, if there were any: the processor copies none.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

impl Dispute {
    /// Whether it is over, one way or the other. Which message tells of it says nothing: money is
    /// moved by messages that come before and after.
    pub(super) fn is_settled(&self) -> bool {
        matches!(
            self.status.as_str(),
            "won" | "lost" | "warning_closed" | "prevented"
        )
    }
}
