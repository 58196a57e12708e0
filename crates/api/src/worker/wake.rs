//! Telling the worker of this process that there is something to do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lessor_domain::ports::{
    CategoryStore, CheckoutStore, CustomerStore, Database, IdempotencyStore, InboxStore, KeyStore,
    LeaseTermStore, OrganizationStore, OutboxStore, PickupLocationStore, ProductStore, StoreError,
    TrackingStore, UnitOfWork, VariantStore,
};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Wakes the worker. Clones wake the same one.
#[derive(Debug, Clone, Default)]
pub struct WakeUp(Arc<Notify>);

impl WakeUp {
    /// There may be something to do now.
    pub fn now(&self) {
        self.0.notify_one();
    }

    /// Waits until there may be something to do, at most so long. What was told while nobody waited
    /// counts.
    pub async fn wait(&self, at_most: Duration) {
        // Either way it is time to look.
        let _ = timeout(at_most, self.0.notified()).await;
    }
}

/// A database that wakes the worker whenever work that touched the outbox is committed, so that jobs do
/// not wait for the next look.
pub struct WakingDatabase {
    inner: Arc<dyn Database>,
    wake_up: WakeUp,
}

impl WakingDatabase {
    /// Wraps the database.
    #[must_use]
    pub fn new(inner: Arc<dyn Database>, wake_up: WakeUp) -> Self {
        Self { inner, wake_up }
    }
}

#[async_trait]
impl Database for WakingDatabase {
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(WakingWork {
            inner: self.inner.begin().await?,
            wake_up: self.wake_up.clone(),
            touched: false,
        }))
    }

    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.inner.read().await
    }
}

struct WakingWork {
    inner: Box<dyn UnitOfWork>,
    wake_up: WakeUp,
    touched: bool,
}

#[async_trait]
impl UnitOfWork for WakingWork {
    fn organizations(&mut self) -> &mut dyn OrganizationStore {
        self.inner.organizations()
    }

    fn pickup_locations(&mut self) -> &mut dyn PickupLocationStore {
        self.inner.pickup_locations()
    }

    fn keys(&mut self) -> &mut dyn KeyStore {
        self.inner.keys()
    }

    fn customers(&mut self) -> &mut dyn CustomerStore {
        self.inner.customers()
    }

    fn lease_terms(&mut self) -> &mut dyn LeaseTermStore {
        self.inner.lease_terms()
    }

    fn categories(&mut self) -> &mut dyn CategoryStore {
        self.inner.categories()
    }

    fn products(&mut self) -> &mut dyn ProductStore {
        self.inner.products()
    }

    fn variants(&mut self) -> &mut dyn VariantStore {
        self.inner.variants()
    }

    fn checkouts(&mut self) -> &mut dyn CheckoutStore {
        self.inner.checkouts()
    }

    fn tracking(&mut self) -> &mut dyn TrackingStore {
        self.inner.tracking()
    }

    fn outbox(&mut self) -> &mut dyn OutboxStore {
        self.touched = true;
        self.inner.outbox()
    }

    fn inbox(&mut self) -> &mut dyn InboxStore {
        self.inner.inbox()
    }

    fn idempotency(&mut self) -> &mut dyn IdempotencyStore {
        self.inner.idempotency()
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit().await?;
        if self.touched {
            self.wake_up.now();
        }
        Ok(())
    }
}
