//! The store of tracking events.

use async_trait::async_trait;

use super::StoreError;
use crate::checkout::Tracking;
use crate::fulfillment::TrackingEvent;
use crate::ids::CheckoutPubId;

/// Tracking events.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait TrackingStore: Send {
    /// Keeps the event of the checkout's shipment, unless the same (tracking,
    /// time, status, description, location) is kept already. Tells whether it is new.
    async fn insert(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<bool, StoreError>;
    /// The events of the checkout's shipment under this tracking, oldest first.
    async fn list(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
    ) -> Result<Vec<TrackingEvent>, StoreError>;
}
