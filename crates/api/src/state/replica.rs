//! A replica that answers lists, and how it stands.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lessor_adapters::postgres::{LastCommit, PgReplica, Position, ReplicaView};
use lessor_domain::cause::chain;
use lessor_domain::ports::{Database, Reach, StoreError, UnitOfWork};
use lessor_domain::services::Error;

use crate::telemetry::REPLICA_READS;

/// How long a replica that failed is left alone; of those who come then, one tries it.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// How long it may be behind what is asked of it before somebody is told: for a moment it always is.
const LAGS_AFTER: Duration = Duration::from_secs(10);

/// The stores for a request, which note its commits.
pub type RequestStores = Arc<dyn Fn(LastCommit) -> Arc<dyn Database> + Send + Sync>;

/// A replica for lists. Cloning it shares its connections, and what is known of it.
///
/// A caller reads there what they wrote: answers tell how far the log had come when the request was
/// committed, and a list is read from the replica when it has come as far. All else is read from the
/// primary.
#[derive(Clone)]
pub struct Replica {
    stores: PgReplica,
    request_stores: RequestStores,
    standing: Arc<Mutex<Standing>>,
}

impl Replica {
    /// A replica of which nothing bad is known, and the primary's stores for a request that changes
    /// something.
    #[must_use]
    pub fn new(stores: PgReplica, request_stores: RequestStores) -> Self {
        Self {
            stores,
            request_stores,
            standing: Arc::default(),
        }
    }

    /// The same replica over other connections: each worker has its own.
    #[must_use]
    pub fn over(&self, stores: PgReplica) -> Self {
        Self {
            stores,
            ..self.clone()
        }
    }

    /// The primary's stores, whose commits are noted here.
    pub(super) fn noted(&self, last_commit: LastCommit) -> Arc<dyn Database> {
        (self.request_stores)(last_commit)
    }

    /// A view in which everything is seen up to the position; none when the primary has to be asked.
    pub(crate) async fn view_at(
        &self,
        reach: Reach,
        position: Position,
    ) -> Option<Box<dyn UnitOfWork>> {
        if !self.standing(Standing::may_ask) {
            count("unavailable");
            return None;
        }
        let opened = self.stores.read_at(reach, position).await;
        let found = match &opened {
            Ok(ReplicaView::Open(_)) => Progress::Enough,
            Ok(ReplicaView::Behind) => Progress::Behind,
            Ok(ReplicaView::Busy) => {
                count("unavailable");
                return None;
            }
            Err(_) => Progress::Unknown,
        };
        let news = self.standing(|standing, now| standing.found(found, now));
        say(news, opened.as_ref().err());
        match opened {
            Ok(ReplicaView::Open(view)) => Some(view),
            Ok(_) => {
                count("behind");
                None
            }
            Err(_) => {
                count("unavailable");
                None
            }
        }
    }

    /// Counts a list that the view gave.
    pub(crate) fn gave(&self) {
        count("replica");
    }

    /// Counts a list that the view did not give. The primary decides what becomes of it: the replica's
    /// rows may be older, and its statements are cut off when they are in the way of what it replays.
    pub(crate) fn gave_up(&self, error: &Error) {
        match error {
            Error::Store(error) => {
                count("unavailable");
                tracing::debug!(error = %chain(error), "the replica did not give a list");
            }
            _ => count("behind"),
        }
    }

    fn standing<T>(&self, look: impl FnOnce(&mut Standing, Instant) -> T) -> T {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut standing, Instant::now())
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").finish_non_exhaustive()
    }
}

fn count(result: &'static str) {
    metrics::counter!(REPLICA_READS, "result" => result).increment(1);
}

/// Says in the log how the replica stands now, where that is news.
fn say(news: Option<Condition>, error: Option<&StoreError>) {
    match (news, error) {
        (Some(Condition::Unavailable), Some(error)) => tracing::warn!(
            error = %chain(error),
            "the replica is not available: the primary answers lists until it is"
        ),
        (Some(Condition::Lags), _) => tracing::warn!(
            "the replica lags: the primary answers lists that have to show more than it knows"
        ),
        (Some(Condition::Well), _) => tracing::info!("the replica answers lists again"),
        _ => {}
    }
}

/// What somebody found who asked the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It is as far as they need it.
    Enough,
    /// It is not.
    Behind,
    /// It did not answer.
    Unknown,
}

/// What was last said of the replica in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Condition {
    #[default]
    Well,
    Lags,
    Unavailable,
}

/// What is known of the replica.
#[derive(Debug, Default)]
struct Standing {
    /// When somebody may try it again after it failed.
    left_alone_until: Option<Instant>,
    /// Since when all who asked found it behind.
    behind_since: Option<Instant>,
    said: Condition,
}

impl Standing {
    /// Whether the caller may ask it: where it failed, one of those who come later is to try it for all.
    fn may_ask(&mut self, now: Instant) -> bool {
        match self.left_alone_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                self.left_alone_until = Some(now + LEFT_ALONE);
                true
            }
        }
    }

    /// Notes what was found; answers what is to be said of it, where that is news.
    fn found(&mut self, found: Progress, now: Instant) -> Option<Condition> {
        self.left_alone_until = (found == Progress::Unknown).then(|| now + LEFT_ALONE);
        self.behind_since = match found {
            Progress::Behind => self.behind_since.or(Some(now)),
            Progress::Enough | Progress::Unknown => None,
        };
        let lags = |since| now.saturating_duration_since(since) >= LAGS_AFTER;
        let standing = match (found, self.said) {
            (Progress::Unknown, _) => Condition::Unavailable,
            (Progress::Behind, Condition::Lags) => Condition::Lags,
            (Progress::Behind, _) if self.behind_since.is_some_and(lags) => Condition::Lags,
            (Progress::Behind | Progress::Enough, _) => Condition::Well,
        };
        let is_news = standing != self.said;
        self.said = standing;
        is_news.then_some(standing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_replica_that_failed_is_tried_by_one_at_a_time() {
        let mut standing = Standing::default();
        let begun = Instant::now();
        assert!(standing.may_ask(begun) && standing.may_ask(begun));
        standing.found(Progress::Unknown, begun);
        assert!(!standing.may_ask(begun + LEFT_ALONE - SECOND));
        let later = begun + LEFT_ALONE;
        assert!(standing.may_ask(later));
        assert!(!standing.may_ask(later), "somebody tries it");
        standing.found(Progress::Behind, later);
        assert!(standing.may_ask(later) && standing.may_ask(later));
    }

    #[test]
    fn what_changes_is_said_once() {
        let mut standing = Standing::default();
        let begun = Instant::now();
        let mut found = |found, seconds| standing.found(found, begun + SECOND * seconds);
        assert_eq!(found(Progress::Enough, 0), None);
        assert_eq!(found(Progress::Unknown, 1), Some(Condition::Unavailable));
        assert_eq!(found(Progress::Unknown, 7), None);
        assert_eq!(found(Progress::Behind, 13), Some(Condition::Well));
        // For a moment it always is behind.
        assert_eq!(found(Progress::Behind, 22), None);
        assert_eq!(found(Progress::Enough, 23), None);
        assert_eq!(found(Progress::Behind, 24), None);
        assert_eq!(found(Progress::Behind, 34), Some(Condition::Lags));
        assert_eq!(found(Progress::Behind, 90), None);
        assert_eq!(found(Progress::Enough, 91), Some(Condition::Well));
    }
}
