//! Who is told of events.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::Memory;
use super::tables::{EndpointRow, Owned, check_version, count_up};
use crate::ids::WebhookEndpointPubId;
use crate::ports::{Scope, StoreError, WebhookEndpointStore};
use crate::webhooks::{EndpointHealth, Listener, MAX_ENDPOINTS, WebhookEndpoint};

fn of(state: &Owned, scope: Scope) -> impl Iterator<Item = &WebhookEndpoint> {
    let endpoints = state.webhook_endpoints.values().map(|row| &row.endpoint);
    endpoints.filter(move |endpoint| endpoint.scope() == scope)
}

#[async_trait]
impl WebhookEndpointStore for Memory {
    async fn insert(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, StoreError> {
        let state = self.change_of(endpoint.organization_id)?;
        if of(state, endpoint.scope()).count() >= MAX_ENDPOINTS {
            return Ok(false);
        }
        let row = EndpointRow {
            endpoint: endpoint.clone(),
            health: EndpointHealth::default(),
        };
        state.webhook_endpoints.insert(endpoint.id, row);
        Ok(true)
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let state = self.own();
        Ok(of(&state, scope).find(|it| it.id == id).cloned())
    }

    async fn list(&mut self, scope: Scope) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let state = self.own();
        let mut found: Vec<WebhookEndpoint> = of(&state, scope).cloned().collect();
        found.sort_by_key(|endpoint| Reverse((endpoint.created_at, endpoint.id)));
        Ok(found)
    }

    async fn hold_listeners(&mut self, scope: Scope) -> Result<Vec<Listener>, StoreError> {
        let state = self.lock_own()?;
        let mut found: Vec<&WebhookEndpoint> = of(&state, scope)
            .filter(|endpoint| endpoint.is_enabled())
            .collect();
        found.sort_by_key(|endpoint| (endpoint.created_at, endpoint.id));
        let listeners = found.into_iter().map(|endpoint| Listener {
            endpoint_id: endpoint.id,
            types: endpoint.types.clone(),
        });
        Ok(listeners.collect())
    }

    async fn lock(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let state = self.lock_own()?;
        Ok(of(&state, scope).find(|it| it.id == id).cloned())
    }

    async fn update(&mut self, endpoint: &mut WebhookEndpoint) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let stored = state.webhook_endpoints.get_mut(&endpoint.id);
        let stored = stored.map(|row| &mut row.endpoint);
        check_version(stored.as_deref(), endpoint)?;
        count_up(endpoint);
        if let Some(stored) = stored {
            stored.clone_from(endpoint);
        }
        Ok(())
    }

    async fn delete(&mut self, scope: Scope, id: WebhookEndpointPubId) -> Result<bool, StoreError> {
        if !of(&self.own(), scope).any(|endpoint| endpoint.id == id) {
            return Ok(false);
        }
        let state = self.change_own()?;
        state
            .deliveries
            .retain(|_, row| row.delivery.new.endpoint_id != id);
        Ok(state.webhook_endpoints.remove(&id).is_some())
    }
}
