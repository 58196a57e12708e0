//! Writes that compare the version before they set.

use lessor_domain::ports::StoreError;

/// The version that a write makes of the one that it found.
pub(super) const fn next(version: i64) -> i64 {
    version.saturating_add(1)
}

/// What a write met that wrote nothing.
pub(super) const fn stale_or_missing(exists: bool, what: &'static str) -> StoreError {
    if exists {
        StoreError::Stale(what)
    } else {
        StoreError::Missing(what)
    }
}
