//! How slowly a client may take its answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How slowly a client may take its answers. Only the time counts in which it lets the server wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// For how long it may take nothing at all.
    pub pause: Duration,
    /// After how long a wait, pauses together, it is looked at how much it took meanwhile.
    pub span: Duration,
    /// How much that has to be at the least, in bytes.
    pub least: u64,
}

impl Default for Pace {
    /// A pause of 30 seconds; 10 KiB a second over 60 seconds.
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(30),
            span: Duration::from_secs(60),
            least: 60 * 10 * 1024,
        }
    }
}

/// How a client takes what is written to it.
#[derive(Debug)]
pub(crate) struct Taking {
    pace: Pace,
    /// Since when it takes nothing.
    paused: Option<Instant>,
    /// When it has taken nothing for too long. None while it takes: a timer that runs on would have actix
    /// look at a connection that is idle, and forget for how long it is.
    alarm: Option<Pin<Box<Sleep>>>,
    /// For how long it let the server wait since it was last looked at,
    waited: Duration,
    /// and how many bytes it took.
    bytes: u64,
}

impl Taking {
    pub(crate) const fn new(pace: Pace) -> Self {
        Self {
            pace,
            paused: None,
            alarm: None,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Whether the server waits for it.
    pub(crate) const fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// What came of a write, or an error when the client takes too little.
    pub(crate) fn poll_judged(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let is_too_slow = match &written {
            Poll::Ready(Ok(count)) => !self.took(*count, Instant::now),
            Poll::Ready(Err(_)) => false,
            Poll::Pending => {
                let until = self.pauses(Instant::now());
                let alarm = || Box::pin(sleep_until(until));
                let alarm = self.alarm.get_or_insert_with(alarm);
                alarm.as_mut().poll(cx).is_ready()
            }
        };
        if is_too_slow {
            tracing::debug!("a client was too slow to take its answer");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        written
    }

    /// Notes that it takes nothing. Until when it may do so is answered.
    fn pauses(&mut self, now: Instant) -> Instant {
        *self.paused.get_or_insert(now) + self.pace.pause
    }

    /// Notes that it took something, which takes the time where it was waited for. Whether it was enough for that is answered.
    fn took(&mut self, count: usize, now: impl FnOnce() -> Instant) -> bool {
        if let Some(since) = self.paused.take() {
            let pause = now().saturating_duration_since(since);
            self.waited = self.waited.saturating_add(pause);
            self.alarm = None;
        }
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(count);
        if self.waited < self.pace.span {
            return true;
        }
        let is_enough = self.bytes >= self.pace.least;
        self.waited = Duration::ZERO;
        self.bytes = 0;
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        pause: Duration::from_secs(30),
        span: Duration::from_secs(60),
        least: 600,
    };

    /// Whether it was enough each time, of a client that takes so much after pauses of so many seconds.
    fn judged(steps: &[(u64, usize)]) -> Vec<bool> {
        let mut taking = Taking::new(PACE);
        let mut now = Instant::now();
        let judged = steps.iter().map(|&(pause, count)| {
            if pause > 0 {
                assert_eq!(taking.pauses(now), now + PACE.pause);
            }
            now += Duration::from_secs(pause);
            taking.took(count, || now)
        });
        judged.collect()
    }

    #[test]
    fn a_trickle_is_found_out() {
        assert_eq!(
            judged(&[(29, 290), (29, 290), (2, 19)]),
            [true, true, false]
        );
        assert_eq!(judged(&[(29, 290), (29, 290), (2, 20)]), [true; 3]);
        // Each span counts for itself.
        let later = [(60, 10_000), (30, 300), (30, 299)];
        assert_eq!(judged(&later), [true, true, false]);
    }

    #[test]
    fn time_in_which_nobody_waits_does_not_count() {
        let mut taking = Taking::new(PACE);
        let begin = Instant::now();
        for hours in 0..10 {
            assert!(taking.took(1, || begin + Duration::from_secs(hours * 3_600)));
        }
        assert!(!taking.is_paused());
    }

    #[test]
    fn a_pause_lasts_from_its_begin() {
        let mut taking = Taking::new(PACE);
        let begin = Instant::now();
        let until = taking.pauses(begin);
        assert_eq!(taking.pauses(begin + Duration::from_secs(10)), until);
        assert!(taking.is_paused());
        let later = begin + Duration::from_secs(29);
        assert!(taking.took(1, || later) && !taking.is_paused());
        assert_eq!(taking.pauses(later), later + PACE.pause);
    }
}
