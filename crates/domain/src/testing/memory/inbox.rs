//! Messages of providers.

use async_trait::async_trait;

use super::Memory;
use super::state::{InboxRow, State};
use crate::ports::{InboxMessage, InboxStore, StoreError};
use crate::time::Timestamp;

fn is_of(row: &InboxRow, source: &str, id: &str) -> bool {
    row.message.source == source && row.message.id == id
}

fn unhandled(state: &State) -> impl Iterator<Item = &InboxMessage> {
    state
        .inbox
        .iter()
        .filter(|row| row.handled_at.is_none())
        .map(|row| &row.message)
}

#[async_trait]
impl InboxStore for Memory {
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError> {
        let state = self.change()?;
        let known = |row: &InboxRow| is_of(row, &message.source, &message.id);
        if state.inbox.iter().any(known) {
            return Ok(false);
        }
        state.inbox.push(InboxRow {
            message: message.clone(),
            handled_at: None,
            problem: None,
        });
        Ok(true)
    }

    async fn lock_unhandled(&mut self, limit: u32) -> Result<Vec<InboxMessage>, StoreError> {
        let state = self.locked()?;
        let mut messages: Vec<_> = unhandled(&state).cloned().collect();
        messages.sort_by_key(|message| message.received_at);
        messages.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(messages)
    }

    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError> {
        let state = self.locked()?;
        Ok(unhandled(&state)
            .find(|message| message.source == source && message.id == id)
            .cloned())
    }

    async fn mark_handled<'a>(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: Option<&'a str>,
    ) -> Result<(), StoreError> {
        let state = self.change()?;
        let row = state
            .inbox
            .iter_mut()
            .find(|row| is_of(row, source, id))
            .ok_or(StoreError::Missing("message"))?;
        row.handled_at = Some(at);
        row.problem = problem.map(str::to_owned);
        Ok(())
    }
}
