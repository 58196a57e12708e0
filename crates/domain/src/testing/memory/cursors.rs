//! How far long walks have come.

use async_trait::async_trait;

use super::Memory;
use crate::ports::{CursorStore, StoreError};

#[async_trait]
impl CursorStore for Memory {
    async fn position(&mut self, walk: &str) -> Result<Option<String>, StoreError> {
        Ok(self.unowned().cursors.get(walk).cloned())
    }

    async fn set_position(&mut self, walk: &str, position: &str) -> Result<(), StoreError> {
        let state = self.change_unowned()?;
        state.cursors.insert(walk.to_owned(), position.to_owned());
        Ok(())
    }
}
