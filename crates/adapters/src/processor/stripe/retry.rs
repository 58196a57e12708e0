//! Which answers are asked for again, and when.

use std::time::Duration;

use async_trait::async_trait;

/// Waits, and chance: what a retry needs of the world.
#[async_trait]
pub trait Pacing: Send + Sync {
    /// Waits that long.
    async fn pause(&self, time: Duration);
    /// A random number from 0 to 1.
    fn fraction(&self) -> f64;
}

/// The system's timer and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPacing;

#[async_trait]
impl Pacing for SystemPacing {
    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn fraction(&self) -> f64 {
        // Without chance the pauses are only less spread.
        getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
    }
}

/// How a call is repeated, always with the same key and the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is made in all.
    pub attempts: u32,
    /// The pause before the second one; it doubles from then on.
    pub first_pause: Duration,
    /// The longest pause of our own choice.
    pub longest_pause: Duration,
    /// The longest pause that the processor may ask for; when it asks for more, the
    /// call ends and the work is tried again later.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(8),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// What came of one request, as far as a retry depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RetryHints {
    /// The HTTP status; none when there was no answer.
    pub(super) status: Option<u16>,
    /// What the processor says of a retry (`Stripe-Should-Retry`).
    pub(super) should_retry: Option<bool>,
    /// How long it asks to wait (`Retry-After`).
    pub(super) retry_after: Option<Duration>,
    /// Whether the answer is a stored one.
    pub(super) replayed: bool,
}

impl RetryHints {
    fn is_worth_repeating(&self) -> bool {
        if self.replayed {
            // The same key brings the same answer again.
            return false;
        }
        match (self.should_retry, self.status) {
            (Some(advice), Some(_)) => advice,
            (_, None) => true,
            (None, Some(status)) => status == 409 || status == 429 || status >= 500,
        }
    }
}

impl RetryPolicy {
    /// How long to wait before the next request; nothing when there is to be none.
    ///
    /// `made` is how many requests were made, from 1; `fraction` a random number
    /// from 0 to 1. The pause doubles with each request and is spread over its
    /// upper half; it is never shorter than what the processor asks for.
    #[must_use]
    pub(super) fn pause_after(
        &self,
        made: u32,
        hints: &RetryHints,
        fraction: f64,
    ) -> Option<Duration> {
        if made >= self.attempts || !hints.is_worth_repeating() {
            return None;
        }
        let doubled = self
            .first_pause
            .saturating_mul(2_u32.saturating_pow(made.saturating_sub(1)))
            .min(self.longest_pause);
        let spread = doubled.mul_f64(0.5 + 0.5 * fraction.clamp(0.0, 1.0));
        match hints.retry_after {
            Some(asked) if asked > self.longest_wait => None,
            Some(asked) => Some(asked.max(spread)),
            None => Some(spread),
        }
    }
}
