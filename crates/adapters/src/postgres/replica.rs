//! A streaming replica of the primary, to read from.

use std::time::Duration;

use deadpool::managed::{PoolError, TimeoutType};
use diesel::pg::data_types::PgLsn as Lsn;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl as _;
use lessor_domain::cause::tried;
use lessor_domain::ports::{Reach, StoreError, UnitOfWork};
use tokio::time::timeout;

use super::error::store_error;
use super::pool::{PgPool, PgSettings, no_connection};
use super::pooling::PoolingError;
use super::position::{Position, pg_is_in_recovery, pg_last_wal_replay_lsn};
use super::secrets::SecretKeys;
use super::unit_of_work::{PgDatabase, PgUnitOfWork};
use super::url::InvalidUrl;

/// How long it may take in all to be connected to the replica and to hear how far it is: whoever asks
/// has somebody else to go to.
const OPENED_WITHIN: Duration = Duration::from_secs(1);
/// How long of that one of its connections may be waited for.
const FREE_WITHIN: Duration = Duration::from_millis(250);

/// A replica of the primary, which shows what that did a moment ago. Cloning it shares its
/// connections.
#[derive(Clone)]
pub struct PgReplica {
    /// For reading.
    pool: PgPool,
    /// For asking what it is: that can be told also where there is nothing to be read.
    server: PgDatabase,
}

/// What a replica has for whoever has to see what was done up to a position.
pub enum ReplicaView {
    /// A view in which all of it is seen.
    Open(Box<dyn UnitOfWork>),
    /// It is not there yet.
    Behind,
    /// All of its connections are in use.
    Busy,
}

/// Why a server is no replica to read from.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The database is spread over the nodes of a cluster.
    #[error(
        "the database is spread over the nodes of a cluster (Citus): how far a copy of its coordinator \
         has come says nothing of the rows, which lie on the other nodes"
    )]
    Distributed,
    /// It is a server that is written to.
    #[error("the server is not in recovery: it is no replica")]
    NotInRecovery,
    /// It follows somebody else.
    #[error("the server is a replica of another one than the database's")]
    OfAnother,
    /// A pooler stands before it, and does not do as is set.
    #[error("the way to the replica")]
    Pooling(#[source] PoolingError),
    /// It does not answer.
    #[error("the replica cannot be reached")]
    Unreachable(#[source] StoreError),
    /// The primary does not answer.
    #[error("the database cannot be asked what it is")]
    Primary(#[source] StoreError),
}

#[derive(diesel::QueryableByName)]
struct Identity {
    #[diesel(sql_type = BigInt)]
    system_identifier: i64,
}

impl PgReplica {
    /// A replica at this address. Connects when it is first read from; as with a database, each runtime
    /// has one of its own. Longer waits for it than a second are cut short.
    ///
    /// # Errors
    /// [`InvalidUrl`] when the address cannot be used.
    pub fn new(settings: &PgSettings) -> Result<Self, InvalidUrl> {
        let mut settings = settings.clone();
        settings.wait_timeout = settings.wait_timeout.min(FREE_WITHIN);
        settings.connect_timeout = settings.connect_timeout.min(OPENED_WITHIN);
        let pool = PgPool::of_replica(&settings)?;
        settings.max_connections = 1;
        Ok(Self {
            pool,
            server: PgDatabase::new(&settings)?,
        })
    }

    /// The same replica over the same connections, with these keys for what organizations keep secret.
    #[must_use]
    pub fn sealing_with(&self, secrets: SecretKeys) -> Self {
        Self {
            pool: self.pool.clone(),
            server: self.server.sealing_with(secrets),
        }
    }

    /// Sees to it that this is a replica of that primary, and that it says of its rows how far it is.
    ///
    /// # Errors
    /// [`ReplicaError`]; after [`ReplicaError::Unreachable`] it may be one all the same.
    pub async fn check(&self, primary: &PgDatabase) -> Result<(), ReplicaError> {
        if primary.is_cluster().await.map_err(ReplicaError::Primary)? {
            return Err(ReplicaError::Distributed);
        }
        let is_replica = is_in_recovery(&self.server).await;
        if !is_replica.map_err(ReplicaError::Unreachable)? {
            return Err(ReplicaError::NotInRecovery);
        }
        match self.server.check_pooling().await {
            Ok(()) => {}
            Err(PoolingError::Connect(error)) => {
                return Err(ReplicaError::Unreachable(StoreError::unavailable(error)));
            }
            Err(error) => return Err(ReplicaError::Pooling(error)),
        }
        let original = identity(primary).await.map_err(ReplicaError::Primary)?;
        let copy = identity(&self.server).await;
        // It is not asked again.
        self.server.forget_idle();
        match (original, copy.map_err(ReplicaError::Unreachable)?) {
            (Some(original), Some(copy)) if original != copy => Err(ReplicaError::OfAnother),
            _ => Ok(()),
        }
    }

    /// A view in which everything is seen that was committed up to the position, in the name of whom it
    /// reaches. How far the replica is is asked for in the same round trip as the view begins.
    ///
    /// # Errors
    /// [`StoreError`] when it does not answer soon, or is no replica any more.
    pub async fn read_at(
        &self,
        reach: Reach,
        position: Position,
    ) -> Result<ReplicaView, StoreError> {
        let opened = match timeout(OPENED_WITHIN, self.open(reach, position)).await {
            Ok(opened) => opened,
            Err(late) => Err(StoreError::unavailable(tried(
                "the replica does not answer",
                late,
            ))),
        };
        if opened.is_err() {
            // The other connections lead to the same server.
            self.pool.forget_idle();
        }
        opened
    }

    async fn open(&self, reach: Reach, position: Position) -> Result<ReplicaView, StoreError> {
        let connection = match self.pool.take(reach).await {
            Err(PoolError::Timeout(TimeoutType::Wait)) => return Ok(ReplicaView::Busy),
            taken => taken.map_err(no_connection)?,
        };
        let opening = self.pool.opening("BEGIN READ ONLY", reach, &connection);
        let mut view = PgUnitOfWork::view(connection, &opening, reach);
        view.secrets = self.server.secrets.clone();
        // Each statement of the view sees what was replayed before it, so that what is there now stays.
        let (is_replica, replayed): (bool, Option<Lsn>) =
            diesel::select((pg_is_in_recovery(), pg_last_wal_replay_lsn()))
                .get_result(view.connection()?)
                .await
                .map_err(store_error)?;
        if !is_replica {
            // It was made a primary since: it may have gone another way than the one that is written to.
            return Err(StoreError::unavailable(
                ReplicaError::NotInRecovery.to_string(),
            ));
        }
        match replayed.map(Position::from) {
            Some(replayed) if replayed >= position => Ok(ReplicaView::Open(Box::new(view))),
            _ => Ok(ReplicaView::Behind),
        }
    }
}

async fn is_in_recovery(database: &PgDatabase) -> Result<bool, StoreError> {
    let mut session = database.pool.get(Reach::Server).await?;
    let asked = diesel::select(pg_is_in_recovery()).get_result::<bool>(session.connection());
    asked.await.map_err(store_error)
}

/// What a server and its replicas have in common; none where it is kept from us.
async fn identity(database: &PgDatabase) -> Result<Option<i64>, StoreError> {
    let mut session = database.pool.get(Reach::Server).await?;
    let sql = "SELECT system_identifier FROM pg_control_system()";
    let asked = diesel::sql_query(sql).get_result::<Identity>(session.connection());
    match asked.await.map_err(store_error) {
        Ok(identity) => Ok(Some(identity.system_identifier)),
        Err(StoreError::Internal(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
