//! The store of answers to requests that may be repeated.

use async_trait::async_trait;

use super::StoreError;
use crate::access::Mode;
use crate::ids::OrganizationId;
use crate::time::Timestamp;

/// What a repeated request is recognized by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    pub organization_id: OrganizationId,
    /// Live or sandbox.
    pub mode: Mode,
    /// Method and path.
    pub path: String,
    /// The caller's key, up to 255 characters.
    pub key: String,
}

/// A kept answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// SHA-256 of the request.
    pub request_hash: [u8; 32],
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer, byte for byte.
    pub body: Vec<u8>,
    /// Whether it is a record that was there before the request.
    pub is_existing: bool,
    /// Whether this is the answer that was given; before, it is the one to give
    /// should the process die.
    pub is_final: bool,
    /// When it was kept.
    pub created_at: Timestamp,
}

/// Answers to requests.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait IdempotencyStore: Send {
    /// Keeps others from working on the key until the end of the unit of work.
    /// False, at once, when somebody else works on it.
    async fn try_lock(&mut self, key: &IdempotencyKey) -> Result<bool, StoreError>;
    /// The answer kept since the time.
    async fn find(
        &mut self,
        key: &IdempotencyKey,
        since: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError>;
    /// Keeps the answer, in place of an older one.
    async fn put(&mut self, key: &IdempotencyKey, answer: &StoredAnswer) -> Result<(), StoreError>;
    /// Forgets answers kept before the time. Tells how many.
    async fn purge(&mut self, before: Timestamp) -> Result<u64, StoreError>;
}
