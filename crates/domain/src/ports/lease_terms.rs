//! The store of lease terms.

use async_trait::async_trait;

use super::StoreError;
use crate::ids::{LeaseTermPubId, LeaseTermRef, OrganizationId, ProductPubId};
use crate::lease_term::{LeaseTerm, LeaseTermStatus};
use crate::organization::Organization;
use crate::pricing::RateCard;
use crate::time::Timestamp;

/// A lease term that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLeaseTerm {
    /// See [`LeaseTerm::id`].
    pub id: LeaseTermPubId,
    /// See [`LeaseTerm::organization_id`].
    pub organization_id: OrganizationId,
    /// See [`LeaseTerm::product_id`].
    pub product_id: Option<ProductPubId>,
    /// See [`LeaseTerm::card`].
    pub card: RateCard,
    /// See [`LeaseTerm::status`].
    pub status: LeaseTermStatus,
    /// See [`LeaseTerm::created_at`].
    pub created_at: Timestamp,
}

/// What became of a lease term that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedTerm {
    /// It is gone.
    Gone,
    /// Checkouts have it: it stays.
    InUse,
}

/// Lease terms.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait LeaseTermStore: Send {
    /// Keeps a new term, and gives it a number.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of [`UniqueField::TermMonths`](super::UniqueField::TermMonths)
    /// when the owner (organization or product) has an active one of the months.
    async fn insert(&mut self, new: &NewLeaseTerm) -> Result<LeaseTerm, StoreError>;
    /// The organization's term of this id or number.
    async fn find(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermRef,
    ) -> Result<Option<LeaseTerm>, StoreError>;
    /// Every term of the organization, its products' included, shortest first.
    async fn list(&mut self, organization: OrganizationId) -> Result<Vec<LeaseTerm>, StoreError>;
    /// The organization and its terms as [`list`](LeaseTermStore::list) gives them. One
    /// query: a price is made of both.
    async fn list_with_organization(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError>;
    /// The organization's term, locked until the end of the unit of work.
    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermPubId,
    ) -> Result<Option<LeaseTerm>, StoreError>;
    /// Writes the term if its version is still the stored one, and counts the
    /// version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`], and
    /// [`StoreError::Conflict`] as for [`insert`](LeaseTermStore::insert).
    async fn update(&mut self, term: &mut LeaseTerm) -> Result<(), StoreError>;
    /// Deletes the term unless a checkout has it.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn delete(&mut self, id: LeaseTermPubId) -> Result<DeletedTerm, StoreError>;
}
