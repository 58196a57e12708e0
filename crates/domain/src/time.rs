//! Instants, days and calendar months.
//!
//! The domain never reads a clock: the time is an argument, and a use case takes
//! it from the [`Clock`](crate::ports::Clock) port.

use chrono::{DateTime, Months, NaiveDate, SubsecRound, TimeDelta, Utc};

/// An instant, UTC.
pub type Timestamp = DateTime<Utc>;
/// A day, UTC.
pub type Day = NaiveDate;

/// The instant to the millisecond, the resolution that callers see, so that what
/// is stored and what is answered are the same.
#[must_use]
pub fn to_millis(at: Timestamp) -> Timestamp {
    at.trunc_subsecs(3)
}

/// What lies between two instants, of which neither belongs to it; where one is missing it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Span {
    /// All that is later than `after` and earlier than `before`; nothing, when they leave no room.
    ///
    /// Records are told to the millisecond. Bounds are moved to the milliseconds that let the same
    /// records in, so that a store of any finer resolution agrees.
    #[must_use]
    pub fn new(after: Option<Timestamp>, before: Option<Timestamp>) -> Self {
        let up = |at: Timestamp| {
            let down = to_millis(at);
            if down == at {
                at
            } else {
                down.checked_add_signed(TimeDelta::milliseconds(1))
                    .unwrap_or(at)
            }
        };
        Self {
            after: after.map(to_millis),
            before: before.map(up),
        }
    }

    /// The instant that all of it is later than.
    #[must_use]
    pub const fn after(&self) -> Option<Timestamp> {
        self.after
    }

    /// The instant that all of it is earlier than.
    #[must_use]
    pub const fn before(&self) -> Option<Timestamp> {
        self.before
    }

    /// Whether the instant lies within.
    #[must_use]
    pub fn holds(&self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.before.is_none_or(|before| at < before)
    }
}

/// The day `months` calendar months after `start`, always counted from the
/// original day: 31 January + 1 is the last of February, + 2 is 31 March.
///
/// `None` when the day lies outside the calendar (year 262,142).
#[must_use]
pub fn add_months(start: Day, months: u32) -> Option<Day> {
    start.checked_add_months(Months::new(months))
}

/// The instant `months` calendar months after `start`, at the same time of the day, counted as
/// [`add_months`] does.
#[must_use]
pub fn add_months_at(start: Timestamp, months: u32) -> Option<Timestamp> {
    start.checked_add_months(Months::new(months))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_end_of_a_span_belongs_to_it() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let noon = at("2026-11-22T12:00:00.000Z");
        let next = at("2026-11-22T12:00:00.001Z");
        let within = at("2026-11-22T12:00:00.0005Z");
        let cases = [
            (None, None, true, true),
            (Some(noon), None, false, true),
            (None, Some(next), true, false),
            (Some(noon), Some(next), false, false),
            (Some(next), Some(noon), false, false),
            // Between two milliseconds: one record before it, one after.
            (Some(within), None, false, true),
            (None, Some(within), true, false),
            (None, Some(noon), false, false),
        ];
        for (after, before, holds_noon, holds_next) in cases {
            let span = Span::new(after, before);
            assert_eq!(
                (span.holds(noon), span.holds(next)),
                (holds_noon, holds_next),
                "{after:?} {before:?}"
            );
            assert_eq!(span.after().map(to_millis), span.after(), "{after:?}");
            assert_eq!(span.before().map(to_millis), span.before(), "{before:?}");
        }
    }

    #[test]
    fn months_clamp_to_the_end_of_the_month_and_come_back() {
        let day = |y, m, d| NaiveDate::from_ymd_opt(y, m, d).unwrap();
        assert_eq!(add_months(day(2026, 1, 31), 1), Some(day(2026, 2, 28)));
        assert_eq!(add_months(day(2028, 1, 31), 1), Some(day(2028, 2, 29)));
        assert_eq!(add_months(day(2026, 1, 31), 2), Some(day(2026, 3, 31)));
        assert_eq!(add_months(day(2026, 11, 20), 12), Some(day(2027, 11, 20)));
    }
}
