//! Answers to requests that may be repeated.

use async_trait::async_trait;

use super::Memory;
use crate::ports::{IdempotencyKey, IdempotencyStore, StoreError, StoredAnswer};
use crate::time::Timestamp;

#[async_trait]
impl IdempotencyStore for Memory {
    async fn try_lock(&mut self, _key: &IdempotencyKey) -> Result<bool, StoreError> {
        // Nobody else works at all while this unit of work does.
        self.locked().map(|_| true)
    }

    async fn find(
        &mut self,
        key: &IdempotencyKey,
        since: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        let state = self.state();
        Ok(state
            .answers
            .get(key)
            .filter(|answer| answer.created_at >= since)
            .cloned())
    }

    async fn put(&mut self, key: &IdempotencyKey, answer: &StoredAnswer) -> Result<(), StoreError> {
        self.change()?.answers.insert(key.clone(), answer.clone());
        Ok(())
    }

    async fn purge(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let state = self.change()?;
        let old = |answer: &StoredAnswer| answer.created_at < before;
        let count = state.answers.values().filter(|answer| old(answer)).count();
        state.answers.retain(|_, answer| !old(answer));
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
