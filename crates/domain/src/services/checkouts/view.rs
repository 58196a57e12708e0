//! Checkouts as callers see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::rates::{Rates, leased_unpriced, quotes_by};
use super::{scope_of, visible};
use crate::access::Permission;
use crate::checkout::{Checkout, ChosenTerm, Due, Lifecycle};
use crate::credit::Qualification;
use crate::ids::{CheckoutPubId, OrganizationRef, ProductVariantPubId};
use crate::money::MoneyError;
use crate::organization::Organization;
use crate::ports::{
    CheckoutFilter, CheckoutSort, Page, SortOrder, Start, Surroundings, UnitOfWork,
    VariantSelection,
};
use crate::pricing::{PricingError, Quote};
use crate::services::pricing::TermPrice;
use crate::services::products::own_organization;
use crate::services::slice::unknown_start;
use crate::services::{Context, Error, Slice, UseCase};

/// The checkout.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetCheckout {
    /// Which one.
    pub id: CheckoutPubId,
}

#[async_trait]
impl UseCase for GetCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let checkout = visible(ctx.access, uow.checkouts().get(self.id).await?)?;
        ctx.access.require(self.permission())?;
        Ok(checkout)
    }
}

/// A page of checkouts and how many there are in all.
///
/// # Errors
/// [`Error::ForeignOrganization`], [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins
/// after no checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCheckouts {
    /// Of which organizations: only the caller's own has any.
    pub organizations: Vec<OrganizationRef>,
    /// Which; none when no checkout can be meant.
    pub filter: Option<CheckoutFilter>,
    /// By what they are sorted.
    pub sort: CheckoutSort,
    /// Which way.
    pub order: SortOrder,
    /// Which part of the list.
    pub page: Page,
    /// Whether it was found to be [long](Slice::is_long) a moment ago: it is not counted again.
    pub is_long: bool,
}

#[async_trait]
impl UseCase for ListCheckouts {
    type Output = Slice<CheckoutView>;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<CheckoutView>, Error> {
        for organization in &self.organizations {
            own_organization(ctx, *organization)?;
        }
        ctx.access.require(self.permission())?;
        if let Start::After(id) = self.page.start {
            let start = CheckoutPubId::from_uuid(id);
            let start = uow.checkouts().get(start).await?;
            visible(ctx.access, start).map_err(|_| unknown_start())?;
        }
        let Some(filter) = self.filter else {
            return Ok(Slice::EMPTY);
        };
        let scope = scope_of(ctx.access);
        let page = self.page.and_one_more();
        let found = uow
            .checkouts()
            .list(scope, &filter, self.sort, self.order, page)
            .await?;
        let mut slice = Slice::found(found, self.page);
        if let Some(most) = slice.to_be_counted(self.page, self.is_long) {
            slice.count_with(uow.checkouts().count(scope, &filter, most).await?);
        }
        let Slice {
            items,
            has_more,
            total,
        } = slice;
        Ok(Slice {
            items: views_of(uow, ctx, items).await?,
            has_more,
            total,
        })
    }
}

/// How many checkouts there are, in all and by their states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutSummary {
    pub total: u64,
    /// At how many a person must look.
    pub needs_attention: u64,
    /// For every state, in the order of states.
    pub by_state: Vec<(Lifecycle, u64)>,
}

/// Counts the checkouts of the key's organization and mode.
///
/// # Errors
/// [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarizeCheckouts;

#[async_trait]
impl UseCase for SummarizeCheckouts {
    type Output = CheckoutSummary;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<CheckoutSummary, Error> {
        ctx.access.require(self.permission())?;
        let scope = scope_of(ctx.access);
        let counts = uow.checkouts().count_by_state(scope).await?;
        let counts: BTreeMap<Lifecycle, u64> = counts.into_iter().collect();
        let filter = CheckoutFilter {
            needs_attention: Some(true),
            ..CheckoutFilter::default()
        };
        Ok(CheckoutSummary {
            total: counts.values().sum(),
            needs_attention: uow.checkouts().count(scope, &filter, u64::MAX).await?,
            by_state: Lifecycle::ALL
                .iter()
                .map(|state| (*state, counts.get(state).copied().unwrap_or_default()))
                .collect(),
        })
    }
}

/// A checkout as callers see it: with its organization and what its lease costs.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckoutView {
    pub checkout: Checkout,
    /// Whose it is.
    pub organization: Arc<Organization>,
    /// What its lease costs; none while no term is chosen.
    pub cost: Option<Cost>,
    /// What was decided of its customer's credit, while that counts.
    pub qualification: Option<Qualification>,
}

/// What the lease of a checkout costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The lease's price.
    pub price: TermPrice,
    /// What is taken at the beginning, and when.
    pub due: Due,
}

impl Cost {
    fn of(checkout: &Checkout, term: ChosenTerm, quote: Quote) -> Result<Self, MoneyError> {
        Ok(Self {
            due: checkout.due(&quote)?,
            price: TermPrice {
                lease_term_id: term.id,
                quote,
            },
        })
    }
}

/// Checkouts of the caller's organization as callers see them, in their order; the number of queries
/// does not grow with them.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub(crate) async fn views_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkouts: Vec<Checkout>,
) -> Result<Vec<CheckoutView>, Error> {
    if checkouts.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<CheckoutPubId> = checkouts.iter().map(|checkout| checkout.id).collect();
    let leased: Vec<ProductVariantPubId> = leased_unpriced(&checkouts).into_iter().collect();
    let with = uow
        .checkouts()
        .surroundings(ctx.access.organization_id, &ids, &leased)
        .await?;
    views_among(with, checkouts)
}

/// Checkouts as callers see them, among what was read for them.
///
/// # Errors
/// [`Error::Pricing`].
fn views_among(with: Surroundings, checkouts: Vec<Checkout>) -> Result<Vec<CheckoutView>, Error> {
    let Surroundings {
        organization,
        terms,
        variants,
        decided,
    } = with;
    let rates = Rates::new(organization, terms, variants);
    let quotes = quotes_by(Some(&rates), &checkouts)?;
    let organization = Arc::new(rates.organization);
    let mut decided: BTreeMap<CheckoutPubId, Qualification> = decided
        .into_iter()
        .filter(Qualification::counts)
        .map(|it| (it.checkout, it))
        .collect();
    checkouts
        .into_iter()
        .zip(quotes)
        .map(|(checkout, quote)| {
            let qualification = decided.remove(&checkout.id);
            Ok(view_with(checkout, &organization, quote, qualification)?)
        })
        .collect()
}

/// A checkout as callers see it, of what was read for it.
///
/// # Errors
/// What is due cannot be counted.
pub(crate) fn view_with(
    checkout: Checkout,
    organization: &Arc<Organization>,
    quote: Option<Quote>,
    qualification: Option<Qualification>,
) -> Result<CheckoutView, PricingError> {
    let cost = match (checkout.term, quote) {
        (Some(term), Some(quote)) => Some(Cost::of(&checkout, term, quote)?),
        _ => None,
    };
    Ok(CheckoutView {
        checkout,
        organization: Arc::clone(organization),
        cost,
        qualification,
    })
}

/// A checkout of the caller's organization as callers see it.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn view_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: Checkout,
) -> Result<CheckoutView, Error> {
    let view = views_of(uow, ctx, vec![checkout]).await?.pop();
    view.ok_or(Error::not_found("checkout"))
}

/// The checkout, if the key may know of it, and what was read with it: what it is shown with but for what it leases.
async fn visible_with(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<(Checkout, Surroundings), Error> {
    let organization = ctx.access.organization_id;
    let found = uow.checkouts().get_with_surroundings(organization, id);
    let (checkout, with) = found.await?.ok_or(Error::not_found("checkout"))?;
    Ok((visible(ctx.access, Some(checkout))?, with))
}

/// The checkout as callers see it, among what was read with it, and what it leases where that has to price it.
async fn view_among(
    uow: &mut dyn UnitOfWork,
    checkout: Checkout,
    mut with: Surroundings,
) -> Result<CheckoutView, Error> {
    let leased = leased_unpriced([&checkout]);
    if !leased.is_empty() {
        let leased = VariantSelection::IdsWithArchived(leased.into_iter().collect());
        let organization = with.organization.id;
        with.variants = (uow.variants())
            .with_products(organization, &leased)
            .await?;
    }
    let view = views_among(with, vec![checkout])?.pop();
    view.ok_or(Error::not_found("checkout"))
}

/// The checkout as callers see it now, for one who was allowed to change it.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Pricing`], [`Error::Store`].
pub async fn view_now(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<CheckoutView, Error> {
    let (checkout, with) = visible_with(uow, ctx, id).await?;
    view_among(uow, checkout, with).await
}

/// The checkout as callers see it.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Pricing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewCheckout {
    /// Which one.
    pub id: CheckoutPubId,
}

#[async_trait]
impl UseCase for ViewCheckout {
    type Output = CheckoutView;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<CheckoutView, Error> {
        let (checkout, with) = visible_with(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        view_among(uow, checkout, with).await
    }
}

/// What comes of a use case, as callers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithView<U>(pub U);

#[async_trait]
impl<U: UseCase<Output = Checkout>> UseCase for WithView<U> {
    type Output = CheckoutView;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<CheckoutView, Error> {
        let checkout = self.0.run(uow, ctx).await?;
        view_of(uow, ctx, checkout).await
    }
}
