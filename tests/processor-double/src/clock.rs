//! The double's own clock.

use chrono::{DateTime, TimeDelta, Utc};

/// The system's clock moved by so much, or one that stands still until it is set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    /// Runs, moved by so much.
    Running(TimeDelta),
    /// Stands.
    Standing(DateTime<Utc>),
}

impl Clock {
    pub(crate) fn now(self) -> DateTime<Utc> {
        match self {
            Self::Running(moved) => system() + moved,
            Self::Standing(at) => at,
        }
    }

    /// Moves it on, or back.
    pub(crate) fn advance(&mut self, by: TimeDelta) {
        match self {
            Self::Running(moved) => *moved += by,
            Self::Standing(at) => *at += by,
        }
    }

    /// Sets it; from then on it stands.
    pub(crate) const fn set(&mut self, at: DateTime<Utc>) {
        *self = Self::Standing(at);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the double is a program of its own: this is its clock, which everything else asks"
)]
fn system() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}
