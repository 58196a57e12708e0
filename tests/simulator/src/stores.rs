//! The stores in memory, where others may go first at every beginning and every commit, and where
//! the connection breaks.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxStore,
    JobStore, KeyStore, LeaseTermStore, LedgerStore, MailStore, OrganizationStore,
    PersonalDataStore, PickupLocationStore, ProcessorAccountStore, ProductStore,
    QualificationStore, Reach, ShipmentStore, StoreError, UnitOfWork, VariantStore,
    WebhookEndpointStore,
};
use lessor_domain::testing::MemoryDatabase;

use crate::stage::Stage;

/// The database of a life, as one process is connected to it.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) memory: MemoryDatabase,
    pub(crate) stage: Arc<Stage>,
}

/// What goes wrong with a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// Nothing.
    Not,
    /// It is not done.
    Before,
    /// It is done, and nobody is told.
    After,
}

impl Stores {
    fn luck(stage: &Stage) -> Broken {
        let mut scene = stage.scene();
        let often = scene.trouble.stores;
        if often == 0 {
            return Broken::Not;
        }
        match scene.choices.weighted(&[100 - often, often, often]) {
            1 => Broken::Before,
            2 => Broken::After,
            _ => Broken::Not,
        }
    }
}

fn broken() -> StoreError {
    StoreError::unavailable("the connection broke")
}

#[async_trait]
impl Database for Stores {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.stage.pause("before a unit of work").await;
        let inner = self.memory.begin(reach).await?;
        Ok(Box::new(Work {
            inner,
            stage: Arc::clone(&self.stage),
        }))
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.stage.pause("before it reads").await;
        self.memory.read(reach).await
    }
}

struct Work {
    inner: Box<dyn UnitOfWork>,
    stage: Arc<Stage>,
}

macro_rules! stores {
    ($($name:ident: $store:ident,)*) => {
        $(fn $name(&mut self) -> &mut dyn $store {
            self.inner.$name()
        })*
    };
}

#[async_trait]
impl UnitOfWork for Work {
    lessor_domain::for_each_store!(stores);

    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
        self.inner.enter(organization).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { inner, stage } = *self;
        stage.pause("before its commit").await;
        let luck = Stores::luck(&stage);
        if luck == Broken::Before {
            stage
                .scene()
                .tell(|| "    a commit fails: the connection breaks before it".to_owned());
            return Err(broken());
        }
        inner.commit().await?;
        stage.pause("after its commit").await;
        if luck == Broken::After {
            stage.scene().tell(|| {
                "    a commit is done, but the connection breaks before it is told".to_owned()
            });
            return Err(broken());
        }
        Ok(())
    }

    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.roll_back().await
    }
}
