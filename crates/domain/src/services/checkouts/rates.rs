//! What leases cost by today's catalog.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Product, ProductVariant};
use crate::checkout::Checkout;
use crate::ids::ProductVariantPubId;
use crate::lease_term::LeaseTerm;
use crate::organization::Organization;
use crate::ports::{UnitOfWork, VariantSelection};
use crate::pricing::{PricingError, Quote, quote};
use crate::quantity::Quantity;
use crate::services::Error;
use crate::services::pricing::organization_with_terms;

/// What open checkouts of an organization are priced by.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    pub(crate) organization: Organization,
    pub(crate) terms: Vec<LeaseTerm>,
    pub(crate) variants: BTreeMap<ProductVariantPubId, (ProductVariant, Product)>,
}

/// What the checkouts lease that have no price of their own yet.
fn unpriced(checkouts: &[Checkout]) -> impl Iterator<Item = &Checkout> {
    checkouts
        .iter()
        .filter(|checkout| checkout.quote.is_none() && checkout.term.is_some())
}

impl Rates {
    /// Those of checkouts of one organization; none where every price is frozen, or none is asked for. The
    /// number of queries does not grow with them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) async fn of(
        uow: &mut dyn UnitOfWork,
        checkouts: &[Checkout],
    ) -> Result<Option<Self>, Error> {
        let Some(first) = unpriced(checkouts).next() else {
            return Ok(None);
        };
        let id = first.organization_id;
        let (organization, terms) = organization_with_terms(uow, id).await?;
        let leased: BTreeSet<ProductVariantPubId> = unpriced(checkouts)
            .map(|checkout| checkout.variant_id)
            .collect();
        let leased = VariantSelection::IdsWithArchived(leased.into_iter().collect());
        let variants = uow.variants().with_products(id, &leased).await?;
        Ok(Some(Self {
            organization,
            terms,
            variants: variants
                .into_iter()
                .map(|(variant, product)| (variant.id, (variant, product)))
                .collect(),
        }))
    }

    /// Whether all of the checkouts can be priced by them.
    pub(crate) fn cover(&self, checkouts: &[Checkout]) -> bool {
        unpriced(checkouts).all(|checkout| self.variants.contains_key(&checkout.variant_id))
    }

    fn quote(&self, checkout: &Checkout) -> Result<Option<Quote>, Error> {
        let term = checkout
            .term
            .and_then(|chosen| self.terms.iter().find(|term| term.id == chosen.id));
        let (Some(term), Some((variant, product))) =
            (term, self.variants.get(&checkout.variant_id))
        else {
            return Ok(None);
        };
        let discount = variant.effective_discount(product, self.organization.discount);
        let one = quote(variant.price, discount, &term.card)?;
        all_of(&one, checkout.quantity())
    }
}

/// What the leases cost, in their order: the frozen quote, else by the rates; none while no term is chosen.
///
/// # Errors
/// [`Error::Pricing`].
pub(crate) fn quotes_by(
    rates: Option<&Rates>,
    checkouts: &[Checkout],
) -> Result<Vec<Option<Quote>>, Error> {
    let quote = |checkout: &Checkout| match (checkout.quote, rates) {
        (Some(frozen), _) => Ok(Some(frozen)),
        (None, Some(rates)) => rates.quote(checkout),
        (None, None) => Ok(None),
    };
    checkouts.iter().map(quote).collect()
}

/// What the leases of checkouts of one organization cost, in their order; the number of queries does not
/// grow with them.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub(crate) async fn quotes_of(
    uow: &mut dyn UnitOfWork,
    checkouts: &[Checkout],
) -> Result<Vec<Option<Quote>>, Error> {
    let rates = Rates::of(uow, checkouts).await?;
    quotes_by(rates.as_ref(), checkouts)
}

/// What a checkout's lease costs, all of its items: the frozen quote, else by today's catalog; none
/// while no term is chosen.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn quote_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Option<Quote>, Error> {
    Ok(quotes_of(uow, std::slice::from_ref(checkout))
        .await?
        .pop()
        .flatten())
}

/// What so many cost together at the price of one. None where a price that rose since they were ordered
/// makes them more than can be leased: like those without a term they have no price, and no deposit is
/// taken for them.
pub(crate) fn all_of(one: &Quote, quantity: Quantity) -> Result<Option<Quote>, Error> {
    match one.times(quantity) {
        Ok(all) => Ok(Some(all)),
        Err(PricingError::AmountOutOfRange { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
