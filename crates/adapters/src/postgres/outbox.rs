//! The store of work for providers.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use diesel::dsl::{case_when, count_star};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{Job, JobFilter, JobState, JobSubject, NewJob, OutboxStore, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted};
use super::error::store_error;
use super::schema::outbox_jobs;

#[derive(Queryable, Selectable, QueryableByName)]
#[diesel(table_name = outbox_jobs, check_for_backend(Pg))]
struct JobRow {
    id: Uuid,
    sequence: i64,
    effect: String,
    subject_kind: String,
    subject_id: Uuid,
    organization_id: i64,
    mode: String,
    created_at: Timestamp,
    available_at: Timestamp,
    state: String,
    units: Option<i32>,
    attempts: i32,
    first_attempt_at: Option<Timestamp>,
    last_error: Option<String>,
}

#[derive(Insertable)]
#[diesel(table_name = outbox_jobs)]
struct NewJobRow {
    id: Uuid,
    effect: &'static str,
    subject_kind: &'static str,
    subject_id: Uuid,
    organization_id: i64,
    mode: &'static str,
    created_at: Timestamp,
    available_at: Timestamp,
    state: &'static str,
    units: Option<i32>,
}

impl TryFrom<&NewJob> for NewJobRow {
    type Error = StoreError;

    fn try_from(new: &NewJob) -> Result<Self, StoreError> {
        let (subject_kind, subject_id) = columns_of(new.subject);
        let state = if new.is_held {
            JobState::Held
        } else {
            JobState::Pending
        };
        Ok(Self {
            id: new.id,
            effect: new.effect.as_str(),
            subject_kind,
            subject_id,
            organization_id: new.organization_id.get(),
            mode: new.mode.as_str(),
            created_at: new.created_at,
            available_at: new.available_at,
            state: state.as_str(),
            units: new.units.map(counted).transpose()?,
        })
    }
}

const fn columns_of(subject: JobSubject) -> (&'static str, Uuid) {
    match subject {
        JobSubject::Checkout(id) => ("checkout", id.as_uuid()),
        JobSubject::Product(id) => ("product", id.as_uuid()),
        JobSubject::Variant(id) => ("variant", id.as_uuid()),
        JobSubject::Customer(id) => ("customer", id.as_uuid()),
        JobSubject::Waitlist(id) => ("waitlist", id.as_uuid()),
    }
}

impl JobRow {
    fn into_job(self) -> Result<Job, StoreError> {
        let at = Place::new("outbox_jobs", &self.id);
        let state = at.parse("state", &self.state)?;
        let subject = match self.subject_kind.as_str() {
            "checkout" => JobSubject::Checkout(CheckoutPubId::from_uuid(self.subject_id)),
            "product" => JobSubject::Product(ProductPubId::from_uuid(self.subject_id)),
            "variant" => JobSubject::Variant(ProductVariantPubId::from_uuid(self.subject_id)),
            "customer" => JobSubject::Customer(CustomerPubId::from_uuid(self.subject_id)),
            "waitlist" => JobSubject::Waitlist(ProductVariantPubId::from_uuid(self.subject_id)),
            _ => return Err(at.corrupt("subject_kind", "is no kind of subject")),
        };
        Ok(Job {
            new: NewJob {
                id: self.id,
                effect: at.parse("effect", &self.effect)?,
                subject,
                organization_id: at.number("organization_id", self.organization_id)?,
                mode: at.parse("mode", &self.mode)?,
                created_at: self.created_at,
                available_at: self.available_at,
                is_held: state == JobState::Held,
                units: self
                    .units
                    .map(|units| at.count("units", units))
                    .transpose()?,
            },
            state,
            attempts: at.count("attempts", self.attempts)?,
            first_attempt_at: self.first_attempt_at,
            last_error: self.last_error,
        })
    }
}

async fn load(
    connection: &mut AsyncPgConnection,
    query: outbox_jobs::BoxedQuery<'static, Pg>,
) -> Result<Vec<JobRow>, StoreError> {
    query
        .select(JobRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

fn jobs(mut rows: Vec<JobRow>) -> Result<Vec<Job>, StoreError> {
    rows.sort_by_key(|row| row.sequence);
    rows.into_iter().map(JobRow::into_job).collect()
}

fn end_of(now: Timestamp, lease: Duration) -> Timestamp {
    TimeDelta::from_std(lease)
        .ok()
        .and_then(|lease| now.checked_add_signed(lease))
        .unwrap_or(Timestamp::MAX_UTC)
}

/// The condition under which a job `j` that is to be done may be taken at `$1`: nobody is
/// at it, and nothing of its subject that is open, held and dead jobs included, stands before
/// it. Who finds the row locked leaves it to whoever is taking it; who finds it changed
/// since the statement began looks at the condition again.
const TAKEABLE: &str = "\
(j.claimed_until IS NULL OR j.claimed_until <= $1) \
AND NOT EXISTS (SELECT 1 FROM outbox_jobs AS e \
    WHERE e.subject_kind = j.subject_kind AND e.subject_id = j.subject_id \
        AND e.sequence < j.sequence AND e.state <> 'done')";

/// Takes the jobs that `taken` lists until `$2`.
const TAKE: &str = "\
UPDATE outbox_jobs SET attempts = attempts + 1, claimed_until = $2, \
    first_attempt_at = coalesce(first_attempt_at, $1) \
WHERE id IN (SELECT id FROM taken) \
RETURNING *";

/// The job, if this attempt of it is the last one and has not ended: only what is to be done
/// is claimed. The count of attempts is what a worker's claim is known by: the next claim
/// counts it up.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_attempt(job: &Job) -> _ {
    let attempts: i32 = attempts_of(job);
    let id: Uuid = job.new.id;
    outbox_jobs::id
        .eq(id)
        .and(outbox_jobs::attempts.eq(attempts))
        .and(outbox_jobs::claimed_until.is_not_null())
}

/// More attempts than the column can hold are nobody's.
fn attempts_of(job: &Job) -> i32 {
    i32::try_from(job.attempts).unwrap_or(-1)
}

#[async_trait]
impl OutboxStore for PgUnitOfWork {
    async fn push(&mut self, jobs: &[NewJob]) -> Result<(), StoreError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let rows: Vec<NewJobRow> = jobs
            .iter()
            .map(NewJobRow::try_from)
            .collect::<Result<_, _>>()?;
        diesel::insert_into(outbox_jobs::table)
            .values(&rows)
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        let rows = diesel::sql_query(format!(
            "WITH taken AS MATERIALIZED (
                SELECT j.id FROM outbox_jobs AS j
                WHERE j.state = 'pending' AND j.available_at <= $1 AND {TAKEABLE}
                ORDER BY j.sequence LIMIT $3 FOR UPDATE SKIP LOCKED
            ) {TAKE}"
        ))
        .bind::<Timestamptz, _>(now)
        .bind::<Timestamptz, _>(end_of(now, lease))
        .bind::<BigInt, _>(i64::from(limit))
        .load(self.connection()?)
        .await
        .map_err(store_error)?;
        jobs(rows)
    }

    async fn claim_of(
        &mut self,
        subject: JobSubject,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError> {
        let (kind, id) = columns_of(subject);
        let rows = diesel::sql_query(format!(
            "WITH taken AS MATERIALIZED (
                SELECT j.id FROM outbox_jobs AS j
                WHERE j.subject_kind = $3 AND j.subject_id = $4
                    AND j.state IN ('pending', 'held') AND {TAKEABLE}
                FOR UPDATE SKIP LOCKED
            ) {TAKE}"
        ))
        .bind::<Timestamptz, _>(now)
        .bind::<Timestamptz, _>(end_of(now, lease))
        .bind::<Text, _>(kind)
        .bind::<SqlUuid, _>(id)
        .load(self.connection()?)
        .await
        .map_err(store_error)?;
        Ok(jobs(rows)?.pop())
    }

    async fn complete(&mut self, job: &Job, at: Timestamp) -> Result<bool, StoreError> {
        diesel::update(outbox_jobs::table.filter(is_attempt(job)))
            .set((
                outbox_jobs::state.eq(JobState::Done.as_str()),
                outbox_jobs::done_at.eq(at),
                outbox_jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn retry(
        &mut self,
        job: &Job,
        not_before: Timestamp,
        error: &str,
    ) -> Result<(), StoreError> {
        diesel::update(outbox_jobs::table.filter(is_attempt(job)))
            .set((
                outbox_jobs::state.eq(JobState::Pending.as_str()),
                outbox_jobs::available_at.eq(not_before),
                outbox_jobs::last_error.eq(error),
                outbox_jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn bury(&mut self, job: &Job, error: &str) -> Result<(), StoreError> {
        diesel::update(outbox_jobs::table.filter(is_attempt(job)))
            .set((
                outbox_jobs::state.eq(JobState::Dead.as_str()),
                outbox_jobs::last_error.eq(error),
                outbox_jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn list(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError> {
        let mut query = outbox_jobs::table
            .order(outbox_jobs::sequence)
            .limit(i64::from(limit))
            .into_boxed();
        query = match filter.state {
            Some(state) => query.filter(outbox_jobs::state.eq(state.as_str())),
            None => query.filter(outbox_jobs::state.ne(JobState::Done.as_str())),
        };
        if let Some(subject) = filter.subject {
            let (kind, id) = columns_of(subject);
            query = query
                .filter(outbox_jobs::subject_kind.eq(kind))
                .filter(outbox_jobs::subject_id.eq(id));
        }
        jobs(load(self.connection()?, query).await?)
    }

    async fn requeue(&mut self, id: Option<Uuid>, now: Timestamp) -> Result<u64, StoreError> {
        let is = |state: JobState| outbox_jobs::state.eq(state.as_str());
        // What somebody is at is not made to wait less.
        let is_free = || {
            outbox_jobs::claimed_until
                .is_null()
                .or(outbox_jobs::claimed_until.le(now).assume_not_null())
        };
        let waits = is(JobState::Pending)
            .and(outbox_jobs::available_at.gt(now))
            .and(is_free());
        let again = (is(JobState::Pending), outbox_jobs::available_at.eq(now));
        let due = is(JobState::Dead).or(waits);
        let written = match id {
            // What a test holds goes on when that very job is named.
            Some(id) => {
                let held = is(JobState::Held).and(is_free());
                diesel::update(outbox_jobs::table.find(id).filter(due.or(held)))
                    .set(again)
                    .execute(self.connection()?)
                    .await
            }
            None => {
                diesel::update(outbox_jobs::table.filter(due))
                    .set(again)
                    .execute(self.connection()?)
                    .await
            }
        };
        written
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }

    async fn release(&mut self, subject: JobSubject, now: Timestamp) -> Result<u64, StoreError> {
        let (kind, id) = columns_of(subject);
        let is_put_off = outbox_jobs::state
            .eq(JobState::Pending.as_str())
            .and(outbox_jobs::available_at.gt(now));
        let waits = outbox_jobs::table
            .filter(outbox_jobs::subject_kind.eq(kind))
            .filter(outbox_jobs::subject_id.eq(id))
            .filter(
                outbox_jobs::state
                    .eq(JobState::Held.as_str())
                    .or(is_put_off),
            );
        diesel::update(waits)
            .set((
                outbox_jobs::state.eq(JobState::Pending.as_str()),
                outbox_jobs::available_at.eq(case_when(
                    outbox_jobs::available_at.gt(now),
                    now.into_sql::<Timestamptz>(),
                )
                .otherwise(outbox_jobs::available_at)),
            ))
            .execute(self.connection()?)
            .await
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }

    async fn backlog(&mut self) -> Result<(u64, u64), StoreError> {
        let counts: Vec<(String, i64)> = outbox_jobs::table
            .filter(outbox_jobs::state.ne(JobState::Done.as_str()))
            .group_by(outbox_jobs::state)
            .select((outbox_jobs::state, count_star()))
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        let of = |state: JobState| {
            counts
                .iter()
                .find(|(name, _)| name == state.as_str())
                .and_then(|(_, count)| u64::try_from(*count).ok())
                .unwrap_or_default()
        };
        Ok((of(JobState::Pending), of(JobState::Dead)))
    }

    async fn purge_done(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        diesel::delete(
            outbox_jobs::table
                .filter(outbox_jobs::state.eq(JobState::Done.as_str()))
                .filter(outbox_jobs::done_at.lt(before)),
        )
        .execute(self.connection()?)
        .await
        .map(|deleted| u64::try_from(deleted).unwrap_or(u64::MAX))
        .map_err(store_error)
    }
}
