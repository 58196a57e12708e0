//! What carriers report of a shipment.

use crate::names::named_enum;
use crate::text::{EventText, Line};
use crate::time::Timestamp;

named_enum! {
    /// Where a shipment is, in one vocabulary for all carriers.
    pub enum TrackingStatus {
        /// The carrier says nothing that is known.
        Unknown = "unknown",
        /// Announced, not handed over.
        PreTransit = "preTransit",
        /// On its way.
        InTransit = "inTransit",
        /// On the last vehicle.
        OutForDelivery = "outForDelivery",
        /// Waits to be fetched.
        AvailableForPickup = "availableForPickup",
        /// With the customer.
        Delivered = "delivered",
        /// On its way back.
        ReturnToSender = "returnToSender",
        /// Could not be delivered.
        Failure = "failure",
        /// Called off.
        Cancelled = "cancelled",
        /// The carrier reports an error.
        Error = "error",
    }
}

impl TrackingStatus {
    /// What it means, for people.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Unknown => "The carrier has no information yet",
            Self::PreTransit => "The carrier has been told of the shipment",
            Self::InTransit => "The shipment is on its way",
            Self::OutForDelivery => "The shipment is out for delivery",
            Self::AvailableForPickup => "The shipment can be picked up",
            Self::Delivered => "The shipment was delivered",
            Self::ReturnToSender => "The shipment is being returned to the sender",
            Self::Failure => "The shipment could not be delivered",
            Self::Cancelled => "The shipment was cancelled",
            Self::Error => "The carrier reports an error",
        }
    }

    /// Whether the shipment moves towards the customer: what ends an exception.
    #[must_use]
    pub const fn is_movement(self) -> bool {
        matches!(
            self,
            Self::InTransit | Self::OutForDelivery | Self::AvailableForPickup
        )
    }

    /// Whether the shipment will not arrive as it is.
    #[must_use]
    pub const fn is_exception(self) -> bool {
        matches!(self, Self::ReturnToSender | Self::Failure)
    }
}

named_enum! {
    /// Who told of a tracking event.
    pub enum EventOrigin {
        /// A carrier's webhook.
        Webhook = "webhook",
        /// A carrier that was asked.
        Poll = "poll",
        /// A sandbox key.
        Sandbox = "sandbox",
        /// Lessor, when the goods were handed over.
        Lessor = "lessor",
    }
}

/// What a carrier reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarrierReport {
    /// When it happened, by the carrier's word.
    pub at: Timestamp,
    /// Where the shipment is.
    pub status: TrackingStatus,
    /// What the carrier says.
    pub description: Option<EventText>,
    /// Where it happened.
    pub location: Option<Line>,
    /// Who signed for the goods.
    pub signed_by: Option<Line>,
    /// When the carrier expects to deliver.
    pub estimated_delivery: Option<Timestamp>,
}

/// A report that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackingEvent {
    /// What was reported.
    pub reported: CarrierReport,
    /// Who told.
    pub origin: EventOrigin,
    /// When it was taken in.
    pub received_at: Timestamp,
}
