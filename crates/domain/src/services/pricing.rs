//! What variants cost for each term that they are offered for.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{Context, Error, UseCase, window};
use crate::access::Permission;
use crate::catalog::{Product, ProductVariant};
use crate::ids::{LeaseTermPubId, OrganizationId, ProductPubId, ProductVariantPubId};
use crate::lease_term::{LeaseTerm, offered};
use crate::organization::Organization;
use crate::percentage::TermMonths;
use crate::ports::{StoreError, UnitOfWork, VariantSelection};
use crate::pricing::{Quote, quote};
use crate::text::{ExternalId, Sku};

/// The most variants that are priced at once.
pub const MAX_PRICED: u32 = 5_000;

/// The price of one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermPrice {
    pub lease_term_id: LeaseTermPubId,
    /// The price.
    pub quote: Quote,
}

/// The prices of a variant, by months.
pub type PriceTable = BTreeMap<TermMonths, TermPrice>;

/// A variant with its prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedVariant {
    pub variant: ProductVariant,
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

/// Prices a variant.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Pricing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceVariant {
    /// Which one, by public id or as `otherwise` says.
    pub identifier: String,
    /// What else the identifier can be.
    pub otherwise: Otherwise,
}

impl PriceVariant {
    /// Who may ask, whatever is to be priced.
    pub const PERMISSION: Permission = Permission::ProductVariantRead;
}

#[async_trait]
impl UseCase for PriceVariant {
    type Output = PricedVariant;

    fn permission(&self) -> Permission {
        Self::PERMISSION
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<PricedVariant, Error> {
        let organization = ctx.access.organization_id;
        let variant = find(uow, organization, &self.identifier, self.otherwise).await?;
        ctx.access.require_to_look(self.permission())?;
        let product = window::product_of(uow, ctx, &variant).await?;
        let variant = window::variant_of(ctx, variant, &product)?;
        let priced = price_all(uow, ctx, vec![(variant, product)]).await?.pop();
        priced.ok_or(Error::not_found("product variant"))
    }
}

/// Prices a variant unless the caller knows its prices.
///
/// # Errors
/// Those of [`PriceVariant`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceSince {
    /// What to price.
    pub price: PriceVariant,
    /// The revision of the organization's prices that the caller knows. What was told to a key of
    /// another kind is not known: it may not have been shown to this one.
    pub known: Option<i64>,
}

/// What a variant costs, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prices {
    /// What the caller knows.
    Known,
    /// These.
    New {
        /// The revision of the organization's prices; these are at least as new.
        revision: i64,
        /// The prices.
        priced: Box<PricedVariant>,
    },
}

#[async_trait]
impl UseCase for PriceSince {
    type Output = Prices;

    fn permission(&self) -> Permission {
        self.price.permission()
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Prices, Error> {
        let organization = ctx.access.organization_id;
        // Before the prices, which are then at least as new.
        let revision = uow.organizations().pricing_revision(organization).await?;
        if self.known == Some(revision) {
            ctx.access.require_to_look(self.permission())?;
            return Ok(Prices::Known);
        }
        let priced = self.price.run(uow, ctx).await?;
        Ok(Prices::New {
            revision,
            priced: Box::new(priced),
        })
    }
}

/// Prices the variants in the order of their places.
async fn price_in_order(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    mut variants: Vec<(ProductVariant, Product)>,
    place: impl Fn(&ProductVariant) -> Option<usize> + Send,
) -> Result<Vec<PricedVariant>, Error> {
    variants.sort_by_key(|(variant, _)| place(variant));
    price_all(uow, ctx, variants).await
}

/// Prices the live variants of products, in the order of the ids; unknown ids are left out,
/// repeated ones answered once. Two queries.
///
/// # Errors
/// [`Error::Forbidden`], [`Error::Pricing`]; [`Error::Invalid`] of products that have more than
/// [`MAX_PRICED`] variants together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceProducts {
    /// The products.
    pub ids: Vec<ProductPubId>,
}

#[async_trait]
impl UseCase for PriceProducts {
    type Output = Vec<PricedVariant>;

    fn permission(&self) -> Permission {
        Permission::ProductVariantRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Vec<PricedVariant>, Error> {
        ctx.access.require(self.permission())?;
        let wanted = VariantSelection::OfProducts {
            products: self.ids.clone(),
            // One more tells that there are too many.
            most: MAX_PRICED.saturating_add(1),
        };
        let variants = uow
            .variants()
            .with_products(ctx.access.organization_id, &wanted)
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
        let place = |of: &ProductVariant| self.ids.iter().position(|id| *id == of.product_id);
        price_in_order(uow, ctx, variants, place).await
    }
}

/// Prices variants, archived or not, in the order asked for; unknown ids are left out, repeated ones
/// answered once. Two queries.
///
/// # Errors
/// [`Error::Forbidden`], [`Error::Pricing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceVariants {
    /// The variants.
    pub ids: Vec<ProductVariantPubId>,
}

#[async_trait]
impl UseCase for PriceVariants {
    type Output = Vec<PricedVariant>;

    fn permission(&self) -> Permission {
        Permission::ProductVariantRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Vec<PricedVariant>, Error> {
        ctx.access.require(self.permission())?;
        let wanted = VariantSelection::IdsWithArchived(self.ids.clone());
        let variants = uow
            .variants()
            .with_products(ctx.access.organization_id, &wanted)
            .await?;
        let place = |of: &ProductVariant| self.ids.iter().position(|id| *id == of.id);
        price_in_order(uow, ctx, variants, place).await
    }
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
        .ok_or(NOT_OFFERED)
}

/// That a variant is offered for no term.
pub const NOT_OFFERED: Error = Error::not_found("lease term for this product variant");

/// What an identifier of a variant can be besides its public id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Otherwise {
    Sku,
    ExternalId,
}

/// The variant that the text names: a public id, else what `otherwise` says.
///
/// # Errors
/// [`Error::NotFound`].
async fn find(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    identifier: &str,
    otherwise: Otherwise,
) -> Result<ProductVariant, Error> {
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
    found.ok_or(Error::not_found("product variant"))
}
