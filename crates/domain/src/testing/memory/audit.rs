//! Who did what.
//!
//! Nothing is sealed here: what was personal is left out as soon as the customer is erased.

use std::sync::Arc;

use async_trait::async_trait;

use super::Memory;
use super::tables::Owned;
use crate::audit::{AuditEvent, AuditViewer};
use crate::ids::{AuditEventPubId, OrganizationId};
use crate::ports::{AuditFilter, AuditStore, Page, Start, StoreError};

fn shows(viewer: AuditViewer, filter: &AuditFilter, event: &AuditEvent) -> bool {
    viewer.shows(event)
        && filter
            .subject
            .as_ref()
            .is_none_or(|subject| event.subject == *subject)
        && filter
            .actor
            .as_ref()
            .is_none_or(|actor| event.origin.actor.id() == *actor)
}

/// The event as it can be read by now.
fn readable(state: &Owned, event: &AuditEvent) -> AuditEvent {
    let customer = event.customer.and_then(|id| state.customers.get(&id));
    let is_erased = customer.is_some_and(|customer| customer.erased_at.is_some());
    let event = event.clone();
    if is_erased {
        event.without_personal_data()
    } else {
        event
    }
}

/// The organization's events that are shown, newest first.
fn shown<'a>(
    state: &'a Owned,
    organization: OrganizationId,
    viewer: AuditViewer,
    filter: &'a AuditFilter,
) -> impl Iterator<Item = &'a AuditEvent> {
    state
        .audit
        .values()
        .rev()
        .map(Arc::as_ref)
        .filter(move |event| event.organization_id == organization && shows(viewer, filter, event))
}

#[async_trait]
impl AuditStore for Memory {
    async fn append(&mut self, events: &[AuditEvent]) -> Result<(), StoreError> {
        for event in events {
            let state = self.change_of(event.organization_id)?;
            if state.audit.contains_key(&event.id) {
                return Err(StoreError::internal(format!(
                    "{} is kept already, and is not changed",
                    event.id
                )));
            }
            if event
                .customer
                .is_some_and(|id| !state.customers.contains_key(&id))
            {
                return Err(StoreError::Missing("customer"));
            }
            state.audit.insert(event.id, Arc::new(event.clone()));
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: AuditEventPubId,
    ) -> Result<Option<AuditEvent>, StoreError> {
        let state = self.own();
        let event = state.audit.get(&id);
        let event = event.filter(|event| event.organization_id == organization);
        Ok(event.map(|event| readable(&state, event)))
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        page: Page,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let state = self.own();
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let (before, offset) = match page.start {
            Start::Offset(offset) => (None, usize::try_from(offset).unwrap_or(usize::MAX)),
            Start::After(id) => (Some(AuditEventPubId::from_uuid(id)), 0),
        };
        // Nothing comes after what is not there.
        if before.is_some_and(|id| !state.audit.contains_key(&id)) {
            return Ok(Vec::new());
        }
        Ok(shown(&state, organization, viewer, filter)
            .filter(|event| before.is_none_or(|before| event.id < before))
            .skip(offset)
            .take(limit)
            .map(|event| readable(&state, event))
            .collect())
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let state = self.own();
        let count = shown(&state, organization, viewer, filter).count();
        Ok(u64::try_from(count).unwrap_or(u64::MAX).min(most))
    }
}
