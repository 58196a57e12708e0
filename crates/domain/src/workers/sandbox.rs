//! Playing the customer and the providers in sandbox mode.
//!
//! Every step is the one that the page or the provider would make: the same
//! events, the same jobs, the same simulated providers. Jobs that follow from a
//! played step are held until the next one, so that a checkout stays where a test
//! put it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::jobs::{Delivered, Deliverer, Towards};
use crate::access::{Mode, Permission};
use crate::address::{Address, AddressError, Country};
use crate::catalog::{Inventory, StockTaken};
use crate::checkout::{
    Actor, Applied, Checkout, Circumstances, Effect, Event, EventKind, Lifecycle, PaymentMethod,
    Refusal, Tracking, arrows_from,
};
use crate::customer::{CreditStatus, Customer, IdentityStatus, Profile, Screening};
use crate::fulfillment::{Carrier, EventOrigin, Reported, TrackingNumber, TrackingStatus};
use crate::ids::CheckoutPubId;
use crate::ports::{Doubt, IdentityResult, JobFilter, JobSubject, StoreError, Timer, UnitOfWork};
use crate::services::fulfillment::{self, TrackingView};
use crate::services::journey::Page;
use crate::services::moving::{self, Due};
use crate::services::{Context, Error, checkouts, customers, identity};
use crate::text::Line;
use crate::time::Timestamp;

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

/// One event that somebody brings about, with what is known of the customer then.
struct Played {
    event: Event,
    actor: Actor,
    /// The customer as the event leaves them, where it says something of them.
    customer: Option<Customer>,
}

impl Played {
    const fn new(event: Event, actor: Actor) -> Self {
        Self {
            event,
            actor,
            customer: None,
        }
    }

    /// The event is the verifier's or the credit checker's, whose finding is the customer's.
    fn found(
        event: Event,
        customer: &Customer,
        mode: Mode,
        find: impl FnOnce(&mut Screening),
    ) -> Self {
        let mut customer = customer.clone();
        find(customer.screening_mut(mode));
        Self {
            customer: Some(customer),
            ..Self::new(event, Actor::Provider)
        }
    }

    /// Where the event would bring the checkout, past what its data lead through. None when it is
    /// refused.
    fn outcome(
        &self,
        checkout: &Checkout,
        customer: &Customer,
        now: Timestamp,
    ) -> Option<Lifecycle> {
        let mut tried = checkout.clone();
        let facts = moving::facts_of(self.customer.as_ref().unwrap_or(customer), checkout);
        let by = Circumstances::new(now, self.actor);
        tried.apply(self.event.clone(), &by, &facts).ok()?;
        Some(tried.lifecycle())
    }
}

/// How a checkout is moved to a state that follows.
enum Way {
    /// By one event.
    Event(Box<Played>),
    /// A provider takes part: what it answers says where the checkout goes.
    Provider,
}

/// Whether a provider takes part in the event: what it makes is needed later.
const fn is_made_by_a_provider(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::IdentityStarted
            | EventKind::DepositAuthorized
            | EventKind::DepositAuthorizedWithoutStock
            | EventKind::PaymentMethodSaved
            | EventKind::DepositCaptured
            | EventKind::SubscriptionStarted
    )
}

/// Whether a unit can be had for the checkout.
async fn is_in_stock(uow: &mut dyn UnitOfWork, checkout: &Checkout) -> Result<bool, Error> {
    let variant = uow
        .variants()
        .get(checkout.organization_id, checkout.variant_id)
        .await?;
    Ok(variant.is_some_and(|variant| variant.inventory != Inventory::Tracked(0)))
}

/// Whether the checkout comes so far when the provider does its part.
async fn can_be_made(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    kind: EventKind,
) -> Result<bool, Error> {
    Ok(match kind {
        EventKind::DepositAuthorized => is_in_stock(uow, checkout).await?,
        // Goods that never left begin no lease.
        EventKind::SubscriptionStarted => checkout.shipment.shipped_at.is_some(),
        _ => true,
    })
}

/// The event by which the checkout may leave its state, with all that it says. None where what it
/// would have to say is not known, or a provider has to make it.
async fn played(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &Checkout,
    customer: &Customer,
    kind: EventKind,
) -> Result<Option<Played>, Error> {
    let refusal = || Refusal {
        code: "card_declined".to_owned(),
        message: "Declined, as a sandbox key asked for.".to_owned(),
    };
    let found =
        |event, find: fn(&mut Screening)| Played::found(event, customer, checkout.mode, find);
    let by_customer = |event| Played::new(event, Actor::Customer);
    let by_provider = |event| Played::new(event, Actor::Provider);
    let by_system = |event| Played::new(event, Actor::System);
    Ok(Some(match kind {
        EventKind::Opened => by_customer(Event::Opened),
        EventKind::ProfileCompleted => Played {
            customer: Some(with_profile(uow, checkout, customer).await?),
            ..by_customer(Event::ProfileCompleted)
        },
        EventKind::IdentitySubmitted => Played {
            actor: Actor::Customer,
            ..found(Event::IdentitySubmitted, |it| {
                it.identity = IdentityStatus::Processing;
            })
        },
        EventKind::IdentityVerified => found(Event::IdentityVerified, |it| {
            it.identity = IdentityStatus::Verified;
        }),
        EventKind::IdentityRefused => found(Event::IdentityRefused, |it| {
            it.identity = IdentityStatus::Failed;
        }),
        // The session is over: what the verifier still says of it moves nothing.
        EventKind::IdentityAbandoned => found(Event::IdentityAbandoned, |it| {
            it.identity = IdentityStatus::None;
            it.verification_session_id = None;
        }),
        EventKind::Qualified => found(Event::Qualified, |it| it.credit = CreditStatus::Passed),
        EventKind::QualificationRefused => found(Event::QualificationRefused, |it| {
            it.credit = CreditStatus::Failed;
        }),
        EventKind::PickupChosen => by_customer(Event::PickupChosen),
        EventKind::ShippingChosen => by_customer(Event::ShippingChosen),
        EventKind::ShippingAddressGiven => {
            let own = customer.profile.address();
            let address = match checkout.served_address(own.as_ref()) {
                Some(address) => address.clone(),
                None => sample_address(uow, checkout, None).await?,
            };
            by_customer(Event::ShippingAddressGiven { address })
        }
        EventKind::PickupLocationGiven => {
            let locations = uow
                .pickup_locations()
                .list(checkout.organization_id)
                .await?;
            match locations.iter().find(|location| location.active) {
                Some(open) => by_customer(Event::PickupLocationGiven { location: open.id }),
                None => return Ok(None),
            }
        }
        EventKind::LeaseAccepted => by_customer(Event::LeaseAccepted),
        EventKind::DepositSubmitted => match checkouts::quote_of(uow, checkout).await? {
            Some(quote) => by_customer(Event::DepositSubmitted {
                quote,
                method: None,
            }),
            None => return Ok(None),
        },
        EventKind::DepositRefused => by_provider(Event::DepositRefused { refusal: refusal() }),
        // Nothing is captured before the lease is there to be signed.
        EventKind::CaptureRefused if checkout.lease_document_id.is_none() => return Ok(None),
        EventKind::CaptureRefused => by_provider(Event::CaptureRefused { refusal: refusal() }),
        EventKind::AuthorizationLapsed => by_provider(Event::AuthorizationLapsed),
        EventKind::Fulfilled => Played::new(
            Event::Fulfilled {
                tracking: Some(sample_tracking()?),
                serial_numbers: BTreeMap::new(),
            },
            Actor::Operator,
        ),
        EventKind::Expired => by_system(Event::Expired),
        EventKind::AreaWidened => by_system(Event::AreaWidened),
        // A unit that is not there cannot be had.
        EventKind::StockFreed
            if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit
                && !is_in_stock(uow, checkout).await? =>
        {
            return Ok(None);
        }
        EventKind::StockFreed => by_system(Event::StockFreed {
            stock: StockTaken::Untracked,
        }),
        kind => match kind.said_by_hand(ctx.now) {
            Some(event) => Played::new(event, Actor::Operator),
            None => return Ok(None),
        },
    }))
}

/// The customer with a whole profile: the sandbox's own where nothing is known.
async fn with_profile(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    customer: &Customer,
) -> Result<Customer, Error> {
    let mut customer = customer.clone();
    let profile = &mut customer.profile;
    if profile.address().is_none() {
        let address = sample_address(uow, checkout, profile.country).await?;
        live_at(profile, address);
    }
    profile.first_name = profile.first_name.take().or(Some(line("Sandbox")?));
    profile.last_name = profile.last_name.take().or(Some(line("Customer")?));
    Ok(customer)
}

/// Where the checkout can be moved from where it stands, and how: every state that one event of
/// the table brings it to, past what its data lead through. One that stays is no move.
async fn ways(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &Checkout,
) -> Result<BTreeMap<Lifecycle, Way>, Error> {
    let state = checkout.lifecycle();
    let customer = moving::customer_of(uow, checkout).await?;
    let mut ways = BTreeMap::new();
    for arrow in arrows_from(state).filter(|arrow| arrow.to != state) {
        if is_made_by_a_provider(arrow.event) {
            if can_be_made(uow, checkout, arrow.event).await? {
                ways.insert(arrow.to, Way::Provider);
            }
            continue;
        }
        // A profile that nobody can complete, for one, is no way.
        let event = match played(uow, ctx, checkout, &customer, arrow.event).await {
            Err(Error::Rule { .. }) | Ok(None) => continue,
            event => event?,
        };
        if let Some(event) = event
            && let Some(end) = event.outcome(checkout, &customer, ctx.now)
            && end != state
        {
            ways.entry(end).or_insert(Way::Event(Box::new(event)));
        }
    }
    Ok(ways)
}

/// That the checkout cannot be moved there, and where it can.
fn not_possible(checkout: &Checkout, target: Lifecycle, ways: &BTreeMap<Lifecycle, Way>) -> Error {
    let state = checkout.lifecycle();
    let mut next: Vec<&str> = ways
        .keys()
        .filter(|end| **end != target)
        .map(|end| end.as_str())
        .collect();
    next.sort_unstable();
    let next = match (next.is_empty(), state.is_ended()) {
        (true, true) => "none, it has ended".to_owned(),
        (true, false) => "none".to_owned(),
        (false, _) => next.join(", "),
    };
    Error::rule(format!(
        "the checkout is {state} and cannot be moved to {target}; possible now: {next}"
    ))
}

/// Whether a sandbox key can move the checkout to the state.
///
/// # Errors
/// [`Error::Rule`] naming the states that are possible; [`Error::Store`].
pub async fn check_move(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &Checkout,
    target: Lifecycle,
) -> Result<(), Error> {
    if checkout.lifecycle() == target {
        return Ok(());
    }
    let ways = ways(uow, ctx, checkout).await?;
    if ways.contains_key(&target) {
        Ok(())
    } else {
        Err(not_possible(checkout, target, &ways))
    }
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
            let customer = moving::customer_of(uow, checkout).await?;
            if customer.profile.is_complete() {
                return done(page.complete_profile(uow, checkout).await);
            }
            let profile = with_profile(uow, checkout, &customer).await?.profile;
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
    /// customer's e-mail asked for) or has not decided, the checkout stays where that led;
    /// a verifier that has not decided is played, since nobody proves who they are in a
    /// test. What a message moves meanwhile is a step that need not be played.
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
            let played = self.step(ctx, id, state, target).await;
            let now = self.read(ctx, id).await?.lifecycle();
            match played {
                Ok(Told::Stands) => break,
                Ok(Told::Answered) => {}
                // A message moved the checkout before the step did: it goes on from there.
                Err(Error::Rule { .. }) if now != state => {}
                Err(error) => return Err(error),
            }
            state = now;
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

    /// Plays the next step from the state towards the target, unless somebody else has just taken
    /// it: the next one may lead beyond where this goes.
    async fn step(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        state: Lifecycle,
        target: Lifecycle,
    ) -> Result<Told, Error> {
        let checkout = self.read(ctx, id).await?;
        if checkout.lifecycle() != state {
            return Ok(Told::Answered);
        }
        if has_asked(&checkout) {
            let told = self.provider(id).await?;
            return if told == Told::Stands && state.is_identifying() {
                self.verify(ctx, id).await
            } else {
                Ok(told)
            };
        }
        let next = state.next();
        if next == Some(EventKind::Delivered) {
            let delivered = self.report_of(ctx, TrackingStatus::Delivered);
            self.report(ctx, id, delivered).await?;
            return Ok(Told::Answered);
        }
        let method = match next {
            Some(EventKind::PaymentMethodSaved) => {
                Some(self.deliverer.payment_method(&checkout).await?)
            }
            _ => None,
        };
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Ok(Told::Answered);
        }
        let kind = next.ok_or_else(|| stuck(&checkout))?;
        play(uow.as_mut(), ctx, &mut checkout, kind, target, method).await?;
        uow.commit().await?;
        if matches!(
            kind,
            EventKind::IdentityRequested | EventKind::CaptureRetried
        ) {
            self.provider(id).await
        } else {
            Ok(Told::Answered)
        }
    }

    /// Says in the verifier's place that the customer is who they say: nobody holds a passport to
    /// the camera of a test. What was decided already stays.
    async fn verify(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Told, Error> {
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        let customer = moving::customer_of(uow.as_mut(), &checkout).await?;
        let screening = customer.screening(checkout.mode);
        let Some(session) = screening.verification_session_id.clone() else {
            return Ok(Told::Answered);
        };
        identity::decide(
            uow.as_mut(),
            ctx.ids,
            ctx.now,
            &mut checkout,
            &session,
            IdentityResult::Verified,
            Due::WhenTold,
        )
        .await?;
        uow.commit().await?;
        Ok(Told::Answered)
    }

    /// Lets the provider answer: the next job of the checkout.
    async fn provider(&self, id: CheckoutPubId) -> Result<Told, Error> {
        for _ in 0..MOST_WAITS {
            match self
                .deliverer
                .deliver_next(JobSubject::Checkout(id))
                .await?
            {
                Some(Delivered::Done) => return Ok(Told::Answered),
                Some(Delivered::Undecided(_) | Delivered::Buried) => return Ok(Told::Stands),
                Some(Delivered::Later(_)) => {
                    return Err(Error::Provider(Doubt::failed(
                        "it did not answer as expected; see lessor outbox list",
                    )));
                }
                None => {
                    if self.is_idle(id).await? {
                        return Ok(Told::Answered);
                    }
                    self.timer.sleep(WAIT).await;
                }
            }
        }
        Err(busy())
    }

    /// Whether no job of the checkout is left: a worker has just finished it.
    async fn is_idle(&self, id: CheckoutPubId) -> Result<bool, Error> {
        let mut view = self.deliverer.database.read().await?;
        let filter = JobFilter {
            state: None,
            subject: Some(JobSubject::Checkout(id)),
        };
        Ok(view.outbox().list(&filter, 1).await?.is_empty())
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

    /// Moves the checkout to a state that follows in the table; the same state again changes
    /// nothing. It ends there, or is refused and stays.
    ///
    /// # Errors
    /// [`Error::Rule`] naming the states that are possible.
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
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Err(Error::rule(format!(
                "the checkout has just become {}",
                checkout.lifecycle()
            )));
        }
        // What is found about the customer is written over what is known: nobody changes it meanwhile.
        moving::lock_customer_of(uow.as_mut(), &checkout).await?;
        let mut ways = ways(uow.as_mut(), ctx, &checkout).await?;
        match ways.remove(&target) {
            Some(Way::Event(event)) => {
                tell(uow.as_mut(), ctx, &mut checkout, *event, target).await?;
                uow.commit().await?;
                self.settle(ctx, id).await
            }
            Some(Way::Provider) => {
                uow.commit().await?;
                self.have_made(ctx, id, target).await?;
                let moved = self.read(ctx, id).await?;
                if moved.lifecycle() == target {
                    self.settle(ctx, id).await
                } else {
                    Err(not_possible(&moved, target, &ways))
                }
            }
            None => {
                uow.commit().await?;
                Err(not_possible(&checkout, target, &ways))
            }
        }
    }

    /// Has the provider do its part of the move, as far as it leads there.
    async fn have_made(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<(), Error> {
        let state = self.read(ctx, id).await?.lifecycle();
        for _ in 0..MOST_WAITS {
            let checkout = self.read(ctx, id).await?;
            // Goods that are found again are shipped before their lease begins.
            let is_between = target == Lifecycle::LeaseActive
                && state.is_under_way()
                && checkout.lifecycle() == Lifecycle::Shipped;
            if checkout.lifecycle() != state && !is_between {
                return Ok(());
            }
            let has_job = !self.is_idle(id).await?;
            if has_asked(&checkout) || has_job {
                match self.deliverer.deliver_towards(id, target).await? {
                    Towards::Done => {}
                    Towards::Elsewhere => return Ok(()),
                    Towards::NoJob if self.is_idle(id).await? => return Ok(()),
                    Towards::NoJob => self.timer.sleep(WAIT).await,
                }
                continue;
            }
            self.ask(ctx, id, target).await?;
        }
        Err(busy())
    }

    /// Does what makes the provider begin: the customer's step, or the delivery.
    async fn ask(
        &self,
        ctx: &Context<'_>,
        id: CheckoutPubId,
        target: Lifecycle,
    ) -> Result<(), Error> {
        let checkout = self.read(ctx, id).await?;
        let state = checkout.lifecycle();
        let kind = if state.is_under_way() {
            EventKind::Delivered
        } else {
            state.next().ok_or_else(|| stuck(&checkout))?
        };
        let method = match kind {
            EventKind::PaymentMethodSaved => Some(self.deliverer.payment_method(&checkout).await?),
            _ => None,
        };
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Ok(());
        }
        if kind == EventKind::Delivered && checkout.shipment.tracking.is_some() {
            let reported = self.report_of(ctx, TrackingStatus::Delivered);
            let origin = EventOrigin::Sandbox;
            fulfillment::report(uow.as_mut(), ctx.ids, ctx.now, id, reported, origin).await?;
        } else {
            play(uow.as_mut(), ctx, &mut checkout, kind, target, method).await?;
        }
        Ok(uow.commit().await?)
    }
}

/// Tells the checkout of the event, which brings it to the state and no further.
async fn tell(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
    played: Played,
    target: Lifecycle,
) -> Result<(), Error> {
    let Played {
        mut event,
        actor,
        customer,
    } = played;
    let kind = event.kind();
    let mut customer = customer;
    if let Some(found) = &mut customer {
        found.updated_at = ctx.now;
        uow.customers().update(found).await?;
    }
    if let Event::StockFreed { stock } = &mut event
        && checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit
        && uow.variants().take_stock(checkout.variant_id).await? == StockTaken::Taken
    {
        *stock = StockTaken::Taken;
    }
    if kind == EventKind::CaptureRefused {
        refuse_capture(uow, ctx, checkout).await?;
    }
    // Where a provider decides next it waits until somebody asks for it.
    let due = if target.is_at_provider() {
        Due::WhenTold
    } else {
        Due::Now
    };
    let by = Circumstances::new(ctx.now, actor);
    moving::apply_due(uow, ctx.ids, checkout, event, &by, due).await?;
    if checkout.lifecycle() != target {
        return Err(Error::rule(format!(
            "the checkout would become {}, not {target}",
            checkout.lifecycle()
        )));
    }
    // What is found out about the customer concerns their other checkouts too.
    match (kind, &customer) {
        (EventKind::ProfileCompleted, Some(customer)) => {
            let by = Circumstances::new(ctx.now, Actor::System);
            customers::profile_completed(uow, ctx.ids, checkout.mode, customer, &by).await
        }
        (EventKind::IdentityVerified, _) => {
            identity::ask_for_others(uow, ctx.ids, ctx.now, checkout).await
        }
        _ => Ok(()),
    }
}

/// The lease is signed, and the capture that was asked for is the one that is refused.
async fn refuse_capture(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
) -> Result<(), Error> {
    if checkout.signed_at.is_none() {
        let by = Circumstances::new(ctx.now, Actor::Customer);
        let signed = Event::DocumentsSigned;
        moving::apply_due(uow, ctx.ids, checkout, signed, &by, Due::WhenTold).await?;
    }
    let subject = JobSubject::Checkout(checkout.id);
    while let Some(job) = uow.outbox().claim_of(subject, ctx.now, WAIT).await? {
        if job.new.effect != Effect::CaptureDeposit {
            uow.outbox().renew(&job, Duration::ZERO).await?;
            break;
        }
        uow.outbox().complete(&job, ctx.now).await?;
    }
    Ok(())
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It is done.
    Answered,
    /// The provider refused or has not decided: the checkout stands where it is.
    Stands,
}

fn busy() -> Error {
    Error::Provider(Doubt::unreachable(
        "another worker has been at the same step for too long",
    ))
}
