//! The store of messages that providers sent.

use async_trait::async_trait;
use diesel::dsl::{case_when, count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Timestamptz};
use diesel_async::RunQueryDsl;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{InboxMessage, InboxRecord, InboxState, InboxStore, StoreError};
use lessor_domain::time::Timestamp;

use super::PgUnitOfWork;
use super::decode::{Place, row_count};
use super::error::store_error;
use super::kept::Keep as _;
use super::schema::inbox_messages;

const MISSING: StoreError = StoreError::Missing("message");

/// Few are, however many were handled: written out, so that every plan knows it.
const WAITS: &str = "state = 'waiting'";
const IS_OPEN: &str = "state IN ('waiting', 'failed')";

#[derive(Queryable, Selectable)]
#[diesel(table_name = inbox_messages, check_for_backend(diesel::pg::Pg))]
struct MessageRow {
    source: String,
    id: String,
    mode: String,
    organization_id: Option<i64>,
    body: Vec<u8>,
    received_at: Timestamp,
}

impl MessageRow {
    fn into_message(self) -> Result<InboxMessage, StoreError> {
        let at = Place::new("inbox_messages", &self.id);
        let mode = at.parse("mode", &self.mode)?;
        let organization_id = self
            .organization_id
            .map(|number| at.number("organization_id", number))
            .transpose()?;
        Ok(InboxMessage {
            organization_id,
            source: self.source,
            id: self.id,
            mode,
            body: self.body,
            received_at: self.received_at,
        })
    }
}

/// The row, without the body.
#[derive(Queryable, Selectable)]
#[diesel(table_name = inbox_messages, check_for_backend(diesel::pg::Pg))]
struct RecordRow {
    source: String,
    id: String,
    mode: String,
    received_at: Timestamp,
    state: String,
    problem: Option<String>,
}

impl RecordRow {
    fn into_record(self) -> Result<InboxRecord, StoreError> {
        let at = Place::new("inbox_messages", &self.id);
        Ok(InboxRecord {
            mode: at.parse("mode", &self.mode)?,
            state: at.parse("state", &self.state)?,
            source: self.source,
            id: self.id,
            received_at: self.received_at,
            problem: self.problem,
        })
    }
}

impl PgUnitOfWork {
    /// The message is not waiting any more.
    async fn settle(
        &mut self,
        (source, id): (&str, &str),
        state: InboxState,
        at: Timestamp,
        problem: Option<&str>,
    ) -> Result<(), StoreError> {
        let written = diesel::update(inbox_messages::table.find((source, id)))
            .set((
                inbox_messages::state.eq(state.as_str()),
                inbox_messages::handled_at.eq(at),
                inbox_messages::problem.eq(problem),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 { Err(MISSING) } else { Ok(()) }
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
                inbox_messages::organization_id
                    .eq(message.organization_id.map(OrganizationId::get)),
                inbox_messages::body.eq(&message.body),
                inbox_messages::received_at.eq(message.received_at),
                inbox_messages::state.eq(InboxState::Waiting.as_str()),
                inbox_messages::due_at.eq(message.received_at),
            ))
            .on_conflict((inbox_messages::source, inbox_messages::id))
            .do_nothing()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn lock_waiting(
        &mut self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        inbox_messages::table
            .filter(sql::<Bool>(WAITS))
            .filter(inbox_messages::due_at.le(now))
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
            .filter(sql::<Bool>(WAITS))
            .select(MessageRow::as_select())
            .for_update()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(MessageRow::into_message)
            .transpose()
    }

    async fn mark_handled(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.settle((source, id), InboxState::Handled, at, None)
            .await
    }

    async fn mark_failed(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: &str,
    ) -> Result<(), StoreError> {
        self.settle((source, id), InboxState::Failed, at, Some(problem))
            .await
    }

    async fn postpone(
        &mut self,
        source: &str,
        id: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let written = diesel::update(inbox_messages::table.find((source, id)))
            .set(inbox_messages::due_at.eq(until))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 { Err(MISSING) } else { Ok(()) }
    }

    async fn list(
        &mut self,
        state: InboxState,
        limit: u32,
    ) -> Result<Vec<InboxRecord>, StoreError> {
        inbox_messages::table
            .filter(inbox_messages::state.eq(state.as_str()))
            .order((inbox_messages::received_at, inbox_messages::sequence))
            .limit(i64::from(limit))
            .select(RecordRow::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(RecordRow::into_record)
            .collect()
    }

    async fn requeue<'a>(
        &mut self,
        id: Option<&'a str>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let is_later = inbox_messages::due_at.gt(now);
        let again = (
            inbox_messages::state.eq(InboxState::Waiting.as_str()),
            inbox_messages::due_at.eq(case_when(is_later, now.into_sql::<Timestamptz>())
                .otherwise(inbox_messages::due_at)),
            inbox_messages::handled_at.eq(None::<Timestamp>),
        );
        let mut query = diesel::update(inbox_messages::table)
            .filter(sql::<Bool>(IS_OPEN))
            .set(again)
            .into_boxed();
        if let Some(id) = id {
            query = query.filter(inbox_messages::id.eq(id));
        }
        query
            .execute(self.connection()?)
            .await
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }

    async fn backlog(&mut self) -> Result<(u64, u64), StoreError> {
        let counts: Vec<(String, i64)> = inbox_messages::table
            .filter(sql::<Bool>(IS_OPEN))
            .group_by(inbox_messages::state)
            .select((inbox_messages::state, count_star()))
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        let of = |state: InboxState| {
            counts
                .iter()
                .find(|(name, _)| name == state.as_str())
                .map_or(0, |(_, count)| row_count(*count))
        };
        Ok((of(InboxState::Waiting), of(InboxState::Failed)))
    }
}
