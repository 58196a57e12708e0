//! The store of what was made at the payment processor.

use async_trait::async_trait;

use super::StoreError;
use crate::access::Mode;
use crate::ids::CheckoutPubId;
use crate::ledger::Entry;
use crate::time::Timestamp;

/// What is held of customers' money, in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// How many authorizations.
    pub count: u64,
    /// Since when the oldest of them is known.
    pub oldest: Option<Timestamp>,
}

/// What was made at the processor for checkouts, a row for each thing. Ids are the processor's, and
/// tell things apart within a mode.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait LedgerStore: Send {
    /// The checkout's rows, in the order in which they were first kept.
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<Entry>, StoreError>;
    /// The row of this id.
    async fn find(&mut self, mode: Mode, id: &str) -> Result<Option<Entry>, StoreError>;
    /// The row of this payment: the pre-authorization of this id, or the invoice that it pays.
    async fn find_payment(
        &mut self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Entry>, StoreError>;
    /// Keeps the row, in the place of what was known of the same thing. Whether it says more is for
    /// [`supersedes`](Entry::supersedes) to tell; the checkout is locked meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Missing`] of the checkout.
    async fn put(&mut self, entry: &Entry) -> Result<(), StoreError>;
}
