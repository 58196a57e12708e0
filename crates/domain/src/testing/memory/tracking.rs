//! Tracking events.

use async_trait::async_trait;

use super::Memory;
use super::state::TrackingRow;
use crate::checkout::Tracking;
use crate::fulfillment::TrackingEvent;
use crate::ids::CheckoutPubId;
use crate::ports::{StoreError, TrackingStore};

#[async_trait]
impl TrackingStore for Memory {
    async fn insert(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<bool, StoreError> {
        let state = self.change()?;
        if !state.checkouts.contains_key(&id) {
            return Err(StoreError::Missing("checkout"));
        }
        let new = &event.reported;
        let is_known = state.tracking.iter().any(|row| {
            let old = &row.event.reported;
            row.checkout == id
                && row.tracking == *tracking
                && (old.at, old.status) == (new.at, new.status)
                && (&old.description, &old.location) == (&new.description, &new.location)
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
            .state()
            .tracking
            .iter()
            .filter(|row| row.checkout == id && row.tracking == *tracking)
            .map(|row| row.event.clone())
            .collect();
        // Those of one time stay in the order in which they came.
        events.sort_by_key(|event| event.reported.at);
        Ok(events)
    }
}
