//! The stores in memory.
//!
//! Each organization's records are in tables of their own, and a unit of work looks into those of
//! the organization that it reaches.
//!
//! Units of work are serializable in the simplest way: one at a time. A unit works
//! on a copy of the state, which takes the state's place on commit; a unit that is
//! dropped leaves nothing because nobody has seen its copy. Views for reading look
//! at the committed state and wait for nobody.
//!
//! One task must not begin a second unit of work while it holds one: it would wait
//! for itself.

mod agreements;
mod audit;
mod categories;
mod checkouts;
mod credit;
mod cursors;
mod customers;
mod deliveries;
mod doors;
mod events;
mod idempotency;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod ledger;
mod mails;
mod organizations;
mod paging;
mod personal_data;
mod processor_accounts;
mod products;
mod shipments;
mod tables;
mod variants;
mod webhook_endpoints;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use futures_util::lock::{Mutex, OwnedMutexGuard};

use self::tables::{Owned, Tables, Unowned};
use crate::ids::OrganizationId;
use crate::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxStore,
    JobStore, KeyStore, LeaseTermStore, LedgerStore, MailStore, OrganizationStore,
    PersonalDataStore, PickupLocationStore, ProcessorAccountStore, ProductStore,
    QualificationStore, Reach, ShipmentStore, StoreError, UnitOfWork, VariantStore,
    WebhookEndpointStore,
};
use crate::time::Timestamp;

#[derive(Debug, Default)]
struct Shared {
    committed: RwLock<Arc<Tables>>,
    writer: Arc<Mutex<()>>,
}

impl Shared {
    fn committed(&self) -> Arc<Tables> {
        let state = self
            .committed
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state)
    }
}

/// A database in memory, for tests and for embedding without persistence. Clones
/// share their records.
#[derive(Debug, Clone, Default)]
pub struct MemoryDatabase {
    shared: Arc<Shared>,
}

impl MemoryDatabase {
    /// An empty database.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Another database with the records that are committed now. What is changed in one
    /// of them from then on the other does not see: for trying several ways on from one
    /// state.
    #[must_use]
    pub fn fork(&self) -> Self {
        let fork = Self::default();
        *fork
            .shared
            .committed
            .write()
            .unwrap_or_else(PoisonError::into_inner) = self.shared.committed();
        fork
    }
}

#[async_trait]
impl Database for MemoryDatabase {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let turn = Arc::clone(&self.shared.writer).lock_owned().await;
        let state = State::Work {
            tables: self.shared.committed(),
            shared: Arc::clone(&self.shared),
            _turn: turn,
        };
        Ok(Box::new(Memory::new(reach, state)))
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let state = State::View(Arc::clone(&self.shared));
        Ok(Box::new(Memory::new(reach, state)))
    }
}

/// What a unit of work, or a view for reading, stands on.
enum State {
    Work {
        tables: Arc<Tables>,
        shared: Arc<Shared>,
        _turn: OwnedMutexGuard<()>,
    },
    View(Arc<Shared>),
}

/// A unit of work, or a view for reading.
struct Memory {
    /// In whose name it began.
    began: Reach,
    /// Whose tables it looks into.
    reach: Reach,
    state: State,
}

impl Memory {
    const fn new(reach: Reach, state: State) -> Self {
        Self {
            began: reach,
            reach,
            state,
        }
    }

    /// Everybody's tables, for what is asked across organizations.
    fn tables(&self) -> Arc<Tables> {
        match &self.state {
            State::Work { tables, .. } => Arc::clone(tables),
            State::View(shared) => shared.committed(),
        }
    }

    /// What the organization that is reached has; nothing where none is.
    fn own(&self) -> Arc<Owned> {
        match self.reach {
            Reach::Organization(id) => self.tables().of(id),
            Reach::Server => Arc::default(),
        }
    }

    /// What is nobody's.
    fn unowned(&self) -> Arc<Unowned> {
        Arc::clone(self.tables().unowned())
    }

    /// [`own`](Self::own) with a lock, which the unit of work as a whole is.
    fn lock_own(&self) -> Result<Arc<Owned>, StoreError> {
        self.check_locks().map(|()| self.own())
    }

    /// [`unowned`](Self::unowned) with a lock, which the unit of work as a whole is.
    fn lock_unowned(&self) -> Result<Arc<Unowned>, StoreError> {
        self.check_locks().map(|()| self.unowned())
    }

    fn check_locks(&self) -> Result<(), StoreError> {
        match &self.state {
            State::Work { .. } => Ok(()),
            State::View(_) => Err(needs_unit("locks")),
        }
    }

    fn change_tables(&mut self) -> Result<&mut Tables, StoreError> {
        match &mut self.state {
            // The first change makes the unit's own copy.
            State::Work { tables, .. } => Ok(Arc::make_mut(tables)),
            State::View(_) => Err(needs_unit("changes")),
        }
    }

    /// What the organization that is reached has, to change.
    fn change_own(&mut self) -> Result<&mut Owned, StoreError> {
        match self.reach {
            Reach::Organization(id) => self.change_tables()?.change_of(id),
            Reach::Server => Err(StoreError::internal(
                "what an organization has is changed in its name",
            )),
        }
    }

    /// [`change_own`](Self::change_own), to keep a record of this organization's.
    fn change_of(&mut self, owner: OrganizationId) -> Result<&mut Owned, StoreError> {
        match self.reach {
            Reach::Organization(id) if id != owner => Err(StoreError::internal(
                "no record is kept for another organization than the one that is reached",
            )),
            _ => self.change_own(),
        }
    }

    /// What is nobody's, to change.
    fn change_unowned(&mut self) -> Result<&mut Unowned, StoreError> {
        self.change_tables().map(Tables::change_unowned)
    }

    /// The next number, as a sequence of a database gives it.
    fn next_number(&mut self) -> Result<i64, StoreError> {
        self.change_tables().map(Tables::next_number)
    }

    /// The store's own clock.
    fn clock(&self) -> Timestamp {
        self.tables().clock()
    }

    /// The store's own clock, which goes on when somebody tells a later time.
    fn told(&mut self, now: Timestamp) -> Result<Timestamp, StoreError> {
        self.change_tables().map(|tables| tables.told(now))
    }
}

fn needs_unit(what: &str) -> StoreError {
    StoreError::internal(format!("{what} need a unit of work, this is a view"))
}

macro_rules! stores {
    ($($name:ident: $store:ident,)*) => {
        $(fn $name(&mut self) -> &mut dyn $store {
            self
        })*
    };
}

#[async_trait]
impl UnitOfWork for Memory {
    crate::for_each_store!(stores);

    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
        match self.began {
            Reach::Organization(own) if own != organization => Err(StoreError::internal(
                "work that began in one organization's name does not go on in another's",
            )),
            _ => {
                self.reach = organization.into();
                Ok(())
            }
        }
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if let State::Work { tables, shared, .. } = self.state {
            *shared
                .committed
                .write()
                .unwrap_or_else(PoisonError::into_inner) = tables;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixtures, first_organization_id};

    #[tokio::test]
    async fn a_view_neither_changes_nor_locks() {
        let database = MemoryDatabase::new();
        let make = Fixtures::default();
        let mut view = database.read(Reach::Server).await.unwrap();
        let new = make.organization().new_record();
        let refused = view.organizations().insert(&new).await;
        assert!(matches!(refused, Err(StoreError::Internal(_))));
        let refused = view.checkouts().lock(make.id()).await;
        assert!(matches!(refused, Err(StoreError::Internal(_))));
        let mut view = database.read(first_organization_id().into()).await.unwrap();
        let refused = view.checkouts().under_way(1).await;
        assert!(matches!(refused, Err(StoreError::Internal(_))));
    }

    #[tokio::test]
    async fn clones_share_their_records() {
        let database = MemoryDatabase::new();
        let new = Fixtures::default().organization().new_record();
        let mut uow = database.clone().begin(Reach::Server).await.unwrap();
        let kept = uow.organizations().insert(&new).await.unwrap();
        uow.commit().await.unwrap();
        assert_eq!(kept.id, first_organization_id());
        let mut view = database.read(Reach::Server).await.unwrap();
        assert_eq!(view.organizations().get(kept.id).await.unwrap(), Some(kept));
    }

    /// A commit copies what the unit of work has changed, and nothing that others have.
    #[tokio::test]
    async fn what_others_have_is_shared_with_the_state_before() {
        let database = MemoryDatabase::new();
        let make = Fixtures::default();
        let mut organizations = Vec::new();
        for _ in 0..2 {
            let new = make.organization().new_record();
            let mut uow = database.begin(Reach::Server).await.unwrap();
            let organization = uow.organizations().insert(&new).await.unwrap();
            uow.enter(organization.id).await.unwrap();
            let customer = make.customer(&organization).new_record();
            uow.customers().insert(&customer).await.unwrap();
            uow.commit().await.unwrap();
            organizations.push(organization);
        }
        let before = database.shared.committed();
        let mut uow = database.begin(organizations[0].id.into()).await.unwrap();
        let product = make.product(&organizations[0]).build();
        uow.products().insert(&product).await.unwrap();
        uow.commit().await.unwrap();
        let after = database.shared.committed();
        let is_shared = |id| Arc::ptr_eq(&before.of(id), &after.of(id));
        assert!(!is_shared(organizations[0].id));
        assert!(is_shared(organizations[1].id));
        assert!(Arc::ptr_eq(before.unowned(), after.unowned()));
    }
}
