//! What a database says of itself and of what waits in it, to whoever looks after an installation.

use diesel::sql_types::{Bool, Text, Timestamptz};
use diesel_async::RunQueryDsl as _;
use lessor_domain::ports::{Reach, StoreError};
use lessor_domain::time::Timestamp;

use super::PgDatabase;
use super::doors::Door;
use super::error::store_error;
use super::events;

/// As whom a database is used, and what time it is there.
#[derive(Debug, Clone, PartialEq, Eq, diesel::QueryableByName)]
pub struct Standing {
    /// The role that sessions are opened as; what they act as then may be another.
    #[diesel(sql_type = Text)]
    pub role: String,
    /// Whether nothing is refused to that role.
    #[diesel(sql_type = Bool)]
    pub is_superuser: bool,
    /// Whether row security is not for that role (`BYPASSRLS`).
    #[diesel(sql_type = Bool)]
    pub bypasses_row_security: bool,
    /// The database's clock.
    #[diesel(sql_type = Timestamptz)]
    pub now: Timestamp,
}

impl PgDatabase {
    /// As whom the database is used, and what time it is there. There need be no tables.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn standing(&self) -> Result<Standing, StoreError> {
        let mut session = self.pool.get(Reach::Server).await?;
        diesel::sql_query(
            "SELECT rolname::text AS role, rolsuper AS is_superuser, \
             rolbypassrls AS bypasses_row_security, clock_timestamp() AS now \
             FROM pg_roles WHERE rolname = session_user",
        )
        .get_result(session.connection())
        .await
        .map_err(store_error)
    }

    /// When the first of the events happened that have no number yet, of all organizations; none where all
    /// have one. The tables have to be there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn unnumbered_since(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut work = self.begin_work(Reach::Server).await?;
        let mut open = work.open(Door::Errands)?;
        let since = events::waiting_since(open.connection()).await?;
        drop(open);
        work.finish().await?;
        Ok(since)
    }
}
