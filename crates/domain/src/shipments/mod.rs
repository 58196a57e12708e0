//! Shipments: carriers, tracking numbers and what carriers report.

mod carrier;
mod tracking;

pub use carrier::{Carrier, CarrierError, TrackingNumber, TrackingNumberError};
pub use tracking::{CarrierReport, EventOrigin, TrackingEvent, TrackingStatus};
