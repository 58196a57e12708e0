//! Messages of providers.

use async_trait::async_trait;

use super::Memory;
use super::tables::{InboxRow, Unowned};
use crate::ports::{InboxMessage, InboxRecord, InboxState, InboxStore, StoreError};
use crate::time::Timestamp;

fn is_of(row: &InboxRow, source: &str, id: &str) -> bool {
    row.message.source == source && row.message.id == id
}

fn waiting(state: &Unowned) -> impl Iterator<Item = &InboxRow> {
    let rows = state.inbox.iter();
    rows.filter(|row| row.state == InboxState::Waiting)
}

fn row<'a>(state: &'a mut Unowned, source: &str, id: &str) -> Result<&'a mut InboxRow, StoreError> {
    let mut rows = state.inbox.iter_mut();
    rows.find(|row| is_of(row, source, id))
        .ok_or(StoreError::Missing("message"))
}

fn most(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[async_trait]
impl InboxStore for Memory {
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError> {
        let state = self.change_unowned()?;
        let known = |row: &InboxRow| is_of(row, &message.source, &message.id);
        if state.inbox.iter().any(known) {
            return Ok(false);
        }
        state.inbox.push(InboxRow {
            message: message.clone(),
            state: InboxState::Waiting,
            due_at: message.received_at,
            problem: None,
        });
        Ok(true)
    }

    async fn lock_waiting(
        &mut self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        let state = self.lock_unowned()?;
        let due = waiting(&state).filter(|row| row.due_at <= now);
        let mut messages: Vec<_> = due.map(|row| row.message.clone()).collect();
        messages.sort_by_key(|message| message.received_at);
        messages.truncate(most(limit));
        Ok(messages)
    }

    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError> {
        let state = self.lock_unowned()?;
        let found = waiting(&state).find(|row| is_of(row, source, id));
        Ok(found.map(|row| row.message.clone()))
    }

    async fn mark_handled(
        &mut self,
        source: &str,
        id: &str,
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let row = row(self.change_unowned()?, source, id)?;
        row.state = InboxState::Handled;
        row.problem = None;
        Ok(())
    }

    async fn mark_failed(
        &mut self,
        source: &str,
        id: &str,
        _: Timestamp,
        problem: &str,
    ) -> Result<(), StoreError> {
        let row = row(self.change_unowned()?, source, id)?;
        row.state = InboxState::Failed;
        row.problem = Some(problem.to_owned());
        Ok(())
    }

    async fn postpone(
        &mut self,
        source: &str,
        id: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        row(self.change_unowned()?, source, id)?.due_at = until;
        Ok(())
    }

    async fn list(
        &mut self,
        wanted: InboxState,
        limit: u32,
    ) -> Result<Vec<InboxRecord>, StoreError> {
        let state = self.unowned();
        let rows = state.inbox.iter().filter(|row| row.state == wanted);
        let mut records: Vec<_> = rows
            .map(|row| InboxRecord {
                source: row.message.source.clone(),
                id: row.message.id.clone(),
                mode: row.message.mode,
                received_at: row.message.received_at,
                state: row.state,
                problem: row.problem.clone(),
            })
            .collect();
        records.sort_by_key(|record| record.received_at);
        records.truncate(most(limit));
        Ok(records)
    }

    async fn requeue<'a>(
        &mut self,
        id: Option<&'a str>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut requeued: u64 = 0;
        for row in &mut self.change_unowned()?.inbox {
            let is_meant = id.is_none_or(|id| row.message.id == id);
            if is_meant && row.state != InboxState::Handled {
                row.state = InboxState::Waiting;
                row.due_at = row.due_at.min(now);
                requeued = requeued.saturating_add(1);
            }
        }
        Ok(requeued)
    }

    async fn backlog(&mut self) -> Result<(u64, u64), StoreError> {
        let state = self.unowned();
        let count = |wanted| {
            let rows = state.inbox.iter().filter(|row| row.state == wanted);
            u64::try_from(rows.count()).unwrap_or(u64::MAX)
        };
        Ok((count(InboxState::Waiting), count(InboxState::Failed)))
    }
}
