//! The store of products.

use async_trait::async_trait;

use super::{Page, SortOrder, StoreError};
use crate::catalog::{Product, ProductStatus, ProductType};
use crate::ids::{OrganizationId, ProductCategoryId, ProductPubId};
use crate::metadata::Metadata;
use crate::names::named_enum;
use crate::text::{ExternalId, SearchTerm, Sku};
use crate::time::Span;

/// Which products a list shows; an empty list of values filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ProductFilter {
    pub types: Vec<ProductType>,
    /// Of these states; without any, all but the archived ones.
    pub statuses: Vec<ProductStatus>,
    /// Waitlisted or not.
    pub is_waitlisted: Option<bool>,
    pub external_ids: Vec<ExternalId>,
    pub categories: Vec<ProductCategoryId>,
    /// Of these stock keeping units.
    pub skus: Vec<Sku>,
    /// Made within.
    pub created: Span,
    /// Last changed within.
    pub updated: Span,
    /// Found by this in their [name, sku or external id](Product::searchable), or in the
    /// [sku](crate::catalog::ProductVariant::searchable) of a variant that is not archived.
    pub search: Option<SearchTerm>,
    /// With all of these metadata.
    pub metadata: Metadata,
}

named_enum! {
    /// What products are sorted by; ties go by id.
    #[derive(Default)]
    pub enum ProductSort {
        /// When they were made.
        #[default]
        CreatedAt = "createdAt",
        /// When they last changed.
        UpdatedAt = "updatedAt",
        /// Their names.
        Name = "name",
    }
}

/// A page of products, and when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductPage {
    /// In their order.
    pub products: Vec<Product>,
    /// The [catalog's](ProductStore::revision).
    pub revision: i64,
}

/// Products.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ProductStore: Send {
    /// Keeps a new product.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of the external id, which is unique among the
    /// organization's products that are not archived.
    async fn insert(&mut self, product: &Product) -> Result<(), StoreError>;
    /// The organization's product of this id.
    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError>;
    /// A page of the organization's products.
    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Product>, StoreError>;
    /// The [page](ProductStore::list), and the [revision](ProductStore::revision) from before it.
    async fn list_with_revision(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<ProductPage, StoreError>;
    /// Counts the committed changes of the organization's products, and of the identifiers and states of its
    /// variants. Stock does not count. Zero before the first.
    ///
    /// What is counted after the revision is at least as new as it: kept under it, it is out of date exactly
    /// when it has moved on.
    async fn revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError>;
    /// How many products the filter shows, counted up to `most`.
    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        most: u64,
    ) -> Result<u64, StoreError>;
    /// The organization's product, locked until the end of the unit of work.
    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError>;
    /// The product, kept from changing until the end of the unit of work; others
    /// may hold it so too.
    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError>;
    /// Writes the product if its version is still the stored one, and counts the
    /// version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`], [`StoreError::Conflict`] as
    /// for [`insert`](ProductStore::insert).
    async fn update(&mut self, product: &mut Product) -> Result<(), StoreError>;
    /// Deletes the product, its variants and its own lease terms.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn delete(&mut self, id: ProductPubId) -> Result<(), StoreError>;
    /// Whether any checkout leases or bought one of the product's variants.
    async fn has_checkout_items(&mut self, id: ProductPubId) -> Result<bool, StoreError>;
}
