//! What happened to records.
//!
//! Nothing is sealed here: what an event shows is left out as soon as the customer is erased.

use std::sync::Arc;

use async_trait::async_trait;

use super::Memory;
use super::tables::{EventRow, Owned};
use crate::access::Mode;
use crate::events::{EventHead, EventType, NewEvent, NumberedEvent};
use crate::ids::{EventPubId, OrganizationId};
use crate::ports::{
    Changes, Edition, EventFilter, EventStore, Reach, Scope, StoreError, Stretch, Told,
};
use crate::time::Timestamp;

/// Whether the event has been numbered and happened before the time.
pub(super) fn is_old(row: &EventRow, before: Timestamp) -> bool {
    row.sequence.is_some() && row.event.created_at < before
}

fn is_erased(state: &Owned, event: &NewEvent) -> bool {
    let customer = event.customer.and_then(|id| state.customers.get(&id));
    customer.is_some_and(|customer| customer.erased_at.is_some())
}

/// The event as it can be read by now.
fn readable(state: &Owned, row: &EventRow) -> Option<NumberedEvent> {
    let mut event = NewEvent::clone(&row.event);
    if is_erased(state, &event) {
        event.contents = None;
    }
    Some(NumberedEvent {
        sequence: row.sequence?,
        event,
    })
}

fn shows(filter: &EventFilter, event: &NewEvent) -> bool {
    (filter.types.is_empty() || filter.types.contains(&event.event_type))
        && filter
            .subject
            .is_none_or(|subject| event.subject == subject)
}

#[async_trait]
impl EventStore for Memory {
    async fn append(&mut self, events: &[NewEvent]) -> Result<(), StoreError> {
        for event in events {
            let state = self.change_of(event.organization_id)?;
            if state.events.iter().any(|row| row.event.id == event.id) {
                return Err(StoreError::internal(format!(
                    "{} is kept already, and is not changed",
                    event.id
                )));
            }
            let customer = event.customer;
            if customer.is_some_and(|id| !state.customers.contains_key(&id)) {
                return Err(StoreError::Missing("customer"));
            }
            let mut event = event.clone();
            if is_erased(state, &event) {
                event.contents = None;
            }
            state.events.push(EventRow {
                sequence: None,
                event: Arc::new(event),
            });
        }
        Ok(())
    }

    async fn are_waiting(&mut self, scope: Scope) -> Result<bool, StoreError> {
        let state = self.own();
        let mut rows = state.events.iter();
        Ok(rows.any(|row| row.sequence.is_none() && row.event.scope() == scope))
    }

    async fn number(&mut self, scope: Scope, limit: u32) -> Result<u32, StoreError> {
        let state = self.change_of(scope.organization_id)?;
        let last = state.last_event.entry(scope.mode).or_default();
        let mut count = 0_u32;
        for row in &mut state.events {
            if count == limit {
                break;
            }
            if row.sequence.is_none() && row.event.scope() == scope {
                *last = last.saturating_add(1);
                count = count.saturating_add(1);
                row.sequence = Some(*last);
            }
        }
        Ok(count)
    }

    async fn last(&mut self, scope: Scope) -> Result<u64, StoreError> {
        // Another's numbers are not there for it.
        let is_own = self.reach == Reach::from(scope);
        let state = self.own();
        let last = state.last_event.get(&scope.mode).filter(|_| is_own);
        Ok(last.copied().unwrap_or_default())
    }

    async fn changes(
        &mut self,
        organization: OrganizationId,
        since: Option<Edition>,
    ) -> Result<Changes, StoreError> {
        let is_own = self.reach == Reach::Organization(organization);
        let state = self.own();
        let last = |mode| {
            let last = state.last_event.get(&mode).filter(|_| is_own);
            last.copied().unwrap_or_default()
        };
        let unowned = self.unowned();
        let organization = unowned.organizations.get(&organization);
        let edition = Edition {
            live: last(Mode::Live),
            sandbox: last(Mode::Sandbox),
            organization: organization.map_or(0, |organization| organization.version),
        };
        let events = || state.events.iter().filter(|_| is_own);
        let waiting = || events().filter(|row| row.sequence.is_none());
        let named = |since: Edition| {
            let before = |mode| match mode {
                Mode::Live => since.live,
                Mode::Sandbox => since.sandbox,
            };
            let is_new =
                |row: &&EventRow| row.sequence.is_some_and(|it| it > before(row.event.mode));
            let numbered: Vec<&EventRow> = events().filter(is_new).collect();
            let named = u64::from(Changes::NAMED);
            let is_all = edition.told_since(&since) == Some(numbered.len() as u64)
                && numbered.len() as u64 <= named
                && waiting().count() as u64 <= named;
            let changed = numbered.into_iter().chain(waiting());
            let told = |row: &EventRow| Told {
                event: row.event.id,
                record: row.event.subject,
            };
            is_all.then(|| changed.map(told).collect())
        };
        Ok(Changes {
            edition,
            is_behind: waiting().next().is_some(),
            events: since.and_then(named),
        })
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: EventPubId,
    ) -> Result<Option<NumberedEvent>, StoreError> {
        let state = self.own();
        let mut rows = state.events.iter();
        let row = rows.find(|row| row.event.id == id && row.event.scope() == scope);
        Ok(row.and_then(|row| readable(&state, row)))
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &EventFilter,
        after: u64,
        limit: u32,
    ) -> Result<Vec<NumberedEvent>, StoreError> {
        let state = self.own();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // They are numbered in the order in which they were appended.
        Ok(state
            .events
            .iter()
            .filter(|row| row.event.scope() == scope && shows(filter, &row.event))
            .filter(|row| row.sequence.is_some_and(|sequence| sequence > after))
            .take(limit)
            .filter_map(|row| readable(&state, row))
            .collect())
    }

    async fn heads(
        &mut self,
        scope: Scope,
        types: &[EventType],
        stretch: Stretch,
        limit: u32,
    ) -> Result<Vec<EventHead>, StoreError> {
        let state = self.own();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_within = |event: &NewEvent| {
            stretch.from.is_none_or(|from| event.created_at >= from)
                && stretch.to.is_none_or(|to| event.created_at < to)
        };
        Ok(state
            .events
            .iter()
            .filter(|row| row.event.scope() == scope && is_within(&row.event))
            .filter(|row| types.is_empty() || types.contains(&row.event.event_type))
            .filter_map(|row| {
                let sequence = row.sequence.filter(|number| *number > stretch.after)?;
                let event = &row.event;
                Some(EventHead {
                    sequence,
                    id: event.id,
                    event_type: event.event_type,
                    subject: event.subject,
                    created_at: event.created_at,
                })
            })
            .take(limit)
            .collect())
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let mut left = u64::from(limit);
        let kept = state.events.len();
        state.events.retain(|row| {
            let goes = left > 0 && is_old(row, before);
            if goes {
                left = left.saturating_sub(1);
            }
            !goes
        });
        let count = kept.saturating_sub(state.events.len());
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
