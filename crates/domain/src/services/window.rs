//! What a caller is shown of what it looks at: all of it, or what a shop window shows.

use super::{Context, Error};
use crate::access::KeyKind;
use crate::catalog::{Product, ProductVariant};
use crate::ports::{StoreError, UnitOfWork};

/// The product as the caller is shown it.
///
/// # Errors
/// [`Error::NotFound`] of what a shop window does not show.
pub(super) fn product(ctx: &Context<'_>, product: Product) -> Result<Product, Error> {
    match ctx.access.kind {
        KeyKind::Secret => Ok(product),
        KeyKind::Publishable => product.in_window().ok_or(Error::not_found("product")),
    }
}

/// The variant of the product as the caller is shown it.
///
/// # Errors
/// [`Error::NotFound`] of what a shop window does not show.
pub(super) fn variant_of(
    ctx: &Context<'_>,
    variant: ProductVariant,
    product: &Product,
) -> Result<ProductVariant, Error> {
    match ctx.access.kind {
        KeyKind::Secret => Ok(variant),
        KeyKind::Publishable => variant
            .in_window(product)
            .ok_or(Error::not_found("product variant")),
    }
}

/// The variant as the caller is shown it; its product is read where it decides.
///
/// # Errors
/// Those of [`variant_of`].
pub(super) async fn variant(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    variant: ProductVariant,
) -> Result<ProductVariant, Error> {
    if ctx.access.kind == KeyKind::Secret {
        return Ok(variant);
    }
    let product = product_of(uow, ctx, &variant).await?;
    variant_of(ctx, variant, &product)
}

/// The product of the variant.
///
/// # Errors
/// [`Error::Store`].
pub(super) async fn product_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    variant: &ProductVariant,
) -> Result<Product, Error> {
    uow.products()
        .get(ctx.access.organization_id, variant.product_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("product")))
}
