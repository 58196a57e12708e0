//! The way of the goods to the customer.

use crate::shipments::{Carrier, TrackingNumber, TrackingStatus};
use crate::text::Line;
use crate::time::Timestamp;

/// A tracking number and the carrier that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tracking {
    /// The number, normalized.
    pub number: TrackingNumber,
    pub carrier: Carrier,
}

/// The way of the goods to the customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Shipment {
    /// Tracking, when the goods are tracked.
    pub tracking: Option<Tracking>,
    /// What the carrier said last.
    pub status: Option<TrackingStatus>,
    /// When somebody last said where they are, the shipment itself included.
    pub heard_at: Option<Timestamp>,
    /// When they were shipped.
    pub shipped_at: Option<Timestamp>,
    /// When they were delivered.
    pub delivered_at: Option<Timestamp>,
    /// Who signed for them.
    pub signed_by: Option<Line>,
}
