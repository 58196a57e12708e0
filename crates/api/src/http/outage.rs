//! What the log says of an outage: that it begins, with its cause, and that it is over. However many requests meet
//! it, these are two lines.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lessor_domain::cause::chain;

/// How long no request may have met it before it is over: what needs no database is answered meanwhile too.
const QUIET: Duration = Duration::from_secs(5);

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

impl Outage {
    fn at(now: Instant) -> Self {
        Self {
            since: now,
            last: now,
            requests: 1,
        }
    }

    /// Another request met it. Whether that is news: where none did for long nobody has said that it was over.
    fn met(&mut self, now: Instant) -> bool {
        if self.is_over(now) {
            *self = Self::at(now);
            return true;
        }
        self.last = now;
        self.requests = self.requests.saturating_add(1);
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
pub(super) fn met(cause: &(dyn Error + 'static)) {
    let now = Instant::now();
    let is_news = match &mut *known() {
        Some(outage) => outage.met(now),
        none => {
            *none = Some(Outage::at(now));
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

/// A request was answered.
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
        let mut outage = Outage::at(begun);
        for second in 1..10 {
            assert!(!outage.met(begun + Duration::from_secs(second)), "{second}");
        }
        assert_eq!(outage.requests, 10);
        assert!(!outage.is_over(begun + Duration::from_secs(14)));
        assert!(outage.is_over(begun + Duration::from_secs(15)));
        assert!(outage.met(begun + Duration::from_secs(20)));
        assert_eq!(outage.requests, 1);
    }
}
