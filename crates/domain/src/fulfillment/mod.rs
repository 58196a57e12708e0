//! Shipments: carriers, tracking numbers and what carriers report.

mod carrier;
mod detect;
mod tracking;

pub use carrier::{Carrier, CarrierError, TrackingNumber, TrackingNumberError};
pub use detect::detect;
pub use tracking::{EventOrigin, Reported, TrackingEvent, TrackingStatus};
