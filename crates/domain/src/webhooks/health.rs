//! How an endpoint fares as a whole.

use chrono::TimeDelta;

use crate::time::Timestamp;

/// After so many failures in a row an endpoint rests between attempts.
pub const TRIED_IN_VAIN: u32 = 5;
/// The longest that an endpoint that fails is left alone for between two attempts.
pub const LONGEST_REST: TimeDelta = TimeDelta::minutes(1);
/// An endpoint at which everything failed for so long is disabled.
pub const HOPELESS_AFTER: TimeDelta = TimeDelta::days(5);
/// A failure that comes so long after the one before it begins a new run: nothing was tried meanwhile,
/// and nobody can say that everything failed. No pause between attempts is as long.
pub const RUN_ENDS_AFTER: TimeDelta = TimeDelta::days(2);

/// What is known of how an endpoint answers, nothing bad by default: the circuit that keeps a dead one from costing the others
/// anything.
///
/// After a failure one delivery is tried at a time, whatever waits. After [`TRIED_IN_VAIN`] in a row it *rests*
/// between attempts, a second first, then twice as long each time, up to [`LONGEST_REST`]. The first
/// that it takes ends both. What waits is late then, and keeps its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointHealth {
    /// Attempts that failed since the last that was taken.
    pub failures: u32,
    /// When the first of them ended, of those that are told together.
    pub failing_since: Option<Timestamp>,
    /// When the last of them ended.
    pub last_failed_at: Option<Timestamp>,
    /// Until when nothing is tried.
    pub resting_until: Option<Timestamp>,
}

impl EndpointHealth {
    /// Whether one delivery at a time is tried, and no more.
    #[must_use]
    pub const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Whether nothing is to be tried at this time.
    #[must_use]
    pub fn rests_at(&self, now: Timestamp) -> bool {
        self.resting_until.is_some_and(|until| until > now)
    }

    /// It did not take a delivery. Tells whether it is hopeless: everything failed for
    /// [`HOPELESS_AFTER`].
    pub fn failed(&mut self, at: Timestamp) -> bool {
        let is_new_run = self
            .last_failed_at
            .is_none_or(|last| at.signed_duration_since(last) > RUN_ENDS_AFTER);
        let since = match self.failing_since {
            Some(since) if !is_new_run => since,
            Some(_) | None => at,
        };
        self.failures = self.failures.saturating_add(1);
        self.failing_since = Some(since);
        self.last_failed_at = Some(at);
        self.resting_until = self
            .failures
            .checked_sub(TRIED_IN_VAIN)
            .and_then(|in_vain| at.checked_add_signed(rest(in_vain)));
        at.signed_duration_since(since) >= HOPELESS_AFTER
    }
}

fn rest(in_vain: u32) -> TimeDelta {
    let seconds = 1_i64
        .checked_shl(in_vain.min(16))
        .unwrap_or(i64::from(u16::MAX));
    TimeDelta::seconds(seconds).min(LONGEST_REST)
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "small numbers that a test has written down"
)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000)
    }

    #[test]
    fn it_rests_longer_and_longer_and_a_minute_at_the_most() {
        let mut health = EndpointHealth::default();
        let rests: Vec<Option<i64>> = (0..14)
            .map(|_| {
                health.failed(at());
                health
                    .resting_until
                    .map(|until| (until - at()).num_seconds())
            })
            .collect();
        let told = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].map(Some);
        assert_eq!(rests.get(..4), Some([None; 4].as_slice()));
        assert_eq!(rests.get(4..), Some(told.as_slice()));
        assert!(health.is_failing() && health.rests_at(at()));
        assert!(!health.rests_at(at() + LONGEST_REST));
    }

    #[test]
    fn five_days_of_failures_are_hopeless() {
        let mut health = EndpointHealth::default();
        for hours in (0..120).step_by(12) {
            let now = at() + TimeDelta::hours(hours);
            assert!(!health.failed(now), "after {hours} hours");
        }
        let end = at() + HOPELESS_AFTER;
        assert!(!health.clone().failed(end - TimeDelta::milliseconds(1)));
        assert!(health.failed(end));
    }

    #[test]
    fn what_was_taken_between_ends_the_run() {
        let mut health = EndpointHealth::default();
        health.failed(at());
        health.failed(at() + TimeDelta::days(1));
        // It took something.
        health = EndpointHealth::default();
        for days in 2..7 {
            assert!(!health.failed(at() + TimeDelta::days(days)), "{days}");
        }
        assert!(health.failed(at() + TimeDelta::days(7)));
    }

    #[test]
    fn where_nothing_was_tried_nothing_failed() {
        let mut health = EndpointHealth::default();
        health.failed(at());
        let later = at() + TimeDelta::days(60);
        assert!(!health.failed(later), "one failure in two months");
        assert_eq!(health.failing_since, Some(later));
        assert!(!health.failed(later + RUN_ENDS_AFTER));
        assert_eq!(health.failing_since, Some(later), "it goes on");
    }
}
