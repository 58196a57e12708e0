//! What happened to records.
//!
//! Events are [written down](super::notes) at the end of a unit of work, in one round trip with the audit. They lie apart
//! until they have numbers. What is personal in them is sealed as in the audit.

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::dsl::min;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{self, Array, BigInt, Bool, Integer, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::events::{
    Contents, EventHead, EventSubject, EventSubjectKind, EventType, NewEvent, NumberedEvent,
};
use lessor_domain::ids::{CustomerPubId, EventPubId, OrganizationId};
use lessor_domain::ports::{
    Changes, Edition, EventFilter, EventStore, Scope, StoreError, Stretch, Told,
};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::compact::{compact, unfold};
use super::decode::{Place, row_count};
use super::encode::{text, texts};
use super::error::store_error;
use super::kept::{self, Keep as _};
use super::schema::{event_feeds, events, unnumbered_events};
use super::seal::SealingKey;

/// Where it is told that events were numbered: the organization's number and the mode, with a space
/// between.
pub(super) const CHANNEL: &str = "lessor_events";
/// Between a sealed object and what was before. No JSON has it.
const BORDER: u8 = 0;

/// Numbers what waits in the feed, from the number `$3` on, at most `$4` events. One that were there twice would be told of
/// once, and no other would wait for it.
const NUMBER: &str = "\
WITH waiting AS (
    DELETE FROM unnumbered_events WHERE organization_id = $1 AND mode = $2 AND written IN (
        SELECT written FROM unnumbered_events WHERE organization_id = $1 AND mode = $2
        ORDER BY written LIMIT $4
    )
    RETURNING *
), numbered AS (
    INSERT INTO events (organization_id, id, mode, sequence, event_type, subject_type, subject_id, created_at,
        request_id, customer_id, object, previous, sealed)
    SELECT organization_id, id, mode, $3 + row_number() OVER (ORDER BY written), event_type, subject_type,
        subject_id, created_at, request_id, customer_id, object, previous, sealed
    FROM (SELECT DISTINCT ON (id) * FROM waiting ORDER BY id, written) AS once
    WHERE NOT EXISTS (SELECT FROM events AS known WHERE known.organization_id = $1 AND known.id = once.id)
    RETURNING 1
)
SELECT count(*) AS number FROM numbered";

/// Forgets what is older than `$2`, at most `$3` events. Ids are made in the order of time.
const PURGE: &str = "\
DELETE FROM events WHERE organization_id = $1 AND id IN (
    SELECT id FROM events
    WHERE organization_id = $1 AND created_at < $2
    ORDER BY id LIMIT $3
)";

/// How far an organization's feeds are. In one statement, so that an event that gets its number meanwhile is either
/// counted or waits.
macro_rules! edition_and {
    ($($more:literal)?) => {
        concat!(
            "SELECT coalesce(sum(last_sequence) FILTER (WHERE mode = 'live'), 0)::bigint AS live,
    coalesce(sum(last_sequence) FILTER (WHERE mode = 'sandbox'), 0)::bigint AS sandbox,
    EXISTS (SELECT FROM unnumbered_events WHERE organization_id = $1) AS is_behind,
    coalesce((SELECT version FROM organizations WHERE id = $1), 0) AS organization",
            $($more,)?
            "\nFROM event_feeds WHERE organization_id = $1"
        )
    };
}

const EDITION: &str = edition_and!();

const _: () = assert!(Changes::NAMED == 256, "the limits in CHANGES are one more");

/// The same with what was told of since. Its limits, one more than are named, stand in the text: with a parameter it would be
/// planned anew each time.
const CHANGES: &str = concat!(
    "WITH changed AS MATERIALIZED (
    (SELECT id, subject_type, subject_id, true AS has_number FROM events
    WHERE organization_id = $1 AND mode = 'live' AND sequence > $2 ORDER BY sequence LIMIT 257)
    UNION ALL
    (SELECT id, subject_type, subject_id, true FROM events
    WHERE organization_id = $1 AND mode = 'sandbox' AND sequence > $3 ORDER BY sequence LIMIT 257)
    UNION ALL
    (SELECT id, subject_type, subject_id, false FROM unnumbered_events WHERE organization_id = $1 LIMIT 257)
)
",
    edition_and!(
        ",
    (SELECT coalesce(array_agg(id), '{}') FROM changed) AS ids,
    (SELECT coalesce(array_agg(subject_type), '{}') FROM changed) AS kinds,
    (SELECT coalesce(array_agg(subject_id), '{}') FROM changed) AS subjects,
    (SELECT count(*) FROM changed WHERE has_number) AS numbered"
    )
);

#[derive(QueryableByName)]
struct EditionRow {
    #[diesel(sql_type = BigInt)]
    live: i64,
    #[diesel(sql_type = BigInt)]
    sandbox: i64,
    #[diesel(sql_type = Bool)]
    is_behind: bool,
    #[diesel(sql_type = BigInt)]
    organization: i64,
}

impl From<&EditionRow> for Edition {
    fn from(row: &EditionRow) -> Self {
        Self {
            live: row_count(row.live),
            sandbox: row_count(row.sandbox),
            organization: row.organization,
        }
    }
}

#[derive(QueryableByName)]
struct ChangesRow {
    #[diesel(embed)]
    edition: EditionRow,
    #[diesel(sql_type = Array<sql_types::Uuid>)]
    ids: Vec<Uuid>,
    #[diesel(sql_type = Array<Text>)]
    kinds: Vec<String>,
    #[diesel(sql_type = Array<sql_types::Uuid>)]
    subjects: Vec<Uuid>,
    #[diesel(sql_type = BigInt)]
    numbered: i64,
}

impl ChangesRow {
    /// What was told since the edition; none where not all of it is there.
    fn told(&self, since: &Edition) -> Result<Option<Vec<Told>>, StoreError> {
        let edition = Edition::from(&self.edition);
        let numbered = row_count(self.numbered);
        let waiting = (self.ids.len() as u64).saturating_sub(numbered);
        let is_all =
            edition.told_since(since) == Some(numbered) && waiting <= u64::from(Changes::NAMED);
        if !is_all {
            return Ok(None);
        }
        let all = self.ids.iter().zip(&self.kinds).zip(&self.subjects);
        let told = all.map(|((id, kind), subject)| {
            let kind = Place::new("events", id).parse("subject_type", kind)?;
            Ok(Told {
                event: EventPubId::from_uuid(*id),
                record: EventSubject::from_parts(kind, *subject),
            })
        });
        told.collect::<Result<_, StoreError>>().map(Some)
    }
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = events, check_for_backend(Pg))]
struct Row {
    organization_id: i64,
    id: Uuid,
    mode: String,
    sequence: i64,
    event_type: String,
    subject_type: String,
    subject_id: Uuid,
    created_at: Timestamp,
    request_id: Option<String>,
    customer_id: Option<Uuid>,
    object: Option<String>,
    previous: Option<String>,
    sealed: Option<Vec<u8>>,
}

/// An event that has no number yet.
#[derive(Insertable)]
#[diesel(table_name = unnumbered_events, check_for_backend(Pg), treat_none_as_default_value = false)]
pub(super) struct NewRow {
    organization_id: i64,
    id: Uuid,
    mode: String,
    event_type: String,
    subject_type: String,
    subject_id: Uuid,
    created_at: Timestamp,
    request_id: Option<String>,
    customer_id: Option<Uuid>,
    object: Option<String>,
    previous: Option<String>,
    sealed: Option<Vec<u8>>,
}

impl NewRow {
    /// The row of the event, with what is personal sealed with the customer's key. Without a key it is
    /// not kept.
    fn of(event: &NewEvent, key: Option<&SealingKey>) -> Result<Self, StoreError> {
        let contents = event.contents.as_ref();
        let (open, sealed) = match (event.customer, key) {
            (None, _) => (contents.cloned(), None),
            (Some(_), None) => (None, None),
            (Some(_), Some(key)) => {
                let about = event.id.as_uuid();
                let seal = |contents| key.seal(about.as_bytes(), &compact(&joined(contents)));
                (None, contents.map(seal).transpose()?)
            }
        };
        let (object, previous) = match open {
            Some(Contents { object, previous }) => (Some(object), previous),
            None => (None, None),
        };
        Ok(Self {
            organization_id: event.organization_id.get(),
            id: event.id.as_uuid(),
            mode: text(&event.mode),
            event_type: text(&event.event_type),
            subject_type: text(&event.subject.kind()),
            subject_id: event.subject.as_uuid(),
            created_at: event.created_at,
            request_id: event.request_id.clone(),
            customer_id: event.customer.map(|customer| customer.as_uuid()),
            object,
            previous,
            sealed,
        })
    }
}

/// An event without what it shows.
#[derive(Queryable, Selectable)]
#[diesel(table_name = events, check_for_backend(Pg))]
struct HeadRow {
    id: Uuid,
    sequence: i64,
    event_type: String,
    subject_type: String,
    subject_id: Uuid,
    created_at: Timestamp,
}

impl TryFrom<HeadRow> for EventHead {
    type Error = StoreError;

    fn try_from(row: HeadRow) -> Result<Self, StoreError> {
        let place = Place::new("events", &row.id);
        let kind: EventSubjectKind = place.parse("subject_type", &row.subject_type)?;
        Ok(Self {
            sequence: row_count(row.sequence),
            id: EventPubId::from_uuid(row.id),
            event_type: place.parse("event_type", &row.event_type)?,
            subject: EventSubject::from_parts(kind, row.subject_id),
            created_at: row.created_at,
        })
    }
}

/// What an event shows, as one text.
fn joined(contents: &Contents) -> Vec<u8> {
    let mut text = contents.object.clone().into_bytes();
    if let Some(previous) = &contents.previous {
        text.push(BORDER);
        text.extend_from_slice(previous.as_bytes());
    }
    text
}

/// What was joined; none of what nobody joined.
fn parted(text: &[u8]) -> Option<Contents> {
    let mut parts = text.splitn(2, |byte| *byte == BORDER);
    let mut part = || parts.next().map(|part| String::from_utf8(part.to_vec()));
    Some(Contents {
        object: part()?.ok()?,
        previous: part().transpose().ok()?,
    })
}

/// The event of the row. Of a customer whose key is gone nothing is left to be shown.
fn event(row: Row, keys: &BTreeMap<Uuid, SealingKey>) -> Result<NumberedEvent, StoreError> {
    let place = Place::new("events", &row.id);
    let key = row.customer_id.and_then(|customer| keys.get(&customer));
    let contents = match (row.object, &row.sealed, key) {
        (Some(object), _, _) => Some(Contents {
            object,
            previous: row.previous,
        }),
        (None, Some(sealed), Some(key)) => {
            let text = key
                .open(row.id.as_bytes(), sealed)
                .ok_or_else(|| place.corrupt("sealed", "was not sealed with the customer's key"))?;
            let contents = unfold(&text).and_then(|text| parted(&text));
            // What it says is told to nobody, also where it cannot be read.
            let unfit = || place.corrupt("sealed", "is not what is sealed of an event");
            Some(contents.ok_or_else(unfit)?)
        }
        (None, _, _) => None,
    };
    let kind: EventSubjectKind = place.parse("subject_type", &row.subject_type)?;
    Ok(NumberedEvent {
        sequence: row_count(row.sequence),
        event: NewEvent {
            id: EventPubId::from_uuid(row.id),
            organization_id: place.number("organization_id", row.organization_id)?,
            mode: place.parse("mode", &row.mode)?,
            event_type: place.parse("event_type", &row.event_type)?,
            subject: EventSubject::from_parts(kind, row.subject_id),
            created_at: row.created_at,
            request_id: row.request_id,
            customer: row.customer_id.map(CustomerPubId::from_uuid),
            contents,
        },
    })
}

fn numbered(scope: Scope) -> events::BoxedQuery<'static, Pg> {
    events::table
        .filter(events::organization_id.eq(scope.organization_id.get()))
        .filter(events::mode.eq(scope.mode.as_str()))
        .into_boxed()
}

async fn load(
    connection: &mut AsyncPgConnection,
    query: events::BoxedQuery<'static, Pg>,
) -> Result<Vec<Row>, StoreError> {
    query
        .select(Row::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

async fn heads(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    types: &[EventType],
    stretch: Stretch,
    limit: u32,
) -> Result<Vec<HeadRow>, StoreError> {
    let after = i64::try_from(stretch.after).unwrap_or(i64::MAX);
    let mut query = numbered(scope)
        .filter(events::sequence.gt(after))
        .order(events::sequence)
        .limit(limit.into());
    if !types.is_empty() {
        query = query.filter(events::event_type.eq_any(texts(types)));
    }
    if let Some(from) = stretch.from {
        query = query.filter(events::created_at.ge(from));
    }
    if let Some(to) = stretch.to {
        query = query.filter(events::created_at.lt(to));
    }
    query
        .select(HeadRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

/// The last number of the feed, which nobody else counts on until the end of the transaction.
async fn lock_feed(connection: &mut AsyncPgConnection, scope: Scope) -> Result<i64, StoreError> {
    let key = (scope.organization_id.get(), scope.mode.as_str());
    for _ in 0..2 {
        let last: Option<i64> = event_feeds::table
            .find(key)
            .select(event_feeds::last_sequence)
            .for_update()
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        if let Some(last) = last {
            return Ok(last);
        }
        diesel::insert_into(event_feeds::table)
            .values((
                event_feeds::organization_id.eq(key.0),
                event_feeds::mode.eq(key.1),
                event_feeds::last_sequence.eq(0_i64),
            ))
            .on_conflict_do_nothing()
            .execute(connection)
            .await
            .map_err(store_error)?;
    }
    Err(StoreError::Missing("feed"))
}

/// Numbers what waits after the last number. A statement of its own, so that it sees whatever was
/// committed when the feed was locked.
async fn give_numbers(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    last: i64,
    limit: u32,
) -> Result<u32, StoreError> {
    let (organization, mode) = (scope.organization_id.get(), scope.mode.as_str());
    let counted: Count = diesel::sql_query(NUMBER)
        .bind::<BigInt, _>(organization)
        .bind::<Text, _>(mode)
        .bind::<BigInt, _>(last)
        .bind::<Integer, _>(i32::try_from(limit).unwrap_or(i32::MAX))
        .get_result(connection)
        .await
        .map_err(store_error)?;
    if counted.number > 0 {
        diesel::update(event_feeds::table.find((organization, mode)))
            .set(event_feeds::last_sequence.eq(last.saturating_add(counted.number)))
            .kept()
            .execute(connection)
            .await
            .map_err(store_error)?;
        // Nobody else waits for a transaction that says so: writers do not.
        diesel::sql_query("SELECT pg_notify($1, $2)")
            .bind::<Text, _>(CHANNEL)
            .bind::<Text, _>(format!("{organization} {mode}"))
            .kept()
            .execute(connection)
            .await
            .map_err(store_error)?;
    }
    Ok(u32::try_from(counted.number).unwrap_or(u32::MAX))
}

impl PgUnitOfWork {
    async fn events_of(&mut self, rows: Vec<Row>) -> Result<Vec<NumberedEvent>, StoreError> {
        let organization = rows.as_slice().first().map(|row| row.organization_id);
        let sealed = rows.iter().filter(|row| row.sealed.is_some());
        let customers = sealed.filter_map(|row| row.customer_id).collect();
        let keys = match organization {
            Some(organization) => self.sealing_keys(organization, &customers).await?,
            None => BTreeMap::new(),
        };
        rows.into_iter().map(|row| event(row, &keys)).collect()
    }
}

#[async_trait]
impl EventStore for PgUnitOfWork {
    async fn append(&mut self, events: &[NewEvent]) -> Result<(), StoreError> {
        for event in events {
            let key = match event.customer {
                Some(customer) => {
                    self.sealing_key(event.organization_id.get(), customer, event.created_at)
                        .await?
                }
                None => None,
            };
            self.notes.events.push(NewRow::of(event, key.as_ref())?);
        }
        Ok(())
    }

    async fn are_waiting(&mut self, scope: Scope) -> Result<bool, StoreError> {
        self.write_down().await?;
        let waiting = unnumbered_events::table
            .filter(unnumbered_events::organization_id.eq(scope.organization_id.get()))
            .filter(unnumbered_events::mode.eq(scope.mode.as_str()));
        diesel::select(diesel::dsl::exists(waiting))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn number(&mut self, scope: Scope, limit: u32) -> Result<u32, StoreError> {
        self.write_down().await?;
        let session = self.session()?;
        session.send_ahead("SET LOCAL lessor.numbering = 'events'");
        let last = lock_feed(session.connection(), scope).await?;
        let numbered = give_numbers(session.connection(), scope, last, limit).await;
        session.send_ahead("SET LOCAL lessor.numbering = ''");
        numbered
    }

    async fn last(&mut self, scope: Scope) -> Result<u64, StoreError> {
        let last: Option<i64> = event_feeds::table
            .find((scope.organization_id.get(), scope.mode.as_str()))
            .select(event_feeds::last_sequence)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        Ok(last.map_or(0, row_count))
    }

    async fn changes(
        &mut self,
        organization: OrganizationId,
        since: Option<Edition>,
    ) -> Result<Changes, StoreError> {
        static SHORT: kept::Text = kept::Text::new();
        static LONG: kept::Text = kept::Text::new();
        self.write_down().await?;
        let row: EditionRow = diesel::sql_query(EDITION)
            .bind::<BigInt, _>(organization.get())
            .kept_as(&SHORT)
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?;
        let edition = Edition::from(&row);
        let unnamed = |events| Changes {
            edition,
            is_behind: row.is_behind,
            events,
        };
        let Some(since) = since else {
            return Ok(unnamed(None));
        };
        match edition.told_since(&since) {
            Some(0) if !row.is_behind => return Ok(unnamed(Some(Vec::new()))),
            Some(told) if told <= Changes::NAMED.into() => {}
            _ => return Ok(unnamed(None)),
        }
        let row: ChangesRow = diesel::sql_query(CHANGES)
            .bind::<BigInt, _>(organization.get())
            .bind::<BigInt, _>(i64::try_from(since.live).unwrap_or(i64::MAX))
            .bind::<BigInt, _>(i64::try_from(since.sandbox).unwrap_or(i64::MAX))
            .kept_as(&LONG)
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(Changes {
            edition: Edition::from(&row.edition),
            is_behind: row.edition.is_behind,
            events: row.told(&since)?,
        })
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: EventPubId,
    ) -> Result<Option<NumberedEvent>, StoreError> {
        let query = numbered(scope).filter(events::id.eq(id.as_uuid()));
        let rows = load(self.connection()?, query).await?;
        Ok(self.events_of(rows).await?.pop())
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &EventFilter,
        after: u64,
        limit: u32,
    ) -> Result<Vec<NumberedEvent>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let mut query = numbered(scope)
            .filter(events::sequence.gt(after))
            .order(events::sequence)
            .limit(limit.into());
        if !filter.types.is_empty() {
            query = query.filter(events::event_type.eq_any(texts(&filter.types)));
        }
        if let Some(subject) = filter.subject {
            query = query
                .filter(events::subject_id.eq(subject.as_uuid()))
                .filter(events::subject_type.eq(text(&subject.kind())));
        }
        let rows = load(self.connection()?, query).await?;
        self.events_of(rows).await
    }

    async fn heads(
        &mut self,
        scope: Scope,
        types: &[EventType],
        stretch: Stretch,
        limit: u32,
    ) -> Result<Vec<EventHead>, StoreError> {
        heads(self.connection()?, scope, types, stretch, limit)
            .await?
            .into_iter()
            .map(EventHead::try_from)
            .collect()
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let owner = self.owner();
        let session = self.session()?;
        session.send_ahead("SET LOCAL lessor.purging = 'events'");
        let purged = diesel::sql_query(PURGE)
            .bind::<BigInt, _>(owner)
            .bind::<sql_types::Timestamptz, _>(before)
            .bind::<Integer, _>(i32::try_from(limit).unwrap_or(i32::MAX))
            .execute(session.connection())
            .await
            .map_err(store_error);
        session.send_ahead("SET LOCAL lessor.purging = ''");
        purged.map(|purged| u64::try_from(purged).unwrap_or(u64::MAX))
    }
}

/// Whose events wait for a number, of all that can be read.
pub(super) async fn owners_waiting(
    connection: &mut AsyncPgConnection,
) -> Result<Vec<i64>, StoreError> {
    unnumbered_events::table
        .select(unnumbered_events::organization_id)
        .distinct()
        .order(unnumbered_events::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}

/// When the first of the events happened that wait for a number, of all that can be read.
pub(super) async fn waiting_since(
    connection: &mut AsyncPgConnection,
) -> Result<Option<Timestamp>, StoreError> {
    unnumbered_events::table
        .select(min(unnumbered_events::created_at))
        .first(connection)
        .await
        .map_err(store_error)
}

/// Whose old events there are, of all that can be read.
pub(super) async fn owners_of_old(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    events::table
        .filter(events::created_at.lt(before))
        .select(events::organization_id)
        .distinct()
        .order(events::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}

/// The feed that a message of [`CHANNEL`] names.
pub(super) fn feed_of(payload: &str) -> Option<Scope> {
    let (organization, mode) = payload.split_once(' ')?;
    let mode: Mode = mode.parse().ok()?;
    Some(Scope {
        organization_id: organization.parse().ok()?,
        mode,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_parted() {
        for previous in [None, Some("{}".to_owned()), Some("{\"a\":1}".to_owned())] {
            let contents = Contents {
                object: "{\"name\":\"„ü“\\u0000\"}".to_owned(),
                previous,
            };
            assert_eq!(parted(&joined(&contents)), Some(contents));
        }
        assert_eq!(parted(&[0xff]), None);
    }

    #[test]
    fn a_message_names_a_feed() {
        let feed = feed_of("7 sandbox").unwrap();
        assert_eq!(feed.organization_id.get(), 7);
        assert_eq!(feed.mode, Mode::Sandbox);
        for other in ["", "7", "x live", "7 other", "0 live"] {
            assert_eq!(feed_of(other), None, "{other}");
        }
    }
}
