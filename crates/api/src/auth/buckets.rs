//! Buckets of tokens, by which requests are counted.
//!
//! A bucket is full at first; a request takes a token, and tokens come back one after the other at the rate.
//! How many there are follows from when the bucket is full again, which is all that is kept of it (the generic
//! cell rate algorithm). What is taken beyond them is owed: nobody gets a token before it came back.

use std::convert::Infallible;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use actix_web::http::header::{HeaderName, HeaderValue};
use governor::nanos::Nanos;
use governor::state::StateStore as _;
use governor::state::keyed::{DefaultKeyedStateStore, ShrinkableKeyedStateStore as _};

use crate::http::error::ApiError;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// After how many requests buckets that are full are forgotten.
const TIDY_EVERY: u32 = 4_096;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// How large buckets are, and how fast they fill. All times are nanoseconds since the same beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// How long a token takes to come back, in nanoseconds; 1 at least.
    interval: u64,
    /// The most tokens of a bucket; 1 at least.
    burst: u32,
}

impl Rate {
    /// So many tokens in a second, and as many at once as come in these seconds.
    pub(super) fn per_second(tokens: NonZeroU32, seconds: u32) -> Self {
        Self {
            interval: (SECOND / u64::from(tokens.get())).max(1),
            burst: tokens.get().saturating_mul(seconds).max(1),
        }
    }

    /// How a bucket stands now that is full at this time.
    fn standing(self, full_at: u64, now: u64) -> Standing {
        let until_full = full_at.saturating_sub(now);
        let missing = u32::try_from(until_full.div_ceil(self.interval)).unwrap_or(u32::MAX);
        Standing {
            limit: self.burst,
            remaining: self.burst.saturating_sub(missing),
            reset: until_full.div_ceil(SECOND),
        }
    }

    /// When a bucket is full once so many tokens are taken of it, were they there or not.
    fn without(self, tokens: u32, full_at: u64, now: u64) -> u64 {
        let taken = self.interval.saturating_mul(tokens.into());
        full_at.max(now).saturating_add(taken)
    }

    /// When a bucket is full once a token is taken of it.
    ///
    /// # Errors
    /// It has none.
    fn take(self, full_at: u64, now: u64) -> Result<u64, Empty> {
        let standing = self.standing(full_at, now);
        if standing.remaining > 0 {
            return Ok(self.without(1, full_at, now));
        }
        let all_but_one = self
            .interval
            .saturating_mul(self.burst.saturating_sub(1).into());
        let wait = full_at.saturating_sub(now).saturating_sub(all_but_one);
        Err(Empty {
            standing,
            wait: Duration::from_nanos(wait),
        })
    }
}

/// A bucket for each of many.
pub(super) struct Buckets<K> {
    rate: Rate,
    /// When each is full again, in nanoseconds since the beginning.
    full_at: DefaultKeyedStateStore<K>,
    began: Instant,
    counted: AtomicU32,
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    /// Buckets that are full, however many they become.
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: DefaultKeyedStateStore::default(),
            began: Instant::now(),
            counted: AtomicU32::new(0),
        }
    }

    /// Takes a token of somebody's bucket.
    ///
    /// # Errors
    /// It has none.
    pub(super) fn take(&self, whose: &K) -> Result<Standing, Empty> {
        self.take_at(whose, self.now())
    }

    /// Takes so many tokens of somebody's bucket, were they there or not.
    pub(super) fn charge(&self, whose: &K, tokens: u32) -> Standing {
        self.charge_at(whose, tokens, self.now())
    }

    /// Puts a token back that was taken of somebody's bucket.
    pub(super) fn give_back(&self, whose: &K) {
        let given = |known: Option<Nanos>| {
            let full_at = known.map_or(0, Nanos::as_u64);
            let sooner = full_at.saturating_sub(self.rate.interval);
            Ok::<_, Infallible>(((), Nanos::new(sooner)))
        };
        let Ok(()) = self.full_at.measure_and_replace(whose, given);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn take_at(&self, whose: &K, now: u64) -> Result<Standing, Empty> {
        // Most come once or seldom: a bucket that is full is as good as none.
        if self.counted.fetch_add(1, Ordering::Relaxed) % TIDY_EVERY == TIDY_EVERY - 1 {
            self.full_at.retain_recent(Nanos::new(now));
            self.full_at.shrink_to_fit();
        }
        self.full_at.measure_and_replace(whose, |known| {
            let full_at = known.map_or(0, Nanos::as_u64);
            let taken = self.rate.take(full_at, now);
            taken.map(|full_at| (self.rate.standing(full_at, now), Nanos::new(full_at)))
        })
    }

    fn charge_at(&self, whose: &K, tokens: u32, now: u64) -> Standing {
        let charge = |known: Option<Nanos>| {
            let full_at = known.map_or(0, Nanos::as_u64);
            let full_at = self.rate.without(tokens, full_at, now);
            let standing = self.rate.standing(full_at, now);
            Ok::<_, Infallible>((standing, Nanos::new(full_at)))
        };
        let Ok(standing) = self.full_at.measure_and_replace(whose, charge);
        standing
    }
}

/// How much may still be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Requests at once at the most.
    limit: u32,
    /// Requests of these that are left.
    remaining: u32,
    /// Seconds until all of them are there again.
    reset: u64,
}

impl Standing {
    /// What an answer says of it.
    pub(crate) fn headers(self) -> [(HeaderName, HeaderValue); 3] {
        [
            (LIMIT, self.limit.into()),
            (REMAINING, self.remaining.into()),
            (RESET, self.reset.into()),
        ]
    }

    /// The error, whose answer says it too.
    pub(super) fn told_with(self, error: ApiError) -> ApiError {
        let told = self.headers().into_iter();
        told.fold(error, |error, (name, value)| error.with_header(name, value))
    }
}

/// A bucket has no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Empty {
    standing: Standing,
    /// How long until it has one.
    wait: Duration,
}

impl Empty {
    /// The refusal of who is to wait for so long.
    pub(super) fn refusal(self, refuse: impl FnOnce(Duration) -> ApiError) -> ApiError {
        self.standing.told_with(refuse(self.wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten tokens a second, and twenty at once.
    fn ten() -> Rate {
        Rate::per_second(NonZeroU32::new(10).unwrap(), 2)
    }

    const TENTH: u64 = SECOND / 10;

    #[test]
    fn a_burst_is_let_in_and_then_the_rate() {
        let (rate, buckets) = (ten(), Buckets::new(ten()));
        for taken in 1..=20_u32 {
            let standing = buckets.take_at(&'a', SECOND).unwrap();
            let reset = u64::from(taken).div_ceil(10);
            assert_eq!(
                (standing.limit, standing.remaining, standing.reset),
                (20, 20 - taken, reset)
            );
        }
        let refused = buckets.take_at(&'a', SECOND).unwrap_err();
        assert_eq!(refused.wait, Duration::from_millis(100));
        assert_eq!(refused.standing, rate.standing(3 * SECOND, SECOND));
        assert_eq!((refused.standing.remaining, refused.standing.reset), (0, 2));
        // A refusal takes nothing; a nanosecond too early is too early.
        let almost = buckets.take_at(&'a', SECOND + TENTH - 1).unwrap_err();
        assert_eq!(almost.wait, Duration::from_nanos(1));
        let again = buckets.take_at(&'a', SECOND + TENTH).unwrap();
        assert_eq!(again.remaining, 0);
        assert!(buckets.take_at(&'a', SECOND + TENTH).is_err());
        // Others have buckets of their own.
        assert_eq!(buckets.take_at(&'b', SECOND).unwrap().remaining, 19);
        // However long nobody asked, there is no more than a burst.
        assert_eq!(buckets.take_at(&'a', 1_000 * SECOND).unwrap().remaining, 19);
    }

    #[test]
    fn what_is_owed_is_waited_for() {
        let buckets = Buckets::new(ten());
        assert_eq!(buckets.take_at(&'a', 0).unwrap().remaining, 19);
        assert_eq!(buckets.charge_at(&'a', 4, 0).remaining, 15);
        let owing = buckets.charge_at(&'a', 95, 0);
        assert_eq!((owing.remaining, owing.reset), (0, 10));
        // A hundred were taken: eighty are owed, and then one has to come.
        let refused = buckets.take_at(&'a', 0).unwrap_err();
        assert_eq!(refused.wait, Duration::from_millis(8_100));
        assert!(buckets.take_at(&'a', 81 * TENTH - 1).is_err());
        assert_eq!(buckets.take_at(&'a', 81 * TENTH).unwrap().remaining, 0);
        // More can be owed than is ever paid, and nobody else owes it.
        let hopeless = buckets.charge_at(&'b', u32::MAX, 0);
        assert_eq!((hopeless.remaining, hopeless.limit), (0, 20));
        assert_eq!(buckets.take_at(&'c', 0).unwrap().remaining, 19);
        // Nothing is taken for nothing.
        assert_eq!(buckets.charge_at(&'c', 0, 0).remaining, 19);
    }

    #[test]
    fn what_is_given_back_was_never_taken() {
        let buckets = Buckets::new(ten());
        for _ in 0..100 {
            assert_eq!(buckets.take_at(&'a', 0).unwrap().remaining, 19);
            buckets.give_back(&'a');
        }
        // Nor is there more than a burst then.
        buckets.give_back(&'a');
        buckets.give_back(&'b');
        for whose in ['a', 'b'] {
            assert_eq!(buckets.take_at(&whose, SECOND).unwrap().remaining, 19);
        }
    }

    #[test]
    fn the_smallest_and_the_largest_rates_are_kept() {
        let rate = |tokens, seconds| Rate::per_second(NonZeroU32::new(tokens).unwrap(), seconds);
        let buckets = Buckets::new(rate(1, 1));
        assert_eq!(buckets.take_at(&(), 0).unwrap().remaining, 0);
        let wait = buckets.take_at(&(), SECOND / 4).unwrap_err().wait;
        assert_eq!(wait, Duration::from_millis(750));
        let buckets = Buckets::new(rate(u32::MAX, 5));
        let standing = buckets.take_at(&(), 0).unwrap();
        assert_eq!(
            (standing.limit, standing.remaining, standing.reset),
            (u32::MAX, u32::MAX - 1, 1)
        );
    }

    #[test]
    fn buckets_that_are_full_are_forgotten() {
        let buckets = Buckets::new(ten());
        for number in 0..TIDY_EVERY {
            buckets.take_at(&number, SECOND).unwrap();
        }
        // Those of a moment ago are kept.
        assert_eq!(buckets.full_at.len(), 4_096);
        for number in 0..TIDY_EVERY {
            let taken = buckets.take_at(&(number % 2), 100 * SECOND);
            assert_eq!(taken.is_ok(), number < 40, "{number}");
        }
        assert!(buckets.full_at.len() <= 2, "{}", buckets.full_at.len());
    }
}
