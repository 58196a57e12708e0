//! Tracking events.

use async_trait::async_trait;

use super::Memory;
use super::tables::TrackingRow;
use crate::checkout::Tracking;
use crate::ids::CheckoutPubId;
use crate::ports::{ShipmentStore, StoreError};
use crate::shipments::{CarrierReport, TrackingEvent};
use crate::time::Timestamp;

/// Whether two reports are of the same thing.
fn is_same(old: &CarrierReport, new: &CarrierReport) -> bool {
    (old.at, old.status) == (new.at, new.status)
        && (&old.description, &old.location) == (&new.description, &new.location)
}

#[async_trait]
impl ShipmentStore for Memory {
    async fn insert(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        if !state.checkouts.contains_key(&id) {
            return Err(StoreError::Missing("checkout"));
        }
        let new = &event.reported;
        let is_known = state.tracking.iter().any(|row| {
            row.checkout == id && row.tracking == *tracking && is_same(&row.event.reported, new)
        });
        if is_known {
            return Ok(false);
        }
        state.tracking.push(TrackingRow {
            checkout: id,
            tracking: tracking.clone(),
            event: event.clone(),
        });
        Ok(true)
    }

    async fn list(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
    ) -> Result<Vec<TrackingEvent>, StoreError> {
        let mut events: Vec<_> = self
            .own()
            .tracking
            .iter()
            .filter(|row| row.checkout == id && row.tracking == *tracking)
            .map(|row| row.event.clone())
            .collect();
        // Those of one time stay in the order in which they came.
        events.sort_by_key(|event| event.reported.at);
        Ok(events)
    }

    async fn keep_unclaimed(
        &mut self,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<(), StoreError> {
        let unclaimed = &mut self.change_unowned()?.unclaimed;
        let is_known = unclaimed
            .iter()
            .any(|(of, known)| of == tracking && is_same(&known.reported, &event.reported));
        if !is_known {
            unclaimed.push((tracking.clone(), event.clone()));
        }
        Ok(())
    }

    async fn unclaimed(&mut self, tracking: &Tracking) -> Result<Vec<TrackingEvent>, StoreError> {
        let state = self.unowned();
        let of_shipment = state.unclaimed.iter().filter(|(of, _)| of == tracking);
        let mut events: Vec<TrackingEvent> = of_shipment.map(|(_, event)| event.clone()).collect();
        events.sort_by_key(|event| event.reported.at);
        Ok(events)
    }

    async fn purge_unclaimed(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let unclaimed = &mut self.change_unowned()?.unclaimed;
        let kept = unclaimed.len();
        unclaimed.retain(|(_, event)| event.received_at >= before);
        Ok(u64::try_from(kept.saturating_sub(unclaimed.len())).unwrap_or(u64::MAX))
    }
}
