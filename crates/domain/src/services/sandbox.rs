//! Playing the customer and the providers in sandbox mode.
//!
//! Every step is the one that the page or the provider would make: the same
//! events, the same jobs, the same simulated providers. Jobs that follow from a
//! played step are held until the next one, so that a checkout stays where a test
//! put it.

use std::sync::Arc;
use std::time::Duration;

use super::delivery::{Delivered, Deliverer, processor_customer};
use super::fulfillment::TrackingView;
use super::moving::{self, Due};
use super::{Context, Error, checkouts, fulfillment};
use crate::access::{Mode, Permission};
use crate::address::{Address, Country};
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, Lifecycle, Refusal, StockTaken, Tracking, arrows_from,
};
use crate::customer::{CreditStatus, IdentityStatus};
use crate::fulfillment::{Carrier, EventOrigin, Reported, TrackingNumber, TrackingStatus};
use crate::ids::CheckoutPubId;
use crate::ports::{Answer, Call, Doubt, JobSubject, Timer, UnitOfWork};
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

/// Where a sandbox customer lives who has not said so.
fn sample_address() -> Result<Address, Error> {
    Ok(Address {
        first_name: None,
        last_name: None,
        company: None,
        address1: line("1 Sandbox Street")?,
        address2: None,
        city: line("San Francisco")?,
        state: Some(line("CA")?),
        zip: line("94105")?,
        country: Country::US,
        phone: None,
    })
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

fn reached(state: Lifecycle, target: Lifecycle) -> bool {
    if target == Lifecycle::PickupLocationPending {
        return state == target || state.rank() > target.rank();
    }
    match (state.rank(), target.rank()) {
        (Some(here), Some(there)) => {
            here >= there
                && !(state == Lifecycle::DepositFailed || state == Lifecycle::CaptureFailed)
        }
        _ => false,
    }
}

/// Whether the provider decides next: a checkout that was told to stop here stays.
#[must_use]
pub const fn waits_for_provider(state: Lifecycle) -> bool {
    matches!(
        state,
        Lifecycle::IdentityProcessing
            | Lifecycle::QualificationPending
            | Lifecycle::DepositProcessing
    )
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
        if waits_for_provider(checkout.lifecycle()) {
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
        match checkout.lifecycle() {
            Lifecycle::IdentityProcessing
            | Lifecycle::QualificationPending
            | Lifecycle::DepositProcessing => {
                return self.provider(id).await;
            }
            Lifecycle::DocumentsPending
                if checkout.lease_document_id.is_none() || checkout.signed_at.is_some() =>
            {
                return self.provider(id).await;
            }
            Lifecycle::Shipped if checkout.recurring.requested_at.is_some() => {
                return self.provider(id).await;
            }
            Lifecycle::Shipped => {
                let delivered = self.report_of(ctx, TrackingStatus::Delivered);
                return self.report(ctx, id, delivered).await;
            }
            _ => {}
        }
        let method = match checkout.lifecycle() {
            Lifecycle::RecurringPaymentMethodPending => Some(self.payment_method(&checkout).await?),
            _ => None,
        };
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        let Some((event, actor)) = self
            .next_event(uow.as_mut(), ctx, &mut checkout, target, method)
            .await?
        else {
            return Err(Error::rule(format!(
                "the checkout is {} and goes no further by itself",
                checkout.lifecycle()
            )));
        };
        let asks_provider = matches!(event, Event::IdentityRequested | Event::CaptureRetried);
        let by = Circumstances::new(ctx.now, actor);
        moving::apply_due(
            uow.as_mut(),
            ctx.ids,
            &mut checkout,
            event,
            &by,
            Due::WhenTold,
        )
        .await?;
        uow.commit().await?;
        if asks_provider {
            self.provider(id).await
        } else {
            Ok(())
        }
    }

    /// What the customer or the organization does next.
    async fn next_event(
        &self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        checkout: &mut Checkout,
        target: Lifecycle,
        method: Option<crate::checkout::PaymentMethod>,
    ) -> Result<Option<(Event, Actor)>, Error> {
        let event = match checkout.lifecycle() {
            Lifecycle::Created => (Event::Opened, Actor::Customer),
            Lifecycle::ProfilePending => (Event::ProfileCompleted, Actor::Customer),
            Lifecycle::IdentityRequired => (Event::IdentityRequested, Actor::Customer),
            Lifecycle::IdentityVerifying => {
                if let Some(mut customer) = uow.customers().lock(checkout.customer_id).await? {
                    customer.screening_mut(Mode::Sandbox).identity = IdentityStatus::Processing;
                    customer.updated_at = ctx.now;
                    uow.customers().update(&mut customer).await?;
                }
                (Event::IdentitySubmitted, Actor::Provider)
            }
            Lifecycle::ShippingAddressPending if target == Lifecycle::PickupLocationPending => {
                (Event::PickupChosen, Actor::Customer)
            }
            Lifecycle::ShippingAddressPending => {
                let profile = moving::customer_of(uow, checkout).await?.profile.address();
                let address = match checkout.served_address(profile.as_ref()) {
                    Some(address) => address.clone(),
                    None => sample_address()?,
                };
                (Event::ShippingAddressGiven { address }, Actor::Customer)
            }
            Lifecycle::PickupLocationPending => {
                let open = uow
                    .pickup_locations()
                    .list(checkout.organization_id)
                    .await?;
                match open.into_iter().find(|location| location.active) {
                    Some(location) => (
                        Event::PickupLocationGiven {
                            location: location.id,
                        },
                        Actor::Customer,
                    ),
                    None => (Event::ShippingChosen, Actor::Customer),
                }
            }
            Lifecycle::LeaseReviewPending => (Event::LeaseAccepted, Actor::Customer),
            Lifecycle::DepositPending | Lifecycle::DepositFailed => {
                checkout.quote = checkouts::quote_of(uow, checkout).await?;
                (Event::DepositSubmitted { method: None }, Actor::Customer)
            }
            Lifecycle::RecurringPaymentMethodPending => match method {
                Some(method) => (Event::PaymentMethodSaved(method), Actor::Customer),
                None => return Ok(None),
            },
            Lifecycle::DocumentsPending => (Event::DocumentsSigned, Actor::Customer),
            Lifecycle::CaptureFailed => (Event::CaptureRetried, Actor::Customer),
            Lifecycle::OrderConfirmed => {
                // Goods without tracking are billed at once and would not stay shipped.
                let tracking = if target == Lifecycle::Shipped {
                    Some(sample_tracking()?)
                } else {
                    None
                };
                (Event::Fulfilled { tracking }, Actor::Operator)
            }
            Lifecycle::AddendumsPending => (Event::AddendumsSigned, Actor::Customer),
            Lifecycle::FulfillmentException if checkout.shipment.shipped_at.is_some() => {
                (Event::ShipmentResumed, Actor::Provider)
            }
            Lifecycle::FulfillmentException => (Event::OrderResumed, Actor::Operator),
            Lifecycle::LeaseActive => (
                Event::ReturnInitiated {
                    reason: None,
                    notes: None,
                },
                Actor::Operator,
            ),
            Lifecycle::ReturnPending => (Event::ReturnCompleted, Actor::Operator),
            Lifecycle::IdentityProcessing
            | Lifecycle::QualificationPending
            | Lifecycle::DepositProcessing
            | Lifecycle::Shipped
            | Lifecycle::Returned
            | Lifecycle::WaitlistedAfterProfile
            | Lifecycle::WaitlistedAfterDeposit
            | Lifecycle::WaitlistedLocation
            | Lifecycle::Cancelled
            | Lifecycle::Expired
            | Lifecycle::IdentityFailed
            | Lifecycle::QualificationFailed => return Ok(None),
        };
        Ok(Some(event))
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
                    let filter = crate::ports::JobFilter {
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

    async fn payment_method(
        &self,
        checkout: &Checkout,
    ) -> Result<crate::checkout::PaymentMethod, Error> {
        let mut view = self.deliverer.database.read().await?;
        let customer = moving::customer_of(view.as_mut(), checkout).await?;
        drop(view);
        let now = self.deliverer.clock.now();
        let call = Call {
            mode: checkout.mode,
            idempotency_key: format!("paymentMethod-{}", checkout.id),
            first_tried_at: now,
            now,
        };
        let processor = &self.deliverer.providers.of(checkout.mode).processor;
        let known = checkout
            .recurring
            .method
            .as_ref()
            .map(|method| method.id.clone());
        match processor
            .payment_method(&call, &processor_customer(&customer, checkout.mode), known)
            .await?
        {
            Answer::Done(method) => Ok(method),
            Answer::Refused(refusal) => Err(Error::rule(refusal.message)),
        }
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
        use Lifecycle as S;
        let mut uow = self.deliverer.database.begin().await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Err(Error::rule(format!(
                "the checkout has just become {}",
                checkout.lifecycle()
            )));
        }
        let refusal = || Refusal {
            code: "card_declined".to_owned(),
            message: "Declined, as a sandbox key asked for.".to_owned(),
        };
        let (event, actor) = match (state, target) {
            (_, S::IdentityFailed) => {
                self.screen(
                    uow.as_mut(),
                    ctx,
                    &checkout,
                    Some(IdentityStatus::Failed),
                    None,
                )
                .await?;
                (Event::IdentityRefused, Actor::Provider)
            }
            (_, S::QualificationFailed) => {
                self.screen(
                    uow.as_mut(),
                    ctx,
                    &checkout,
                    None,
                    Some(CreditStatus::Failed),
                )
                .await?;
                (Event::QualificationRefused, Actor::Provider)
            }
            (_, S::DepositFailed) => (Event::DepositRefused(refusal()), Actor::Provider),
            (_, S::CaptureFailed) => (Event::CaptureRefused(refusal()), Actor::Provider),
            (_, S::Expired) => (Event::Expired, Actor::System),
            (S::IdentityVerifying | S::IdentityProcessing, S::IdentityRequired) => {
                self.screen(
                    uow.as_mut(),
                    ctx,
                    &checkout,
                    Some(IdentityStatus::None),
                    None,
                )
                .await?;
                (Event::IdentityAbandoned, Actor::Provider)
            }
            (S::WaitlistedLocation, S::IdentityRequired) => (Event::AreaWidened, Actor::System),
            (S::WaitlistedAfterProfile, S::IdentityRequired) => (
                Event::StockFreed {
                    stock: StockTaken::Untracked,
                },
                Actor::System,
            ),
            (S::WaitlistedAfterDeposit, S::RecurringPaymentMethodPending) => {
                let stock = match uow.variants().take_stock(checkout.variant_id).await? {
                    StockTaken::Taken => StockTaken::Taken,
                    StockTaken::Untracked | StockTaken::NoneLeft => StockTaken::Untracked,
                };
                (Event::StockFreed { stock }, Actor::System)
            }
            (S::WaitlistedAfterDeposit, S::WaitlistedAfterProfile)
            | (
                S::RecurringPaymentMethodPending | S::DocumentsPending | S::CaptureFailed,
                S::DepositPending,
            ) => (Event::AuthorizationLapsed, Actor::Provider),
            // Shipping in the sandbox is played with a tracking number: it stays shipped.
            (S::OrderConfirmed, S::Shipped) => return Ok(false),
            _ => match checkouts::operator_event(&checkout, target, ctx.now) {
                Some(event) => (event, Actor::Operator),
                None => return Ok(false),
            },
        };
        moving::apply(
            uow.as_mut(),
            ctx.ids,
            &mut checkout,
            event,
            &Circumstances::new(ctx.now, actor),
        )
        .await?;
        uow.commit().await?;
        // The jobs that were held are done now, or come to nothing.
        self.deliverer.drain(JobSubject::Checkout(id)).await?;
        Ok(true)
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
