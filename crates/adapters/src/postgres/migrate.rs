//! The migrations that the binary carries.

use diesel::ConnectionError;
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use lessor_domain::ports::StoreError;

use super::PgDatabase;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations");

/// Every process that migrates the database takes this lock: "lessor" in ASCII.
const LOCK: i64 = 0x6c_65_73_73_6f_72;

/// What Diesel's migrations fail with.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Why the database could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Connect(#[source] ConnectionError),
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
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Connect(_) => Self::unavailable(error),
            MigrateError::Failed { .. } | MigrateError::History(_) => Self::internal(error),
        }
    }
}

type Blocking = AsyncConnectionWrapper<AsyncPgConnection>;

impl PgDatabase {
    /// Runs the migrations that the database has not seen, each in a transaction of
    /// its own, and tells the name of each before it. Any number of processes may do
    /// so at once: one does the work, the others wait for it. Answers how many ran.
    ///
    /// Needs a session of its own for the lock, so not through a pooler that shares
    /// sessions between transactions.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn migrate(
        &self,
        progress: impl FnMut(&str) + Send + 'static,
    ) -> Result<usize, MigrateError> {
        self.blocking(move |connection| run_pending(connection, progress))
            .await
    }

    /// The names of the migrations that the database has not seen, in order.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn pending_migrations(&self) -> Result<Vec<String>, MigrateError> {
        self.blocking(|connection| {
            Ok(pending(connection)?
                .iter()
                .map(|migration| migration.name().to_string())
                .collect())
        })
        .await
    }

    /// Diesel's migrations block; they must not on a thread that drives other work.
    async fn blocking<T: Send + 'static>(
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

fn run_pending(
    connection: &mut Blocking,
    mut progress: impl FnMut(&str),
) -> Result<usize, MigrateError> {
    // The lock goes with the session, which ends with this work.
    diesel::connection::SimpleConnection::batch_execute(
        connection,
        &format!("SELECT pg_advisory_lock({LOCK})"),
    )
    .map_err(|error| MigrateError::History(error.into()))?;
    let migrations = pending(connection)?;
    for migration in &migrations {
        let name = migration.name().to_string();
        progress(&name);
        connection
            .run_migration(migration)
            .map_err(|source| MigrateError::Failed { name, source })?;
    }
    Ok(migrations.len())
}

fn pending(connection: &mut Blocking) -> Result<Vec<Box<dyn Migration<Pg>>>, MigrateError> {
    // What a newer binary has run and this one does not know is no obstacle: each
    // binary works on the schema of the next.
    let applied = connection
        .applied_migrations()
        .map_err(MigrateError::History)?;
    let mut known =
        MigrationSource::<Pg>::migrations(&MIGRATIONS).map_err(MigrateError::History)?;
    known.retain(|migration| !applied.contains(&migration.name().version().as_owned()));
    known.sort_unstable_by(|a, b| a.name().version().cmp(&b.name().version()));
    Ok(known)
}
