//! The store of how far long walks have come.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ports::{CursorStore, StoreError};

use super::PgUnitOfWork;
use super::error::store_error;
use super::schema::cursors;

#[async_trait]
impl CursorStore for PgUnitOfWork {
    async fn position(&mut self, walk: &str) -> Result<Option<String>, StoreError> {
        cursors::table
            .find(walk)
            .select(cursors::position)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)
    }

    async fn set_position(&mut self, walk: &str, position: &str) -> Result<(), StoreError> {
        diesel::insert_into(cursors::table)
            .values((cursors::walk.eq(walk), cursors::position.eq(position)))
            .on_conflict(cursors::walk)
            .do_update()
            .set(cursors::position.eq(position))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }
}
