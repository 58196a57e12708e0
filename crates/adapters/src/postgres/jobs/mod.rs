//! The store of work for providers.

mod row;

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use diesel::dsl::{AsExprOf, case_when, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join_all;
use lessor_domain::checkout::Effect;
use lessor_domain::ports::{Job, JobFilter, JobState, JobStore, JobSubject, NewJob, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use self::row::{JobRow, NewJobRow, columns_of};
use super::PgUnitOfWork;
use super::doors::Question;
use super::error::store_error;
use super::kept::{self, BY_INDEX, FENCE, Keep as _};
use super::schema::jobs;

async fn load(
    connection: &mut AsyncPgConnection,
    query: jobs::BoxedQuery<'static, Pg>,
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

/// How the jobs `e` are found that stand before the job `j`.
#[derive(Clone, Copy)]
enum Sought {
    /// By a plan that is made for it.
    Anew,
    /// By a plan that is kept: [for one job at a time](FENCE), and by the index of subjects. It alone has this order, which
    /// [`BY_INDEX`] lets nobody make by sorting. A plan that was made by what was counted when there were none takes any index of the organization's
    /// jobs for as good, and would read them all for each of them.
    Kept,
}

impl Sought {
    /// How the subject's are told, in which order, and what stands behind.
    const fn by(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Anew => ("e.subject_id = j.subject_id", "", ""),
            // Told to be equal, they would have every order.
            Self::Kept => (
                "e.subject_id BETWEEN j.subject_id AND j.subject_id",
                " ORDER BY e.subject_id",
                FENCE,
            ),
        }
    }
}

/// The condition under which a job `j` that is to be done may be taken: nobody is at it, and nothing
/// of its subject that is open stands before it, held jobs included, and dead ones unless it only
/// lets go. Who finds the row locked leaves it to whoever is taking it; who finds it changed since
/// the statement began looks at the condition again.
///
/// Which effects let go is the domain's to say, and of the binary that claims: so the statement lists
/// them, and no row keeps what was true when it was pushed.
fn takeable(sought: Sought) -> String {
    let (of_subject, order, fence) = sought.by();
    let letting_go: Vec<String> = Effect::ALL
        .iter()
        .filter(|effect| effect.passes_dead())
        .map(|effect| format!("'{effect}'"))
        .collect();
    format!(
        "{IS_FREE} \
        AND NOT EXISTS (SELECT 1 FROM jobs AS e \
            WHERE e.organization_id = j.organization_id \
                AND e.subject_kind = j.subject_kind AND {of_subject} \
                AND e.sequence < j.sequence AND e.{IS_OPEN} \
                AND e.effect NOT IN ({}) \
                AND (e.state <> 'dead' OR j.effect NOT IN ({})){order}{fence})",
        holding_nothing_up(),
        letting_go.join(", ")
    )
}

/// The effects that no other work waits for, as SQL.
fn holding_nothing_up() -> String {
    let them = Effect::ALL
        .iter()
        .filter(|effect| effect.holds_nothing_up())
        .map(|effect| format!("'{effect}'"));
    them.collect::<Vec<_>>().join(", ")
}

/// Neither done nor skipped, word for word as the partial index says it.
pub(super) const IS_OPEN: &str = "state NOT IN ('done', 'skipped')";

/// Whether nobody is at the job. Leases count by the clock of the database, which all workers share: of a
/// cluster that of the coordinator, who fills this function in before a statement goes to its node.
const IS_FREE: &str = "(claimed_until IS NULL OR claimed_until <= statement_timestamp())";

/// Takes the jobs of the organization `$3` that `taken` lists for `$2` microseconds.
const TAKE: &str = "\
UPDATE jobs SET attempts = attempts + 1, \
    claimed_until = statement_timestamp() + $2 * interval '1 microsecond', \
    first_attempt_at = coalesce(first_attempt_at, $1) \
WHERE organization_id = $3 AND id IN (SELECT id FROM taken) \
RETURNING *";

/// The first jobs of the organization `$2` that are to be claimed, locked.
static CLAIM: LazyLock<String> = LazyLock::new(|| {
    let takeable = takeable(Sought::Kept);
    format!(
        "SELECT j.* FROM jobs AS j \
        WHERE j.organization_id = $2 AND j.state = 'pending' AND j.available_at <= $1 AND {takeable} \
        ORDER BY j.available_at, j.sequence LIMIT $3 FOR UPDATE SKIP LOCKED"
    )
});

/// Takes them on a cluster, whose coordinator locks no rows that it has to look for by more than their table: one
/// statement is handed to the organization's node whole.
static CLAIM_ON_A_CLUSTER: LazyLock<String> = LazyLock::new(|| {
    let takeable = takeable(Sought::Anew);
    format!(
        "WITH taken AS MATERIALIZED (
            SELECT j.id FROM jobs AS j
            WHERE j.organization_id = $3 AND j.state = 'pending' AND j.available_at <= $1 AND {takeable}
            ORDER BY j.available_at, j.sequence LIMIT $4 FOR UPDATE SKIP LOCKED
        ) {TAKE}"
    )
});

/// How many due jobs are looked at one by one to see whose they are.
const FEW: u32 = 16;

/// Whose jobs are due, by the time `$1`. Each time that a worker has a hand free it asks, and there may be any number of
/// jobs that are due: of more than [`FEW`] it is not looked at each, but from one organization to the next.
pub(super) static OWNERS_DUE: Question = Question {
    usual: LazyLock::new(owners_due),
    of_a_cluster: LazyLock::new(owners_due_of_a_cluster),
};

fn owners_due() -> String {
    let takeable = takeable(Sought::Kept);
    let is_late = "state = 'pending' AND available_at <= $1";
    let more = FEW.saturating_add(1);
    format!(
        "WITH RECURSIVE first AS MATERIALIZED (
            SELECT organization_id, subject_kind, subject_id, effect, sequence, claimed_until FROM jobs
            WHERE {is_late} ORDER BY available_at LIMIT {more}
        ), owners AS (
            (SELECT organization_id FROM jobs
                WHERE {is_late} AND (SELECT count(*) FROM first) > {FEW}
                ORDER BY organization_id LIMIT 1)
            UNION ALL
            SELECT next.organization_id FROM owners CROSS JOIN LATERAL (
                SELECT organization_id FROM jobs
                WHERE {is_late} AND organization_id > owners.organization_id
                ORDER BY organization_id LIMIT 1
            ) AS next
        )
        SELECT organization_id FROM first AS j
        WHERE (SELECT count(*) FROM first) <= {FEW} AND {takeable}
        UNION
        SELECT organization_id FROM owners
        WHERE EXISTS (SELECT 1 FROM jobs AS j
            WHERE j.organization_id = owners.organization_id AND j.{is_late} AND {takeable}{FENCE})
        ORDER BY 1"
    )
}

/// The coordinator of a cluster has no statement that asks again and again.
fn owners_due_of_a_cluster() -> String {
    let takeable = takeable(Sought::Anew);
    format!(
        "SELECT DISTINCT j.organization_id FROM jobs AS j \
        WHERE j.state = 'pending' AND j.available_at <= $1 AND {takeable} ORDER BY 1"
    )
}

/// Whose jobs were done before the time `$1`: the first that was done of each organization tells, however many there are.
pub(super) static OWNERS_DONE: Question = Question {
    usual: LazyLock::new(owners_done),
    of_a_cluster: LazyLock::new(owners_done_of_a_cluster),
};

fn owners_done() -> String {
    let first = |more: &str| {
        format!(
            "(SELECT organization_id, done_at FROM jobs
                WHERE done_at IS NOT NULL{more} ORDER BY organization_id, done_at LIMIT 1)"
        )
    };
    format!(
        "WITH RECURSIVE owners AS (
            {}
            UNION ALL
            SELECT next.* FROM owners CROSS JOIN LATERAL {} AS next
        )
        SELECT organization_id FROM owners WHERE done_at < $1 ORDER BY 1",
        first(""),
        first(" AND organization_id > owners.organization_id")
    )
}

/// The coordinator of a cluster has no statement that asks again and again.
fn owners_done_of_a_cluster() -> String {
    "SELECT DISTINCT organization_id FROM jobs WHERE done_at < $1 ORDER BY 1".to_owned()
}

/// Takes the first job of the organization about the subject. Which rows are its the index says, whatever else there is: it is
/// planned anew each time, which is seldom.
static CLAIM_OF: LazyLock<String> = LazyLock::new(|| {
    let (takeable, aside) = (takeable(Sought::Anew), holding_nothing_up());
    format!(
        "WITH taken AS MATERIALIZED (
            SELECT j.id FROM jobs AS j
            WHERE j.organization_id = $3 AND j.subject_kind = $4 AND j.subject_id = $5
                AND j.state IN ('pending', 'held') AND j.effect NOT IN ({aside}) AND {takeable}
            FOR UPDATE SKIP LOCKED
        ) {TAKE}"
    )
});

/// The lease in microseconds, a century at the most.
fn micros(lease: Duration) -> i64 {
    const LONGEST: TimeDelta = TimeDelta::days(36_525);
    let lease = TimeDelta::from_std(lease).map_or(LONGEST, |lease| lease.min(LONGEST));
    lease.num_microseconds().unwrap_or(i64::MAX)
}

/// The end of a lease that begins now, by the clock of the database.
fn end_of(lease: Duration) -> EndOfLease {
    sql("statement_timestamp() + ")
        .bind::<BigInt, _>(micros(lease))
        .sql(" * interval '1 microsecond'")
}

type EndOfLease = SqlLiteral<
    Nullable<Timestamptz>,
    UncheckedBind<SqlLiteral<Nullable<Timestamptz>>, AsExprOf<i64, BigInt>>,
>;

/// Takes the jobs of these rows, which are locked: each by its key, one behind the other on the line. To update those that a
/// statement finds in the same statement takes longer to plan than to do, and a plan that is kept from when there were
/// few jobs would look at all of the organization's.
async fn take(
    connection: &AsyncPgConnection,
    mut locked: Vec<JobRow>,
    now: Timestamp,
    lease: Duration,
) -> Result<Vec<Job>, StoreError> {
    for row in &mut locked {
        row.count_try(now);
    }
    let writes = locked.iter().map(async |row| {
        let mut connection = connection;
        diesel::update(jobs::table.find(row.key()))
            .set((
                jobs::attempts.eq(row.attempts),
                jobs::first_attempt_at.eq(row.first_attempt_at),
                jobs::claimed_until.eq(end_of(lease)),
            ))
            .kept()
            .execute(&mut connection)
            .await
    });
    for written in join_all(writes).await {
        written.map_err(store_error)?;
    }
    jobs(locked)
}

/// The job, if this attempt of it is the last one and has not ended: only what is to be done
/// is claimed. The count of attempts is what a worker's claim is known by: the next claim
/// counts it up.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_attempt(job: &Job) -> _ {
    let attempts: i32 = attempts_of(job);
    let owner: i64 = job.new.organization_id.get();
    let id: Uuid = job.new.id;
    jobs::organization_id
        .eq(owner)
        .and(jobs::id.eq(id))
        .and(jobs::attempts.eq(attempts))
        .and(jobs::claimed_until.is_not_null())
}

/// More attempts than the column can hold are nobody's.
fn attempts_of(job: &Job) -> i32 {
    i32::try_from(job.attempts).unwrap_or(-1)
}

#[async_trait]
impl JobStore for PgUnitOfWork {
    async fn push(&mut self, jobs: &[NewJob]) -> Result<(), StoreError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let rows: Vec<NewJobRow> = jobs
            .iter()
            .map(NewJobRow::try_from)
            .collect::<Result<_, _>>()?;
        let insert = diesel::insert_into(jobs::table).values(&rows);
        kept::insert(rows.len(), insert, self.connection()?)
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
        let owner = self.owner();
        let session = self.session()?;
        if session.is_of_a_cluster().await.map_err(store_error)? {
            let taken = diesel::sql_query(CLAIM_ON_A_CLUSTER.as_str())
                .bind::<Timestamptz, _>(now)
                .bind::<BigInt, _>(micros(lease))
                .bind::<BigInt, _>(owner)
                .bind::<BigInt, _>(i64::from(limit))
                .load(session.connection())
                .await
                .map_err(store_error)?;
            return jobs(taken);
        }
        session.send_ahead(BY_INDEX);
        let connection = session.connection();
        let locked = diesel::sql_query(CLAIM.as_str())
            .bind::<Timestamptz, _>(now)
            .bind::<BigInt, _>(owner)
            .bind::<BigInt, _>(i64::from(limit))
            .kept()
            .load(connection)
            .await
            .map_err(store_error)?;
        take(connection, locked, now, lease).await
    }

    async fn claim_of(
        &mut self,
        subject: JobSubject,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError> {
        let (kind, id) = columns_of(subject);
        let rows = diesel::sql_query(CLAIM_OF.as_str())
            .bind::<Timestamptz, _>(now)
            .bind::<BigInt, _>(micros(lease))
            .bind::<BigInt, _>(self.owner())
            .bind::<Text, _>(kind)
            .bind::<SqlUuid, _>(id)
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(jobs(rows)?.pop())
    }

    async fn renew(&mut self, job: &Job, lease: Duration) -> Result<bool, StoreError> {
        diesel::update(jobs::table.filter(is_attempt(job)))
            .set(jobs::claimed_until.eq(end_of(lease)))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn complete(&mut self, job: &Job, at: Timestamp) -> Result<bool, StoreError> {
        diesel::update(jobs::table.filter(is_attempt(job)))
            .set((
                jobs::state.eq(JobState::Done.as_str()),
                jobs::done_at.eq(at),
                jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .kept()
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
        diesel::update(jobs::table.filter(is_attempt(job)))
            .set((
                jobs::state.eq(JobState::Pending.as_str()),
                jobs::available_at.eq(not_before),
                jobs::last_error.eq(error),
                jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn bury(&mut self, job: &Job, error: &str) -> Result<(), StoreError> {
        diesel::update(jobs::table.filter(is_attempt(job)))
            .set((
                jobs::state.eq(JobState::Dead.as_str()),
                jobs::last_error.eq(error),
                jobs::claimed_until.eq(None::<Timestamp>),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn skip(&mut self, id: Uuid, reason: &str, at: Timestamp) -> Result<bool, StoreError> {
        let is_dead = jobs::state.eq(JobState::Dead.as_str());
        let waits = jobs::state
            .eq_any([JobState::Pending, JobState::Held].map(JobState::as_str))
            .and(sql::<Bool>(IS_FREE));
        let key = (self.owner(), id);
        diesel::update(jobs::table.find(key).filter(is_dead.or(waits)))
            .set((
                jobs::state.eq(JobState::Skipped.as_str()),
                jobs::last_error.eq(reason),
                jobs::claimed_until.eq(None::<Timestamp>),
                jobs::done_at.eq(at),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn list(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError> {
        let mut query = jobs::table
            .filter(jobs::organization_id.eq(self.owner()))
            .order(jobs::sequence)
            .limit(i64::from(limit))
            .into_boxed();
        query = match filter.state {
            // Written out: what a parameter stands for no generic plan knows, which then finds no index.
            Some(state) => query.filter(sql::<Bool>(&format!("state = '{state}'"))),
            None => query.filter(sql::<Bool>(IS_OPEN)),
        };
        if let Some(subject) = filter.subject {
            let (kind, id) = columns_of(subject);
            query = query
                .filter(jobs::subject_kind.eq(kind))
                .filter(jobs::subject_id.eq(id));
        }
        jobs(load(self.connection()?, query).await?)
    }

    async fn requeue(&mut self, id: Option<Uuid>, now: Timestamp) -> Result<u64, StoreError> {
        let is = |state: JobState| jobs::state.eq(state.as_str());
        // What somebody is at is not made to wait less.
        let is_free = || sql::<Bool>(IS_FREE);
        let waits = is(JobState::Pending)
            .and(jobs::available_at.gt(now))
            .and(is_free());
        let again = (is(JobState::Pending), jobs::available_at.eq(now));
        let due = is(JobState::Dead).or(waits);
        let owner = self.owner();
        let written = match id {
            // What a test holds goes on when that very job is named.
            Some(id) => {
                let held = is(JobState::Held).and(is_free());
                diesel::update(jobs::table.find((owner, id)).filter(due.or(held)))
                    .set(again)
                    .kept()
                    .execute(self.connection()?)
                    .await
            }
            None => {
                let own = jobs::table.filter(jobs::organization_id.eq(owner));
                // The index has those alone that are open.
                diesel::update(own.filter(sql::<Bool>(IS_OPEN)).filter(due))
                    .set(again)
                    .kept()
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
        let is_put_off = jobs::state
            .eq(JobState::Pending.as_str())
            .and(jobs::available_at.gt(now));
        let waits = jobs::table
            .filter(jobs::organization_id.eq(self.owner()))
            .filter(jobs::subject_kind.eq(kind))
            .filter(jobs::subject_id.eq(id))
            // The index has those alone that are open.
            .filter(sql::<Bool>(IS_OPEN))
            .filter(jobs::state.eq(JobState::Held.as_str()).or(is_put_off));
        diesel::update(waits)
            .set((
                jobs::state.eq(JobState::Pending.as_str()),
                jobs::available_at.eq(case_when(
                    jobs::available_at.gt(now),
                    now.into_sql::<Timestamptz>(),
                )
                .otherwise(jobs::available_at)),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }

    async fn purge_done(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let old = jobs::table
            .filter(jobs::organization_id.eq(self.owner()))
            .filter(jobs::done_at.lt(before));
        diesel::delete(old)
            .execute(self.connection()?)
            .await
            .map(|deleted| u64::try_from(deleted).unwrap_or(u64::MAX))
            .map_err(store_error)
    }
}
