//! Variants: creating, changing, finding them.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::pricing::{PricedVariant, price_all};
use super::products::{merge_metadata, organization_of, price_in, push, wanted_status};
use super::slice::unknown_start;
use super::{Context, Error, Patch, Slice, UseCase, waitlist, window};
use crate::access::Permission;
use crate::audit::AuditAction;
use crate::catalog::{
    Inventory, MAX_VARIANTS_OF_PRODUCT, NewVariant, OptionSelection, Product, ProductStatus,
    ProductVariant, Stock, VariantFilter, check_selection,
};
use crate::checkout::Effect;
use crate::ids::{ProductPubId, ProductVariantPubId};
use crate::metadata::{Metadata, MetadataPatch};
use crate::money::Amount;
use crate::percentage::Percentage;
use crate::ports::{JobSubject, Page, Start, StoreError, UniqueField, UnitOfWork};
use crate::text::{Description, ExternalId, Name, Sku, Url};

/// Creates a variant.
///
/// # Errors
/// [`Error`]: no such product, the missing permission, an archived product, options
/// that are no combination of the product's, a sku, external id or combination in
/// use, a price that the currency cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateVariant {
    pub product_id: ProductPubId,
    pub name: Name,
    /// What it is.
    pub description: Description,
    pub price: Amount,
    /// Its stock keeping unit.
    pub sku: Sku,
    /// What it chooses of each option.
    pub options: Vec<OptionSelection>,
    pub images: Vec<Url>,
    pub discount: Option<Percentage>,
    /// The caller's own id of it.
    pub external_id: Option<ExternalId>,
    /// What is free to promise, in each mode.
    pub inventory: Inventory,
    /// Its model year.
    pub product_year: Option<i32>,
    /// What the caller keeps beside it.
    pub metadata: Metadata,
}

impl CreateVariant {
    /// A variant of the product without anything that a variant may do without.
    #[must_use]
    pub fn new(
        product_id: ProductPubId,
        name: Name,
        description: Description,
        price: Amount,
        sku: Sku,
    ) -> Self {
        Self {
            product_id,
            name,
            description,
            price,
            sku,
            options: Vec::new(),
            images: Vec::new(),
            discount: None,
            external_id: None,
            inventory: Inventory::Untracked,
            product_year: None,
            metadata: Metadata::default(),
        }
    }
}

/// What is to change in a variant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariantChanges {
    pub name: Option<Name>,
    /// What it is.
    pub description: Option<Description>,
    pub price: Option<Amount>,
    /// Its stock keeping unit.
    pub sku: Option<Sku>,
    /// What it chooses of each option.
    pub options: Option<Vec<OptionSelection>>,
    pub images: Option<Vec<Url>>,
    pub discount: Patch<Percentage>,
    /// Whether it is offered.
    pub status: Option<ProductStatus>,
    /// Active or inactive, in other words.
    pub is_active: Option<bool>,
    /// Whether new checkouts wait.
    pub is_waitlisted: Option<bool>,
    /// What is free to promise in the key's mode.
    pub inventory: Option<Inventory>,
    /// What the caller keeps beside it.
    pub metadata: MetadataPatch,
}

impl VariantChanges {
    fn touches_more_than_status(&self) -> bool {
        *self
            != Self {
                status: self.status,
                is_active: self.is_active,
                ..Self::default()
            }
    }

    /// Whether the stock is all that is set: it is no part of what a live key alone may write.
    fn is_stock_alone(&self) -> bool {
        let stock_alone = Self {
            inventory: self.inventory,
            ..Self::default()
        };
        self.inventory.is_some() && *self == stock_alone
    }
}

fn chosen(product: &Product, options: &[OptionSelection]) -> Result<Vec<OptionSelection>, Error> {
    check_selection(&product.options, options)
        .map_err(|fault| Error::invalid(format!("options{}", fault.path), &fault.message))
}

/// Refuses one more variant than a product may have.
async fn check_room(uow: &mut dyn UnitOfWork, product: &Product) -> Result<(), Error> {
    let last_that_fits = Page {
        start: Start::Offset(u32::from(MAX_VARIANTS_OF_PRODUCT).saturating_sub(1)),
        limit: 1,
    };
    let found = uow
        .variants()
        .list(
            product.organization_id,
            product.id,
            &VariantFilter::default(),
            last_that_fits,
        )
        .await?;
    if found.is_empty() {
        return Ok(());
    }
    Err(Error::rule(format!(
        "the product has {MAX_VARIANTS_OF_PRODUCT} variants, and no more are possible: archive some, or make \
         another product"
    )))
}

/// A collision of the combination says more than that something is in use.
pub(super) fn explain(error: StoreError) -> Error {
    match error {
        StoreError::Conflict(UniqueField::Combination) => Error::taken(
            "options",
            "another variant of the product has this combination and model year",
        ),
        other => other.into(),
    }
}

#[async_trait]
impl UseCase for CreateVariant {
    type Output = ProductVariant;

    fn permission(&self) -> Permission {
        Permission::ProductVariantWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ProductVariant, Error> {
        // Shared, so that the product's options cannot change in between.
        let product = uow
            .products()
            .lock_shared(ctx.access.organization_id, self.product_id)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require(self.permission())?;
        if product.status == ProductStatus::Archived {
            return Err(Error::invalid(
                "productId",
                "is an archived product, which takes no new variants",
            ));
        }
        check_room(uow, &product).await?;
        let organization = organization_of(uow, ctx).await?;
        let new = NewVariant {
            id: ProductVariantPubId::from_uuid(ctx.ids.next()),
            name: self.name,
            options: chosen(&product, &self.options)?,
            price: price_in(self.price, &organization, "price")?,
            sku: self.sku,
        };
        let variant = ProductVariant {
            description: self.description,
            discount: self.discount,
            images: self.images,
            external_id: self.external_id,
            stock: Stock::both(self.inventory),
            product_year: self.product_year,
            metadata: self.metadata,
            ..ProductVariant::new(&product, new, ctx.now)
        };
        uow.variants().insert(&variant).await.map_err(explain)?;
        audit::note(uow, ctx, Entry::variant_created(&variant)).await?;
        push(
            uow,
            ctx,
            Effect::PushVariant,
            JobSubject::Variant(variant.id),
        )
        .await?;
        Ok(variant)
    }
}

/// Updates a variant: what is not mentioned stays.
///
/// # Errors
/// [`Error`], as for [`CreateVariant`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateVariant {
    /// Which one.
    pub id: ProductVariantPubId,
    /// What is to change.
    pub changes: VariantChanges,
}

impl UpdateVariant {
    /// Who may ask, whatever is to be updated.
    pub const PERMISSION: Permission = Permission::ProductVariantWrite;
}

#[async_trait]
impl UseCase for UpdateVariant {
    type Output = ProductVariant;

    fn permission(&self) -> Permission {
        Self::PERMISSION
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ProductVariant, Error> {
        let owner = uow
            .variants()
            .get(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        if self.changes.is_stock_alone() {
            ctx.access.require_permission(self.permission())?;
        } else {
            ctx.access.require(self.permission())?;
        }
        // Product before variant, everywhere: the one order in which both are locked.
        let product = uow
            .products()
            .lock_shared(ctx.access.organization_id, owner.product_id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        let mut variant = uow
            .variants()
            .lock(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        if variant.status == ProductStatus::Archived && self.changes.touches_more_than_status() {
            return Err(Error::rule(
                "the variant is archived: only its status can be updated",
            ));
        }
        let organization = organization_of(uow, ctx).await?;
        let before = variant.clone();
        if let Some(status) = wanted_status(self.changes.status, self.changes.is_active)? {
            variant.status = status;
            if before.status == ProductStatus::Archived && status != ProductStatus::Archived {
                check_room(uow, &product).await?;
                chosen(&product, &variant.options)?;
            }
        }
        if let Some(options) = self.changes.options {
            variant.options = chosen(&product, &options)?;
        }
        if let Some(price) = self.changes.price {
            variant.price = price_in(price, &organization, "price")?;
        }
        variant.name = self.changes.name.unwrap_or(variant.name);
        variant.description = self.changes.description.unwrap_or(variant.description);
        variant.sku = self.changes.sku.unwrap_or(variant.sku);
        variant.images = self.changes.images.unwrap_or(variant.images);
        variant.is_waitlisted = self.changes.is_waitlisted.unwrap_or(variant.is_waitlisted);
        if let Some(inventory) = self.changes.inventory {
            *variant.stock.of_mut(ctx.access.mode) = inventory;
        }
        self.changes.discount.apply(&mut variant.discount);
        merge_metadata(&mut variant.metadata, self.changes.metadata)?;
        if variant == before {
            return Ok(variant);
        }
        variant.updated_at = ctx.now;
        uow.variants().update(&mut variant).await.map_err(explain)?;
        let updated = Entry::changed(AuditAction::VariantUpdated, &before, &variant);
        let stocked = Entry::stock_set(ctx.access.mode, &before, &variant);
        audit::note_all(uow, ctx, vec![updated, stocked]).await?;
        push(
            uow,
            ctx,
            Effect::PushVariant,
            JobSubject::Variant(variant.id),
        )
        .await?;
        waitlist::after_variant_change(uow, ctx, &product, &before, &variant).await?;
        Ok(variant)
    }
}

/// Deletes the variant, or archives it when a checkout leases or bought it. Answers it
/// as it is then, or as it was.
///
/// # Errors
/// [`Error::NotFound`], also of what is archived already; [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteVariant {
    /// Which one.
    pub id: ProductVariantPubId,
}

#[async_trait]
impl UseCase for DeleteVariant {
    type Output = ProductVariant;

    fn permission(&self) -> Permission {
        Permission::ProductVariantDelete
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ProductVariant, Error> {
        let mut variant = uow
            .variants()
            .lock(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        ctx.access.require(self.permission())?;
        if variant.status == ProductStatus::Archived {
            return Err(Error::not_found("product variant"));
        }
        if uow.variants().has_checkout_items(variant.id).await? {
            let before = variant.clone();
            variant.status = ProductStatus::Archived;
            variant.updated_at = ctx.now;
            uow.variants().update(&mut variant).await?;
            let archived = Entry::changed(AuditAction::VariantUpdated, &before, &variant);
            audit::note(uow, ctx, archived).await?;
            push(
                uow,
                ctx,
                Effect::PushVariant,
                JobSubject::Variant(variant.id),
            )
            .await?;
        } else {
            uow.variants().delete(variant.id).await?;
            let deleted = Entry::deleted(AuditAction::VariantDeleted, &variant);
            audit::note(uow, ctx, deleted).await?;
        }
        Ok(variant)
    }
}

/// The variant, archived or not.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetVariant {
    /// Which one.
    pub id: ProductVariantPubId,
}

#[async_trait]
impl UseCase for GetVariant {
    type Output = ProductVariant;

    fn permission(&self) -> Permission {
        Permission::ProductVariantRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ProductVariant, Error> {
        let variant = uow
            .variants()
            .get(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        ctx.access.require_to_look(self.permission())?;
        window::variant(uow, ctx, variant).await
    }
}

/// The variant of this sku.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetVariantBySku {
    /// Its stock keeping unit.
    pub sku: Sku,
}

#[async_trait]
impl UseCase for GetVariantBySku {
    type Output = ProductVariant;

    fn permission(&self) -> Permission {
        Permission::ProductVariantRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ProductVariant, Error> {
        let variant = uow
            .variants()
            .find_by_sku(ctx.access.organization_id, &self.sku)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        ctx.access.require_to_look(self.permission())?;
        window::variant(uow, ctx, variant).await
    }
}

/// A page of the product's variants that the filter shows, with their prices, newest first.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Pricing`]; [`Error::Invalid`] of a page that
/// begins after no variant of the product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListVariants {
    /// Whose variants.
    pub product: ProductPubId,
    /// Which of them.
    pub filter: VariantFilter,
    /// Which part of the list.
    pub page: Page,
}

#[async_trait]
impl UseCase for ListVariants {
    type Output = Slice<PricedVariant>;

    fn permission(&self) -> Permission {
        Permission::ProductVariantRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<PricedVariant>, Error> {
        let organization = ctx.access.organization_id;
        let product = uow
            .products()
            .get(organization, self.product)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require(self.permission())?;
        if let Start::After(id) = self.page.start {
            let start = ProductVariantPubId::from_uuid(id);
            let start = uow.variants().get(organization, start).await?;
            start
                .filter(|start| start.product_id == product.id)
                .ok_or_else(unknown_start)?;
        }
        let page = self.page.and_one_more();
        let found = uow
            .variants()
            .list(organization, product.id, &self.filter, page)
            .await?;
        let Slice {
            items,
            has_more,
            total,
        } = Slice::cut(found, self.page, None);
        let variants = items.into_iter().map(|variant| (variant, &product));
        let items = price_all(uow, ctx, variants.collect()).await?;
        Ok(Slice {
            items,
            has_more,
            total,
        })
    }
}
