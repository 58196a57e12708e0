//! What a customer's page shows of a checkout.

use chrono::TimeDelta;

use super::checkouts::{all_of, quote_of};
use super::{Error, agreements, pricing, signers};
use crate::agreement::AgreementRecord;
use crate::catalog::{OptionSelection, Product, ProductVariant};
use crate::checkout::{Checkout, Lifecycle, WayOut};
use crate::credit::Qualification;
use crate::customer::Customer;
use crate::ids::LeaseTermPubId;
use crate::ledger::{SessionPurpose, Statement};
use crate::organization::{Organization, PickupLocation};
use crate::ports::{PageToken, StoreError, UnitOfWork, VariantSelection};
use crate::pricing::Quote;
use crate::quantity::Quantity;
use crate::shipments::TrackingEvent;
use crate::text::{Description, Name, Url};
use crate::time::Timestamp;

/// What is not found where a token opens nothing.
const NO_PAGE: Error = Error::not_found("page");

/// What is leased, as the catalog shows it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Showpiece {
    /// The product's name.
    pub product: Name,
    /// The variant's.
    pub description: Description,
    /// What the variant chose.
    pub options: Vec<OptionSelection>,
    /// The variant's first image, else the product's.
    pub image: Option<Url>,
}

impl Showpiece {
    fn of(variant: &ProductVariant, product: &Product) -> Self {
        Self {
            product: product.name.clone(),
            description: variant.description.clone(),
            options: variant.options.clone(),
            image: variant
                .images
                .first()
                .or(product.main_image.as_ref())
                .cloned(),
        }
    }
}

/// A checkout with all that its page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Where it stands.
    pub checkout: Checkout,
    /// The lessee.
    pub customer: Customer,
    /// The lessor.
    pub organization: Organization,
    /// What is leased, as long as the catalog has it.
    pub showpiece: Option<Showpiece>,
    /// What the lease costs, once a term is chosen.
    pub quote: Option<Quote>,
    /// The terms that the customer can choose from, shortest first, until the lease is accepted.
    pub terms: Vec<(LeaseTermPubId, Quote)>,
    /// Where the goods can be picked up, while that is asked.
    pub locations: Vec<PickupLocation>,
    /// Where the goods are picked up, once that is known.
    pub location: Option<PickupLocation>,
    /// The document that is to be signed, or was.
    pub agreement: Option<AgreementRecord>,
    /// Whether the document is signed with the organization's signer, and not on the page.
    pub signs_elsewhere: bool,
    /// Whether the customer has a page of the processor's open, where the deposit is paid.
    pub pays_elsewhere: bool,
    /// What was decided about their credit, while that counts.
    pub qualification: Option<Qualification>,
    /// What was paid and is still to come.
    pub statement: Statement,
    /// Which in the line it is that it waits in, from 1.
    pub place_in_line: Option<u64>,
    /// The way of the goods, oldest first.
    pub events: Vec<TrackingEvent>,
    /// Whether the checkout ended so long ago that the page shows how, and no more.
    pub is_past: bool,
    /// Where the customer's browser was sent last.
    pub sent_to: Option<WayOut>,
}

/// How long after a checkout's end its page shows all of it.
pub const SHOWN_AFTER_THE_END: TimeDelta = TimeDelta::days(30);

/// The organization whose page this token opened once: the page has another address since.
///
/// # Errors
/// [`Error::Store`].
pub async fn replaced_by(
    work: &mut dyn UnitOfWork,
    token: &PageToken,
) -> Result<Option<Organization>, Error> {
    let Some(owner) = work.doors().owner_of_ended_page(token).await? else {
        return Ok(None);
    };
    Ok(work.organizations().get(owner).await?)
}

/// Notes that the browser of whoever has this token is sent to where the way out leads. False when it
/// was sent there before.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Store`].
pub async fn note_way_out(
    work: &mut dyn UnitOfWork,
    token: &PageToken,
    way: WayOut,
) -> Result<bool, Error> {
    let id = checkout_of(work, token).await?.id;
    Ok(work.checkouts().note_way_out(id, way).await?)
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

/// Whether the checkout ended so long ago that its page shows how, and no more.
async fn is_past(
    work: &mut dyn UnitOfWork,
    checkout: &Checkout,
    now: Timestamp,
) -> Result<bool, Error> {
    if !checkout.lifecycle().is_ended() {
        return Ok(false);
    }
    let history = work.checkouts().history(checkout.id).await?;
    let moved = history.iter().map(|entry| &entry.transition);
    let ended = moved.rev().find(|step| step.from != step.to);
    let ended_at = ended.map_or(checkout.updated_at, |step| step.at);
    Ok(now.signed_duration_since(ended_at) >= SHOWN_AFTER_THE_END)
}

/// [`checkout_of`], as long as its page shows more than how it ended.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Store`].
pub async fn checkout_in_view(
    work: &mut dyn UnitOfWork,
    token: &PageToken,
    now: Timestamp,
) -> Result<Checkout, Error> {
    let checkout = checkout_of(work, token).await?;
    if is_past(work, &checkout, now).await? {
        return Err(NO_PAGE);
    }
    Ok(checkout)
}

/// What is leased, as the catalog has it now.
async fn leased(
    work: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Option<(ProductVariant, Product)>, Error> {
    let leased = VariantSelection::IdsWithArchived(vec![checkout.variant_id]);
    let found = work
        .variants()
        .with_products(checkout.organization_id, &leased)
        .await?;
    Ok(found.into_iter().next())
}

impl Visit {
    /// Whether name and address are complete by an older record of the customer: the page neither shows
    /// nor changes them.
    #[must_use]
    pub fn is_on_file(&self) -> bool {
        let profile = &self.customer.profile;
        let shown = profile.clone().as_on_a_page();
        profile.is_complete() && self.checkout.given_profile.as_ref() != Some(&shown)
    }

    /// All that the page of this token shows.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Store`], [`Error::Pricing`].
    pub async fn of(
        work: &mut dyn UnitOfWork,
        token: &PageToken,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let checkout = checkout_of(work, token).await?;
        Self::load(work, checkout, now).await
    }

    /// All that the page of this checkout shows.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Pricing`].
    async fn load(
        work: &mut dyn UnitOfWork,
        checkout: Checkout,
        now: Timestamp,
    ) -> Result<Self, Error> {
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
        let leased = leased(work, &checkout).await?;
        let terms = match &leased {
            Some((variant, product)) if checkout.offers_terms() => {
                Self::terms(work, &organization, variant, product, checkout.quantity()).await?
            }
            _ => Vec::new(),
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
        let rows = work.ledger().of(checkout.id).await?;
        let pays_elsewhere = checkout.lifecycle() == Lifecycle::DepositProcessing
            && rows
                .iter()
                .any(|row| row.is_open_session(SessionPurpose::Deposit));
        let place_in_line = match checkout.lifecycle().waits_for() {
            Some(_) => work.checkouts().place_in_line(checkout.id).await?,
            None => None,
        };
        let is_past = is_past(work, &checkout, now).await?;
        let sent_to = match checkout.way_out() {
            Some(_) => work.checkouts().last_way_out(checkout.id).await?,
            None => None,
        };
        let decided = work.qualifications().latest(&[checkout.id]).await?;
        let agreement = agreements::shown(work, &checkout).await?;
        let signs_elsewhere = match &agreement {
            Some(document) => signers::signs_elsewhere(work, &checkout, document).await?,
            None => false,
        };
        Ok(Self {
            agreement,
            signs_elsewhere,
            qualification: decided.into_iter().find(Qualification::counts),
            showpiece: leased.map(|(variant, product)| Showpiece::of(&variant, &product)),
            statement: Statement::of(&rows),
            place_in_line,
            checkout,
            customer,
            organization,
            quote,
            terms,
            locations,
            location,
            pays_elsewhere,
            events,
            is_past,
            sent_to,
        })
    }

    async fn terms(
        work: &mut dyn UnitOfWork,
        organization: &Organization,
        variant: &ProductVariant,
        product: &Product,
        quantity: Quantity,
    ) -> Result<Vec<(LeaseTermPubId, Quote)>, Error> {
        let terms = work.lease_terms().list(organization.id).await?;
        let prices = pricing::price_table(organization, product, variant, &terms)?;
        let mut offered = Vec::with_capacity(prices.len());
        for price in prices.into_values() {
            if let Some(all) = all_of(&price.quote, quantity)? {
                offered.push((price.lease_term_id, all));
            }
        }
        Ok(offered)
    }
}
