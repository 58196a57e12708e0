//! What variants cost for each term that they are offered for.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::{Context, Error};
use crate::access::Permission;
use crate::catalog::{Product, ProductVariant};
use crate::ids::{LeaseTermPubId, OrganizationId, ProductPubId, ProductVariantPubId};
use crate::lease_term::{LeaseTerm, offered};
use crate::organization::Organization;
use crate::percentage::TermMonths;
use crate::ports::{StoreError, UnitOfWork, VariantSelection};
use crate::pricing::{Quote, quote};

/// The price of one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermPrice {
    /// The term.
    pub lease_term_id: LeaseTermPubId,
    /// The price.
    pub quote: Quote,
}

/// The prices of a variant, by months.
pub type PriceTable = BTreeMap<TermMonths, TermPrice>;

/// A variant with its prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedVariant {
    /// The variant.
    pub variant: ProductVariant,
    /// Its prices.
    pub prices: PriceTable,
}

/// The prices of the variant: one for each offered term.
///
/// # Errors
/// [`Error::Pricing`] when a price is more than can be counted.
pub fn price_table(
    organization: &Organization,
    product: &Product,
    variant: &ProductVariant,
    terms: &[LeaseTerm],
) -> Result<PriceTable, Error> {
    let discount = variant.effective_discount(product, organization.discount);
    offered(terms, product.id)
        .into_iter()
        .map(|term| {
            let quote = quote(variant.price, discount, &term.card)?;
            Ok((
                term.card.term,
                TermPrice {
                    lease_term_id: term.id,
                    quote,
                },
            ))
        })
        .collect()
}

/// The organization and its lease terms: with variants and their products, what
/// prices are made of.
pub(super) async fn organization_with_terms(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
) -> Result<(Organization, Vec<LeaseTerm>), Error> {
    uow.lease_terms()
        .list_with_organization(organization)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))
}

/// Prices variants whose products are at hand; the number of queries does not
/// grow with the number of variants.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn price_all<P: Borrow<Product>>(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    variants: Vec<(ProductVariant, P)>,
) -> Result<Vec<PricedVariant>, Error> {
    let (organization, terms) = organization_with_terms(uow, ctx.access.organization_id).await?;
    variants
        .into_iter()
        .map(|(variant, product)| {
            let prices = price_table(&organization, product.borrow(), &variant, &terms)?;
            Ok(PricedVariant { variant, prices })
        })
        .collect()
}

/// The prices of one variant.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn price_one(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    variant: ProductVariant,
) -> Result<PricedVariant, Error> {
    let product = uow
        .products()
        .get(variant.organization_id, variant.product_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("product")))?;
    let mut priced = price_all(uow, ctx, vec![(variant, product)]).await?;
    priced.pop().ok_or(Error::not_found("product variant"))
}

/// The most variants that are priced at once.
pub const MAX_PRICED: u32 = 5_000;

/// The live variants of these products with their prices, in the order of the
/// ids; unknown ids are left out, repeated ones answered once. Two queries.
///
/// # Errors
/// [`Error::Forbidden`], [`Error::Pricing`]; [`Error::Invalid`] when the products have more than
/// [`MAX_PRICED`] variants together.
pub async fn of_products(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    ids: &[ProductPubId],
) -> Result<Vec<PricedVariant>, Error> {
    ctx.access.require(Permission::ProductVariantRead)?;
    let mut variants = uow
        .variants()
        .with_products(
            ctx.access.organization_id,
            &VariantSelection::OfProducts {
                products: ids.to_vec(),
                // One more tells that there are too many.
                most: MAX_PRICED.saturating_add(1),
            },
        )
        .await?;
    if variants.len() > MAX_PRICED as usize {
        return Err(Error::invalid(
            "productIds",
            format!(
                "have more than {MAX_PRICED} variants together; ask for fewer products at once, or \
                 page through the variants of one"
            ),
        ));
    }
    let place = |id: ProductPubId| ids.iter().position(|wanted| *wanted == id);
    variants.sort_by_key(|(variant, _)| place(variant.product_id));
    price_all(uow, ctx, variants).await
}

/// The variants of these ids, archived or not, with their prices in the order asked for, and
/// the ids that were not found; repeated ids are answered once. Two queries.
///
/// # Errors
/// [`Error::Forbidden`], [`Error::Pricing`].
pub async fn of_variants(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    ids: &[ProductVariantPubId],
) -> Result<(Vec<PricedVariant>, Vec<ProductVariantPubId>), Error> {
    ctx.access.require(Permission::ProductVariantRead)?;
    let mut variants = uow
        .variants()
        .with_products(
            ctx.access.organization_id,
            &VariantSelection::IdsWithArchived(ids.to_vec()),
        )
        .await?;
    let place = |id: ProductVariantPubId| ids.iter().position(|wanted| *wanted == id);
    variants.sort_by_key(|(variant, _)| place(variant.id));
    let mut missing: Vec<ProductVariantPubId> = Vec::new();
    for id in ids {
        if !missing.contains(id) && !variants.iter().any(|(variant, _)| variant.id == *id) {
            missing.push(*id);
        }
    }
    Ok((price_all(uow, ctx, variants).await?, missing))
}

/// The term with the lowest total monthly payment; ties go to the shorter term.
///
/// # Errors
/// [`Error::NotFound`] when the variant is offered for no term.
pub fn lowest(prices: &PriceTable) -> Result<(TermMonths, &TermPrice), Error> {
    prices
        .iter()
        .min_by_key(|(months, price)| (price.quote.total_monthly_payment.minor(), **months))
        .map(|(months, price)| (*months, price))
        .ok_or(Error::not_found("lease term for this product variant"))
}
