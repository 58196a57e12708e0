//! Who waits for events, and who tells them that there are some.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use lessor_domain::access::Mode;
use lessor_domain::cause::chain;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Clock, Database, EventListener, IdGenerator, Scope};
use lessor_domain::services::events;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long events of one feed are gathered before they are numbered, while somebody waits for one of the
/// process's feeds, and while nobody does. Numbering is a transaction of its own, which the writers share.
const GATHERED: Duration = Duration::from_millis(20);
const GATHERED_FOR_NOBODY: Duration = Duration::from_millis(200);
/// How many feeds are numbered at a time: each waits for the database, and one that many listen to for long.
const AT_A_TIME: usize = 4;

/// The feeds of a process: what was written there and waits for numbers, and who waits for what.
/// Clones share it.
#[derive(Clone, Default)]
pub struct Feeds(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// What each waits for. Whoever waits keeps it alive.
    waiting: Mutex<HashMap<Scope, Weak<Notify>>>,
    /// Whose events this process wrote and has not numbered.
    written: Mutex<BTreeSet<(OrganizationId, Mode)>>,
    to_number: Notify,
    to_deliver: Notify,
    closed: CancellationToken,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Scope, Weak<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, BTreeSet<(OrganizationId, Mode)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feeds {
    /// What is told when the feed has something new. Who begins to wait before they look misses nothing.
    #[must_use]
    pub fn bell(&self, scope: Scope) -> Arc<Notify> {
        let mut waiting = self.0.waiting();
        if let Some(bell) = waiting.get(&scope).and_then(Weak::upgrade) {
            return bell;
        }
        // Nobody waits for those any more.
        waiting.retain(|_, bell| bell.strong_count() > 0);
        let bell = Arc::new(Notify::new());
        waiting.insert(scope, Arc::downgrade(&bell));
        bell
    }

    /// The feed has something new, or any may have.
    pub fn ring(&self, scope: Option<Scope>) {
        let waiting = self.0.waiting();
        let bells = waiting
            .iter()
            .filter(|(of, _)| scope.is_none_or(|scope| scope == **of))
            .filter_map(|(_, bell)| bell.upgrade());
        bells.for_each(|bell| bell.notify_waiters());
        drop(waiting);
        // Who numbers events makes their deliveries.
        self.to_deliver();
    }

    /// There may be something to deliver to endpoints.
    pub fn to_deliver(&self) {
        self.0.to_deliver.notify_one();
    }

    /// Waits until there may be something to deliver, at most so long. What was told while nobody waited
    /// counts.
    pub async fn wait_to_deliver(&self, at_most: Duration) {
        // Either way it is time to look.
        let _ = timeout(at_most, self.0.to_deliver.notified()).await;
    }

    /// Nobody is to wait any more: the process stops.
    pub fn close(&self) {
        self.0.closed.cancel();
    }

    /// Resolves when nobody is to wait any more.
    pub async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    /// Whether nobody is to wait any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// The organization's feeds have something that has no number.
    pub(crate) fn number(&self, organization_id: OrganizationId) {
        let feeds = Mode::ALL.map(|mode| (organization_id, mode));
        self.0.written().extend(feeds);
        self.0.to_number.notify_one();
    }

    fn patience(&self) -> Duration {
        let waiting = self.0.waiting();
        match waiting.values().any(|bell| bell.strong_count() > 0) {
            true => GATHERED,
            false => GATHERED_FOR_NOBODY,
        }
    }

    /// Numbers what this process writes, as long as it is polled. Whatever it cannot number the worker
    /// finds, or whoever reads the feed.
    pub async fn keep_numbered(
        self,
        database: Arc<dyn Database>,
        ids: Arc<dyn IdGenerator>,
        clock: Arc<dyn Clock>,
    ) {
        loop {
            self.0.to_number.notified().await;
            sleep(self.patience()).await;
            let written = std::mem::take(&mut *self.0.written());
            let number = async |(organization_id, mode)| {
                let scope = Scope {
                    organization_id,
                    mode,
                };
                match events::number(&*database, &*ids, &*clock, scope).await {
                    Ok(_) => self.ring(Some(scope)),
                    Err(error) => tracing::debug!(
                        error = %chain(&error),
                        organization = %organization_id,
                        "events are numbered later"
                    ),
                }
            };
            stream::iter(written)
                .for_each_concurrent(AT_A_TIME, number)
                .await;
        }
    }
}

impl EventListener for Feeds {
    fn written(&self, scope: Scope) {
        self.0.written().insert((scope.organization_id, scope.mode));
        self.0.to_number.notify_one();
    }
}

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeds").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    fn scope(number: i64) -> Scope {
        Scope {
            organization_id: OrganizationId::new(number).unwrap(),
            mode: Mode::Live,
        }
    }

    #[tokio::test]
    async fn who_waits_hears_of_their_own_feed_and_of_all() {
        let feeds = Feeds::default();
        let bell = feeds.bell(scope(1));
        for (told, is_heard) in [
            (Some(scope(2)), false),
            (Some(scope(1)), true),
            (None, true),
        ] {
            let mut heard = pin!(bell.notified());
            assert!(!heard.as_mut().enable());
            feeds.ring(told);
            assert_eq!(heard.now_or_never().is_some(), is_heard, "{told:?}");
        }
    }

    #[tokio::test]
    async fn those_who_wait_for_the_same_share_a_bell() {
        let feeds = Feeds::default();
        let bell = feeds.bell(scope(1));
        assert!(Arc::ptr_eq(&bell, &feeds.bell(scope(1))));
        drop(bell);
        drop(feeds.bell(scope(2)));
        assert_eq!(
            feeds.0.waiting().len(),
            1,
            "what nobody waits for is let go"
        );
    }
}
