//! What is counted with each request: by each thread for itself, and told when somebody asks. Threads that count in one place
//! wait for each other.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{Counter, Gauge};

static ALL: Mutex<Vec<Counted>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Counted>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread counts of a metric.
#[derive(Debug)]
pub(crate) struct Tally(Arc<AtomicI64>);

struct Counted {
    tally: Arc<AtomicI64>,
    /// How much of it the metric was told.
    told: i64,
    metric: Metric,
}

enum Metric {
    Counter(Counter),
    Gauge(Gauge),
}

impl Tally {
    /// Of a counter, which only grows.
    pub(crate) fn of_counter(counter: Counter) -> Self {
        Self::of(Metric::Counter(counter))
    }

    /// Of a gauge, which is what all threads have together.
    pub(crate) fn of_gauge(gauge: Gauge) -> Self {
        Self::of(Metric::Gauge(gauge))
    }

    fn of(metric: Metric) -> Self {
        let tally = Arc::default();
        all().push(Counted {
            tally: Arc::clone(&tally),
            told: 0,
            metric,
        });
        Self(tally)
    }

    /// One more.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    pub(crate) fn subtract(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counted {
    fn tell(&mut self) {
        let now = self.tally.load(Ordering::Relaxed);
        let since = now.saturating_sub(self.told);
        self.told = now;
        let size = since.unsigned_abs();
        match &self.metric {
            Metric::Counter(counter) => counter.increment(size),
            Metric::Gauge(gauge) if since < 0 => gauge.decrement(super::as_gauge(size)),
            Metric::Gauge(gauge) => gauge.increment(super::as_gauge(size)),
        }
    }
}

/// Tells the metrics what was counted since they were last told.
pub(super) fn tell() {
    all().retain_mut(|counted| {
        // Of a thread that has ended nobody else has it, and all that it counted is there.
        let is_counted_on = Arc::get_mut(&mut counted.tally).is_none();
        counted.tell();
        is_counted_on
    });
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_metric_is_told_what_all_threads_counted_and_once() {
        let counted = Arc::<std::sync::atomic::AtomicU64>::default();
        let open = Arc::<std::sync::atomic::AtomicU64>::default();
        let open_now = || f64::from_bits(open.load(Ordering::Relaxed));
        let tallies = || {
            (
                Tally::of_counter(Counter::from_arc(Arc::clone(&counted))),
                Tally::of_gauge(Gauge::from_arc(Arc::clone(&open))),
            )
        };
        let (counts, opens) = tallies();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let (counts, opens) = tallies();
                    for _ in 0..100 {
                        counts.add();
                        opens.add();
                    }
                    (0..40).for_each(|_| opens.subtract());
                });
            }
        });
        counts.add();
        for _ in 0..2 {
            tell();
            assert_eq!(counted.load(Ordering::Relaxed), 301);
            assert!((open_now() - 180.0).abs() < f64::EPSILON);
        }
        counts.add();
        opens.subtract();
        tell();
        assert_eq!(counted.load(Ordering::Relaxed), 302);
        assert!((open_now() - 179.0).abs() < f64::EPSILON);
    }
}
