//! What has changed of organizations' records, asked for by many together.
//!
//! To ask the database takes several times what an answer does that is remembered. So nobody asks alone while others do: whoever comes
//! while a question is under way waits for the next one, with all who come meanwhile. Each is told of a question that began after they
//! came.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Shared, WeakShared};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Changes, Database};
use quick_cache::sync::Cache;
use tokio::sync::oneshot::{self, Receiver};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::http::error::ApiError;
use crate::state::journal::{Journal, Shows};

/// For how long those who come are gathered at most while a question is under way.
const GATHERED: Duration = Duration::from_millis(20);
/// The most organizations of which it is known what changed when.
const JOURNALS: usize = 1024;

/// When the database was asked what has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Of two that differ the later has the higher, whichever organization was asked about.
    pub(crate) number: u64,
    /// Whether there were events without a number.
    pub(crate) is_behind: bool,
}

/// Told when the question is answered; nothing comes of one whose runtime ends.
type Answered = Shared<Receiver<Result<Moment, ApiError>>>;

/// The questions of a process, and what is known by them. Cloning it shares them.
#[derive(Clone)]
pub(crate) struct Editions(Arc<Inner>);

struct Inner {
    asked: Mutex<HashMap<OrganizationId, Asked>>,
    journals: Cache<OrganizationId, Arc<Mutex<Journal>>>,
    last: AtomicU64,
}

/// What is asked about an organization.
#[derive(Default)]
struct Asked {
    under_way: Option<WeakShared<Receiver<Result<Moment, ApiError>>>>,
    /// Has not begun.
    next: Option<WeakShared<Receiver<Result<Moment, ApiError>>>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Editions {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            asked: Mutex::default(),
            journals: Cache::new(JOURNALS),
            last: AtomicU64::new(0),
        }))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<OrganizationId, Asked>> {
        locked(&self.0.asked)
    }

    /// Sees what has changed of the organization's records. Where nobody else is about to ask, the database is asked.
    ///
    /// # Errors
    /// The database's.
    pub(crate) async fn now(
        &self,
        database: &Arc<dyn Database>,
        organization: OrganizationId,
    ) -> Result<Moment, ApiError> {
        let answered = self.next(database, organization).await;
        answered.map_err(|_| ApiError::internal("whoever asked what has changed is gone"))?
    }

    /// Whether nothing of the organization's that is shown has changed since that moment, as far as was seen.
    pub(crate) fn is_still(
        &self,
        organization: OrganizationId,
        shown: &Shows,
        moment: Moment,
    ) -> bool {
        let journal = self.0.journals.get(&organization);
        journal.is_some_and(|journal| locked(&journal).is_still(shown, moment.number))
    }

    /// Notes what has changed, and when that was seen.
    fn enter(&self, organization: OrganizationId, changes: &Changes) -> Moment {
        let Inner { journals, last, .. } = &*self.0;
        let moment = |number| Moment {
            number,
            is_behind: changes.is_behind,
        };
        let next = || last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if let Some(journal) = journals.get(&organization) {
            // With the journal locked: of two who note something in it the later has the higher number.
            let mut journal = locked(&journal);
            let now = next();
            journal.enter(changes, now);
            return moment(now);
        }
        let now = next();
        let journal = Journal::new(changes.edition, now);
        journals.insert(organization, Arc::new(Mutex::new(journal)));
        moment(now)
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
            let moment = editions.ask(&*database, organization, before).await;
            // Nobody waits any more, or they are told.
            let _ = tell.send(moment);
        });
        next
    }

    async fn ask(
        &self,
        database: &dyn Database,
        organization: OrganizationId,
        before: Option<Answered>,
    ) -> Result<Moment, ApiError> {
        match before {
            // Its answer is of before whoever waits for this one came. Where it does not come, nobody waits for it.
            Some(before) => drop(timeout(GATHERED, before).await),
            // Who has come already asks with us.
            None => yield_now().await,
        }
        if let Some(asked) = self.all().get_mut(&organization) {
            asked.under_way = asked.next.take();
        }
        let journal = self.0.journals.get(&organization);
        let since = journal.map(|journal| locked(&journal).edition());
        let changes = async {
            let mut view = database.read(organization.into()).await?;
            Ok(view.events().changes(organization, since).await?)
        };
        let moment = changes
            .await
            .map(|changes| self.enter(organization, &changes));
        let mut all = self.all();
        if all
            .get(&organization)
            .is_some_and(|asked| asked.next.is_none())
        {
            all.remove(&organization);
        }
        moment
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
                editions: Editions::new(),
            }
        }

        fn ask(&self) -> JoinHandle<Result<Moment, ApiError>> {
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
