//! The store of product categories.

use async_trait::async_trait;

use super::{Page, StoreError};
use crate::catalog::Category;
use crate::ids::{OrganizationId, ProductCategoryPubId, ProductCategoryRef};
use crate::text::Name;
use crate::time::Timestamp;

/// A category that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCategory {
    /// See [`Category::id`].
    pub id: ProductCategoryPubId,
    /// See [`Category::organization_id`].
    pub organization_id: OrganizationId,
    /// See [`Category::name`].
    pub name: Name,
    /// See [`Category::created_at`].
    pub created_at: Timestamp,
}

/// Product categories.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CategoryStore: Send {
    /// Keeps a new category, and gives it a number.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of [`UniqueField::Name`](super::UniqueField::Name).
    async fn insert(&mut self, new: &NewCategory) -> Result<Category, StoreError>;
    /// The organization's category of this id or number.
    async fn find(
        &mut self,
        organization: OrganizationId,
        id: ProductCategoryRef,
    ) -> Result<Option<Category>, StoreError>;
    /// A page of the organization's categories, newest first.
    async fn list(
        &mut self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<Vec<Category>, StoreError>;
    /// How many categories the organization has.
    async fn count(&mut self, organization: OrganizationId) -> Result<u64, StoreError>;
}
