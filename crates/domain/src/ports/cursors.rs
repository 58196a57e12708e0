//! The store of how far long walks have come.

use async_trait::async_trait;

use super::StoreError;

/// How far walks through somebody else's records have come, by the walks' names: whoever goes on
/// after a pause, or after dying, begins there.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CursorStore: Send {
    /// Where the walk is; none when it has to begin.
    async fn position(&mut self, walk: &str) -> Result<Option<String>, StoreError>;
    /// The walk has come so far.
    async fn set_position(&mut self, walk: &str, position: &str) -> Result<(), StoreError>;
}
