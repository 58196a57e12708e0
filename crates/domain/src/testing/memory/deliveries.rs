//! Events on their way to endpoints.

use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::TimeDelta;
use uuid::Uuid;

use super::Memory;
use super::tables::{DeliveryRow, EndpointRow, Owned};
use crate::ids::{DeliveryPubId, EventPubId, WebhookEndpointPubId};
use crate::ports::{DeliveryClaim, DeliveryStore, Page, Start, StoreError};
use crate::time::Timestamp;
use crate::webhooks::{Delivery, DeliveryStatus, EndpointHealth, NewDelivery};

impl DeliveryRow {
    fn is_pending(&self) -> bool {
        self.delivery.status == DeliveryStatus::Pending
    }

    fn is_of(&self, endpoint: WebhookEndpointPubId) -> bool {
        self.delivery.new.endpoint_id == endpoint
    }

    fn is_free(&self, clock: Timestamp) -> bool {
        self.leased_until.is_none_or(|until| until <= clock)
    }

    fn is_due(&self, now: Timestamp, clock: Timestamp) -> bool {
        let is_time = self.delivery.next_attempt_at.is_some_and(|at| at <= now);
        self.is_pending() && is_time && self.is_free(clock)
    }

    /// Whether this claim of it is the last one and has not ended.
    fn is_claim(&self, delivery: &Delivery) -> bool {
        self.is_pending() && self.delivery.claims == delivery.claims && self.leased_until.is_some()
    }

    /// Whether this one has to be tried to its end first.
    fn holds_up(&self, later: &NewDelivery) -> bool {
        let new = &self.delivery.new;
        self.is_pending()
            && self.delivery.attempts == 0
            && new.endpoint_id == later.endpoint_id
            && new.subject == later.subject
            && new.sequence < later.sequence
    }
}

/// The deliveries to the endpoint that can be taken by the time, the first due first.
fn takeable(
    state: &Owned,
    endpoint: WebhookEndpointPubId,
    now: Timestamp,
    clock: Timestamp,
) -> Vec<DeliveryPubId> {
    let rows = || state.deliveries.values();
    let mut found: Vec<&Delivery> = rows()
        .filter(|row| row.is_of(endpoint) && row.is_due(now, clock))
        .map(|row| &row.delivery)
        .filter(|delivery| !rows().any(|row| row.holds_up(&delivery.new)))
        .collect();
    found.sort_by_key(|it| (it.next_attempt_at, it.new.sequence, it.new.id));
    found.into_iter().map(|it| it.new.id).collect()
}

/// Whether anything is to be tried at it.
fn is_open(row: &EndpointRow, now: Timestamp) -> bool {
    row.endpoint.is_enabled() && !row.health.rests_at(now)
}

/// Whether some delivery can be taken by the time.
pub(super) fn are_due(owned: &Owned, now: Timestamp, clock: Timestamp) -> bool {
    owned.deliveries.values().any(|row| {
        let endpoint = owned.webhook_endpoints.get(&row.delivery.new.endpoint_id);
        row.is_due(now, clock) && endpoint.is_some_and(|endpoint| is_open(endpoint, now))
    })
}

/// Whether it is over and was made before the time.
pub(super) fn is_old(row: &DeliveryRow, before: Timestamp) -> bool {
    !row.is_pending() && row.delivery.new.created_at < before
}

#[async_trait]
impl DeliveryStore for Memory {
    async fn queue(&mut self, new: &[NewDelivery]) -> Result<u64, StoreError> {
        let mut queued = 0_u64;
        for new in new {
            let state = self.change_of(new.organization_id)?;
            if !state.webhook_endpoints.contains_key(&new.endpoint_id) {
                return Err(StoreError::Missing("webhook endpoint"));
            }
            let pending = state.deliveries.values_mut().find(|row| {
                row.is_pending()
                    && row.is_of(new.endpoint_id)
                    && row.delivery.new.event_id == new.event_id
            });
            if let Some(row) = pending {
                let due = &mut row.delivery.next_attempt_at;
                *due = due.map(|at| at.min(new.created_at));
            } else {
                let row = DeliveryRow {
                    delivery: new.clone().into(),
                    leased_until: None,
                };
                state.deliveries.insert(new.id, row);
            }
            queued = queued.saturating_add(1);
        }
        Ok(queued)
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        claim: DeliveryClaim,
    ) -> Result<Vec<Delivery>, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let time = |time| TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
        let until = clock.checked_add_signed(time(claim.lease));
        let until = until.or(Some(Timestamp::MAX_UTC));
        // Whatever was taken later is held for longer.
        let recent = until.and_then(|until| until.checked_sub_signed(time(claim.slow_after)));
        let mut queues: Vec<(usize, Vec<DeliveryPubId>)> = Vec::new();
        for (id, row) in &state.webhook_endpoints {
            if !is_open(row, now) {
                continue;
            }
            let under_way = || {
                let all = state.deliveries.values();
                all.filter(|delivery| {
                    delivery.is_of(*id) && delivery.is_pending() && !delivery.is_free(clock)
                })
            };
            if under_way().any(|delivery| delivery.leased_until <= recent) {
                continue;
            }
            let most = if row.health.is_failing() {
                1
            } else {
                usize::try_from(claim.per_endpoint).unwrap_or(usize::MAX)
            };
            let room = most.saturating_sub(under_way().count());
            let due = takeable(state, *id, now, clock);
            if room > 0 && !due.is_empty() {
                queues.push((room, due));
            }
        }
        let first_due = |(_, due): &(usize, Vec<DeliveryPubId>)| {
            let row = due.first().and_then(|id| state.deliveries.get(id));
            row.and_then(|row| row.delivery.next_attempt_at)
        };
        queues.sort_by_key(first_due);
        let mut left = usize::try_from(claim.limit).unwrap_or(usize::MAX);
        let mut chosen = Vec::new();
        let mut waiting = queues.len();
        for (room, due) in queues {
            let share = left.div_ceil(waiting.max(1));
            waiting = waiting.saturating_sub(1);
            let taken: Vec<DeliveryPubId> = due.into_iter().take(room.min(share)).collect();
            left = left.saturating_sub(taken.len());
            chosen.extend(taken);
        }
        let mut claimed = Vec::with_capacity(chosen.len());
        for id in chosen {
            if let Some(row) = state.deliveries.get_mut(&id) {
                row.leased_until = until;
                row.delivery.claims = row.delivery.claims.saturating_add(1);
                claimed.push(row.delivery.clone());
            }
        }
        Ok(claimed)
    }

    async fn settle(&mut self, delivery: &Delivery) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        let row = state.deliveries.get_mut(&delivery.new.id);
        let Some(row) = row.filter(|row| row.is_claim(delivery)) else {
            return Ok(false);
        };
        row.delivery.clone_from(delivery);
        row.leased_until = None;
        Ok(true)
    }

    async fn hand_back(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let row = state.deliveries.get_mut(&delivery.new.id);
        if let Some(row) = row.filter(|row| row.is_claim(delivery)) {
            row.leased_until = None;
        }
        Ok(())
    }

    async fn lock_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
    ) -> Result<Option<EndpointHealth>, StoreError> {
        let state = self.lock_own()?;
        let row = state.webhook_endpoints.get(&endpoint);
        Ok(row.map(|row| row.health.clone()))
    }

    async fn clear_health(&mut self, endpoint: WebhookEndpointPubId) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        let row = state.webhook_endpoints.get_mut(&endpoint);
        let before = row.map(|row| std::mem::take(&mut row.health));
        Ok(before.is_some_and(|before| before != EndpointHealth::default()))
    }

    async fn set_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
        health: &EndpointHealth,
    ) -> Result<bool, StoreError> {
        let state = self.change_own()?;
        let row = state.webhook_endpoints.get_mut(&endpoint);
        let is_there = row.is_some();
        if let Some(row) = row {
            row.health.clone_from(health);
        }
        Ok(is_there)
    }

    async fn abandon(
        &mut self,
        endpoint: WebhookEndpointPubId,
        reason: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let rows = state.deliveries.values_mut();
        let mut count = 0_u64;
        for row in rows.filter(|row| row.is_of(endpoint) && row.is_pending()) {
            row.delivery.abandon(reason, at);
            row.leased_until = None;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    async fn list(
        &mut self,
        endpoint: WebhookEndpointPubId,
        page: Page,
    ) -> Result<Vec<Delivery>, StoreError> {
        let state = self.own();
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let (before, offset) = match page.start {
            Start::Offset(offset) => (None, usize::try_from(offset).unwrap_or(usize::MAX)),
            Start::After(id) => (Some(DeliveryPubId::from_uuid(id)), 0),
        };
        let is_its = |id| {
            let row = state.deliveries.get(&id);
            row.is_some_and(|row| row.is_of(endpoint))
        };
        // Nothing comes after what is not there.
        if before.is_some_and(|id| !is_its(id)) {
            return Ok(Vec::new());
        }
        let rows = state.deliveries.values().rev();
        Ok(rows
            .filter(|row| row.is_of(endpoint))
            .map(|row| &row.delivery)
            .filter(|it| before.is_none_or(|before| it.new.id < before))
            .skip(offset)
            .take(limit)
            .cloned()
            .collect())
    }

    async fn has(&mut self, endpoint: WebhookEndpointPubId, id: Uuid) -> Result<bool, StoreError> {
        let state = self.own();
        let row = state.deliveries.get(&DeliveryPubId::from_uuid(id));
        Ok(row.is_some_and(|row| row.is_of(endpoint)))
    }

    async fn acknowledged(
        &mut self,
        endpoint: WebhookEndpointPubId,
        events: &[EventPubId],
    ) -> Result<Vec<EventPubId>, StoreError> {
        let state = self.own();
        let rows = state.deliveries.values();
        let taken: BTreeSet<EventPubId> = rows
            .filter(|row| row.is_of(endpoint))
            .filter(|row| row.delivery.status == DeliveryStatus::Succeeded)
            .map(|row| row.delivery.new.event_id)
            .filter(|id| events.contains(id))
            .collect();
        Ok(taken.into_iter().collect())
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let rows = state.deliveries.iter();
        let old: Vec<DeliveryPubId> = rows
            .filter(|(_, row)| is_old(row, before))
            .map(|(id, _)| *id)
            .take(limit)
            .collect();
        for id in &old {
            state.deliveries.remove(id);
        }
        Ok(u64::try_from(old.len()).unwrap_or(u64::MAX))
    }
}
