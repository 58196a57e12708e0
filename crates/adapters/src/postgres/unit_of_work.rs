//! A transaction as a value, and where it comes from.

use std::collections::HashMap;

use async_trait::async_trait;
use deadpool::managed::Object;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use lessor_domain::checkout::Checkout;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{
    CategoryStore, CheckoutStore, CursorStore, CustomerStore, Database, IdempotencyStore,
    InboxStore, JobStore, KeyStore, LeaseTermStore, LedgerStore, OrganizationStore,
    PickupLocationStore, ProductStore, ShipmentStore, StoreError, UnitOfWork, VariantStore,
};

use super::error::store_error;
use super::pool::{Connection, PgPool, PgSettings, PoolStatus};
use super::url::InvalidUrl;

/// The stores on Postgres. Cloning it shares its connections.
#[derive(Clone)]
pub struct PgDatabase {
    pub(super) pool: PgPool,
}

impl PgDatabase {
    /// A database at this address. Connects when the first work comes.
    ///
    /// The tasks that drive connections belong to the runtime on which work first
    /// needed them: give each runtime a database of its own.
    ///
    /// # Errors
    /// [`InvalidUrl`] when the address cannot be used.
    pub fn new(settings: &PgSettings) -> Result<Self, InvalidUrl> {
        Ok(Self {
            pool: PgPool::new(settings)?,
        })
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut connection = self.pool.get().await?;
        connection
            .connection()
            .batch_execute("SELECT")
            .await
            .map_err(store_error)
    }

    /// Connections in use and at hand.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }

    pub(crate) async fn begin_work(&self) -> Result<PgUnitOfWork, StoreError> {
        let mut work = PgUnitOfWork::new(self.pool.get().await?, true);
        match work.execute("BEGIN").await {
            Err(StoreError::Unavailable(_)) => {
                // The connection was closed since it was last used, and the others
                // that lie about most likely too. Nothing has begun: try a new one.
                drop(work);
                self.pool.forget_idle();
                let mut work = PgUnitOfWork::new(self.pool.get().await?, true);
                work.execute("BEGIN").await?;
                Ok(work)
            }
            begun => begun.map(|()| work),
        }
    }
}

/// A unit of work on Postgres, which is every store as well: a transaction that
/// reads what is committed, or, for reading, a connection without one.
pub struct PgUnitOfWork {
    /// None once the work is over.
    connection: Option<Connection>,
    pub(super) in_transaction: bool,
    /// Those that it has locked, as they are stored.
    pub(super) checkouts: HashMap<CheckoutPubId, Checkout>,
}

impl PgUnitOfWork {
    fn new(connection: Connection, in_transaction: bool) -> Self {
        Self {
            connection: Some(connection),
            in_transaction,
            checkouts: HashMap::new(),
        }
    }

    /// The connection, for the stores.
    pub(crate) fn connection(&mut self) -> Result<&mut AsyncPgConnection, StoreError> {
        self.connection
            .as_mut()
            .map(|session| session.connection())
            .ok_or_else(|| StoreError::internal("the unit of work is over"))
    }

    async fn execute(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection()?
            .batch_execute(sql)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn finish(mut self) -> Result<(), StoreError> {
        if self.in_transaction {
            // COMMIT of a transaction in which a statement failed says nothing and
            // rolls back. The empty statement before it fails then.
            self.execute("SELECT; COMMIT").await?;
            self.in_transaction = false;
        }
        Ok(())
    }
}

impl Drop for PgUnitOfWork {
    fn drop(&mut self) {
        // The pool takes a connection back as it is: with the transaction open, and
        // with every lock that it holds, until somebody happens to take it again. A
        // closed one the server rolls back at once. This is also what becomes of a
        // request that was cancelled.
        if self.in_transaction
            && let Some(connection) = self.connection.take()
        {
            drop(Object::take(connection));
        }
    }
}

#[async_trait]
impl Database for PgDatabase {
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(self.begin_work().await?))
    }

    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(PgUnitOfWork::new(self.pool.get().await?, false)))
    }
}

#[async_trait]
impl UnitOfWork for PgUnitOfWork {
    fn organizations(&mut self) -> &mut dyn OrganizationStore {
        self
    }

    fn pickup_locations(&mut self) -> &mut dyn PickupLocationStore {
        self
    }

    fn keys(&mut self) -> &mut dyn KeyStore {
        self
    }

    fn customers(&mut self) -> &mut dyn CustomerStore {
        self
    }

    fn lease_terms(&mut self) -> &mut dyn LeaseTermStore {
        self
    }

    fn categories(&mut self) -> &mut dyn CategoryStore {
        self
    }

    fn products(&mut self) -> &mut dyn ProductStore {
        self
    }

    fn variants(&mut self) -> &mut dyn VariantStore {
        self
    }

    fn checkouts(&mut self) -> &mut dyn CheckoutStore {
        self
    }

    fn shipments(&mut self) -> &mut dyn ShipmentStore {
        self
    }

    fn jobs(&mut self) -> &mut dyn JobStore {
        self
    }

    fn inbox(&mut self) -> &mut dyn InboxStore {
        self
    }

    fn ledger(&mut self) -> &mut dyn LedgerStore {
        self
    }

    fn cursors(&mut self) -> &mut dyn CursorStore {
        self
    }

    fn idempotency(&mut self) -> &mut dyn IdempotencyStore {
        self
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        (*self).finish().await
    }

    async fn roll_back(mut self: Box<Self>) -> Result<(), StoreError> {
        if self.in_transaction {
            self.execute("ROLLBACK").await?;
            self.in_transaction = false;
        }
        Ok(())
    }
}
