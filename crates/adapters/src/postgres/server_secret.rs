//! Secrets that all processes of one installation share by way of their database.

use diesel::{ExpressionMethods as _, OptionalExtension as _, QueryDsl as _};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use lessor_domain::ports::{Entropy, StoreError};

use super::PgDatabase;
use super::error::store_error;
use super::schema::server_secrets;

/// Bytes of a secret that is made here.
const LENGTH: usize = 32;

impl PgDatabase {
    /// The installation's secret for this purpose, made the first time that anybody asks: the same
    /// for every process, and after every restart.
    ///
    /// # Errors
    /// [`StoreError`]; the tables have to be there.
    pub async fn server_secret(
        &self,
        purpose: &str,
        entropy: &dyn Entropy,
    ) -> Result<Vec<u8>, StoreError> {
        let mut session = self.pool.get().await?;
        let connection = session.connection();
        if let Some(secret) = find(connection, purpose).await? {
            return Ok(secret);
        }
        let mut fresh = [0; LENGTH];
        entropy.fill(&mut fresh);
        diesel::insert_into(server_secrets::table)
            .values((
                server_secrets::purpose.eq(purpose),
                server_secrets::secret.eq(fresh.as_slice()),
            ))
            .on_conflict_do_nothing()
            .execute(connection)
            .await
            .map_err(store_error)?;
        // Another process may have been first.
        find(connection, purpose)
            .await?
            .ok_or(StoreError::Missing("server secret"))
    }
}

async fn find(
    connection: &mut AsyncPgConnection,
    purpose: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    server_secrets::table
        .find(purpose)
        .select(server_secrets::secret)
        .first(connection)
        .await
        .optional()
        .map_err(store_error)
}
