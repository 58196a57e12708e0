//! The migrations that the binary carries.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text};
use diesel::{ConnectionError, QueryResult, RunQueryDsl};
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use lessor_domain::ports::StoreError;

use super::PgDatabase;
use super::pooling::Pooling;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations");

/// Every process that migrates the database takes this lock: "lessor" in ASCII.
const LOCK: i64 = 0x6c_65_73_73_6f_72;

/// Whom sessions act as whose own role stands above row security.
const APPLICATION: &str = "lessor_app";

/// Where Diesel keeps what was run.
pub(super) const HISTORY: &str = "__diesel_schema_migrations";

/// The pause before the lock is asked for again, which doubles up to the longest.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The grants that give a role what the application needs of the schema, and of the tables and
/// sequences that are the asking role's, as far as it has it not: a grant that changes nothing would
/// make every session plan its statements anew. History, the audit and
/// what was done with agreements are added to, of history a reason and of agreements an address may be taken away, and what states mean is read.
const LACKING: &str = "\
WITH home AS (
    SELECT here.oid, here.nspname, here.nspowner
    FROM pg_namespace AS here WHERE here.nspname = current_schema()
)
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', home.nspname, $1) AS statement,
    pg_has_role(home.nspowner, 'usage') AS is_ours
FROM home WHERE NOT has_schema_privilege($1, home.oid, 'usage')
UNION ALL
SELECT format('GRANT %s ON TABLE %I.%I TO %I',
    wanted.privilege, home.nspname, kept.relname, $1), true
FROM home
JOIN pg_class AS kept ON kept.relnamespace = home.oid
CROSS JOIN unnest(ARRAY['select', 'insert', 'update', 'delete']) AS wanted (privilege)
WHERE kept.relkind IN ('r', 'p') AND pg_has_role(kept.relowner, 'usage')
    AND NOT (kept.relname IN ('lifecycle_states', '__diesel_schema_migrations')
        AND wanted.privilege <> 'select')
    AND NOT (kept.relname IN ('checkout_transitions', 'audit_events',
            'agreement_events', 'agreement_terms')
        AND wanted.privilege IN ('update', 'delete'))
    AND NOT (kept.relname IN ('events', 'unnumbered_events') AND wanted.privilege = 'update')
    AND NOT has_table_privilege($1, kept.oid, wanted.privilege)
UNION ALL
SELECT format('GRANT UPDATE (%I) ON TABLE %I.%I TO %I',
    wanted.attname, home.nspname, kept.relname, $1), true
FROM home
JOIN pg_class AS kept ON kept.relnamespace = home.oid
CROSS JOIN (VALUES ('checkout_transitions', 'reason'), ('agreement_events', 'address'),
    ('agreement_events', 'user_agent')) AS wanted (relname, attname)
WHERE pg_has_role(kept.relowner, 'usage')
    AND CASE kept.relname WHEN wanted.relname
        THEN NOT has_column_privilege($1, kept.oid, wanted.attname, 'update')
        ELSE false END
UNION ALL
SELECT format('GRANT USAGE ON SEQUENCE %I.%I TO %I', home.nspname, kept.relname, $1), true
FROM home
JOIN pg_class AS kept ON kept.relnamespace = home.oid
WHERE pg_has_role(kept.relowner, 'usage')
    AND CASE kept.relkind WHEN 'S'
        THEN NOT has_sequence_privilege($1, kept.oid, 'usage') ELSE false END";

/// What Diesel's migrations fail with.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Why the database could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Connect(#[source] ConnectionError),
    /// Somebody else has migrated for longer than is waited.
    #[error("{by} has held the lock of migrations for longer than {wait:?}: let it end, or end it")]
    Held {
        /// The session, its role and program.
        by: String,
        /// How long was waited.
        wait: Duration,
    },
    /// There is something to be run by somebody who may.
    #[error(
        "the database lacks {pending} migrations, which {role} has no right to run: run `lessor migrate` as the role \
         that the tables belong to"
    )]
    Forbidden {
        /// How many.
        pending: usize,
        /// Who has no right to.
        role: String,
    },
    /// There is no session in which nobody else migrates.
    #[error(
        "migrations need a session of their own, and LESSOR_DATABASE_POOLING=transaction says that there is none: run \
         `lessor migrate` with the address of the database itself"
    )]
    Pooled,
    /// A migration failed; those before it stay, of it nothing is left.
    #[error("the migration {name} failed")]
    Failed {
        /// The migration.
        name: String,
        /// What the database said.
        source: Problem,
    },
    /// What was migrated could not be found out.
    #[error("the database's migrations cannot be read")]
    History(#[source] Problem),
    /// The role that is to work on the tables is not there.
    #[error("there is no role {role}: create it first")]
    NoRole {
        /// As it was named.
        role: String,
    },
    /// There is nothing to spread the tables over.
    #[error("the database is no coordinator of a cluster: it lacks the extension citus")]
    NoCluster,
    /// The tables could not be spread; they lie as they lay.
    #[error("the tables could not be spread over the nodes")]
    Distribute(#[source] Problem),
    /// The role could not be given what it needs.
    #[error("the role {role} could not be let work on the tables")]
    Grant {
        /// The role.
        role: String,
        /// What the database said.
        source: Problem,
    },
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Connect(_) => Self::unavailable(error),
            MigrateError::Failed { .. }
            | MigrateError::Held { .. }
            | MigrateError::Forbidden { .. }
            | MigrateError::History(_)
            | MigrateError::Pooled
            | MigrateError::NoRole { .. }
            | MigrateError::NoCluster
            | MigrateError::Distribute(_)
            | MigrateError::Grant { .. } => Self::internal(error),
        }
    }
}

pub(super) type Blocking = AsyncConnectionWrapper<AsyncPgConnection>;

impl PgDatabase {
    /// Runs the migrations that the database has not seen, each in a transaction of
    /// its own, and tells the name of each before it. Any number of processes may do
    /// so at once: one does the work, the others wait for it, for
    /// [so long](super::PgSettings::migration_wait). Answers how many ran. Where nothing is to be done
    /// nobody is waited for, nothing is written, and whoever may read the tables may ask.
    ///
    /// The role of the application, where there is one, may then work on the tables. A session
    /// that was begun before there was one is not used any more.
    ///
    /// Needs a session of its own for the lock, so not through a pooler that hands sessions on with
    /// each transaction.
    ///
    /// # Errors
    /// [`MigrateError`]; [`MigrateError::Held`] when somebody else does not end,
    /// [`MigrateError::Forbidden`] when something is to be run and the role may not.
    pub async fn migrate(
        &self,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<usize, MigrateError> {
        self.has_sessions()?;
        let wait = self.migration_wait;
        let ran = self
            .blocking(move |connection| {
                let pending = pending(&seen(connection)?)?.len();
                if pending == 0 && !owes_grants(connection)? {
                    return Ok(0);
                }
                if pending > 0 {
                    may_run(connection, pending)?;
                }
                run_pending(connection, wait, None, progress)
            })
            .await?;
        self.pool.forget_idle();
        Ok(ran)
    }

    /// Runs those of these migrations that the database has not seen, and no others: for tables as a backup
    /// has them.
    pub(super) async fn migrate_as(
        &self,
        versions: Vec<String>,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<(), MigrateError> {
        self.has_sessions()?;
        let wait = self.migration_wait;
        self.blocking(move |connection| {
            let lacking = versions.len().saturating_sub(seen(connection)?.len());
            if lacking > 0 {
                may_run(connection, lacking)?;
                run_pending(connection, wait, Some(&versions), progress)?;
            }
            Ok(())
        })
        .await
    }

    /// The versions of the migrations that the database has seen.
    pub(super) async fn seen_versions(&self) -> Result<Vec<String>, MigrateError> {
        self.blocking(|connection| {
            let seen = seen(connection)?;
            Ok(seen.iter().map(ToString::to_string).collect())
        })
        .await
    }

    /// Lets a role that there is work on the tables, as the application does: for whoever serves
    /// under another role than whom the tables belong to.
    ///
    /// # Errors
    /// [`MigrateError`]; [`MigrateError::NoRole`] when there is no such role.
    pub async fn grant_to(&self, role: &str) -> Result<(), MigrateError> {
        self.has_sessions()?;
        let (role, wait) = (role.to_owned(), self.migration_wait);
        self.blocking(move |connection| {
            lock(connection, wait)?;
            if !is_there(connection, &role)? {
                return Err(MigrateError::NoRole { role });
            }
            grant(connection, &role)
        })
        .await
    }

    /// The names of the migrations that the database has not seen, in order.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn pending_migrations(&self) -> Result<Vec<String>, MigrateError> {
        self.blocking(|connection| {
            Ok(pending(&seen(connection)?)?
                .iter()
                .map(|migration| migration.name().to_string())
                .collect())
        })
        .await
    }

    /// Whether there is a session that holds a lock for as long as it is wanted.
    pub(super) fn has_sessions(&self) -> Result<(), MigrateError> {
        match self.pool.pooling() {
            Pooling::Session => Ok(()),
            Pooling::Transaction => Err(MigrateError::Pooled),
        }
    }

    /// Diesel's migrations block; they must not on a thread that drives other work.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Blocking) -> Result<T, MigrateError> + Send + 'static,
    ) -> Result<T, MigrateError> {
        let connection = self
            .pool
            .connect_patiently()
            .await
            .map_err(MigrateError::Connect)?;
        tokio::task::spawn_blocking(move || work(&mut Blocking::from(connection)))
            .await
            .map_err(|error| MigrateError::History(error.into()))?
    }
}

/// What the database said to statements that migrations need beside their own.
fn unread(error: diesel::result::Error) -> MigrateError {
    MigrateError::History(error.into())
}

#[derive(diesel::QueryableByName)]
struct Answer {
    #[diesel(sql_type = Bool)]
    is_so: bool,
}

#[derive(diesel::QueryableByName)]
struct Holder {
    #[diesel(sql_type = Text)]
    who: String,
}

/// Who has the lock.
fn holder(connection: &mut Blocking) -> Result<String, MigrateError> {
    let held: QueryResult<Vec<Holder>> = diesel::sql_query(format!(
        "SELECT concat_ws(' ', 'session', held.pid, 'of ' || who.usename::text, \
         'from ' || host(who.client_addr), '(' || nullif(who.application_name, '') || ')') AS who \
         FROM pg_locks AS held LEFT JOIN pg_stat_activity AS who ON who.pid = held.pid \
         WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1 \
         AND held.database = \
             (SELECT here.oid FROM pg_database AS here WHERE here.datname = current_database()) \
         AND ((held.classid::bigint << 32) | held.objid::bigint) = {LOCK}"
    ))
    .load(connection);
    let mut held = held.map_err(unread)?.into_iter();
    let gone = || "a session that has just ended".to_owned();
    Ok(held.next().map_or_else(gone, |held| held.who))
}

/// Waits for others who migrate, at most so long. The lock goes with the session, which ends with this
/// work.
///
/// It is asked for again and again: a statement that waited would keep its snapshot meanwhile, for
/// whose end an index waits that the other makes concurrently.
pub(super) fn lock(connection: &mut Blocking, wait: Duration) -> Result<(), MigrateError> {
    let begun = Instant::now();
    let mut pause = LOOK_AGAIN;
    loop {
        let asked: QueryResult<Answer> =
            diesel::sql_query(format!("SELECT pg_try_advisory_lock({LOCK}) AS is_so"))
                .get_result(connection);
        if asked.map_err(unread)?.is_so {
            return Ok(());
        }
        let left = wait.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let by = holder(connection)?;
            return Err(MigrateError::Held { by, wait });
        }
        std::thread::sleep(pause.min(left));
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

fn run_pending(
    connection: &mut Blocking,
    wait: Duration,
    only: Option<&[String]>,
    mut progress: impl FnMut(&str),
) -> Result<usize, MigrateError> {
    lock(connection, wait)?;
    let applied = connection
        .applied_migrations()
        .map_err(MigrateError::History)?;
    let mut migrations = pending(&applied)?;
    if let Some(only) = only {
        migrations.retain(|migration| only.contains(&version(migration.as_ref())));
    }
    for migration in &migrations {
        let name = migration.name().to_string();
        progress(&name);
        connection
            .run_migration(migration)
            .map_err(|source| MigrateError::Failed { name, source })?;
    }
    if is_there(connection, APPLICATION)? {
        grant(connection, APPLICATION)?;
    }
    Ok(migrations.len())
}

#[derive(diesel::QueryableByName)]
struct Right {
    #[diesel(sql_type = Bool)]
    is_given: bool,
    #[diesel(sql_type = Text)]
    role: String,
}

/// Sees to it that the role may make tables, and change those that there are.
fn may_run(connection: &mut Blocking, pending: usize) -> Result<(), MigrateError> {
    let asked: QueryResult<Right> = diesel::sql_query(
        "SELECT coalesce(has_schema_privilege(current_schema()::text, 'create'), false) \
         AND coalesce((SELECT pg_has_role(kept.relowner, 'usage') FROM pg_class AS kept \
             WHERE kept.oid = to_regclass($1)), true) AS is_given, current_user::text AS role",
    )
    .bind::<Text, _>(HISTORY)
    .get_result(connection);
    match asked.map_err(unread)? {
        Right { is_given: true, .. } => Ok(()),
        Right { role, .. } => Err(MigrateError::Forbidden { pending, role }),
    }
}

/// Whether there is such a role.
fn is_there(connection: &mut Blocking, role: &str) -> Result<bool, MigrateError> {
    let asked: QueryResult<Answer> =
        diesel::sql_query("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS is_so")
            .bind::<Text, _>(role)
            .get_result(connection);
    asked.map(|answer| answer.is_so).map_err(unread)
}

#[derive(diesel::QueryableByName)]
struct Lacking {
    #[diesel(sql_type = Text)]
    statement: String,
    /// Whether what it is granted on is the asking role's.
    #[diesel(sql_type = Bool)]
    is_ours: bool,
}

fn lacking(connection: &mut Blocking, role: &str) -> QueryResult<Vec<Lacking>> {
    diesel::sql_query(LACKING)
        .bind::<Text, _>(role)
        .load(connection)
}

/// Whether the application's role lacks what the asking one has to give: who migrated may have ended
/// before it granted.
fn owes_grants(connection: &mut Blocking) -> Result<bool, MigrateError> {
    if !is_there(connection, APPLICATION)? {
        return Ok(false);
    }
    let lacking = lacking(connection, APPLICATION).map_err(unread)?;
    Ok(lacking.iter().any(|lacking| lacking.is_ours))
}

/// The caller holds the lock: two grants of the same thing at once refuse each other.
fn grant(connection: &mut Blocking, role: &str) -> Result<(), MigrateError> {
    let granted = lacking(connection, role).and_then(|lacking| {
        let statements: Vec<String> = lacking.into_iter().map(|it| it.statement).collect();
        // Carried out together, and so as one transaction.
        connection.batch_execute(&statements.join("; "))
    });
    granted.map_err(|error| MigrateError::Grant {
        role: role.to_owned(),
        source: error.into(),
    })
}

#[derive(diesel::QueryableByName)]
struct Seen {
    #[diesel(sql_type = Text)]
    version: String,
}

/// What the database has seen. Diesel would make its own table to find that out, which whoever only
/// works on the tables may not.
fn seen(connection: &mut Blocking) -> Result<Vec<MigrationVersion<'static>>, MigrateError> {
    let asked: QueryResult<Answer> =
        diesel::sql_query("SELECT to_regclass($1) IS NOT NULL AS is_so")
            .bind::<Text, _>(HISTORY)
            .get_result(connection);
    if !asked.map_err(unread)?.is_so {
        return Ok(Vec::new());
    }
    let seen: QueryResult<Vec<Seen>> =
        diesel::sql_query(format!("SELECT version::text AS version FROM {HISTORY}"))
            .load(connection);
    let seen = seen.map_err(unread)?.into_iter();
    Ok(seen.map(|seen| seen.version.into()).collect())
}

fn version(migration: &dyn Migration<Pg>) -> String {
    migration.name().version().to_string()
}

/// The versions of the migrations that the binary carries.
pub(super) fn known_versions() -> Result<Vec<String>, MigrateError> {
    let known = pending(&[])?;
    let versions = known.iter().map(|migration| version(migration.as_ref()));
    Ok(versions.collect())
}

fn pending(
    applied: &[MigrationVersion<'static>],
) -> Result<Vec<Box<dyn Migration<Pg>>>, MigrateError> {
    // What a newer binary has run and this one does not know is no obstacle: each
    // binary works on the schema of the next.
    let mut known =
        MigrationSource::<Pg>::migrations(&MIGRATIONS).map_err(MigrateError::History)?;
    known.retain(|migration| !applied.contains(&migration.name().version().as_owned()));
    known.sort_unstable_by(|a, b| a.name().version().cmp(&b.name().version()));
    Ok(known)
}
