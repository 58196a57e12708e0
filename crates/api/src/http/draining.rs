//! Whether the process was told to stop and goes on answering for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Begun once, before the server stops: `/readyz` says so from then on, and each answer is the last of its
/// connection, so that clients come back by the proxy, which asks somebody else. App data.
#[derive(Clone, Debug, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// From now on.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
