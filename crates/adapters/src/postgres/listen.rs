//! Hearing what other processes do.

use lessor_domain::ports::{Scope, StoreError};

use super::PgDatabase;
use super::events::{CHANNEL, feed_of};
use super::pooling::Pooling;

impl PgDatabase {
    /// Whether it can be heard when others number events: it takes a session that stays ours.
    #[must_use]
    pub fn can_listen(&self) -> bool {
        self.pool.pooling() == Pooling::Session
    }

    /// Listens to whoever numbers events, by a connection of its own, until that ends. Tells of each feed
    /// that has something new, and of none when it begins: what was told before nobody has heard.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the connection cannot be had, or breaks.
    pub async fn listen_to_feeds(
        &self,
        mut heard: impl FnMut(Option<Scope>) + Send,
    ) -> Result<(), StoreError> {
        let told = |payload: Option<&str>| match payload {
            None => heard(None),
            Some(payload) => {
                if let Some(feed) = feed_of(payload) {
                    heard(Some(feed));
                }
            }
        };
        self.pool
            .listen(CHANNEL, told)
            .await
            .map_err(StoreError::unavailable)
    }
}
