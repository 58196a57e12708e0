//! The world's time and chance: the only place where they are read.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use lessor_domain::ports::{Clock, Entropy, IdGenerator, Timer};
use lessor_domain::time::{Timestamp, to_millis};
use uuid::Uuid;

/// The system's clock, to the millisecond: what is stored and what is answered are
/// then the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that everybody else takes the time from"
    )]
    fn now(&self) -> Timestamp {
        to_millis(SystemTime::now().into())
    }
}

/// Makes UUIDv7 that rise within the process, also when several are made in one
/// millisecond or the clock is set back.
#[derive(Debug, Clone, Copy, Default)]
pub struct UuidV7Generator;

impl IdGenerator for UuidV7Generator {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that everybody else takes identifiers from"
    )]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The system's cryptographic random number generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    /// # Panics
    /// When the system has no random numbers to give. Secrets that are not random
    /// would be worse than a request that fails.
    #[expect(
        clippy::panic,
        reason = "there is no safe way on without random numbers"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system gives no random numbers: {error}");
        }
    }
}

/// Lets the runtime's time pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTimer;

#[async_trait]
impl Timer for SystemTimer {
    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn ids_rise_within_a_thread_and_never_repeat_across_them() {
        let seen = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let ids: Vec<Uuid> = (0..2_000).map(|_| UuidV7Generator.next()).collect();
                    assert!(ids.is_sorted(), "an id sorts before an earlier one");
                    assert!(ids.iter().all(|id| id.get_version_num() == 7));
                    seen.lock().unwrap().extend(ids);
                });
            }
        });
        assert_eq!(seen.lock().unwrap().len(), 8_000);
    }

    #[test]
    fn the_clock_shows_whole_milliseconds() {
        let now = SystemClock.now();
        assert_eq!(now, to_millis(now));
        assert!(SystemClock.now() >= now);
    }

    #[test]
    fn entropy_fills_everything() {
        // A byte that is never touched stays 0 in all 64 draws; a random one does with 2⁻⁵¹².
        let mut touched = [false; 32];
        for _ in 0..64 {
            let mut bytes = [0; 32];
            SystemEntropy.fill(&mut bytes);
            for (touched, byte) in touched.iter_mut().zip(bytes) {
                *touched |= byte != 0;
            }
        }
        assert!(touched.iter().all(|touched| *touched));
    }
}
