//! The store of API keys.

use async_trait::async_trait;

use super::StoreError;
use crate::access::{Access, ApiKey, KeyHash};
use crate::ids::{ApiKeyPubId, OrganizationId, OrganizationPubId, UserPubId};
use crate::time::Timestamp;

/// A key with what its organization and user say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHolder {
    pub key: ApiKey,
    /// Its organization's public id.
    pub organization_pub_id: OrganizationPubId,
    /// Its user's public id.
    pub user_pub_id: UserPubId,
    /// Whether its organization lets sandbox keys write catalog and lease terms now.
    pub sandbox_writes_catalog: bool,
}

impl KeyHolder {
    /// Who a request with the key acts for.
    #[must_use]
    pub fn access(&self) -> Access {
        Access {
            key_id: self.key.id,
            key_name: self.key.name.clone(),
            organization_id: self.key.organization_id,
            organization_pub_id: self.organization_pub_id,
            user_id: self.key.user_id,
            user_pub_id: self.user_pub_id,
            kind: self.key.kind,
            mode: self.key.mode,
            permissions: self.key.permissions,
            sandbox_writes_catalog: self.sandbox_writes_catalog,
        }
    }
}

/// API keys.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait KeyStore: Send {
    /// Keeps a new key of whose work it is.
    ///
    /// # Errors
    /// [`StoreError::Missing`] of its user; [`StoreError::Internal`] of a publishable key with
    /// permissions.
    async fn insert(&mut self, key: &ApiKey) -> Result<(), StoreError>;
    /// The key of this hash, whether it is valid or not. When it was last used is not looked up.
    async fn find_by_hash(&mut self, hash: &KeyHash) -> Result<Option<KeyHolder>, StoreError>;
    /// The key of this id.
    async fn get(&mut self, id: ApiKeyPubId) -> Result<Option<KeyHolder>, StoreError>;
    /// The organization's keys, or every key, newest first.
    async fn list(
        &mut self,
        organization: Option<OrganizationId>,
    ) -> Result<Vec<KeyHolder>, StoreError>;
    /// Sets when the key was revoked and when it ends.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn close(
        &mut self,
        id: ApiKeyPubId,
        revoked_at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError>;
    /// Notes that a key of whose work it is was used.
    async fn touch(&mut self, id: ApiKeyPubId, at: Timestamp) -> Result<(), StoreError>;
}
