//! Variants: creating, changing, finding them.

use super::catalog::{catalog_job, organization_of, price_in, wanted_status};
use super::{Context, Error, Patch, waitlist};
use crate::access::Permission;
use crate::catalog::{
    Inventory, OptionSelection, Product, ProductStatus, ProductVariant, check_selection,
};
use crate::checkout::Effect;
use crate::ids::{ProductPubId, ProductVariantPubId};
use crate::money::Amount;
use crate::percentage::Percentage;
use crate::ports::{JobSubject, Page, Start, StoreError, UniqueField, UnitOfWork};
use crate::text::{Description, ExternalId, Name, Sku, Url};

/// A variant to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateVariant {
    /// Its product.
    pub product_id: ProductPubId,
    /// Its name.
    pub name: Name,
    /// What it is.
    pub description: Description,
    /// Its price.
    pub price: Amount,
    /// Its stock keeping unit.
    pub sku: Sku,
    /// What it chooses of each option.
    pub options: Vec<OptionSelection>,
    /// Its images.
    pub images: Vec<Url>,
    /// Its discount.
    pub discount: Option<Percentage>,
    /// The caller's own id of it.
    pub external_id: Option<ExternalId>,
    /// What is free to promise.
    pub inventory: Inventory,
    /// Its model year.
    pub product_year: Option<i32>,
}

/// What is to change in a variant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateVariant {
    /// Its name.
    pub name: Option<Name>,
    /// What it is.
    pub description: Option<Description>,
    /// Its price.
    pub price: Option<Amount>,
    /// Its stock keeping unit.
    pub sku: Option<Sku>,
    /// What it chooses of each option.
    pub options: Option<Vec<OptionSelection>>,
    /// Its images.
    pub images: Option<Vec<Url>>,
    /// Its discount.
    pub discount: Patch<Percentage>,
    /// Whether it is offered.
    pub status: Option<ProductStatus>,
    /// Active or inactive, in other words.
    pub is_active: Option<bool>,
    /// Whether new checkouts wait.
    pub is_waitlisted: Option<bool>,
    /// What is free to promise.
    pub inventory: Option<Inventory>,
}

impl UpdateVariant {
    fn touches_more_than_status(&self) -> bool {
        *self
            != Self {
                status: self.status,
                is_active: self.is_active,
                ..Self::default()
            }
    }
}

fn chosen(product: &Product, options: &[OptionSelection]) -> Result<Vec<OptionSelection>, Error> {
    check_selection(&product.options, options)
        .map_err(|fault| Error::invalid(format!("options{}", fault.path), &fault.message))
}

/// The most variants of a product, archived ones aside.
pub const MAX_OF_PRODUCT: u32 = 2_000;

/// Refuses one more variant than a product may have.
async fn check_room(uow: &mut dyn UnitOfWork, product: &Product) -> Result<(), Error> {
    const LAST: u32 = MAX_OF_PRODUCT - 1;
    let last_that_fits = Page {
        start: Start::Offset(LAST),
        limit: 1,
    };
    let found = uow
        .variants()
        .list(product.organization_id, product.id, last_that_fits)
        .await?;
    if found.is_empty() {
        return Ok(());
    }
    Err(Error::rule(format!(
        "the product has {MAX_OF_PRODUCT} variants, and no more are possible: archive some, or make \
         another product"
    )))
}

/// A collision of the combination says more than that something is in use.
fn explain(error: StoreError) -> Error {
    match error {
        StoreError::Conflict(UniqueField::Combination) => Error::taken(
            "options",
            "another variant of the product has this combination and model year",
        ),
        other => other.into(),
    }
}

/// Creates a variant.
///
/// # Errors
/// [`Error`]: no such product, the missing permission, an archived product, options
/// that are no combination of the product's, a sku, external id or combination in
/// use, a price that the currency cannot express.
pub async fn create_variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    input: CreateVariant,
) -> Result<ProductVariant, Error> {
    // Shared, so that the product's options cannot change in between.
    let product = uow
        .products()
        .lock_shared(ctx.access.organization_id, input.product_id)
        .await?
        .ok_or(Error::not_found("product"))?;
    ctx.access.require(Permission::ProductVariantWrite)?;
    if product.status == ProductStatus::Archived {
        return Err(Error::invalid(
            "productId",
            "is an archived product, which takes no new variants",
        ));
    }
    check_room(uow, &product).await?;
    let organization = organization_of(uow, ctx).await?;
    let variant = ProductVariant {
        id: ProductVariantPubId::from_uuid(ctx.ids.next()),
        product_id: product.id,
        organization_id: organization.id,
        name: input.name,
        description: input.description,
        options: chosen(&product, &input.options)?,
        price: price_in(input.price, &organization, "price")?,
        discount: input.discount,
        images: input.images,
        sku: input.sku,
        external_id: input.external_id,
        status: ProductStatus::Active,
        is_waitlisted: false,
        inventory: input.inventory,
        product_year: input.product_year,
        created_at: ctx.now,
        updated_at: ctx.now,
        version: 1,
    };
    uow.variants().insert(&variant).await.map_err(explain)?;
    uow.outbox()
        .push(&[catalog_job(
            ctx,
            Effect::PushVariant,
            JobSubject::Variant(variant.id),
        )])
        .await?;
    Ok(variant)
}

/// Updates a variant: what is not mentioned stays.
///
/// # Errors
/// [`Error`], as for [`create_variant`].
pub async fn update_variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: ProductVariantPubId,
    update: UpdateVariant,
) -> Result<ProductVariant, Error> {
    let owner = uow
        .variants()
        .get(ctx.access.organization_id, id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    ctx.access.require(Permission::ProductVariantWrite)?;
    // Product before variant, everywhere: the one order in which both are locked.
    let product = uow
        .products()
        .lock_shared(ctx.access.organization_id, owner.product_id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    let mut variant = uow
        .variants()
        .lock(ctx.access.organization_id, id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    if variant.status == ProductStatus::Archived && update.touches_more_than_status() {
        return Err(Error::rule(
            "the variant is archived: only its status can be updated",
        ));
    }
    let organization = organization_of(uow, ctx).await?;
    let before = variant.clone();
    if let Some(status) = wanted_status(update.status, update.is_active)? {
        variant.status = status;
        if before.status == ProductStatus::Archived && status != ProductStatus::Archived {
            chosen(&product, &variant.options)?;
            check_room(uow, &product).await?;
        }
    }
    if let Some(options) = update.options {
        variant.options = chosen(&product, &options)?;
    }
    if let Some(price) = update.price {
        variant.price = price_in(price, &organization, "price")?;
    }
    variant.name = update.name.unwrap_or(variant.name);
    variant.description = update.description.unwrap_or(variant.description);
    variant.sku = update.sku.unwrap_or(variant.sku);
    variant.images = update.images.unwrap_or(variant.images);
    variant.is_waitlisted = update.is_waitlisted.unwrap_or(variant.is_waitlisted);
    variant.inventory = update.inventory.unwrap_or(variant.inventory);
    update.discount.apply(&mut variant.discount);
    variant.updated_at = ctx.now;
    uow.variants().update(&mut variant).await.map_err(explain)?;
    uow.outbox()
        .push(&[catalog_job(
            ctx,
            Effect::PushVariant,
            JobSubject::Variant(variant.id),
        )])
        .await?;
    waitlist::after_variant_change(uow, ctx, &product, &before, &variant).await?;
    Ok(variant)
}

/// Deletes the variant, or archives it when a checkout leases or bought it. Answers it
/// as it is then, or as it was.
///
/// # Errors
/// [`Error::NotFound`], also of what is archived already; [`Error::Forbidden`].
pub async fn delete_variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: ProductVariantPubId,
) -> Result<ProductVariant, Error> {
    let mut variant = uow
        .variants()
        .lock(ctx.access.organization_id, id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    ctx.access.require(Permission::ProductVariantDelete)?;
    if variant.status == ProductStatus::Archived {
        return Err(Error::not_found("product variant"));
    }
    if uow.variants().has_checkout_items(variant.id).await? {
        variant.status = ProductStatus::Archived;
        variant.updated_at = ctx.now;
        uow.variants().update(&mut variant).await?;
        uow.outbox()
            .push(&[catalog_job(
                ctx,
                Effect::PushVariant,
                JobSubject::Variant(variant.id),
            )])
            .await?;
    } else {
        uow.variants().delete(variant.id).await?;
    }
    Ok(variant)
}

/// The variant, archived or not.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn get_variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: ProductVariantPubId,
) -> Result<ProductVariant, Error> {
    let variant = uow
        .variants()
        .get(ctx.access.organization_id, id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    ctx.access.require(Permission::ProductVariantRead)?;
    Ok(variant)
}

/// The variant of this sku.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn get_variant_by_sku(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    sku: &Sku,
) -> Result<ProductVariant, Error> {
    let variant = uow
        .variants()
        .find_by_sku(ctx.access.organization_id, sku)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    ctx.access.require(Permission::ProductVariantRead)?;
    Ok(variant)
}

/// The variant that the text names: a public id, else what `otherwise` says.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn find_variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    identifier: &str,
    otherwise: Otherwise,
) -> Result<ProductVariant, Error> {
    let organization = ctx.access.organization_id;
    let by_id = match identifier.parse::<ProductVariantPubId>() {
        Ok(id) => uow.variants().get(organization, id).await?,
        Err(_) => None,
    };
    let found = match (by_id, otherwise) {
        (Some(variant), _) => Some(variant),
        (None, Otherwise::Sku) => match Sku::parse(identifier) {
            Ok(sku) => uow.variants().find_by_sku(organization, &sku).await?,
            Err(_) => None,
        },
        (None, Otherwise::ExternalId) => match ExternalId::parse(identifier) {
            Ok(id) => {
                uow.variants()
                    .find_by_external_id(organization, &id)
                    .await?
            }
            Err(_) => None,
        },
    };
    let variant = found.ok_or(Error::not_found("product variant"))?;
    ctx.access.require(Permission::ProductVariantRead)?;
    Ok(variant)
}

/// What an identifier of a variant can be besides its public id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Its sku.
    Sku,
    /// Its external id.
    ExternalId,
}

/// A page of the product's variants that are not archived, newest first.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn list_variants(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    product: ProductPubId,
    page: Page,
) -> Result<(Product, Vec<ProductVariant>), Error> {
    let product = uow
        .products()
        .get(ctx.access.organization_id, product)
        .await?
        .ok_or(Error::not_found("product"))?;
    ctx.access.require(Permission::ProductVariantRead)?;
    let variants = uow
        .variants()
        .list(ctx.access.organization_id, product.id, page)
        .await?;
    Ok((product, variants))
}
