//! Positions in the primary's log of changes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diesel::pg::data_types::PgLsn as Lsn;

/// How many digits the text of a position has, whatever it is.
const DIGITS: usize = 16;

#[diesel::declare_sql_function]
extern "SQL" {
    /// Where the log of changes ends.
    fn pg_current_wal_insert_lsn() -> PgLsn;
    /// How much of the primary's log a replica shows; null where there never was a primary.
    fn pg_last_wal_replay_lsn() -> Nullable<PgLsn>;
    /// Whether the server is a replica.
    fn pg_is_in_recovery() -> Bool;
}

/// A position in the primary's log of changes (its WAL). Whoever was told one sees what they wrote
/// wherever that much of the log is known.
///
/// Its text is 16 hexadecimal digits in lower case, so that of two texts the greater is the later
/// position.
///
/// ```
/// use lessor_adapters::postgres::Position;
///
/// let earlier: Position = "0000000001a3f2c8".parse().unwrap();
/// let later: Position = "000000010000002a".parse().unwrap();
/// assert!(earlier < later && earlier.to_string() < later.to_string());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

/// The text is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 hexadecimal digits in lower case, as an answer had them")]
pub struct InvalidPosition;

impl From<Lsn> for Position {
    fn from(Lsn(position): Lsn) -> Self {
        Self(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != DIGITS || !text.bytes().all(is_digit) {
            return Err(InvalidPosition);
        }
        let position = u64::from_str_radix(text, 16).map_err(|_| InvalidPosition)?;
        Ok(Self(position))
    }
}

/// How far the log had come after the last commit of some work, such as a request. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LastCommit(Arc<AtomicU64>);

impl LastCommit {
    /// The position after the last commit; none when there was none.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            position => Some(Position(position)),
        }
    }

    /// Notes the position after a commit.
    pub fn note(&self, position: Position) {
        self.0.fetch_max(position.0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str) -> Position {
        text.parse().unwrap()
    }

    #[test]
    fn a_position_is_read_as_it_is_written() {
        for (text, number) in [
            ("0000000000000000", 0),
            ("00000000016b3748", 0x16b_3748),
            ("000000a4ffffffff", 0xa4_ffff_ffff),
            ("ffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(position(text), Position(number));
            assert_eq!(Position(number).to_string(), text);
        }
        for bad in [
            "",
            "0",
            "0/16B3748",
            "00000000016B3748",
            "00000000016b374",
            "00000000016b37480",
            "+0000000016b3748",
            " 0000000016b3748",
            "00000000016b374g",
            "000000000000000ä",
        ] {
            assert_eq!(bad.parse::<Position>(), Err(InvalidPosition), "{bad}");
        }
    }

    #[test]
    fn the_later_position_is_the_greater_text() {
        let numbers = [0, 1, 0xf, 0x10, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        for pair in numbers.windows(2) {
            let (earlier, later) = (Position(pair[0]), Position(pair[1]));
            assert!(earlier < later);
            assert!(earlier.to_string() < later.to_string(), "{earlier} {later}");
        }
    }

    #[test]
    fn the_last_commit_is_the_latest() {
        let noted = LastCommit::default();
        assert_eq!(noted.position(), None);
        for (now, last) in [(5, 5), (9, 9), (7, 9)] {
            noted.clone().note(Position(now));
            assert_eq!(noted.position(), Some(Position(last)));
        }
    }
}
