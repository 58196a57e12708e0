//! The store of messages that providers sent.

use async_trait::async_trait;

use super::{ProcessorEvent, StoreError};
use crate::access::Mode;
use crate::time::Timestamp;

/// A message of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Who sent it, such as `processor`.
    pub source: String,
    /// The sender's id of it.
    pub id: String,
    /// Live or sandbox.
    pub mode: Mode,
    /// The body as it came.
    pub body: Vec<u8>,
    /// When it came.
    pub received_at: Timestamp,
}

/// Messages of providers, each kept once.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait InboxStore: Send {
    /// Keeps the message unless it is there. Tells whether it is new.
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError>;
    /// Up to so many messages that were not handled, oldest first, locked until
    /// the end of the unit of work; those that others hold are left out.
    async fn lock_unhandled(&mut self, limit: u32) -> Result<Vec<InboxMessage>, StoreError>;
    /// The message of this source and id if it was not handled, locked.
    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError>;
    /// The message was handled, or could not be and why.
    async fn mark_handled<'a>(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: Option<&'a str>,
    ) -> Result<(), StoreError>;
}

/// Reads what the processor's messages say.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait MessageReader: Send + Sync {
    /// What the message tells.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn read(&self, message: &InboxMessage) -> Result<ProcessorEvent, String>;
}
