//! The store of who is told of events.

use async_trait::async_trait;

use super::{Scope, StoreError};
use crate::ids::WebhookEndpointPubId;
use crate::webhooks::{Listener, WebhookEndpoint};

/// Where organizations are told of events. Secrets are sealed: whoever reads the store without the key
/// has nothing of them.
///
/// # Errors
/// Whatever reads an endpoint fails with [`StoreError::Internal`] when its secrets do not open, and
/// whatever keeps one when there is nothing to seal them with.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait WebhookEndpointStore: Send {
    /// Keeps a new endpoint, of version 1. False where the organization has
    /// [`MAX_ENDPOINTS`](crate::webhooks::MAX_ENDPOINTS) in the mode, and none is kept.
    ///
    /// # Errors
    /// [`StoreError::Contended`] when somebody else keeps one at the same time: it can be tried again.
    async fn insert(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, StoreError>;
    /// The endpoint of this id.
    async fn get(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError>;
    /// All of the mode, newest first.
    async fn list(&mut self, scope: Scope) -> Result<Vec<WebhookEndpoint>, StoreError>;
    /// Those that are enabled, in the order in which they were made. Each stays as it is until the end of the
    /// unit of work, so that nothing is kept for one that somebody disables meanwhile; units of work that
    /// ask for the same do not wait for each other. No secret is opened.
    async fn hold_listeners(&mut self, scope: Scope) -> Result<Vec<Listener>, StoreError>;
    /// The endpoint as it is now; nobody else changes it until the end of the unit of work.
    async fn lock(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError>;
    /// Writes the endpoint if its version is still the stored one, and counts the version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`].
    async fn update(&mut self, endpoint: &mut WebhookEndpoint) -> Result<(), StoreError>;
    /// Forgets the endpoint, its deliveries and how it fared. False where there is none.
    async fn delete(&mut self, scope: Scope, id: WebhookEndpointPubId) -> Result<bool, StoreError>;
}
