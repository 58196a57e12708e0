//! Which key the servers of a database have, by its fingerprint: the key itself is never here.

use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ports::{Reach, StoreError};
use lessor_domain::time::Timestamp;

use super::PgDatabase;
use super::decode::Place;
use super::error::store_error;
use super::schema::server_key;

/// SHA-256 of a server's key, or as good as that.
pub type Fingerprint = [u8; 32];

/// The key that a database is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownServerKey {
    /// The key's.
    pub fingerprint: Fingerprint,
    /// That of the key before the last rotation.
    pub former: Option<Fingerprint>,
    /// When the key took its place.
    pub since: Timestamp,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = server_key, check_for_backend(diesel::pg::Pg))]
struct Row {
    fingerprint: Vec<u8>,
    former_fingerprint: Option<Vec<u8>>,
    since: Timestamp,
}

impl TryFrom<Row> for KnownServerKey {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let at = Place::new("server_key", &"only");
        let former = row.former_fingerprint;
        Ok(Self {
            fingerprint: at.bytes("fingerprint", row.fingerprint)?,
            former: former
                .map(|bytes| at.bytes("former_fingerprint", bytes))
                .transpose()?,
            since: row.since,
        })
    }
}

impl PgDatabase {
    /// The key that the database is under; none where no server has started on it yet.
    ///
    /// # Errors
    /// [`StoreError`]; the tables have to be there.
    pub async fn server_key(&self) -> Result<Option<KnownServerKey>, StoreError> {
        let mut session = self.pool.get(Reach::Server).await?;
        known(session.connection()).await
    }

    /// Puts the database under this key, if it is under none yet, or under the one that is replaced.
    /// Answers the key that it is under then: of those who come at the same time one has their way, and
    /// the others see whose.
    ///
    /// # Errors
    /// [`StoreError`]; the tables have to be there.
    pub async fn put_under_server_key(
        &self,
        key: Fingerprint,
        replaced: Option<Fingerprint>,
        now: Timestamp,
    ) -> Result<KnownServerKey, StoreError> {
        let mut session = self.pool.get(Reach::Server).await?;
        let connection = session.connection();
        diesel::insert_into(server_key::table)
            .values((
                server_key::fingerprint.eq(key.as_slice()),
                server_key::since.eq(now),
            ))
            .on_conflict_do_nothing()
            .execute(connection)
            .await
            .map_err(store_error)?;
        if let Some(replaced) = replaced {
            diesel::update(server_key::table)
                .filter(server_key::fingerprint.eq(replaced.as_slice()))
                .set((
                    server_key::fingerprint.eq(key.as_slice()),
                    server_key::former_fingerprint.eq(server_key::fingerprint.nullable()),
                    server_key::since.eq(now),
                ))
                .execute(connection)
                .await
                .map_err(store_error)?;
        }
        known(connection)
            .await?
            .ok_or(StoreError::Missing("server key"))
    }
}

async fn known(connection: &mut AsyncPgConnection) -> Result<Option<KnownServerKey>, StoreError> {
    let row: Option<Row> = server_key::table
        .select(Row::as_select())
        .first(connection)
        .await
        .optional()
        .map_err(store_error)?;
    row.map(KnownServerKey::try_from).transpose()
}
