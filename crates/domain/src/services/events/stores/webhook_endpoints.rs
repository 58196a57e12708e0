//! The store of webhook endpoints, of a unit of work that tells.

use async_trait::async_trait;

use crate::ids::WebhookEndpointPubId;
use crate::ports::{Scope, StoreError, WebhookEndpointStore};
use crate::services::events::work::TellingWork;
use crate::webhooks::{Listener, WebhookEndpoint};

#[async_trait]
impl WebhookEndpointStore for TellingWork {
    async fn insert(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, StoreError> {
        self.inner.webhook_endpoints().insert(endpoint).await
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.inner.webhook_endpoints().get(scope, id).await
    }

    async fn list(&mut self, scope: Scope) -> Result<Vec<WebhookEndpoint>, StoreError> {
        self.inner.webhook_endpoints().list(scope).await
    }

    async fn hold_listeners(&mut self, scope: Scope) -> Result<Vec<Listener>, StoreError> {
        self.inner.webhook_endpoints().hold_listeners(scope).await
    }

    async fn lock(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let found = self.inner.webhook_endpoints().lock(scope, id).await?;
        if let Some(found) = &found {
            self.seen.endpoints.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, endpoint: &mut WebhookEndpoint) -> Result<(), StoreError> {
        let before = match self.seen.endpoints.take(endpoint.id, endpoint.version) {
            Some(before) => Some(before),
            None if self.seen.endpoints.is_written(endpoint.id) => None,
            None => {
                let (scope, id) = (endpoint.scope(), endpoint.id);
                self.inner.webhook_endpoints().get(scope, id).await?
            }
        };
        self.inner.webhook_endpoints().update(endpoint).await?;
        self.seen
            .write_endpoint(endpoint.id, before, Some(endpoint.clone()));
        Ok(())
    }

    async fn delete(&mut self, scope: Scope, id: WebhookEndpointPubId) -> Result<bool, StoreError> {
        self.inner.webhook_endpoints().delete(scope, id).await
    }
}
