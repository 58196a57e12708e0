//! Time and chance.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::time::Timestamp;

/// Tells the time.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Clock: Send + Sync {
    /// The time now, UTC.
    fn now(&self) -> Timestamp;
}

/// Makes identifiers.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// A new UUIDv7: later ones sort after earlier ones, and none can be guessed.
    fn next(&self) -> Uuid;
}

/// The system's random numbers, fit for secrets.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Entropy: Send + Sync {
    /// Fills the bytes with random ones.
    fn fill(&self, bytes: &mut [u8]);
}

/// Lets time pass.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Timer: Send + Sync {
    /// Comes back after the time.
    async fn sleep(&self, time: Duration);
}
