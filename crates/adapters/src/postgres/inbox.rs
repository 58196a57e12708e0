//! The store of messages that providers sent.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ports::{InboxMessage, InboxStore, StoreError};
use lessor_domain::time::Timestamp;

use super::PgUnitOfWork;
use super::decode::Place;
use super::error::store_error;
use super::schema::inbox_messages;

#[derive(Queryable, Selectable)]
#[diesel(table_name = inbox_messages, check_for_backend(diesel::pg::Pg))]
struct MessageRow {
    source: String,
    id: String,
    mode: String,
    body: Vec<u8>,
    received_at: Timestamp,
}

impl MessageRow {
    fn into_message(self) -> Result<InboxMessage, StoreError> {
        let mode = Place::new("inbox_messages", &self.id).parse("mode", &self.mode)?;
        Ok(InboxMessage {
            source: self.source,
            id: self.id,
            mode,
            body: self.body,
            received_at: self.received_at,
        })
    }
}

#[async_trait]
impl InboxStore for PgUnitOfWork {
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError> {
        diesel::insert_into(inbox_messages::table)
            .values((
                inbox_messages::source.eq(&message.source),
                inbox_messages::id.eq(&message.id),
                inbox_messages::mode.eq(message.mode.as_str()),
                inbox_messages::body.eq(&message.body),
                inbox_messages::received_at.eq(message.received_at),
            ))
            .on_conflict((inbox_messages::source, inbox_messages::id))
            .do_nothing()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn lock_unhandled(&mut self, limit: u32) -> Result<Vec<InboxMessage>, StoreError> {
        inbox_messages::table
            .filter(inbox_messages::handled_at.is_null())
            .order((inbox_messages::received_at, inbox_messages::sequence))
            .limit(i64::from(limit))
            .select(MessageRow::as_select())
            .for_update()
            .skip_locked()
            .load(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(MessageRow::into_message)
            .collect()
    }

    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError> {
        inbox_messages::table
            .find((source, id))
            .filter(inbox_messages::handled_at.is_null())
            .select(MessageRow::as_select())
            .for_update()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(MessageRow::into_message)
            .transpose()
    }

    async fn mark_handled<'a>(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: Option<&'a str>,
    ) -> Result<(), StoreError> {
        let written = diesel::update(inbox_messages::table.find((source, id)))
            .set((
                inbox_messages::handled_at.eq(at),
                inbox_messages::problem.eq(problem),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Missing("message"));
        }
        Ok(())
    }
}
