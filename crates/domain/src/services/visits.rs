//! What a customer's page shows of a checkout.

use super::checkouts::quote_of;
use super::{Error, agreements, pricing};
use crate::agreement::AgreementRecord;
use crate::checkout::{Checkout, Lifecycle};
use crate::customer::Customer;
use crate::ids::LeaseTermPubId;
use crate::organization::{Organization, PickupLocation};
use crate::ports::{PageToken, StoreError, UnitOfWork, VariantSelection};
use crate::pricing::Quote;
use crate::shipments::TrackingEvent;

/// What is not found where a token opens nothing.
const NO_PAGE: Error = Error::not_found("page");

/// A checkout with all that its page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Where it stands.
    pub checkout: Checkout,
    /// The lessee.
    pub customer: Customer,
    /// The lessor.
    pub organization: Organization,
    /// What the lease costs, once a term is chosen.
    pub quote: Option<Quote>,
    /// The terms that the customer can choose from, while there is none.
    pub terms: Vec<(LeaseTermPubId, Quote)>,
    /// Where the goods can be picked up, while that is asked.
    pub locations: Vec<PickupLocation>,
    /// Where the goods are picked up, once that is known.
    pub location: Option<PickupLocation>,
    /// The document that is to be signed, or was.
    pub agreement: Option<AgreementRecord>,
    /// The way of the goods, oldest first.
    pub events: Vec<TrackingEvent>,
}

/// The checkout of whoever has this token. The work, which nobody's name is given to yet, goes on in
/// that of its organization.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Store`].
pub async fn checkout_of(work: &mut dyn UnitOfWork, token: &PageToken) -> Result<Checkout, Error> {
    let owner = work.doors().owner_of_page(token).await?;
    work.enter(owner.ok_or(NO_PAGE)?).await?;
    let found = work.checkouts().find_by_page_token(token).await?;
    found.ok_or(NO_PAGE)
}

/// [`checkout_of`], locked: what the customer does is done to it.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Store`].
pub async fn lock(work: &mut dyn UnitOfWork, token: &PageToken) -> Result<Checkout, Error> {
    let id = checkout_of(work, token).await?.id;
    work.checkouts().lock(id).await?.ok_or(NO_PAGE)
}

impl Visit {
    /// All that the page of this token shows.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Store`], [`Error::Pricing`].
    pub async fn of(work: &mut dyn UnitOfWork, token: &PageToken) -> Result<Self, Error> {
        let checkout = checkout_of(work, token).await?;
        Self::load(work, checkout).await
    }

    /// All that the page of this checkout shows.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Pricing`].
    async fn load(work: &mut dyn UnitOfWork, checkout: Checkout) -> Result<Self, Error> {
        let customer = work
            .customers()
            .get(checkout.customer_id)
            .await?
            .ok_or(Error::Store(StoreError::Missing("customer")))?;
        let organization = work
            .organizations()
            .get(checkout.organization_id)
            .await?
            .ok_or(Error::Store(StoreError::Missing("organization")))?;
        let quote = quote_of(work, &checkout).await?;
        let asks_for_a_term = checkout.term.is_none()
            && checkout.lifecycle() == Lifecycle::LeaseReviewPending
            && checkout.takes_a_term();
        let terms = if asks_for_a_term {
            Self::terms(work, &checkout, &organization).await?
        } else {
            Vec::new()
        };
        let asks_for_a_place = matches!(
            checkout.lifecycle(),
            Lifecycle::ShippingAddressPending | Lifecycle::PickupLocationPending
        );
        let mut locations = if asks_for_a_place {
            work.pickup_locations()
                .list(checkout.organization_id)
                .await?
        } else {
            Vec::new()
        };
        locations.retain(|location| location.active);
        let location = match checkout.pickup_location_id {
            Some(id) => {
                work.pickup_locations()
                    .get(checkout.organization_id, id)
                    .await?
            }
            None => None,
        };
        let events = match &checkout.shipment.tracking {
            Some(tracking) => work.shipments().list(checkout.id, tracking).await?,
            None => Vec::new(),
        };
        let agreement = agreements::shown(work, &checkout).await?;
        Ok(Self {
            agreement,
            checkout,
            customer,
            organization,
            quote,
            terms,
            locations,
            location,
            events,
        })
    }

    async fn terms(
        work: &mut dyn UnitOfWork,
        checkout: &Checkout,
        organization: &Organization,
    ) -> Result<Vec<(LeaseTermPubId, Quote)>, Error> {
        let terms = work.lease_terms().list(organization.id).await?;
        let leased = VariantSelection::IdsWithArchived(vec![checkout.variant_id]);
        let found = work
            .variants()
            .with_products(organization.id, &leased)
            .await?;
        let Some((variant, product)) = found.first() else {
            return Ok(Vec::new());
        };
        let prices = pricing::price_table(organization, product, variant, &terms)?;
        Ok(prices
            .into_values()
            .map(|price| (price.lease_term_id, price.quote))
            .collect())
    }
}
