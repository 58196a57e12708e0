//! Playing the customer and the providers in sandbox mode.
//!
//! Every step is the one that the page or the provider would make: the same
//! events, the same jobs, the same simulated providers. Jobs that follow from a
//! played step are held until the next one, so that a checkout stays where a test
//! put it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::jobs::{Delivered, Deliverer};
use crate::access::{Mode, Permission};
use crate::address::{Address, AddressError, Country};
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Applied, Checkout, Circumstances, Event, EventKind, Lifecycle, PaymentMethod, Refusal,
    Tracking, arrows_from,
};
use crate::customer::{CreditStatus, IdentityStatus, Profile};
use crate::fulfillment::{Carrier, EventOrigin, Reported, TrackingNumber, TrackingStatus};
use crate::ids::CheckoutPubId;
use crate::ports::{Doubt, JobFilter, JobSubject, StoreError, Timer, UnitOfWork};
use crate::services::fulfillment::{self, TrackingView};
use crate::services::journey::Page;
use crate::services::moving::{self, Due};
use crate::services::{Context, Error, checkouts};
use crate::text::Line;

/// More steps than any way has.
const MOST_STEPS: usize = 60;
/// How often a step waits for a worker that is at the same job.
const MOST_WAITS: u32 = 100;
/// How long each wait is.
const WAIT: Duration = Duration::from_millis(50);

/// Plays the customer and the providers.
#[derive(Clone)]
pub struct Sandbox {
    /// Carries out what the played steps ask for.
    pub deliverer: Deliverer,
    /// Waits for a worker that is at the same job.
    pub timer: Arc<dyn Timer>,
}

fn line(text: &str) -> Result<Line, Error> {
    Line::parse(text).map_err(|error| Error::rule(error.to_string()))
}

/// Places where a sandbox customer may live: street, city, state, zip, country.
const PLACES: [(&str, &str, Option<&str>, &str, &str); 10] = [
    (
        "1 Sandbox Street",
        "San Francisco",
        Some("CA"),
        "94105",
        "US",
    ),
    ("1 Sandbox Street", "New York", Some("NY"), "10001", "US"),
    ("1 Sandbox Street", "Austin", Some("TX"), "78701", "US"),
    ("1 Sandbox Street", "Seattle", Some("WA"), "98101", "US"),
    ("1 Sandbox Street", "Chicago", Some("IL"), "60601", "US"),
    ("1 Sandbox Street", "Toronto", Some("ON"), "M5H 2N2", "CA"),
    ("1 Sandbox Street", "London", None, "SW1A 1AA", "GB"),
    ("Sandkastenweg 1", "Berlin", None, "10115", "DE"),
    ("1 rue du Bac", "Paris", None, "75007", "FR"),
    ("1 Sandbox Street", "Sydney", Some("NSW"), "2000", "AU"),
];

/// Where a sandbox customer lives who has not said so: in their own country, where they have said
/// that much, and where the organization serves them.
async fn sample_address(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    country: Option<Country>,
) -> Result<Address, Error> {
    let organization = uow
        .organizations()
        .get(checkout.organization_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))?;
    for (street, city, state, zip, place) in PLACES {
        let place: Country = place
            .parse()
            .map_err(|error: AddressError| Error::rule(error.to_string()))?;
        let address = Address {
            first_name: None,
            last_name: None,
            company: None,
            address1: line(street)?,
            address2: None,
            city: line(city)?,
            state: state.map(line).transpose()?,
            zip: line(zip)?,
            country: place,
            phone: None,
        };
        let is_at_home = country.is_none_or(|country| country == place);
        if is_at_home && organization.service_area.serves(&address).is_ok() {
            return Ok(address);
        }
    }
    Err(Error::rule(
        "the customer's address is not known, and none of the sandbox's own is served: give the checkout a shipping address and the customer a profile",
    ))
}

/// An address is one thing: half of the customer's and half of another is no place.
fn live_at(profile: &mut Profile, address: Address) {
    profile.address1 = Some(address.address1);
    profile.address2 = None;
    profile.city = Some(address.city);
    profile.state = address.state;
    profile.zip = Some(address.zip);
    profile.country = Some(address.country);
}

/// A tracking number of a carrier's form that is nobody's.
fn sample_tracking() -> Result<Tracking, Error> {
    let number = TrackingNumber::parse("1Z999AA10123456784")
        .map_err(|error| Error::rule(error.to_string()))?;
    Ok(Tracking {
        number,
        carrier: Carrier::Ups,
    })
}

/// Whether the checkout stands at the target, or beyond it.
fn reached(state: Lifecycle, target: Lifecycle) -> bool {
    let is_beyond = || state.rank() > target.rank();
    state == target || state.rank().is_some() && target.rank().is_some() && is_beyond()
}

/// Whether the checkout can be played forward to the state.
///
/// # Errors
/// [`Error::Rule`] naming the states that are ahead.
pub fn check_way(checkout: &Checkout, target: Lifecycle) -> Result<(), Error> {
    let state = checkout.lifecycle();
    let on_the_way =
        Lifecycle::HAPPY_PATH.contains(&target) || target == Lifecycle::PickupLocationPending;
    let ahead = match (state.rank(), target.rank()) {
        (Some(_), Some(_)) if target == Lifecycle::PickupLocationPending => {
            state.rank() < target.rank() || state == Lifecycle::ShippingAddressPending
        }
        (Some(here), Some(there)) => {
            here < there
                || here == there
                    && target == Lifecycle::OrderConfirmed
                    && state != Lifecycle::OrderConfirmed
        }
        _ => false,
    };
    if !on_the_way || !ahead {
        let ways: Vec<&str> = Lifecycle::HAPPY_PATH
            .iter()
            .filter(|there| state.rank().is_some() && there.rank() > state.rank())
            .map(|there| there.as_str())
            .collect();
        let ways = if ways.is_empty() {
            "no state".to_owned()
        } else {
            ways.join(", ")
        };
        return Err(Error::rule(format!(
            "{target} is not ahead of {state}; ahead: {ways}"
        )));
    }
    if checkout.term.is_none() && target.rank() > Lifecycle::LeaseReviewPending.rank() {
        return Err(Error::rule(
            "no lease term is chosen: set leaseTermId with PUT /v1/checkouts/{id} first",
        ));
    }
    Ok(())
}

/// Whether the checkout's data leave the way to the state open: an exception goes back to where it
/// came from.
fn is_open(checkout: &Checkout, target: Lifecycle) -> bool {
    let was_shipped = checkout.shipment.shipped_at.is_some();
    match (checkout.lifecycle(), target) {
        (Lifecycle::FulfillmentException, Lifecycle::OrderConfirmed) => !was_shipped,
        (Lifecycle::FulfillmentException, Lifecycle::Shipped | Lifecycle::LeaseActive) => {
            was_shipped
        }
        _ => true,
    }
}

/// Whether a sandbox key can move the checkout to the state.
///
/// # Errors
/// [`Error::Rule`] naming the states that follow.
pub fn check_move(checkout: &Checkout, target: Lifecycle) -> Result<(), Error> {
    let state = checkout.lifecycle();
    let delivery = state == Lifecycle::Shipped && target == Lifecycle::LeaseActive;
    let ahead =
        || arrows_from(state).filter(|arrow| arrow.to != state && is_open(checkout, arrow.to));
    if state == target || delivery || ahead().any(|arrow| arrow.to == target) {
        return Ok(());
    }
    let mut next: Vec<&str> = ahead().map(|arrow| arrow.to.as_str()).collect();
    next.sort_unstable();
    next.dedup();
    let next = if next.is_empty() {
        "none, it has ended".to_owned()
    } else {
        next.join(", ")
    };
    Err(Error::rule(format!(
        "the checkout is {state} and cannot be moved to {target}; possible now: {next}"
    )))
}

/// Plays a carrier's report, in a unit of work of the caller's. What follows from it is
/// for the outbox.
///
/// # Errors
/// [`Error::SandboxOnly`], [`Error::NotFound`], [`Error::Forbidden`];
/// [`Error::Rule`] when the goods have no tracking.
pub async fn tracking_event(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    reported: Reported,
) -> Result<TrackingView, Error> {
    Sandbox::sandbox_only(ctx)?;
    checkouts::changeable(uow, ctx, id).await?;
    let origin = EventOrigin::Sandbox;
    let checkout = fulfillment::report(uow, ctx.ids, ctx.now, id, reported, origin).await?;
    let events = match &checkout.shipment.tracking {
        Some(tracking) => uow.tracking().list(id, tracking).await?,
        None => Vec::new(),
    };
    Ok(TrackingView { checkout, events })
}

/// Whether what comes next was asked for already: the job that does it is waiting.
fn has_asked(checkout: &Checkout) -> bool {
    let is_asked_for = match checkout.lifecycle().next() {
        Some(EventKind::DocumentsSigned) => {
            checkout.lease_document_id.is_none() || checkout.signed_at.is_some()
        }
        Some(EventKind::Delivered) => checkout.recurring.billing.requested_at().is_some(),
        _ => false,
    };
    is_asked_for || checkout.lifecycle().is_at_provider()
}

fn stuck(checkout: &Checkout) -> Error {
    Error::rule(format!(
        "the checkout is {} and goes no further by itself",
        checkout.lifecycle()
    ))
}

/// Plays what the customer or the organization does next, on the page where it is the customer.
async fn play(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
    kind: EventKind,
    target: Lifecycle,
    method: Option<PaymentMethod>,
) -> Result<(), Error> {
    let page = Page::played(ctx.now, ctx.ids);
    let (event, actor) = match kind {
        EventKind::Opened => return done(page.open(uow, checkout).await),
        EventKind::ProfileCompleted => {
            let known = moving::customer_of(uow, checkout).await?.profile;
            if known.is_complete() {
                return done(page.complete_profile(uow, checkout).await);
            }
            let mut profile = known;
            if profile.address().is_none() {
                let address = sample_address(uow, checkout, profile.country).await?;
                live_at(&mut profile, address);
            }
            profile.first_name = profile.first_name.or(Some(line("Sandbox")?));
            profile.last_name = profile.last_name.or(Some(line("Customer")?));
            return done(page.give_profile(uow, checkout, profile).await);
        }
        EventKind::IdentityRequested => return done(page.request_identity(uow, checkout).await),
        EventKind::IdentitySubmitted => return done(page.submit_identity(uow, checkout).await),
        EventKind::ShippingAddressGiven if target == Lifecycle::PickupLocationPending => {
            return done(page.choose_pickup(uow, checkout).await);
        }
        EventKind::ShippingAddressGiven => {
            let profile = moving::customer_of(uow, checkout).await?.profile.address();
            let address = match checkout.served_address(profile.as_ref()) {
                Some(address) => address.clone(),
                None => sample_address(uow, checkout, None).await?,
            };
            return done(page.give_shipping_address(uow, checkout, address).await);
        }
        EventKind::PickupLocationGiven => {
            let locations = uow
                .pickup_locations()
                .list(checkout.organization_id)
                .await?;
            return done(match locations.iter().find(|location| location.active) {
                Some(open) => page.give_pickup_location(uow, checkout, open.id).await,
                None => page.choose_shipping(uow, checkout).await,
            });
        }
        EventKind::LeaseAccepted => return done(page.accept_lease(uow, checkout).await),
        EventKind::DepositSubmitted => return done(page.submit_deposit(uow, checkout, None).await),
        EventKind::PaymentMethodSaved => {
            let method = method.ok_or_else(|| stuck(checkout))?;
            return done(page.save_payment_method(uow, checkout, method).await);
        }
        EventKind::DocumentsSigned => return done(page.sign_documents(uow, checkout).await),
        EventKind::CaptureRetried => return done(page.retry_capture(uow, checkout).await),
        EventKind::Fulfilled => {
            // Goods without tracking are billed at once and would not stay shipped.
            let tracking = (target == Lifecycle::Shipped).then(sample_tracking);
            let event = Event::Fulfilled {
                tracking: tracking.transpose()?,
                serial_numbers: BTreeMap::new(),
            };
            (event, Actor::Operator)
        }
        EventKind::OrderResumed if checkout.shipment.shipped_at.is_some() => {
            (Event::ShipmentResumed, Actor::Provider)
        }
        kind => {
            let event = kind.said_by_hand(ctx.now).ok_or_else(|| stuck(checkout))?;
            (event, Actor::Operator)
        }
    };
    let by = Circumstances::new(ctx.now, actor);
    done(moving::apply_due(uow, ctx.ids, checkout, event, &by, Due::WhenTold).await)
}

fn done(played: Result<Applied, Error>) -> Result<(), Error> {
    played.map(|_| ())
}

impl Sandbox {
    fn sandbox_only(ctx: &Context<'_>) -> Result<(), Error> {
        if ctx.access.mode == Mode::Sandbox {
            Ok(())
        } else {
            Err(Error::SandboxOnly)
        }
    }

    async fn read(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Checkout, Error> {
        let mut view = self.deliverer.database.read().await?;
        let scope = checkouts::scope_of(ctx.access);
        view.checkouts()
            .get(id)
            .await?
            .filter(|checkout| {
                checkout.organization_id == scope.organization_id && checkout.mode == scope.mode
            })
            .ok_or(Error::not_found("checkout"))
    }

    /// Plays every step on the way to the state. Where a provider refuses (as the
    /// customer's e-mail asked for) the checkout stays where that led.
    ///
    /// # Errors
    /// [`Error::SandboxOnly`], [`Error::NotFound`], [`Error::Forbidden`];
    /// [`Error::Rule`] when the state is not ahead on the way, and nothing has moved.
    pub async fn advance(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<Checkout, Error> {
        Self::sandbox_only(ctx)?;
        let start = self.read(ctx, id).await?;
        ctx.access.require(Permission::CheckoutWrite)?;
        check_way(&start, target)?;
        let mut state = start.lifecycle();
        for step in 0..MOST_STEPS {
            let stopped =
                step > 0 && (state.is_failed() || state.is_waitlisted() || state.is_ended());
            if stopped || reached(state, target) {
                break;
            }
            self.step(ctx, id, target).await?;
            state = self.read(ctx, id).await?.lifecycle();
        }
        self.settle(ctx, id).await
    }

    /// Lets the jobs that are left be done, except those that would move on a
    /// checkout that was told to stay.
    async fn settle(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Checkout, Error> {
        let checkout = self.read(ctx, id).await?;
        if checkout.lifecycle().is_at_provider() {
            return Ok(checkout);
        }
        self.deliverer.drain(JobSubject::Checkout(id)).await?;
        self.read(ctx, id).await
    }

    /// Plays the next step towards the state.
    async fn step(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<(), Error> {
        let checkout = self.read(ctx, id).await?;
        if has_asked(&checkout) {
            return self.provider(id).await;
        }
        let next = checkout.lifecycle().next();
        if next == Some(EventKind::Delivered) {
            let delivered = self.report_of(ctx, TrackingStatus::Delivered);
            return self.report(ctx, id, delivered).await;
        }
        let method = match next {
            Some(EventKind::PaymentMethodSaved) => {
                Some(self.deliverer.payment_method(&checkout).await?)
            }
            _ => None,
        };
        let seen = checkout.lifecycle();
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != seen {
            // Somebody else has just taken the step: the next one may lead beyond where this goes.
            return Ok(());
        }
        let kind = seen.next().ok_or_else(|| stuck(&checkout))?;
        play(uow.as_mut(), ctx, &mut checkout, kind, target, method).await?;
        uow.commit().await?;
        if matches!(
            kind,
            EventKind::IdentityRequested | EventKind::CaptureRetried
        ) {
            self.provider(id).await
        } else {
            Ok(())
        }
    }

    /// Lets the provider answer: the next job of the checkout.
    async fn provider(&self, id: CheckoutPubId) -> Result<(), Error> {
        for _ in 0..MOST_WAITS {
            match self
                .deliverer
                .deliver_next(JobSubject::Checkout(id))
                .await?
            {
                Some(Delivered::Done) => return Ok(()),
                Some(Delivered::Later(_) | Delivered::Buried) => {
                    return Err(Error::Provider(Doubt::failed(
                        "it did not answer as expected; see lessor outbox list",
                    )));
                }
                None => {
                    // A worker has the job, or has just finished it.
                    let mut view = self.deliverer.database.read().await?;
                    let filter = JobFilter {
                        state: None,
                        subject: Some(JobSubject::Checkout(id)),
                    };
                    if view.outbox().list(&filter, 1).await?.is_empty() {
                        return Ok(());
                    }
                    drop(view);
                    self.timer.sleep(WAIT).await;
                }
            }
        }
        Err(Error::Provider(Doubt::unreachable(
            "another worker has been at the same step for too long",
        )))
    }

    fn report_of(&self, ctx: &Context<'_>, status: TrackingStatus) -> Reported {
        Reported {
            at: ctx.now,
            status,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        }
    }

    async fn report(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        reported: Reported,
    ) -> Result<(), Error> {
        let mut uow = self.deliverer.database.begin().await?;
        fulfillment::report(
            uow.as_mut(),
            ctx.ids,
            ctx.now,
            id,
            reported,
            EventOrigin::Sandbox,
        )
        .await?;
        uow.commit().await.map_err(Error::from)
    }

    /// Moves the checkout to any state that follows in the table; the same state
    /// again changes nothing.
    ///
    /// # Errors
    /// [`Error::Rule`] naming the states that follow.
    pub async fn move_to(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<Checkout, Error> {
        Self::sandbox_only(ctx)?;
        let checkout = self.read(ctx, id).await?;
        ctx.access.require(Permission::CheckoutWrite)?;
        let state = checkout.lifecycle();
        if state == target {
            return Ok(checkout);
        }
        check_move(&checkout, target)?;
        if state == Lifecycle::DepositProcessing && target == Lifecycle::WaitlistedAfterDeposit {
            self.deliverer.deliver_out_of_stock(id).await?;
            return self.read(ctx, id).await;
        }
        if self.play_aside(ctx, id, state, target).await? {
            return self.settle(ctx, id).await;
        }
        if checkout.term.is_none() && state == Lifecycle::LeaseReviewPending {
            return Err(Error::rule(
                "no lease term is chosen: set leaseTermId first",
            ));
        }
        // Forward: a provider's part may take more than one step.
        for _ in 0..MOST_STEPS {
            self.step(ctx, id, target).await?;
            if self.read(ctx, id).await?.lifecycle() != state {
                break;
            }
        }
        self.settle(ctx, id).await
    }

    /// Plays what is no step forward: an operator's move, a refusal, a lapse, the
    /// end of a wait, time that has passed. False when it is none of these.
    async fn play_aside(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        state: Lifecycle,
        target: Lifecycle,
    ) -> Result<bool, Error> {
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Err(Error::rule(format!(
                "the checkout has just become {}",
                checkout.lifecycle()
            )));
        }
        let mut aside = None;
        for arrow in arrows_from(state).filter(|arrow| arrow.to == target) {
            aside = self
                .aside(uow.as_mut(), ctx, &checkout, arrow.event)
                .await?;
            if aside.is_some() {
                break;
            }
        }
        let by_hand = || {
            let event = checkouts::operator_event(&checkout, target, ctx.now)?;
            Some((event, Actor::Operator))
        };
        let Some((event, actor)) = aside.or_else(by_hand) else {
            return Ok(false);
        };
        let by = Circumstances::new(ctx.now, actor);
        moving::apply(uow.as_mut(), ctx.ids, &mut checkout, event, &by).await?;
        uow.commit().await?;
        // The jobs that were held are done now, or come to nothing.
        self.deliverer.drain(JobSubject::Checkout(id)).await?;
        Ok(true)
    }

    /// What a provider, time or stock brings about. None for what a person does.
    async fn aside(
        &self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        checkout: &Checkout,
        kind: EventKind,
    ) -> Result<Option<(Event, Actor)>, Error> {
        let refusal = || Refusal {
            code: "card_declined".to_owned(),
            message: "Declined, as a sandbox key asked for.".to_owned(),
        };
        let event = match kind {
            EventKind::IdentityRefused => {
                let failed = Some(IdentityStatus::Failed);
                self.screen(uow, ctx, checkout, failed, None).await?;
                Event::IdentityRefused
            }
            EventKind::IdentityAbandoned => {
                let none = Some(IdentityStatus::None);
                self.screen(uow, ctx, checkout, none, None).await?;
                Event::IdentityAbandoned
            }
            EventKind::QualificationRefused => {
                let failed = Some(CreditStatus::Failed);
                self.screen(uow, ctx, checkout, None, failed).await?;
                Event::QualificationRefused
            }
            EventKind::DepositRefused => Event::DepositRefused { refusal: refusal() },
            EventKind::CaptureRefused => Event::CaptureRefused { refusal: refusal() },
            EventKind::AuthorizationLapsed => Event::AuthorizationLapsed,
            EventKind::Expired => return Ok(Some((Event::Expired, Actor::System))),
            EventKind::AreaWidened => return Ok(Some((Event::AreaWidened, Actor::System))),
            EventKind::StockFreed => {
                let mut stock = StockTaken::Untracked;
                if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit
                    && uow.variants().take_stock(checkout.variant_id).await? == StockTaken::Taken
                {
                    stock = StockTaken::Taken;
                }
                return Ok(Some((Event::StockFreed { stock }, Actor::System)));
            }
            _ => return Ok(None),
        };
        Ok(Some((event, Actor::Provider)))
    }

    async fn screen(
        &self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        checkout: &Checkout,
        identity: Option<IdentityStatus>,
        credit: Option<CreditStatus>,
    ) -> Result<(), Error> {
        if let Some(mut customer) = uow.customers().lock(checkout.customer_id).await? {
            let screening = customer.screening_mut(checkout.mode);
            screening.identity = identity.unwrap_or(screening.identity);
            screening.credit = credit.unwrap_or(screening.credit);
            customer.updated_at = ctx.now;
            uow.customers().update(&mut customer).await?;
        }
        Ok(())
    }
}
