//! API keys.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::Memory;
use super::tables::Unowned;
use crate::access::{ApiKey, KeyHash, KeyKind, Permissions};
use crate::ids::{ApiKeyPubId, OrganizationId};
use crate::ports::{KeyHolder, KeyStore, StoreError};
use crate::time::Timestamp;

fn holder(state: &Unowned, key: &ApiKey) -> Option<KeyHolder> {
    let organization = state.organizations.get(&key.organization_id)?;
    Some(KeyHolder {
        organization_pub_id: organization.pub_id,
        user_pub_id: state.users.get(&key.user_id).copied()?,
        sandbox_writes_catalog: organization.lets_sandbox_write_catalog(),
        key: key.clone(),
    })
}

#[async_trait]
impl KeyStore for Memory {
    async fn insert(&mut self, key: &ApiKey) -> Result<(), StoreError> {
        let state = self.change_unowned()?;
        if holder(state, key).is_none() {
            return Err(StoreError::Missing("user or organization"));
        }
        if key.kind == KeyKind::Publishable && key.permissions != Permissions::default() {
            return Err(StoreError::internal("a publishable key has no permissions"));
        }
        state.keys.insert(key.id, key.clone());
        Ok(())
    }

    async fn find_by_hash(&mut self, hash: &KeyHash) -> Result<Option<KeyHolder>, StoreError> {
        let state = self.unowned();
        let key = state.keys.values().find(|key| key.hash == *hash);
        let found = key.and_then(|key| holder(&state, key));
        Ok(found.map(|mut found| {
            found.key.last_used_at = None;
            found
        }))
    }

    async fn get(&mut self, id: ApiKeyPubId) -> Result<Option<KeyHolder>, StoreError> {
        let state = self.unowned();
        Ok(state.keys.get(&id).and_then(|key| holder(&state, key)))
    }

    async fn list(
        &mut self,
        organization: Option<OrganizationId>,
    ) -> Result<Vec<KeyHolder>, StoreError> {
        let state = self.unowned();
        let mut keys: Vec<_> = state
            .keys
            .values()
            .filter(|key| organization.is_none_or(|id| key.organization_id == id))
            .filter_map(|key| holder(&state, key))
            .collect();
        keys.sort_by_key(|holder| Reverse((holder.key.created_at, holder.key.id)));
        Ok(keys)
    }

    async fn close(
        &mut self,
        id: ApiKeyPubId,
        revoked_at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let state = self.change_unowned()?;
        let key = state
            .keys
            .get_mut(&id)
            .ok_or(StoreError::Missing("API key"))?;
        key.revoked_at = revoked_at;
        key.expires_at = expires_at;
        Ok(())
    }

    async fn touch(&mut self, id: ApiKeyPubId, at: Timestamp) -> Result<(), StoreError> {
        if let Some(key) = self.change_unowned()?.keys.get_mut(&id) {
            key.last_used_at = Some(at);
        }
        Ok(())
    }
}
