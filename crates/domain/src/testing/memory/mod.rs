//! The stores in memory.
//!
//! Units of work are serializable in the simplest way: one at a time. A unit works
//! on a copy of the state, which takes the state's place on commit; a unit that is
//! dropped leaves nothing because nobody has seen its copy. Views for reading look
//! at the committed state and wait for nobody.
//!
//! One task must not begin a second unit of work while it holds one: it would wait
//! for itself.

mod categories;
mod checkouts;
mod cursors;
mod customers;
mod idempotency;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod ledger;
mod organizations;
mod paging;
mod products;
mod shipments;
mod tables;
mod variants;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use futures_util::lock::{Mutex, OwnedMutexGuard};

use self::tables::Tables;
use crate::ids::CheckoutPubId;
use crate::ports::{
    CategoryStore, CheckoutStore, CursorStore, CustomerStore, Database, IdempotencyStore,
    InboxStore, JobStore, KeyStore, LeaseTermStore, LedgerStore, OrganizationStore,
    PickupLocationStore, ProductStore, ShipmentStore, StoreError, UnitOfWork, VariantStore,
};

#[derive(Debug, Default)]
struct Shared {
    committed: RwLock<Arc<Tables>>,
    writer: Arc<Mutex<()>>,
    /// Whose carrier was asked when, as a place in the round: no part of any unit
    /// of work, because asking has happened whatever becomes of the work.
    turns: std::sync::Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    last: u64,
    of: HashMap<CheckoutPubId, u64>,
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
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let turn = Arc::clone(&self.shared.writer).lock_owned().await;
        Ok(Box::new(Memory::Work {
            state: self.shared.committed(),
            shared: Arc::clone(&self.shared),
            _turn: turn,
        }))
    }

    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(Memory::View(Arc::clone(&self.shared))))
    }
}

/// A unit of work, or a view for reading.
enum Memory {
    Work {
        state: Arc<Tables>,
        shared: Arc<Shared>,
        _turn: OwnedMutexGuard<()>,
    },
    View(Arc<Shared>),
}

impl Memory {
    /// The state to read.
    fn state(&self) -> Arc<Tables> {
        match self {
            Self::Work { state, .. } => Arc::clone(state),
            Self::View(shared) => shared.committed(),
        }
    }

    const fn shared(&self) -> &Arc<Shared> {
        match self {
            Self::Work { shared, .. } | Self::View(shared) => shared,
        }
    }

    /// The state to change.
    fn change(&mut self) -> Result<&mut Tables, StoreError> {
        match self {
            // The first change makes the unit's own copy.
            Self::Work { state, .. } => Ok(Arc::make_mut(state)),
            Self::View(_) => Err(needs_unit("changes")),
        }
    }

    /// The state to read with a lock, which the unit of work as a whole is.
    fn locked(&self) -> Result<Arc<Tables>, StoreError> {
        match self {
            Self::Work { state, .. } => Ok(Arc::clone(state)),
            Self::View(_) => Err(needs_unit("locks")),
        }
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

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if let Self::Work { state, shared, .. } = *self {
            *shared
                .committed
                .write()
                .unwrap_or_else(PoisonError::into_inner) = state;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixtures;

    #[tokio::test]
    async fn a_view_neither_changes_nor_locks() {
        let database = MemoryDatabase::new();
        let make = Fixtures::default();
        let mut view = database.read().await.unwrap();
        let new = make.organization().new_record();
        let refused = view.organizations().insert(&new).await;
        assert!(matches!(refused, Err(StoreError::Internal(_))));
        let refused = view.checkouts().lock(make.id()).await;
        assert!(matches!(refused, Err(StoreError::Internal(_))));
    }

    #[tokio::test]
    async fn clones_share_their_records() {
        let database = MemoryDatabase::new();
        let new = Fixtures::default().organization().new_record();
        let mut uow = database.clone().begin().await.unwrap();
        let kept = uow.organizations().insert(&new).await.unwrap();
        uow.commit().await.unwrap();
        let mut view = database.read().await.unwrap();
        assert_eq!(view.organizations().get(kept.id).await.unwrap(), Some(kept));
    }
}
