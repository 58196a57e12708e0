//! Stores of categories, products and variants.

use async_trait::async_trait;

use super::{Page, SortOrder, StoreError};
use crate::catalog::{Category, Product, ProductStatus, ProductType, ProductVariant, StockTaken};
use crate::ids::{
    OrganizationId, ProductCategoryId, ProductCategoryPubId, ProductCategoryRef, ProductPubId,
    ProductVariantPubId,
};
use crate::metadata::Metadata;
use crate::names::named_enum;
use crate::text::{ExternalId, Name, SearchTerm, Sku};
use crate::time::{Span, Timestamp};

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

/// Which products a list shows; an empty list of values filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProductFilter {
    /// Of these types.
    pub types: Vec<ProductType>,
    /// Of these states; without any, all but the archived ones.
    pub statuses: Vec<ProductStatus>,
    /// Waitlisted or not.
    pub is_waitlisted: Option<bool>,
    /// Of these external ids.
    pub external_ids: Vec<ExternalId>,
    /// Of these categories.
    pub categories: Vec<ProductCategoryId>,
    /// Of these stock keeping units.
    pub skus: Vec<Sku>,
    /// Made within.
    pub created: Span,
    /// Last changed within.
    pub updated: Span,
    /// Found by this in their [name, sku or external id](Product::searchable), or in the
    /// [sku](ProductVariant::searchable) of a variant that is not archived.
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
    /// How many products the filter shows.
    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
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

/// Which of a product's variants a list shows, of those that are not archived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariantFilter {
    /// Made within.
    pub created: Span,
    /// Last changed within.
    pub updated: Span,
    /// With all of these metadata.
    pub metadata: Metadata,
}

/// Which variants are read together with their products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariantSelection {
    /// Those of these ids that are not archived.
    Ids(Vec<ProductVariantPubId>),
    /// Those of these ids, archived ones included: what a checkout has may be archived
    /// since.
    IdsWithArchived(Vec<ProductVariantPubId>),
    /// Those of these products that are not archived, the first of them.
    OfProducts {
        /// The products.
        products: Vec<ProductPubId>,
        /// The most variants that are read.
        most: u32,
    },
}

/// Variants and their stock.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait VariantStore: Send {
    /// Keeps a new variant.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of the sku or external id, which are unique among
    /// the organization's variants that are not archived, or of the combination,
    /// which is unique with the model year among the product's.
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError>;
    /// Keeps new variants, all or none, in a number of statements that does not grow with theirs
    /// but for every five hundred.
    ///
    /// # Errors
    /// As for [`insert`](VariantStore::insert), of any of them.
    async fn insert_all(&mut self, variants: &[ProductVariant]) -> Result<(), StoreError>;
    /// The organization's variant of this id.
    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError>;
    /// The organization's variant of this sku that is not archived.
    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError>;
    /// The organization's live variant of this external id.
    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError>;
    /// The selected variants of the organization, each with its product: product by
    /// product, oldest first. Unknown ids are left out. One query, whatever is
    /// selected: a price is made of both.
    async fn with_products(
        &mut self,
        organization: OrganizationId,
        selected: &VariantSelection,
    ) -> Result<Vec<(ProductVariant, Product)>, StoreError>;
    /// The variants of these products that are not archived, by product, oldest first.
    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError>;
    /// A page of a product's variants that the filter shows, newest first.
    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        filter: &VariantFilter,
        page: Page,
    ) -> Result<Vec<ProductVariant>, StoreError>;
    /// The organization's variant, locked until the end of the unit of work.
    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError>;
    /// The variant, kept from changing until the end of the unit of work; others
    /// may hold it so too.
    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError>;
    /// Writes the variant if its version is still the stored one, and counts the
    /// version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`], [`StoreError::Conflict`] as
    /// for [`insert`](VariantStore::insert).
    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError>;
    /// Deletes the variant.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError>;
    /// Whether any checkout leases or bought the variant.
    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError>;
    /// Takes one unit of the variant's stock, if there is one. The variant stays
    /// locked whatever comes of it, so that nobody adds stock past one who is
    /// about to wait. Counts the version up, so that a copy from before cannot put
    /// the unit back.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn take_stock(&mut self, id: ProductVariantPubId) -> Result<StockTaken, StoreError>;
    /// Puts one unit back, where stock is tracked, and counts the version up. The
    /// variant stays locked.
    async fn return_stock(&mut self, id: ProductVariantPubId) -> Result<(), StoreError>;
}
