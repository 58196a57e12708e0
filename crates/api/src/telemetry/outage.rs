//! What the log says of an outage: that it begins, with its cause, and that it is over. However many requests meet
//! it, and whatever the worker cannot do meanwhile, these are two lines.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lessor_domain::cause::chain;
use lessor_domain::ports::StoreError;
use lessor_domain::services;

/// How long nobody may have met it before it is over: what needs no database is answered meanwhile too. As long as a request
/// may take: where the database hangs, whoever found no connection has met it at once, and whoever has one waits on it
/// until then.
const QUIET: Duration = Duration::from_secs(15);

static OUTAGE: Mutex<Option<Outage>> = Mutex::new(None);
/// Whether there is one: asked with every request.
static IS_ON: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Outage {
    since: Instant,
    last: Instant,
    /// How many requests met it.
    requests: u64,
}

/// Who meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Request,
    /// What the process does by itself.
    Errand,
}

impl Outage {
    fn at(now: Instant, by: By) -> Self {
        Self {
            since: now,
            last: now,
            requests: u64::from(by == By::Request),
        }
    }

    /// Another met it. Whether that is news: where none did for long nobody has said that it was over.
    fn met(&mut self, now: Instant, by: By) -> bool {
        if self.is_over(now) {
            *self = Self::at(now, by);
            return true;
        }
        self.last = now;
        self.requests = (self.requests).saturating_add(u64::from(by == By::Request));
        false
    }

    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.last) > QUIET
    }
}

fn known() -> MutexGuard<'static, Option<Outage>> {
    OUTAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request could not be answered for this.
pub(crate) fn met(cause: &(dyn Error + 'static)) {
    note(cause, By::Request);
}

/// What the process does by itself was not done, for this: where that is an outage the log says no more than that there
/// is one.
pub(crate) fn hinders(what: &'static str, error: &(impl Error + IsOutage + 'static)) {
    if error.is_outage() {
        note(error, By::Errand);
        tracing::debug!(error = %chain(error), "{what}");
    } else {
        tracing::warn!(error = %chain(error), "{what}");
    }
}

/// Tells whether the database is to blame, which is the same for all that is done meanwhile.
pub(crate) trait IsOutage {
    /// Whether the database cannot be reached.
    fn is_outage(&self) -> bool;
}

impl IsOutage for StoreError {
    fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl IsOutage for services::Error {
    fn is_outage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_outage())
    }
}

fn note(cause: &(dyn Error + 'static), by: By) {
    let now = Instant::now();
    let is_news = match &mut *known() {
        Some(outage) => outage.met(now, by),
        none => {
            *none = Some(Outage::at(now, by));
            true
        }
    };
    IS_ON.store(true, Ordering::Relaxed);
    if is_news {
        tracing::error!(cause = %chain(cause), "service unavailable");
    } else {
        tracing::debug!(cause = %chain(cause), "service still unavailable");
    }
}

/// A request was answered, or something done that needs the database.
pub(crate) fn answered() {
    if !IS_ON.load(Ordering::Relaxed) {
        return;
    }
    let mut known = known();
    let now = Instant::now();
    if let Some(over) = known.take_if(|outage| outage.is_over(now)) {
        IS_ON.store(false, Ordering::Relaxed);
        let seconds = over.last.duration_since(over.since).as_secs();
        let requests = over.requests;
        tracing::info!(seconds, requests, "service available again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_of_once_and_the_next_again() {
        let begun = Instant::now();
        let mut outage = Outage::at(begun, By::Request);
        let mut met = |second, by| outage.met(begun + Duration::from_secs(second), by);
        for second in 1..9 {
            assert!(!met(second, By::Request), "{second}");
        }
        assert!(!met(9, By::Errand));
        assert_eq!(outage.requests, 9);
        assert!(!outage.is_over(begun + Duration::from_secs(24)));
        assert!(outage.is_over(begun + Duration::from_secs(25)));
        assert!(outage.met(begun + Duration::from_secs(30), By::Request));
        assert_eq!(outage.requests, 1);
    }

    #[test]
    fn what_has_another_reason_is_none() {
        let away = || StoreError::unavailable("refused");
        assert!(away().is_outage() && services::Error::from(away()).is_outage());
        assert!(!StoreError::internal("a defect").is_outage());
        assert!(!services::Error::from(StoreError::Contended).is_outage());
    }
}
