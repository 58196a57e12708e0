//! The store of messages that providers sent.

use async_trait::async_trait;

use super::{ProcessorEvent, StoreError};
use crate::access::Mode;
use crate::ids::OrganizationId;
use crate::names::named_enum;
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
    /// Whose own account sent it: it says nothing of anybody else's. None of a sender that all share.
    pub organization_id: Option<OrganizationId>,
    /// The body as it came.
    pub body: Vec<u8>,
    /// When it came.
    pub received_at: Timestamp,
}

impl InboxMessage {
    /// Who the messages of the payment processor are kept from: the account that all share, or an
    /// organization's own. Each numbers its messages for itself.
    #[must_use]
    pub fn processor_source(own_account_of: Option<OrganizationId>) -> String {
        match own_account_of {
            Some(organization) => format!("processor:{organization}"),
            None => "processor".to_owned(),
        }
    }
}

named_enum! {
    /// How far a message is.
    pub enum InboxState {
        /// To be handled.
        Waiting = "waiting",
        /// Handled.
        Handled = "handled",
        /// It could not be handled: a person has to look.
        Failed = "failed",
    }
}

/// What people see of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRecord {
    /// Who sent it.
    pub source: String,
    /// The sender's id of it.
    pub id: String,
    /// Live or sandbox.
    pub mode: Mode,
    /// When it came.
    pub received_at: Timestamp,
    /// How far it is.
    pub state: InboxState,
    /// Why it was not handled.
    pub problem: Option<String>,
}

/// Messages of providers, each kept once.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait InboxStore: Send {
    /// Keeps the message unless it is there. Tells whether it is new.
    async fn insert(&mut self, message: &InboxMessage) -> Result<bool, StoreError>;
    /// Up to so many messages that wait and are due, oldest first, locked until the end of the unit
    /// of work; those that others hold are left out.
    async fn lock_waiting(
        &mut self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<InboxMessage>, StoreError>;
    /// The message of this source and id if it waits, due or not, locked.
    async fn lock_one(
        &mut self,
        source: &str,
        id: &str,
    ) -> Result<Option<InboxMessage>, StoreError>;
    /// The message was handled.
    async fn mark_handled(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// The message could not be handled, and why; it is kept until somebody looks.
    async fn mark_failed(
        &mut self,
        source: &str,
        id: &str,
        at: Timestamp,
        problem: &str,
    ) -> Result<(), StoreError>;
    /// The message is not due before that time.
    async fn postpone(
        &mut self,
        source: &str,
        id: &str,
        until: Timestamp,
    ) -> Result<(), StoreError>;
    /// Up to so many messages in the state, oldest first.
    async fn list(&mut self, state: InboxState, limit: u32)
    -> Result<Vec<InboxRecord>, StoreError>;
    /// Has failed messages, or the one of this id, and those that wait handled again from now on.
    /// Tells how many.
    async fn requeue<'a>(&mut self, id: Option<&'a str>, now: Timestamp)
    -> Result<u64, StoreError>;
    /// How many wait, and how many failed.
    async fn backlog(&mut self) -> Result<(u64, u64), StoreError>;
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
