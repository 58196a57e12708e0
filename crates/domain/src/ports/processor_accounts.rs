//! The store of organizations' own accounts at the payment processor, and who calls them.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Doubt, PaymentProcessor, Scope, StoreError};
use crate::access::Mode;
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::processor_account::{AccountRecord, ProcessorAccount};

/// Organizations' own accounts at the payment processor, at most one of each mode. The secrets are sealed:
/// whoever reads the store without the key has nothing of them.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ProcessorAccountStore: Send {
    /// The organization's account of the mode.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when its secrets do not open.
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<ProcessorAccount>, StoreError>;
    /// What people see of the organization's accounts, live before sandbox. Nothing is opened for it.
    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<AccountRecord>, StoreError>;
    /// Keeps a new account. Its version is 1 then.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when the organization has one of the mode;
    /// [`StoreError::Internal`] when there is nothing to seal its secrets with.
    async fn insert(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError>;
    /// Writes the account if its version is still the stored one, and counts the version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`]; [`StoreError::Internal`] when there is nothing to
    /// seal its secrets with.
    async fn update(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError>;
    /// Removes the organization's account of the mode. False when it has none.
    async fn remove(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<bool, StoreError>;
    /// Up to so many of the organization's checkouts of the mode that rest on what is at the processor
    /// for them, oldest first: those with something in the ledger, or whose customer's verification is
    /// under way there, that have not ended, and those of which a deposit is still held.
    async fn resting(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Forgets by what ids the processor knows the organization's customers of the mode: another account
    /// knows none of them. Answers of how many.
    async fn forget_customers(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<u64, StoreError>;
}

/// Calls organizations' own accounts.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ProcessorAccounts: Send + Sync {
    /// The payment processor as the organization's own account of the mode; none where it has none and
    /// works with the process's. It is what was set some seconds ago.
    ///
    /// # Errors
    /// [`Doubt::Unreachable`] when nobody can say now; [`Doubt::Failed`] when the account's secrets do not
    /// open.
    async fn of(&self, scope: Scope) -> Result<Option<Arc<dyn PaymentProcessor>>, Doubt>;
}
