//! Playing the customer and the providers in sandbox mode.
//!
//! Every step is the one that the page or the provider would make: the same
//! events, the same jobs, the same simulated providers. Jobs that follow from a
//! played step are held until the next one, so that a checkout stays where a test
//! put it.

mod play;
mod samples;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::play::{has_asked, play, stuck, tell};
use self::ways::{Way, check_way, not_possible, reached, ways};
use super::jobs::{JobResult, JobRunner, Towards};
use crate::access::{Mode, Permission};
use crate::checkout::{Actor, Checkout, EventKind, Lifecycle};
use crate::ids::{CheckoutPubId, LeaseTermRef};
use crate::metadata::MetadataPatch;
use crate::ports::{Doubt, IdentityResult, JobFilter, JobSubject, Timer, UnitOfWork};
use crate::services::checkouts::CheckoutView;
use crate::services::identity::Decision;
use crate::services::moving::Due;
use crate::services::shipments::TrackingView;
use crate::services::{Context, Error, UseCase, checkouts, identity, moving, shipments};
use crate::shipments::{CarrierReport, TrackingStatus};

/// How many open jobs of a checkout are looked at.
const SEVERAL: u32 = 8;

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
    pub runner: JobRunner,
    /// Waits for a worker that is at the same job.
    pub timer: Arc<dyn Timer>,
}

/// Looks whether a checkout may be played forward, and does nothing.
///
/// # Errors
/// [`Error::SandboxOnly`], [`Error::NotFound`], [`Error::Forbidden`];
/// [`Error::Rule`] when the state is not ahead on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanAdvance {
    /// Which checkout.
    pub id: CheckoutPubId,
    /// The state to be in.
    pub target: Lifecycle,
}

#[async_trait]
impl UseCase for PlanAdvance {
    type Output = ();

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<(), Error> {
        Sandbox::sandbox_only(ctx)?;
        let checkout = checkouts::lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        check_way(&checkout, self.target)
    }
}

/// Plays a carrier's report. What follows from it is for the job queue.
///
/// # Errors
/// [`Error::SandboxOnly`], [`Error::NotFound`], [`Error::Forbidden`];
/// [`Error::Rule`] when the goods have no tracking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayTrackingEvent {
    /// Which checkout.
    pub id: CheckoutPubId,
    /// What the carrier says.
    pub reported: CarrierReport,
}

#[async_trait]
impl UseCase for PlayTrackingEvent {
    type Output = TrackingView;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<TrackingView, Error> {
        Sandbox::sandbox_only(ctx)?;
        checkouts::lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let checkout = shipments::play_report(uow, ctx, self.id, self.reported).await?;
        shipments::view(uow, checkout).await
    }
}

/// Changes a checkout's lease term, its metadata, its state, or several of them.
///
/// # Errors
/// [`Error`]: not found, the missing permission, those of [`checkouts::ChooseTerm`];
/// [`Error::Rule`] naming the states that are possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateCheckout {
    /// Which checkout.
    pub id: CheckoutPubId,
    /// The term to be; left out, it stays.
    pub term: Option<LeaseTermRef>,
    /// What is to change of what the caller keeps beside it.
    pub metadata: MetadataPatch,
    /// The state to be in; left out, it stays.
    pub target: Option<Lifecycle>,
}

/// What came of an [update](UpdateCheckout).
#[derive(Debug, Clone, PartialEq)]
pub enum Updated {
    /// All of it.
    Whole(Box<CheckoutView>),
    /// The checkout is where it was asked for, and something follows from it that is to be done.
    ToBeSettled,
    /// The checkout is not in the state that was asked for yet: what providers do about it is missing. With a sandbox key
    /// that is [played](Sandbox::move_to) afterwards.
    ToBeMoved {
        /// The state that it is in.
        from: Lifecycle,
        /// The state that was asked for.
        to: Lifecycle,
    },
}

#[async_trait]
impl UseCase for UpdateCheckout {
    type Output = Updated;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Updated, Error> {
        let id = self.id;
        let mut checkout = checkouts::lock_visible(uow, ctx, id).await?;
        ctx.access.require(self.permission())?;
        if let Some(term) = self.term {
            checkout = checkouts::ChooseTerm { id, term }.run(uow, ctx).await?;
        }
        if self.metadata != MetadataPatch::Keep {
            let changes = self.metadata;
            checkout = checkouts::Annotate { id, changes }.run(uow, ctx).await?;
        }
        let mut is_moved = false;
        match (self.target, ctx.access.mode) {
            (None, _) => {}
            (Some(target), Mode::Live) => {
                checkout = checkouts::MoveCheckout { id, target }.run(uow, ctx).await?;
            }
            (Some(target), Mode::Sandbox) if checkout.lifecycle() == target => {}
            (Some(target), Mode::Sandbox) => {
                (is_moved, _) = move_by_event(uow, ctx, &mut checkout, target).await?;
                let goes_on = is_moved && !checkout.lifecycle().is_at_provider();
                if goes_on && is_anything_open(uow, id).await? {
                    return Ok(Updated::ToBeSettled);
                }
            }
        }
        let from = checkout.lifecycle();
        match self.target.filter(|target| *target != from && !is_moved) {
            Some(to) => Ok(Updated::ToBeMoved { from, to }),
            None => {
                let view = checkouts::view_of(uow, ctx, checkout).await?;
                Ok(Updated::Whole(Box::new(view)))
            }
        }
    }
}

/// Moves the locked checkout to the state, where one event does that; a provider's part is left to be played. Tells
/// whether it was moved, and where else it could have been.
///
/// # Errors
/// [`Error::Rule`] naming the states that are possible.
async fn move_by_event(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
    target: Lifecycle,
) -> Result<(bool, BTreeMap<Lifecycle, Way>), Error> {
    // What is found about the customer is written over what is known: nobody changes it meanwhile.
    moving::lock_customer_of(uow, checkout).await?;
    let mut ways = ways(uow, ctx, checkout).await?;
    match ways.remove(&target) {
        Some(Way::Event(event)) => {
            tell(uow, ctx, checkout, *event, target).await?;
            Ok((true, ways))
        }
        Some(Way::Provider) => Ok((false, ways)),
        None => Err(not_possible(checkout, target, &ways)),
    }
}

/// Whether a job of the checkout is left that somebody waits for.
async fn is_anything_open(uow: &mut dyn UnitOfWork, id: CheckoutPubId) -> Result<bool, Error> {
    let filter = JobFilter {
        state: None,
        subject: Some(JobSubject::Checkout(id)),
    };
    let open = uow.jobs().list(&filter, SEVERAL).await?;
    Ok(!open.iter().all(|job| job.new.effect.holds_nothing_up()))
}

impl Sandbox {
    fn sandbox_only(ctx: &Context<'_>) -> Result<(), Error> {
        if ctx.access.mode == Mode::Sandbox {
            Ok(())
        } else {
            Err(Error::SandboxOnly)
        }
    }

    /// Who carries jobs out for the key: what they move is moved by it.
    fn runner_for(&self, ctx: &Context<'_>) -> JobRunner {
        JobRunner {
            key: Some(ctx.access.key_id),
            ..self.runner.clone()
        }
    }

    async fn read(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Checkout, Error> {
        let mut view = self
            .runner
            .database
            .read(ctx.access.organization_id.into())
            .await?;
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
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Store`].
    pub async fn settle(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Checkout, Error> {
        let checkout = self.read(ctx, id).await?;
        if checkout.lifecycle().is_at_provider() {
            return Ok(checkout);
        }
        self.runner_for(ctx)
            .drain(ctx.access.organization_id, JobSubject::Checkout(id))
            .await?;
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
        // A person decides, or a system of the organization that has said it will.
        if state == Lifecycle::QualificationPending && self.is_idle(ctx, id).await? {
            return Ok(Told::Stands);
        }
        if has_asked(&checkout) {
            let told = self.provider(ctx, id).await?;
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
                Some(self.runner.payment_method(&checkout).await?)
            }
            _ => None,
        };
        let mut uow = self
            .runner
            .database
            .begin(ctx.access.organization_id.into())
            .await?;
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
            self.provider(ctx, id).await
        } else {
            Ok(Told::Answered)
        }
    }

    /// Says in the verifier's place that the customer is who they say: nobody holds a passport to
    /// the camera of a test. What was decided already stays.
    async fn verify(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Told, Error> {
        let mut uow = self
            .runner
            .database
            .begin(ctx.access.organization_id.into())
            .await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        let customer = moving::customer_of(uow.as_mut(), &checkout).await?;
        let Some(session) = customer.screening.verification_session_id else {
            return Ok(Told::Answered);
        };
        let by = ctx.circumstances(Actor::Provider);
        let decision = Decision {
            session_id: &session,
            result: IdentityResult::Verified,
            origin: ctx.origin,
        };
        let (work, due) = (uow.as_mut(), Due::WhenTold);
        identity::decide(work, ctx.ids, &by, &mut checkout, &decision, due).await?;
        uow.commit().await?;
        Ok(Told::Answered)
    }

    /// Lets the provider answer: the next job of the checkout.
    async fn provider(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<Told, Error> {
        for _ in 0..MOST_WAITS {
            match self
                .runner_for(ctx)
                .carry_out_next(ctx.access.organization_id, JobSubject::Checkout(id))
                .await?
            {
                Some(JobResult::Done) => return Ok(Told::Answered),
                Some(JobResult::Undecided(_) | JobResult::Buried) => return Ok(Told::Stands),
                Some(JobResult::Later(_)) => {
                    return Err(Error::Provider(Doubt::failed(
                        "it did not answer as expected; see lessor jobs list",
                    )));
                }
                None => {
                    if self.is_idle(ctx, id).await? {
                        return Ok(Told::Answered);
                    }
                    self.timer.sleep(WAIT).await;
                }
            }
        }
        Err(busy())
    }

    /// Whether no job of the checkout is left: a worker has just finished it.
    async fn is_idle(&self, ctx: &Context<'_>, id: CheckoutPubId) -> Result<bool, Error> {
        let mut view = self
            .runner
            .database
            .read(ctx.access.organization_id.into())
            .await?;
        Ok(!is_anything_open(view.as_mut(), id).await?)
    }

    fn report_of(&self, ctx: &Context<'_>, status: TrackingStatus) -> CarrierReport {
        CarrierReport {
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
        reported: CarrierReport,
    ) -> Result<(), Error> {
        let mut uow = self
            .runner
            .database
            .begin(ctx.access.organization_id.into())
            .await?;
        shipments::play_report(uow.as_mut(), ctx, id, reported).await?;
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
        let mut uow = self
            .runner
            .database
            .begin(ctx.access.organization_id.into())
            .await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Err(Error::rule(format!(
                "the checkout has just become {}",
                checkout.lifecycle()
            )));
        }
        let (is_moved, ways) = move_by_event(uow.as_mut(), ctx, &mut checkout, target).await?;
        uow.commit().await?;
        if is_moved {
            return self.settle(ctx, id).await;
        }
        self.have_made(ctx, id, target).await?;
        let moved = self.read(ctx, id).await?;
        if moved.lifecycle() == target {
            self.settle(ctx, id).await
        } else {
            Err(not_possible(&moved, target, &ways))
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
            let has_job = !self.is_idle(ctx, id).await?;
            if has_asked(&checkout) || has_job {
                match self
                    .runner_for(ctx)
                    .carry_out_towards(ctx.access.organization_id, id, target)
                    .await?
                {
                    Towards::Done => {}
                    Towards::Elsewhere => return Ok(()),
                    Towards::NoJob if self.is_idle(ctx, id).await? => return Ok(()),
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
            EventKind::PaymentMethodSaved => Some(self.runner.payment_method(&checkout).await?),
            _ => None,
        };
        let mut uow = self
            .runner
            .database
            .begin(ctx.access.organization_id.into())
            .await?;
        let mut checkout = checkouts::lock_visible(uow.as_mut(), ctx, id).await?;
        if checkout.lifecycle() != state {
            return Ok(());
        }
        if kind == EventKind::Delivered && checkout.shipment.tracking.is_some() {
            let reported = self.report_of(ctx, TrackingStatus::Delivered);
            shipments::play_report(uow.as_mut(), ctx, id, reported).await?;
        } else {
            play(uow.as_mut(), ctx, &mut checkout, kind, target, method).await?;
        }
        Ok(uow.commit().await?)
    }
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
