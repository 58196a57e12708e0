//! The migrations that the binary carries.

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

/// Gives the role of the setting `lessor.grantee` what the application needs of the schema, and of
/// the tables and sequences that are the migrating role's, as far as it has it not: a grant that
/// changes nothing would make every session plan its statements anew. History, the audit and
/// what was done with agreements are added to, of history a reason and of agreements an address may be taken away, and what states mean is read.
const GRANT: &str = "\
DO $$
DECLARE
    grantee text := current_setting('lessor.grantee');
    home pg_namespace :=
        (SELECT here FROM pg_namespace AS here WHERE here.nspname = current_schema());
    lacking record;
BEGIN
    IF NOT has_schema_privilege(grantee, home.oid, 'usage') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', home.nspname, grantee);
    END IF;
    FOR lacking IN
        SELECT kept.relname, wanted.privilege
        FROM pg_class AS kept,
            unnest(ARRAY['select', 'insert', 'update', 'delete']) AS wanted (privilege)
        WHERE kept.relnamespace = home.oid AND kept.relkind IN ('r', 'p')
            AND pg_has_role(kept.relowner, 'usage')
            AND NOT (kept.relname IN ('lifecycle_states', '__diesel_schema_migrations')
                AND wanted.privilege <> 'select')
            AND NOT (kept.relname IN ('checkout_transitions', 'audit_events',
                    'agreement_events', 'agreement_terms')
                AND wanted.privilege IN ('update', 'delete'))
            AND NOT (kept.relname = 'events' AND wanted.privilege = 'update')
            AND NOT has_table_privilege(grantee, kept.oid, wanted.privilege)
    LOOP
        EXECUTE format('GRANT %s ON TABLE %I.%I TO %I',
            lacking.privilege, home.nspname, lacking.relname, grantee);
    END LOOP;
    FOR lacking IN
        SELECT kept.relname, wanted.attname
        FROM pg_class AS kept,
            (VALUES ('checkout_transitions', 'reason'), ('agreement_events', 'address'),
                ('agreement_events', 'user_agent'), ('events', 'sequence')) AS wanted (relname, attname)
        WHERE kept.relnamespace = home.oid AND pg_has_role(kept.relowner, 'usage')
            AND CASE kept.relname WHEN wanted.relname
                THEN NOT has_column_privilege(grantee, kept.oid, wanted.attname, 'update')
                ELSE false END
    LOOP
        EXECUTE format('GRANT UPDATE (%I) ON TABLE %I.%I TO %I',
            lacking.attname, home.nspname, lacking.relname, grantee);
    END LOOP;
    FOR lacking IN
        SELECT kept.relname
        FROM pg_class AS kept
        WHERE kept.relnamespace = home.oid AND pg_has_role(kept.relowner, 'usage')
            AND CASE kept.relkind WHEN 'S'
                THEN NOT has_sequence_privilege(grantee, kept.oid, 'usage') ELSE false END
    LOOP
        EXECUTE format('GRANT USAGE ON SEQUENCE %I.%I TO %I',
            home.nspname, lacking.relname, grantee);
    END LOOP;
END
$$";

/// What Diesel's migrations fail with.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Why the database could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Connect(#[source] ConnectionError),
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
    /// so at once: one does the work, the others wait for it. Answers how many ran.
    ///
    /// The role of the application, where there is one, may then work on the tables. A session
    /// that was begun before there was one is not used any more.
    ///
    /// Needs a session of its own for the lock, so not through a pooler that hands sessions on with
    /// each transaction.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn migrate(
        &self,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<usize, MigrateError> {
        self.has_sessions()?;
        let ran = self
            .blocking(move |connection| run_pending(connection, progress))
            .await?;
        self.pool.forget_idle();
        Ok(ran)
    }

    /// Lets a role that there is work on the tables, as the application does: for whoever serves
    /// under another role than whom the tables belong to.
    ///
    /// # Errors
    /// [`MigrateError`]; [`MigrateError::NoRole`] when there is no such role.
    pub async fn grant_to(&self, role: &str) -> Result<(), MigrateError> {
        self.has_sessions()?;
        let role = role.to_owned();
        self.blocking(move |connection| {
            lock(connection)?;
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

/// Waits for others who migrate. The lock goes with the session, which ends with this work.
pub(super) fn lock(connection: &mut Blocking) -> Result<(), MigrateError> {
    let sql = format!("SELECT pg_advisory_lock({LOCK})");
    diesel::connection::SimpleConnection::batch_execute(connection, &sql).map_err(unread)
}

fn run_pending(
    connection: &mut Blocking,
    mut progress: impl FnMut(&str),
) -> Result<usize, MigrateError> {
    lock(connection)?;
    let applied = connection
        .applied_migrations()
        .map_err(MigrateError::History)?;
    let migrations = pending(&applied)?;
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
struct Answer {
    #[diesel(sql_type = Bool)]
    is_there: bool,
}

/// Whether there is such a role.
fn is_there(connection: &mut Blocking, role: &str) -> Result<bool, MigrateError> {
    let asked: QueryResult<Answer> =
        diesel::sql_query("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS is_there")
            .bind::<Text, _>(role)
            .get_result(connection);
    asked.map(|answer| answer.is_there).map_err(unread)
}

/// The caller holds the lock: two grants of the same thing at once refuse each other.
fn grant(connection: &mut Blocking, role: &str) -> Result<(), MigrateError> {
    let named = diesel::sql_query("SELECT set_config('lessor.grantee', $1, false)")
        .bind::<Text, _>(role)
        .execute(connection);
    let granted =
        named.and_then(|_| diesel::connection::SimpleConnection::batch_execute(connection, GRANT));
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
    const HISTORY: &str = "__diesel_schema_migrations";
    let asked: QueryResult<Answer> =
        diesel::sql_query("SELECT to_regclass($1) IS NOT NULL AS is_there")
            .bind::<Text, _>(HISTORY)
            .get_result(connection);
    if !asked.map_err(unread)?.is_there {
        return Ok(Vec::new());
    }
    let seen: QueryResult<Vec<Seen>> =
        diesel::sql_query(format!("SELECT version::text AS version FROM {HISTORY}"))
            .load(connection);
    let seen = seen.map_err(unread)?.into_iter();
    Ok(seen.map(|seen| seen.version.into()).collect())
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
