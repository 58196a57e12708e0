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
fn unpriced<'a>(
    checkouts: impl IntoIterator<Item = &'a Checkout>,
) -> impl Iterator<Item = &'a Checkout> {
    checkouts
        .into_iter()
        .filter(|checkout| checkout.quote.is_none() && checkout.term.is_some())
}

/// The variants that the checkouts lease which have no price of their own yet.
pub(crate) fn leased_unpriced<'a>(
    checkouts: impl IntoIterator<Item = &'a Checkout>,
) -> BTreeSet<ProductVariantPubId> {
    unpriced(checkouts)
        .map(|checkout| checkout.variant_id)
        .collect()
}

impl Rates {
    /// What the variants are priced by.
    pub(crate) fn new(
        organization: Organization,
        terms: Vec<LeaseTerm>,
        variants: Vec<(ProductVariant, Product)>,
    ) -> Self {
        Self {
            organization,
            terms,
            variants: variants
                .into_iter()
                .map(|(variant, product)| (variant.id, (variant, product)))
                .collect(),
        }
    }

    /// Those of checkouts of one organization; none where every price is frozen, or none is asked for. The
    /// number of queries does not grow with them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) async fn of(
        uow: &mut dyn UnitOfWork,
        checkouts: &[&Checkout],
    ) -> Result<Option<Self>, Error> {
        let Some(first) = unpriced(checkouts.iter().copied()).next() else {
            return Ok(None);
        };
        let id = first.organization_id;
        let (organization, terms) = organization_with_terms(uow, id).await?;
        let leased = leased_unpriced(checkouts.iter().copied());
        let leased = leased.into_iter().collect();
        let leased = VariantSelection::IdsWithArchived(leased);
        let variants = uow.variants().with_products(id, &leased).await?;
        Ok(Some(Self::new(organization, terms, variants)))
    }

    /// Whether all of the checkouts can be priced by them.
    pub(crate) fn cover<'a>(&self, checkouts: impl IntoIterator<Item = &'a Checkout>) -> bool {
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
pub(crate) fn quotes_by<'a>(
    rates: Option<&Rates>,
    checkouts: impl IntoIterator<Item = &'a Checkout>,
) -> Result<Vec<Option<Quote>>, Error> {
    // Those that follow each other are often the same lease, as it was and as it is.
    let mut last = None;
    let quote = |checkout: &'a Checkout| match (checkout.quote, rates) {
        (Some(frozen), _) => Ok(Some(frozen)),
        (None, Some(rates)) => {
            let lease = (checkout.variant_id, checkout.term, checkout.quantity());
            if let Some((same, known)) = last
                && same == lease
            {
                return Ok(known);
            }
            let quote = rates.quote(checkout)?;
            last = Some((lease, quote));
            Ok(quote)
        }
        (None, None) => Ok(None),
    };
    checkouts.into_iter().map(quote).collect()
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
    let all: Vec<&Checkout> = checkouts.iter().collect();
    let rates = Rates::of(uow, &all).await?;
    quotes_by(rates.as_ref(), all)
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
