//! Answers to requests that may be repeated.

use async_trait::async_trait;

use super::Memory;
use crate::ports::{IdempotencyKey, IdempotencyStore, StoreError, StoredAnswer};
use crate::time::Timestamp;

/// Whether it was kept before the time.
pub(super) fn is_old(answer: &StoredAnswer, before: Timestamp) -> bool {
    answer.created_at < before
}

#[async_trait]
impl IdempotencyStore for Memory {
    async fn try_lock(&mut self, _key: &IdempotencyKey) -> Result<bool, StoreError> {
        // Nobody else works at all while this unit of work does.
        self.lock_own().map(|_| true)
    }

    async fn find(
        &mut self,
        key: &IdempotencyKey,
        since: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        let state = self.own();
        Ok(state
            .answers
            .get(key)
            .filter(|answer| answer.created_at >= since)
            .cloned())
    }

    async fn put(&mut self, key: &IdempotencyKey, answer: &StoredAnswer) -> Result<(), StoreError> {
        let state = self.change_of(key.organization_id)?;
        state.answers.insert(key.clone(), answer.clone());
        Ok(())
    }

    async fn purge(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let kept = state.answers.len();
        state.answers.retain(|_, answer| !is_old(answer, before));
        let count = kept.saturating_sub(state.answers.len());
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
