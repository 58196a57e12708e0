//! The store of tracking events.

use async_trait::async_trait;

use super::StoreError;
use crate::checkout::Tracking;
use crate::ids::CheckoutPubId;
use crate::shipments::TrackingEvent;
use crate::time::Timestamp;

/// Tracking events.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ShipmentStore: Send {
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
    /// Keeps the event of a shipment that no checkout has, unless the same is kept already: its
    /// number may be given later.
    async fn keep_unclaimed(
        &mut self,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<(), StoreError>;
    /// The events that were kept of this shipment before any checkout had it, oldest first.
    async fn unclaimed(&mut self, tracking: &Tracking) -> Result<Vec<TrackingEvent>, StoreError>;
    /// Forgets unclaimed events that were taken in before the time. Tells how many.
    async fn purge_unclaimed(&mut self, before: Timestamp) -> Result<u64, StoreError>;
}
