//! Time and chance that tests control.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta};
use uuid::Uuid;

use super::{FakeCarrierDetector, FakeDialingPlan};
use crate::access::Access;
use crate::audit::Origin;
use crate::ports::{Clock, Entropy, IdGenerator, Timer};
use crate::services::Context;
use crate::time::Timestamp;

/// A timer that never goes off: what is to happen after a while does not.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverTimer;

#[async_trait]
impl Timer for NeverTimer {
    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }
}

/// 2026-11-20T09:14:00.000Z, where a [`ManualClock`] begins unless it is told otherwise.
const BEGINNING_MILLIS: i64 = 1_795_166_040_000;

/// A clock that stands still until it is moved, to the millisecond.
///
/// ```
/// use chrono::TimeDelta;
/// use lessor_domain::ports::Clock;
/// use lessor_domain::testing::ManualClock;
///
/// let clock = ManualClock::default();
/// let before = clock.now();
/// clock.advance(TimeDelta::days(30));
/// assert_eq!(clock.now() - before, TimeDelta::days(30));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    millis: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            millis: AtomicI64::new(BEGINNING_MILLIS),
        }
    }
}

impl ManualClock {
    /// A clock that stands at this time.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self {
            millis: AtomicI64::new(time.timestamp_millis()),
        }
    }

    /// Sets the clock, forwards or back.
    pub fn set(&self, time: Timestamp) {
        self.millis
            .store(time.timestamp_millis(), Ordering::Relaxed);
    }

    /// Moves the clock on, or back by a negative span. Answers the new time.
    pub fn advance(&self, by: TimeDelta) -> Timestamp {
        self.millis
            .fetch_add(by.num_milliseconds(), Ordering::Relaxed);
        self.now()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        DateTime::from_timestamp_millis(self.millis.load(Ordering::Relaxed)).unwrap_or_default()
    }
}

/// The next number of Sebastiano Vigna's splitmix64.
pub(super) const fn splitmix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z.wrapping_shr(30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z.wrapping_shr(27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z.wrapping_shr(31)
}

/// Identifiers that follow from a seed: each later than the one before it, the same
/// in every run, and none of another seed's.
#[derive(Debug)]
pub struct SequenceIds {
    seed: u64,
    next: AtomicU64,
}

impl Default for SequenceIds {
    fn default() -> Self {
        Self::seeded(0)
    }
}

impl SequenceIds {
    /// The identifiers of this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self {
            seed,
            next: AtomicU64::new(0),
        }
    }
}

impl IdGenerator for SequenceIds {
    fn next(&self) -> Uuid {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let millis = BEGINNING_MILLIS.unsigned_abs().saturating_add(count);
        let [a, b, c, d, e, f, g, h] = splitmix(self.seed).to_be_bytes();
        let [.., i, j] = splitmix(count).to_be_bytes();
        uuid::Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j])
            .into_uuid()
    }
}

/// Random numbers that follow from a seed: the same in every run, and fit for no secret.
#[derive(Debug, Default)]
pub struct FixedEntropy {
    state: AtomicU64,
}

impl FixedEntropy {
    /// The numbers of this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(splitmix(seed)),
        }
    }
}

impl Entropy for FixedEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let state = self.state.fetch_add(1, Ordering::Relaxed);
            for (byte, random) in chunk.iter_mut().zip(splitmix(state).to_le_bytes()) {
                *byte = random;
            }
        }
    }
}

/// Somebody who asks, for tests that care for neither the audit nor secrets nor carriers nor phone
/// numbers.
pub fn context<'a>(access: &'a Access, now: Timestamp, ids: &'a dyn IdGenerator) -> Context<'a> {
    static ENTROPY: FixedEntropy = FixedEntropy::seeded(1);
    static ORIGIN: Origin = Origin::SYSTEM;
    Context {
        access,
        origin: &ORIGIN,
        now,
        ids,
        entropy: &ENTROPY,
        carriers: &FakeCarrierDetector,
        phones: &FakeDialingPlan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_repeatable_and_of_their_seed() {
        let ids = |seed| {
            let ids = SequenceIds::seeded(seed);
            (0..100).map(|_| ids.next()).collect::<Vec<_>>()
        };
        assert!(ids(1).is_sorted());
        assert_eq!(ids(1), ids(1));
        assert!(ids(1).iter().all(|id| !ids(2).contains(id)));
        assert!(ids(1).iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn chance_is_repeatable_and_never_the_same_twice() {
        let entropy = FixedEntropy::seeded(7);
        let (mut first, mut second, mut again) = ([0; 20], [0; 20], [0; 20]);
        entropy.fill(&mut first);
        entropy.fill(&mut second);
        FixedEntropy::seeded(7).fill(&mut again);
        assert_ne!(first, second);
        assert_eq!(first, again);
        assert_ne!(first, [0; 20]);
    }
}
