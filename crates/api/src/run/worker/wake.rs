//! Telling the worker of this process that there is something to do, or those of others where it has none.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxMessage,
    InboxRecord, InboxState, InboxStore, JobStore, KeyStore, LeaseTermStore, LedgerStore,
    MailStore, OrganizationStore, PersonalDataStore, PickupLocationStore, ProcessorAccountStore,
    ProductStore, QualificationStore, Reach, ShipmentStore, StoreError, UnitOfWork, VariantStore,
    WebhookEndpointStore,
};
use lessor_domain::time::Timestamp;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::telemetry::MESSAGES_FAILED;

/// Wakes the worker, or who wakes those of other processes where this one has none. Clones wake the same one.
#[derive(Debug, Clone, Default)]
pub struct WakeUp(Arc<Notify>);

impl WakeUp {
    /// There may be something to do now.
    pub fn now(&self) {
        self.0.notify_one();
    }

    /// What is notified: for whoever tells others.
    #[must_use]
    pub fn told(&self) -> &Notify {
        &self.0
    }

    /// Waits until there may be something to do, at most so long. What was told while nobody waited
    /// counts.
    pub async fn wait(&self, at_most: Duration) {
        // Either way it is time to look.
        let _ = timeout(at_most, self.0.notified()).await;
    }
}

/// A database that wakes the worker whenever work that touched the job queue is committed, so that jobs do
/// not wait for the next look, and says aloud when a message of a provider was given up.
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
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(WakingWork {
            inner: self.inner.begin(reach).await?,
            wake_up: self.wake_up.clone(),
            touched: false,
            given_up: Vec::new(),
        }))
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.inner.read(reach).await
    }
}

struct WakingWork {
    inner: Box<dyn UnitOfWork>,
    wake_up: WakeUp,
    touched: bool,
    /// Messages that this work gives up: source, id, why.
    given_up: Vec<(String, String, String)>,
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

    fn agreements(&mut self) -> &mut dyn AgreementStore {
        self.inner.agreements()
    }

    fn shipments(&mut self) -> &mut dyn ShipmentStore {
        self.inner.shipments()
    }

    fn jobs(&mut self) -> &mut dyn JobStore {
        self.touched = true;
        self.inner.jobs()
    }

    fn inbox(&mut self) -> &mut dyn InboxStore {
        self
    }

    fn ledger(&mut self) -> &mut dyn LedgerStore {
        self.inner.ledger()
    }

    fn processor_accounts(&mut self) -> &mut dyn ProcessorAccountStore {
        self.inner.processor_accounts()
    }

    fn cursors(&mut self) -> &mut dyn CursorStore {
        self.inner.cursors()
    }

    fn idempotency(&mut self) -> &mut dyn IdempotencyStore {
        self.inner.idempotency()
    }

    fn credit_policies(&mut self) -> &mut dyn CreditPolicyStore {
        self.inner.credit_policies()
    }

    fn qualifications(&mut self) -> &mut dyn QualificationStore {
        self.inner.qualifications()
    }

    fn audit(&mut self) -> &mut dyn AuditStore {
        self.inner.audit()
    }

    fn events(&mut self) -> &mut dyn EventStore {
        self.inner.events()
    }

    fn webhook_endpoints(&mut self) -> &mut dyn WebhookEndpointStore {
        self.inner.webhook_endpoints()
    }

    fn deliveries(&mut self) -> &mut dyn DeliveryStore {
        self.inner.deliveries()
    }

    fn mails(&mut self) -> &mut dyn MailStore {
        self.inner.mails()
    }

    fn personal_data(&mut self) -> &mut dyn PersonalDataStore {
        self.inner.personal_data()
    }

    fn doors(&mut self) -> &mut dyn Doors {
        self.inner.doors()
    }

    fn asked_by(&mut self, request_id: &str) {
        self.inner.asked_by(request_id);
    }

    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
        self.inner.enter(organization).await
    }

    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.roll_back().await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit().await?;
        for (source, id, problem) in &self.given_up {
            tracing::warn!(
                source,
                id,
                problem,
                "a message was given up: see `lessor inbox list`"
            );
            metrics::counter!(MESSAGES_FAILED).increment(1);
        }
        if self.touched {
            self.wake_up.now();
        }
        Ok(())
    }
}

/// The inbox itself, and ears for what is given up.
#[async_trait]
impl InboxStore for WakingWork {
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError> {
        self.inner.inbox().insert(message).await
    }

    async fn lock_waiting(
        &mut self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        self.inner.inbox().lock_waiting(now, limit).await
    }

    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError> {
        self.inner.inbox().lock_one(source, id).await
    }

    async fn mark_handled(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.inbox().mark_handled(source, id, at).await
    }

    async fn mark_failed(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: &str,
    ) -> Result<(), StoreError> {
        self.given_up
            .push((source.to_owned(), id.to_owned(), problem.to_owned()));
        self.inner
            .inbox()
            .mark_failed(source, id, at, problem)
            .await
    }

    async fn postpone(
        &mut self,
        source: &str,
        id: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.inbox().postpone(source, id, until).await
    }

    async fn list(
        &mut self,
        state: InboxState,
        limit: u32,
    ) -> Result<Vec<InboxRecord>, StoreError> {
        self.inner.inbox().list(state, limit).await
    }

    async fn requeue<'a>(
        &mut self,
        id: Option<&'a str>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.inner.inbox().requeue(id, now).await
    }

    async fn backlog(&mut self) -> Result<(u64, u64), StoreError> {
        self.inner.inbox().backlog().await
    }
}
