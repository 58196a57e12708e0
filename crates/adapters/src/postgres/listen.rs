//! Hearing what other processes do.

use lessor_domain::ports::{Scope, StoreError};

use super::PgDatabase;
use super::events::{self, feed_of};
use super::jobs;
use super::pooling::Pooling;

/// What is heard of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is listened from here on: of what was done before nobody has heard.
    Nothing,
    /// The feed has events with numbers that it had not.
    Feed(Scope),
    /// There are jobs to be done that there were not.
    Jobs,
}

impl PgDatabase {
    /// Whether others can be heard: it takes a session that stays ours.
    #[must_use]
    pub fn can_listen(&self) -> bool {
        self.pool.pooling() == Pooling::Session
    }

    /// Listens to whoever numbers events and has something to be done, this process among them, by a
    /// connection of its own, until that ends.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the connection cannot be had, or breaks.
    pub async fn listen(&self, mut heard: impl FnMut(Heard) + Send) -> Result<(), StoreError> {
        let told = |message: Option<(&str, &str)>| {
            let said = match message {
                None => Some(Heard::Nothing),
                Some((events::CHANNEL, payload)) => feed_of(payload).map(Heard::Feed),
                Some((jobs::CHANNEL, _)) => Some(Heard::Jobs),
                Some(_) => None,
            };
            if let Some(said) = said {
                heard(said);
            }
        };
        self.pool
            .listen(&[events::CHANNEL, jobs::CHANNEL], told)
            .await
            .map_err(StoreError::unavailable)
    }
}
