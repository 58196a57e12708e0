//! The editions of organizations' records, asked for by many together.
//!
//! To ask the database takes several times what an answer does that is remembered. So nobody asks alone while others do: whoever comes
//! while a question is under way waits for the next one, with all who come meanwhile. Each is told of a question that began after they
//! came.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Shared, WeakShared};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Database, Edition};
use tokio::sync::oneshot::{self, Receiver};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::http::error::ApiError;

/// For how long those who come are gathered at most while a question is under way.
const GATHERED: Duration = Duration::from_millis(20);

/// Told when the question is answered; nothing comes of one whose runtime ends.
type Answered = Shared<Receiver<Result<Edition, ApiError>>>;

/// The questions of a process. Cloning it shares them.
#[derive(Clone, Default)]
pub(crate) struct Editions(Arc<Mutex<HashMap<OrganizationId, Asked>>>);

/// What is asked about an organization.
#[derive(Default)]
struct Asked {
    under_way: Option<WeakShared<Receiver<Result<Edition, ApiError>>>>,
    /// Has not begun.
    next: Option<WeakShared<Receiver<Result<Edition, ApiError>>>>,
}

impl Editions {
    fn all(&self) -> MutexGuard<'_, HashMap<OrganizationId, Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The edition of the organization's records, now. Where nobody else is about to ask, the database is asked.
    ///
    /// # Errors
    /// The database's.
    pub(crate) async fn now(
        &self,
        database: &Arc<dyn Database>,
        organization: OrganizationId,
    ) -> Result<Edition, ApiError> {
        let answered = self.next(database, organization).await;
        answered.map_err(|_| ApiError::internal("whoever asked for an edition is gone"))?
    }

    /// The answer to the question that begins next.
    fn next(&self, database: &Arc<dyn Database>, organization: OrganizationId) -> Answered {
        let mut all = self.all();
        let asked = all.entry(organization).or_default();
        if let Some(next) = asked.next.as_ref().and_then(WeakShared::upgrade) {
            return next;
        }
        let before = asked.under_way.as_ref().and_then(WeakShared::upgrade);
        let (tell, told) = oneshot::channel();
        let next = told.shared();
        asked.next = next.downgrade();
        drop(all);
        let (editions, database) = (self.clone(), Arc::clone(database));
        // A task of its own: connections belong to the runtime of whoever has them, and those who wait may be on others.
        tokio::spawn(async move {
            let edition = editions.ask(&*database, organization, before).await;
            // Nobody waits any more, or they are told.
            let _ = tell.send(edition);
        });
        next
    }

    async fn ask(
        &self,
        database: &dyn Database,
        organization: OrganizationId,
        before: Option<Answered>,
    ) -> Result<Edition, ApiError> {
        match before {
            // Its answer is of before whoever waits for this one came. Where it does not come, nobody waits for it.
            Some(before) => drop(timeout(GATHERED, before).await),
            // Who has come already asks with us.
            None => yield_now().await,
        }
        if let Some(asked) = self.all().get_mut(&organization) {
            asked.under_way = asked.next.take();
        }
        let edition = async {
            let mut view = database.read(organization.into()).await?;
            Ok(view.events().edition(organization).await?)
        };
        let edition = edition.await;
        let mut all = self.all();
        if all
            .get(&organization)
            .is_some_and(|asked| asked.next.is_none())
        {
            all.remove(&organization);
        }
        edition
    }
}

impl fmt::Debug for Editions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use lessor_domain::ports::{Reach, StoreError, UnitOfWork};
    use lessor_domain::testing::MemoryDatabase;
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;

    use super::*;

    /// Reads as often as it is let.
    struct Gate {
        inner: MemoryDatabase,
        begun: AtomicUsize,
        let_through: Semaphore,
    }

    #[async_trait]
    impl Database for Gate {
        async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
            self.inner.begin(reach).await
        }

        async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
            self.begun.fetch_add(1, Ordering::Relaxed);
            let permit = self.let_through.acquire().await;
            permit.map_err(StoreError::internal)?.forget();
            self.inner.read(reach).await
        }
    }

    struct Asking {
        gate: Arc<Gate>,
        editions: Editions,
    }

    impl Asking {
        fn new() -> Self {
            Self {
                gate: Arc::new(Gate {
                    inner: MemoryDatabase::new(),
                    begun: AtomicUsize::new(0),
                    let_through: Semaphore::new(0),
                }),
                editions: Editions::default(),
            }
        }

        fn ask(&self) -> JoinHandle<Result<Edition, ApiError>> {
            let (editions, database) = (self.editions.clone(), Arc::clone(&self.gate));
            tokio::spawn(async move {
                let database: Arc<dyn Database> = database;
                let organization = OrganizationId::new(1).unwrap();
                editions.now(&database, organization).await
            })
        }

        /// How often the database was asked once everybody has done what they can.
        async fn begun(&self) -> usize {
            for _ in 0..100 {
                yield_now().await;
            }
            self.gate.begun.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn who_comes_while_a_question_is_under_way_waits_for_the_next_with_the_others() {
        let asking = Asking::new();
        let first = asking.ask();
        assert_eq!(asking.begun().await, 1);
        let others = [asking.ask(), asking.ask(), asking.ask()];
        asking.begun().await;
        asking.gate.let_through.add_permits(1);
        first.await.unwrap().unwrap();
        assert_eq!(asking.begun().await, 2);
        assert!(!others.iter().any(JoinHandle::is_finished));
        asking.gate.let_through.add_permits(1);
        for other in others {
            other.await.unwrap().unwrap();
        }
        assert_eq!(asking.begun().await, 2);
        assert!(asking.editions.all().is_empty(), "nothing is left");
    }

    #[tokio::test]
    async fn who_goes_away_keeps_nobody_waiting() {
        let asking = Asking::new();
        let first = asking.ask();
        assert_eq!(asking.begun().await, 1);
        let (second, third) = (asking.ask(), asking.ask());
        asking.begun().await;
        first.abort();
        second.abort();
        asking.gate.let_through.add_permits(2);
        third.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_keeps_nobody_waiting() {
        let asking = Asking::new();
        let mut waiting = Vec::new();
        for number in 1..=3 {
            waiting.push(asking.ask());
            while asking.begun().await < number {}
        }
        asking.gate.let_through.add_permits(3);
        for one in waiting {
            one.await.unwrap().unwrap();
        }
    }
}
