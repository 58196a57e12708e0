//! Instants, days and calendar months.
//!
//! The domain never reads a clock: the time is an argument, and a use case takes
//! it from the [`Clock`](crate::ports::Clock) port.

use chrono::{DateTime, Months, NaiveDate, SubsecRound, Utc};

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
    fn months_clamp_to_the_end_of_the_month_and_come_back() {
        let day = |y, m, d| NaiveDate::from_ymd_opt(y, m, d).unwrap();
        assert_eq!(add_months(day(2026, 1, 31), 1), Some(day(2026, 2, 28)));
        assert_eq!(add_months(day(2028, 1, 31), 1), Some(day(2028, 2, 29)));
        assert_eq!(add_months(day(2026, 1, 31), 2), Some(day(2026, 3, 31)));
        assert_eq!(add_months(day(2026, 11, 20), 12), Some(day(2027, 11, 20)));
    }
}
