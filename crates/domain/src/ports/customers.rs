//! The store of customers.

use async_trait::async_trait;

use super::{Page, Scope, StoreError};
use crate::access::Mode;
use crate::customer::{Customer, Profile};
use crate::ids::{CustomerPubId, OrganizationId, UserId};
use crate::metadata::Metadata;
use crate::text::Email;
use crate::time::Timestamp;

/// A customer that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCustomer {
    /// See [`Customer::id`].
    pub id: CustomerPubId,
    /// See [`Customer::organization_id`].
    pub organization_id: OrganizationId,
    /// See [`Customer::mode`].
    pub mode: Mode,
    /// See [`Customer::email`].
    pub email: Email,
    /// See [`Customer::profile`].
    pub profile: Profile,
    /// See [`Customer::created_at`].
    pub created_at: Timestamp,
}

/// What became of a new customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertedCustomer {
    /// It was kept.
    New(Customer),
    /// The organization has one of the mode and the e-mail address.
    Existing(Customer),
}

/// Which customers a list shows; what is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CustomerFilter {
    /// Of this address, in any case.
    pub email: Option<Email>,
    /// With all of these metadata.
    pub metadata: Metadata,
}

/// Customers.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CustomerStore: Send {
    /// Keeps a new customer and gives it a number, unless the organization has one of the mode and
    /// the e-mail address (in any case): under any race there is one.
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError>;
    /// The customer of this id.
    async fn get(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError>;
    /// The customers of these numbers, in any order.
    async fn get_many(&mut self, ids: &[UserId]) -> Result<Vec<Customer>, StoreError>;
    /// The customer of this e-mail address, in any case.
    async fn find_by_email(
        &mut self,
        scope: Scope,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError>;
    /// The mode's customer of this verification session.
    async fn find_by_verification_session(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<Customer>, StoreError>;
    /// The customer, locked until the end of the unit of work.
    async fn lock(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError>;
    /// A page of the customers that the filter shows, newest first.
    async fn list(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        page: Page,
    ) -> Result<Vec<Customer>, StoreError>;
    /// How many customers the filter shows, counted up to `most`.
    async fn count(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        most: u64,
    ) -> Result<u64, StoreError>;
    /// Writes the customer if its version is still the stored one, and counts the
    /// version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`].
    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError>;
}
