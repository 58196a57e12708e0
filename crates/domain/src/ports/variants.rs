//! The store of variants and their stock.

use async_trait::async_trait;

use super::{Page, StoreError};
use crate::access::Mode;
use crate::catalog::{Product, ProductVariant, StockTaken, VariantFilter};
use crate::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use crate::lease_term::LeaseTerm;
use crate::organization::Organization;
use crate::quantity::Quantity;
use crate::text::{ExternalId, Sku};

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
        products: Vec<ProductPubId>,
        /// The most variants that are read.
        most: u32,
    },
}

/// What a variant is offered by.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub variant: ProductVariant,
    pub product: Product,
    pub organization: Organization,
    /// Every term of the organization, as [`LeaseTermStore::list`](super::LeaseTermStore::list) gives them.
    pub terms: Vec<LeaseTerm>,
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
    /// Every variant of the product, archived ones included, oldest first.
    async fn of_product(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
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
    /// What the variant is offered by. The product, and then the variant, are [kept from changing](Self::lock_shared). None unless
    /// all is there.
    async fn hold_offer(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
        product: ProductPubId,
    ) -> Result<Option<Offer>, StoreError>;
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
    /// Takes so many units of the variant's stock in the mode together, if there are as many, else
    /// none; that of the other mode stays. The variant stays locked whatever comes of it, so that
    /// nobody adds stock past one who is about to wait. Counts the version up, so that a copy from
    /// before cannot put the units back.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn take_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<StockTaken, StoreError>;
    /// Puts so many units back in the mode, where stock is tracked, and counts the version up. The
    /// variant stays locked.
    async fn return_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<(), StoreError>;
}
