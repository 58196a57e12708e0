//! Sessions on the processor's own pages, as far as Lessor reads them.

use serde::{Deserialize, Deserializer};

use super::wire::{Expandable, Metadata, identified, open_enum};
use super::wire_payments::{PaymentIntent, SetupIntent};

identified! { Session }

open_enum! {
    /// How far a session is.
    PageStatus {
        Open = "open",
        Complete = "complete",
        Expired = "expired",
    }
}

/// A session.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    /// How far it is.
    pub(super) status: PageStatus,
    /// Where the customer goes on. "This value is only present when the session is active."
    #[serde(default)]
    pub(super) url: Option<String>,
    /// The payment, once somebody tried to pay.
    #[serde(default)]
    pub(super) payment_intent: Option<Expandable<PaymentIntent>>,
    /// What sets the card up, where one is left.
    #[serde(default)]
    pub(super) setup_intent: Option<Expandable<SetupIntent>>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}
