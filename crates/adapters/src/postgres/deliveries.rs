//! Events on their way to endpoints.
//!
//! Each endpoint has a queue of its own, which its rows in the indexes are: how much waits for one costs
//! whoever takes something for another nothing. Whoever takes of a queue has the row of how the endpoint
//! fares locked, so that no two take more than there is room for; who finds it locked leaves the queue to
//! them.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use diesel::dsl::{exists, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel::upsert::excluded;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::{DeliveryPubId, EventPubId, WebhookEndpointPubId};
use lessor_domain::ports::{DeliveryClaim, DeliveryStore, Page, Start, StoreError};
use lessor_domain::time::Timestamp;
use lessor_domain::webhooks::{Delivery, DeliveryStatus, EndpointHealth, LastAttempt, NewDelivery};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted};
use super::doors::Question;
use super::encode::text;
use super::error::store_error;
use super::kept::{self, BY_INDEX, FENCE, Keep as _};
use super::schema::{deliveries, webhook_endpoint_health as health};

diesel::define_sql_function! {
    /// The earlier of both.
    fn least(one: Nullable<Timestamptz>, other: Nullable<Timestamptz>) -> Nullable<Timestamptz>;
}

/// How many deliveries are deleted at once.
const DELETED_AT_ONCE: i64 = 10_000;

/// To be tried, word for word as the partial indexes say it.
const IS_PENDING: &str = "status = 'pending'";
/// Taken by the endpoint, likewise.
const IS_ACKNOWLEDGED: &str = "status = 'succeeded'";

/// Whether nobody is at the delivery. Leases count by the clock of the database, which all workers share.
const IS_FREE: &str = "(d.claimed_until IS NULL OR d.claimed_until <= statement_timestamp())";

/// The queues of the organization `$1` that something can be taken of at `$2`, with how many of each are
/// under way, the first due first. Those of which one is under way for long are left: its lease then has no
/// more than `$3` microseconds left.
const QUEUES: &str = "\
SELECT e.id, h.failures, \
    (SELECT count(*) FROM deliveries AS u \
        WHERE u.organization_id = $1 AND u.endpoint_id = e.id \
            AND u.claimed_until > statement_timestamp()) AS under_way \
FROM webhook_endpoints AS e \
JOIN webhook_endpoint_health AS h ON h.organization_id = e.organization_id AND h.endpoint_id = e.id \
CROSS JOIN LATERAL (SELECT min(d.due_at) AS due_at FROM deliveries AS d \
    WHERE d.organization_id = $1 AND d.endpoint_id = e.id AND d.status = 'pending') AS first \
WHERE e.organization_id = $1 AND h.organization_id = $1 AND e.status = 'enabled' \
    AND (h.resting_until IS NULL OR h.resting_until <= $2) AND first.due_at <= $2 \
    AND NOT EXISTS (SELECT 1 FROM deliveries AS s \
        WHERE s.organization_id = $1 AND s.endpoint_id = e.id AND s.claimed_until > statement_timestamp() \
            AND s.claimed_until <= statement_timestamp() + $3 * interval '1 microsecond') \
ORDER BY first.due_at, e.id";

/// Locks a queue, unless somebody else has it.
const LOCK_QUEUE: &str = "\
SELECT failures FROM webhook_endpoint_health \
WHERE organization_id = $1 AND endpoint_id = $2 \
FOR UPDATE SKIP LOCKED";

/// Takes up to `$5` deliveries of the organization `$3` to the endpoint `$4` that are due at `$1`, for `$2`
/// microseconds, and no more than that `$6` of them are under way: a statement of its own, so that it sees
/// whatever was taken before the queue was locked. Those that wait for the first attempt of one before them
/// are left.
///
/// It looks at the front of the queue alone. Where all of that is about one record, of which one is tried at a
/// time, the rest waits behind it, and taking costs no more than with many.
///
/// The front and the first of a record are asked for in the order of one index, [which nobody may make by
/// sorting](BY_INDEX), and those that were taken by an array: their indexes lead to them also where nobody has counted the
/// rows of a queue that has just become long. Where they were counted when there were none, what was taken is looked for among
/// all of the organization's, but not each of the front.
const CLAIM: &str = "\
WITH front AS MATERIALIZED ( \
    SELECT id, subject_id, sequence, due_at FROM deliveries \
    WHERE organization_id = $3 AND endpoint_id = $4 AND status = 'pending' AND due_at <= $1 \
        AND (claimed_until IS NULL OR claimed_until <= statement_timestamp()) \
    ORDER BY due_at, sequence LIMIT 256 \
), taken AS MATERIALIZED ( \
    SELECT d.id FROM deliveries AS d \
    WHERE d.organization_id = $3 AND d.id = ANY (ARRAY( \
        SELECT f.id FROM front AS f \
        WHERE coalesce((SELECT e.sequence FROM deliveries AS e \
            WHERE e.organization_id = $3 AND e.endpoint_id = $4 AND e.subject_id = f.subject_id \
                AND e.status = 'pending' AND e.attempts = 0 \
            ORDER BY e.sequence LIMIT 1), f.sequence) >= f.sequence \
        ORDER BY f.due_at, f.sequence \
        LIMIT least($5, greatest(0, $6 - (SELECT count(*) FROM deliveries AS u \
            WHERE u.organization_id = $3 AND u.endpoint_id = $4 \
                AND u.claimed_until > statement_timestamp()))))) \
    FOR UPDATE SKIP LOCKED \
) UPDATE deliveries SET claims = claims + 1, \
    claimed_until = statement_timestamp() + $2 * interval '1 microsecond' \
WHERE organization_id = $3 AND id = ANY (ARRAY(SELECT id FROM taken)) \
RETURNING *";

/// Forgets what is over and older than `$2`, at most `$3` deliveries. Ids are made in the order of time.
const PURGE: &str = "\
DELETE FROM deliveries WHERE organization_id = $1 AND id IN ( \
    SELECT id FROM deliveries \
    WHERE organization_id = $1 AND created_at < $2 AND status <> 'pending' \
    ORDER BY id LIMIT $3 \
)";

const FORGET: &str = "\
DELETE FROM deliveries WHERE organization_id = $1 AND id IN ( \
    SELECT id FROM deliveries WHERE organization_id = $1 AND endpoint_id = $2 LIMIT $3 \
)";

#[derive(Queryable, Selectable, QueryableByName, Insertable)]
#[diesel(table_name = deliveries, check_for_backend(Pg))]
struct Row {
    organization_id: i64,
    id: Uuid,
    mode: String,
    endpoint_id: Uuid,
    event_id: Uuid,
    event_type: String,
    subject_id: Uuid,
    sequence: i64,
    status: String,
    attempts: i32,
    claims: i32,
    due_at: Option<Timestamp>,
    response_status: Option<i32>,
    response_body: Option<String>,
    duration_ms: Option<i64>,
    error: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// What of a delivery an attempt changes. The claim is over with it.
#[derive(AsChangeset)]
#[diesel(table_name = deliveries, treat_none_as_null = true)]
struct Settled {
    status: String,
    attempts: i32,
    due_at: Option<Timestamp>,
    claimed_until: Option<Timestamp>,
    response_status: Option<i32>,
    response_body: Option<String>,
    duration_ms: Option<i64>,
    error: Option<String>,
    updated_at: Timestamp,
}

#[derive(Queryable, Selectable, AsChangeset)]
#[diesel(table_name = health, check_for_backend(Pg), treat_none_as_null = true)]
struct HealthRow {
    failures: i32,
    failing_since: Option<Timestamp>,
    last_failed_at: Option<Timestamp>,
    resting_until: Option<Timestamp>,
}

#[derive(QueryableByName)]
struct Queue {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Integer)]
    failures: i32,
    #[diesel(sql_type = BigInt)]
    under_way: i64,
}

/// How many deliveries to an endpoint that failed so often may be under way.
fn most_at_once(failures: i32, per_endpoint: u32) -> u32 {
    if failures > 0 { 1 } else { per_endpoint }
}

impl Queue {
    /// Whether more may be under way, as far as is known before the queue is locked.
    fn has_room(&self, per_endpoint: u32) -> bool {
        self.under_way < i64::from(most_at_once(self.failures, per_endpoint))
    }
}

#[derive(QueryableByName)]
struct Locked {
    #[diesel(sql_type = Integer)]
    failures: i32,
}

impl TryFrom<&NewDelivery> for Row {
    type Error = StoreError;

    fn try_from(new: &NewDelivery) -> Result<Self, StoreError> {
        Ok(Self {
            organization_id: new.organization_id.get(),
            id: new.id.as_uuid(),
            mode: text(&new.mode),
            endpoint_id: new.endpoint_id.as_uuid(),
            event_id: new.event_id.as_uuid(),
            event_type: text(&new.occasion),
            subject_id: new.subject,
            sequence: i64::try_from(new.sequence).map_err(StoreError::internal)?,
            status: text(&DeliveryStatus::Pending),
            attempts: 0,
            claims: 0,
            due_at: Some(new.created_at),
            response_status: None,
            response_body: None,
            duration_ms: None,
            error: None,
            created_at: new.created_at,
            updated_at: new.created_at,
        })
    }
}

impl TryFrom<Row> for Delivery {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("deliveries", &row.id);
        let sequence = u64::try_from(row.sequence);
        let status = row.response_status.map(u16::try_from).transpose();
        let duration = row.duration_ms.map(u64::try_from).transpose();
        Ok(Self {
            new: NewDelivery {
                id: DeliveryPubId::from_uuid(row.id),
                organization_id: place.number("organization_id", row.organization_id)?,
                mode: place.parse("mode", &row.mode)?,
                endpoint_id: WebhookEndpointPubId::from_uuid(row.endpoint_id),
                event_id: EventPubId::from_uuid(row.event_id),
                occasion: place.parse("event_type", &row.event_type)?,
                subject: row.subject_id,
                sequence: sequence.map_err(|_| place.corrupt("sequence", "is negative"))?,
                created_at: row.created_at,
            },
            status: place.parse("status", &row.status)?,
            attempts: place.count("attempts", row.attempts)?,
            next_attempt_at: row.due_at,
            last: LastAttempt {
                response_status: status
                    .map_err(|_| place.corrupt("response_status", "is no status"))?,
                response_body: row.response_body,
                duration_ms: duration.map_err(|_| place.corrupt("duration_ms", "is negative"))?,
                error: row.error,
            },
            updated_at: row.updated_at,
            claims: place.count("claims", row.claims)?,
        })
    }
}

impl TryFrom<&Delivery> for Settled {
    type Error = StoreError;

    fn try_from(delivery: &Delivery) -> Result<Self, StoreError> {
        let last = &delivery.last;
        let duration = last.duration_ms.map(i64::try_from).transpose();
        Ok(Self {
            status: text(&delivery.status),
            attempts: counted(delivery.attempts)?,
            due_at: delivery.next_attempt_at,
            claimed_until: None,
            response_status: last.response_status.map(i32::from),
            response_body: last.response_body.clone(),
            duration_ms: duration.map_err(StoreError::internal)?,
            error: last.error.clone(),
            updated_at: delivery.updated_at,
        })
    }
}

fn delivered(rows: Vec<Row>) -> Result<Vec<Delivery>, StoreError> {
    rows.into_iter().map(Delivery::try_from).collect()
}

/// The lease in microseconds, a century at the most.
fn micros(lease: Duration) -> i64 {
    const LONGEST: TimeDelta = TimeDelta::days(36_525);
    let lease = TimeDelta::from_std(lease).map_or(LONGEST, |lease| lease.min(LONGEST));
    lease.num_microseconds().unwrap_or(i64::MAX)
}

/// The delivery, if this claim of it is the last one and has not ended.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_claim(delivery: &Delivery) -> _ {
    let owner: i64 = delivery.new.organization_id.get();
    let id: Uuid = delivery.new.id.as_uuid();
    // More claims than the column can hold are nobody's.
    let claims: i32 = i32::try_from(delivery.claims).unwrap_or(-1);
    deliveries::organization_id
        .eq(owner)
        .and(deliveries::id.eq(id))
        .and(deliveries::claims.eq(claims))
        .and(deliveries::claimed_until.is_not_null())
}

async fn keep(connection: &AsyncPgConnection, rows: &[Row]) -> Result<usize, StoreError> {
    let insert = diesel::insert_into(deliveries::table)
        .values(rows)
        .on_conflict((
            deliveries::organization_id,
            deliveries::endpoint_id,
            deliveries::event_id,
        ))
        // Written out: what a parameter stands for no generic plan knows, which then finds no index.
        .filter_target(sql::<Bool>(IS_PENDING))
        .do_update()
        .set(deliveries::due_at.eq(least(deliveries::due_at, excluded(deliveries::due_at))));
    kept::insert(rows.len(), insert, connection)
        .await
        .map_err(store_error)
}

async fn load(
    connection: &mut AsyncPgConnection,
    query: deliveries::BoxedQuery<'static, Pg>,
) -> Result<Vec<Row>, StoreError> {
    query
        .select(Row::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

async fn queues(
    connection: &mut AsyncPgConnection,
    owner: i64,
    now: Timestamp,
    claim: DeliveryClaim,
) -> Result<Vec<Queue>, StoreError> {
    let slow = micros(claim.lease).saturating_sub(micros(claim.slow_after));
    let ask = diesel::sql_query(QUEUES)
        .bind::<BigInt, _>(owner)
        .bind::<Timestamptz, _>(now)
        .bind::<BigInt, _>(slow);
    ask.kept().load(connection).await.map_err(store_error)
}

async fn lock_queue(
    connection: &mut AsyncPgConnection,
    owner: i64,
    endpoint: Uuid,
) -> Result<Option<Locked>, StoreError> {
    let lock = diesel::sql_query(LOCK_QUEUE)
        .bind::<BigInt, _>(owner)
        .bind::<SqlUuid, _>(endpoint);
    lock.kept()
        .get_result(connection)
        .await
        .optional()
        .map_err(store_error)
}

/// Deletes whatever is known of deliveries to the endpoint, so many at once.
pub(super) async fn forget_all(
    connection: &mut AsyncPgConnection,
    owner: i64,
    endpoint: Uuid,
) -> Result<(), StoreError> {
    loop {
        let deleted = diesel::sql_query(FORGET)
            .bind::<BigInt, _>(owner)
            .bind::<SqlUuid, _>(endpoint)
            .bind::<BigInt, _>(DELETED_AT_ONCE)
            .execute(connection)
            .await
            .map_err(store_error)?;
        if deleted == 0 {
            return Ok(());
        }
    }
}

#[async_trait]
impl DeliveryStore for PgUnitOfWork {
    async fn queue(&mut self, new: &[NewDelivery]) -> Result<u64, StoreError> {
        if new.is_empty() {
            return Ok(0);
        }
        let rows: Vec<Row> = new.iter().map(Row::try_from).collect::<Result<_, _>>()?;
        let kept = keep(self.connection()?, &rows).await?;
        Ok(u64::try_from(kept).unwrap_or(u64::MAX))
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        claim: DeliveryClaim,
    ) -> Result<Vec<Delivery>, StoreError> {
        let owner = self.owner();
        let session = self.session()?;
        // On a cluster no plan is kept.
        if !session.is_of_a_cluster().await.map_err(store_error)? {
            session.send_ahead(BY_INDEX);
        }
        let connection = session.connection();
        let mut queues = queues(connection, owner, now, claim).await?;
        queues.retain(|queue| queue.has_room(claim.per_endpoint));
        let mut waiting = u32::try_from(queues.len()).unwrap_or(u32::MAX);
        let mut left = claim.limit;
        let mut claimed = Vec::new();
        for queue in queues {
            let share = left.div_ceil(waiting.max(1));
            if share == 0 {
                break;
            }
            waiting = waiting.saturating_sub(1);
            let Some(locked) = lock_queue(connection, owner, queue.id).await? else {
                continue;
            };
            let most = most_at_once(locked.failures, claim.per_endpoint);
            let take = diesel::sql_query(CLAIM)
                .bind::<Timestamptz, _>(now)
                .bind::<BigInt, _>(micros(claim.lease))
                .bind::<BigInt, _>(owner)
                .bind::<SqlUuid, _>(queue.id)
                .bind::<BigInt, _>(i64::from(share))
                .bind::<BigInt, _>(i64::from(most));
            let rows: Vec<Row> = take.kept().load(connection).await.map_err(store_error)?;
            left = left.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            claimed.extend(delivered(rows)?);
        }
        Ok(claimed)
    }

    async fn settle(&mut self, delivery: &Delivery) -> Result<bool, StoreError> {
        let settled = Settled::try_from(delivery)?;
        let update = diesel::update(deliveries::table.filter(is_claim(delivery))).set(settled);
        update
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn hand_back(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        diesel::update(deliveries::table.filter(is_claim(delivery)))
            .set(deliveries::claimed_until.eq(None::<Timestamp>))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn lock_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
    ) -> Result<Option<EndpointHealth>, StoreError> {
        let id = endpoint.as_uuid();
        let row: Option<HealthRow> = health::table
            .find((self.owner(), id))
            .select(HealthRow::as_select())
            .for_update()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let place = Place::new("webhook_endpoint_health", &id);
        row.map(|row| {
            Ok(EndpointHealth {
                failures: place.count("failures", row.failures)?,
                failing_since: row.failing_since,
                last_failed_at: row.last_failed_at,
                resting_until: row.resting_until,
            })
        })
        .transpose()
    }

    async fn clear_health(&mut self, endpoint: WebhookEndpointPubId) -> Result<bool, StoreError> {
        // Who fares well is not written, and not locked: so nobody waits for whoever takes of the queue.
        let is_known = health::failures
            .gt(0)
            .or(health::failing_since.is_not_null())
            .or(health::last_failed_at.is_not_null())
            .or(health::resting_until.is_not_null());
        let own = health::table.find((self.owner(), endpoint.as_uuid()));
        let update = diesel::update(own.filter(is_known)).set(HealthRow {
            failures: 0,
            failing_since: None,
            last_failed_at: None,
            resting_until: None,
        });
        update
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written > 0)
            .map_err(store_error)
    }

    async fn set_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
        fares: &EndpointHealth,
    ) -> Result<bool, StoreError> {
        let row = HealthRow {
            failures: counted(fares.failures)?,
            failing_since: fares.failing_since,
            last_failed_at: fares.last_failed_at,
            resting_until: fares.resting_until,
        };
        diesel::update(health::table.find((self.owner(), endpoint.as_uuid())))
            .set(row)
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written > 0)
            .map_err(store_error)
    }

    async fn abandon(
        &mut self,
        endpoint: WebhookEndpointPubId,
        reason: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let pending = deliveries::table
            .filter(deliveries::organization_id.eq(self.owner()))
            .filter(deliveries::endpoint_id.eq(endpoint.as_uuid()))
            .filter(sql::<Bool>(IS_PENDING));
        diesel::update(pending)
            .set((
                deliveries::status.eq(DeliveryStatus::Failed.as_str()),
                deliveries::due_at.eq(None::<Timestamp>),
                deliveries::claimed_until.eq(None::<Timestamp>),
                deliveries::error.eq(reason),
                deliveries::updated_at.eq(at),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }

    async fn list(
        &mut self,
        endpoint: WebhookEndpointPubId,
        page: Page,
    ) -> Result<Vec<Delivery>, StoreError> {
        let mut query = deliveries::table
            .filter(deliveries::organization_id.eq(self.owner()))
            .filter(deliveries::endpoint_id.eq(endpoint.as_uuid()))
            .order(deliveries::id.desc())
            .limit(page.limit.into())
            .into_boxed();
        query = match page.start {
            Start::Offset(offset) => query.offset(offset.into()),
            Start::After(id) if DeliveryStore::has(self, endpoint, id).await? => {
                query.filter(deliveries::id.lt(id))
            }
            // Nothing comes after what is not there.
            Start::After(_) => return Ok(Vec::new()),
        };
        delivered(load(self.connection()?, query).await?)
    }

    async fn has(&mut self, endpoint: WebhookEndpointPubId, id: Uuid) -> Result<bool, StoreError> {
        let own = deliveries::table
            .find((self.owner(), id))
            .filter(deliveries::endpoint_id.eq(endpoint.as_uuid()));
        diesel::select(exists(own))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn acknowledged(
        &mut self,
        endpoint: WebhookEndpointPubId,
        events: &[EventPubId],
    ) -> Result<Vec<EventPubId>, StoreError> {
        let events: Vec<Uuid> = events.iter().map(EventPubId::as_uuid).collect();
        let taken: Vec<Uuid> = deliveries::table
            .filter(deliveries::organization_id.eq(self.owner()))
            .filter(deliveries::endpoint_id.eq(endpoint.as_uuid()))
            .filter(deliveries::event_id.eq_any(events))
            .filter(sql::<Bool>(IS_ACKNOWLEDGED))
            .select(deliveries::event_id)
            .distinct()
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(taken.into_iter().map(EventPubId::from_uuid).collect())
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        diesel::sql_query(PURGE)
            .bind::<BigInt, _>(self.owner())
            .bind::<Timestamptz, _>(before)
            .bind::<Integer, _>(i32::try_from(limit).unwrap_or(i32::MAX))
            .execute(self.connection()?)
            .await
            .map(|purged| u64::try_from(purged).unwrap_or(u64::MAX))
            .map_err(store_error)
    }
}

/// Whose deliveries can be taken, of all that can be read. It begins with the endpoints, of which there are few, and looks no
/// further into a queue than to the first that is free. Workers ask it all the time, however long there is nothing.
pub(super) static OWNERS_DUE: Question = Question {
    usual: LazyLock::new(|| owners_due_sql(FENCE)),
    of_a_cluster: LazyLock::new(|| owners_due_sql("")),
};

fn owners_due_sql(fence: &str) -> String {
    format!(
        "SELECT DISTINCT e.organization_id FROM webhook_endpoints AS e \
         JOIN webhook_endpoint_health AS h \
            ON h.organization_id = e.organization_id AND h.endpoint_id = e.id \
         WHERE e.status = 'enabled' AND (h.resting_until IS NULL OR h.resting_until <= $1) \
            AND EXISTS (SELECT 1 FROM deliveries AS d \
                WHERE d.organization_id = e.organization_id AND d.endpoint_id = e.id \
                    AND d.status = 'pending' AND d.due_at <= $1 AND {IS_FREE}{fence}) \
         ORDER BY 1"
    )
}

/// Whose deliveries are over and older than the time, of all that can be read.
pub(super) async fn owners_of_old(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    deliveries::table
        .filter(deliveries::created_at.lt(before))
        .filter(deliveries::status.ne(DeliveryStatus::Pending.as_str()))
        .select(deliveries::organization_id)
        .distinct()
        .order(deliveries::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}
