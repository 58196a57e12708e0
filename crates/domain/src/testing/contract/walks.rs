//! The use cases, led about by chance: on every store the same things end in the same way.

use std::fmt::Debug;
use std::time::Duration;

use chrono::TimeDelta;

use super::full;
use super::shop::{Shop, must};
use crate::access::{Access, KeyKind, Mode, Permissions};
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, EventKind, InsuranceStatus, Lifecycle, Outcome,
    arrows_from,
};
use crate::ids::{CheckoutPubId, PickupLocationId, ProductVariantPubId};
use crate::ports::{Clock, Database, JobFilter, JobSubject, UnitOfWork};
use crate::services::checkouts::{CancelCheckout, MoveCheckout, SetInsurance};
use crate::services::journey::Journey;
use crate::services::moving::{self, Due};
use crate::services::shipments::{self, FulfillCheckout, Fulfillment};
use crate::services::{Context, Error, UseCase as _, waitlist};
use crate::shipments::{CarrierReport, EventOrigin, TrackingStatus};
use crate::testing::{Details, card, context, event};
use crate::time::Timestamp;

/// How long a job is kept to oneself here.
const LEASE: Duration = Duration::from_secs(45);

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    /// A number below the bound, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64*, Vigna 2016: enough to lead a test about.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bound = u64::try_from(bound).unwrap_or(1).max(1);
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number.checked_rem(bound).unwrap_or(0)).unwrap_or(0)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.below(all.len())).copied()
    }

    /// Whether something of so many in a hundred happens.
    fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }
}

/// One thing that is done or told.
#[derive(Debug, Clone, Copy)]
struct Doing {
    checkout: CheckoutPubId,
    /// A location that there is.
    pickup: PickupLocationId,
    kind: EventKind,
    actor: Actor,
    details: Details,
    status: TrackingStatus,
    at: Timestamp,
}

/// Leads two customers, who want the same last unit, so many steps about: random events by random
/// actors, through the use case where there is one, repeated and late. Answers what came of each
/// step and where everything stands in the end, without what a store numbers by itself: two stores
/// have to answer the same.
///
/// # Panics
/// When the store fails.
pub async fn walk(database: &dyn Database, seed: u64, steps: usize) -> Vec<String> {
    let _queues = super::QUEUES.lock().await;
    let shop = Shop::seeded(database, seed).await;
    let mut chance = Chance(seed | 1);
    let term = shop.term(shop.make.lease_term(&shop.organization)).await;
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(1)).await;
    let mut ids = Vec::new();
    let mut access = None;
    for _ in 0..2 {
        let customer = shop.anybody().await;
        let builder = shop.make.checkout(&customer, &variant).term(&term);
        ids.push(shop.checkout(builder).await.id);
        access = Some(Access {
            key_id: shop.make.id(),
            key_name: None,
            organization_id: shop.organization.id,
            organization_pub_id: shop.organization.pub_id,
            user_id: customer.user_id,
            user_pub_id: customer.id,
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            sandbox_writes_catalog: true,
        });
    }
    let Some(access) = access else {
        return Vec::new();
    };
    let pickup = full::pickup_location(&shop, "Depot").await.id;
    let mut told = Vec::new();
    for _ in 0..steps {
        let at = shop.make.clock().advance(TimeDelta::minutes(1));
        let Some(id) = chance.of(&ids) else { break };
        let state = lifecycle(&shop, id).await;
        let doing = doing(&mut chance, id, pickup, state, at);
        let times = if chance.percent(30) { 2 } else { 1 };
        for _ in 0..times {
            let done = attempt(&shop, &access, doing).await;
            told.push(format!("{} by {}: {done}", doing.kind, doing.actor));
        }
        told.push(promote(&shop, variant.id).await);
    }
    for id in ids {
        told.push(end_of(&shop, id).await);
    }
    let left = shop
        .seen("variants.get: reads", async |view| {
            view.variants().get(shop.organization.id, variant.id).await
        })
        .await;
    told.push(format!("stock: {:?}", left.map(|left| left.stock)));
    told
}

/// What happens next: mostly what the state has arrows for, mostly by one who can.
fn doing(
    chance: &mut Chance,
    id: CheckoutPubId,
    pickup: PickupLocationId,
    state: Lifecycle,
    at: Timestamp,
) -> Doing {
    // Endings and steps back are rare: they would keep most checkouts from coming far.
    let is_detour = |kind: EventKind| {
        matches!(kind, EventKind::Cancelled | EventKind::Expired)
            || kind.as_str().starts_with("stepped")
    };
    let open: Vec<EventKind> = arrows_from(state)
        .map(|arrow| arrow.event)
        .filter(|kind| !is_detour(*kind))
        .collect();
    let kinds: &[EventKind] = if open.is_empty() || !chance.percent(85) {
        EventKind::ALL
    } else {
        &open
    };
    let kind = match state.next() {
        Some(next) if chance.percent(50) => next,
        _ => chance.of(kinds).unwrap_or(EventKind::Opened),
    };
    let actors = if chance.percent(90) {
        kind.actors()
    } else {
        Actor::ALL
    };
    Doing {
        checkout: id,
        pickup,
        kind,
        actor: chance.of(actors).unwrap_or(Actor::System),
        details: Details {
            tracked: chance.percent(50),
            reusable: chance.percent(50),
            number: u32::try_from(chance.below(1_000)).unwrap_or(1),
        },
        status: match kind {
            EventKind::Delivered if chance.percent(70) => TrackingStatus::Delivered,
            _ => chance
                .of(TrackingStatus::ALL)
                .unwrap_or(TrackingStatus::Unknown),
        },
        at,
    }
}

async fn lifecycle(shop: &Shop<'_>, id: CheckoutPubId) -> Lifecycle {
    let found = shop
        .seen("checkouts.get: reads", async |view| {
            view.checkouts().get(id).await
        })
        .await;
    found.map_or(Lifecycle::Created, |checkout| checkout.lifecycle())
}

/// In a unit of work of its own, which is dropped when it is refused.
async fn attempt(shop: &Shop<'_>, access: &Access, doing: Doing) -> String {
    let mut uow = shop.begin().await;
    let ctx = context(access, doing.at, shop.make.ids());
    match perform(uow.as_mut(), shop, &ctx, doing).await {
        Ok(done) => {
            must(uow.commit().await, "commit: makes durable");
            done
        }
        Err(Error::Store(error)) => panic!("the store failed at {doing:?}: {error}"),
        Err(error) => error.to_string(),
    }
}

fn shown<T: Debug>(value: &T) -> String {
    format!("{value:?}")
}

async fn perform(
    uow: &mut dyn UnitOfWork,
    shop: &Shop<'_>,
    ctx: &Context<'_>,
    doing: Doing,
) -> Result<String, Error> {
    let Doing {
        checkout: id,
        kind,
        actor,
        details,
        at,
        ..
    } = doing;
    let mut checkout = moving::lock(uow, id).await?;
    let journey = Journey::new(at, ctx.ids, ctx.origin);
    if actor == Actor::Customer {
        let applied = match kind {
            EventKind::Opened => journey.open(uow, &mut checkout).await,
            EventKind::ProfileCompleted => journey.complete_profile(uow, &mut checkout).await,
            EventKind::IdentityRequested => journey.request_identity(uow, &mut checkout).await,
            EventKind::IdentitySubmitted => journey.submit_identity(uow, &mut checkout).await,
            EventKind::PickupChosen => journey.choose_pickup(uow, &mut checkout).await,
            EventKind::ShippingChosen => journey.choose_shipping(uow, &mut checkout).await,
            EventKind::ShippingAddressGiven => {
                let address = shop.make.address();
                journey
                    .give_shipping_address(uow, &mut checkout, address)
                    .await
            }
            EventKind::PickupLocationGiven => {
                journey
                    .give_pickup_location(uow, &mut checkout, doing.pickup)
                    .await
            }
            EventKind::LeaseAccepted => journey.accept_lease(uow, &mut checkout).await,
            EventKind::DepositSubmitted => journey.submit_deposit(uow, &mut checkout, None).await,
            EventKind::PaymentMethodSaved => {
                journey
                    .save_payment_method(uow, &mut checkout, card())
                    .await
            }
            EventKind::CaptureRetried => journey.retry_capture(uow, &mut checkout).await,
            EventKind::SteppedBackToProfile
            | EventKind::SteppedBackToAddress
            | EventKind::SteppedBackToPickup
            | EventKind::SteppedBackToReview => journey.go_back(uow, &mut checkout).await,
            EventKind::Cancelled => journey.cancel(uow, &mut checkout).await,
            _ => return told(uow, shop, &mut checkout, doing).await,
        };
        return applied.map(|applied| shown(&applied.outcome));
    }
    if actor == Actor::Operator {
        let moved = match kind {
            EventKind::Cancelled => CancelCheckout { id, reason: None }.run(uow, ctx).await,
            EventKind::Fulfilled => {
                let fulfillment = Fulfillment {
                    tracking_number: details
                        .tracked
                        .then(|| "1Z410E7W0392751591".parse())
                        .and_then(Result::ok),
                    ..Fulfillment::default()
                };
                FulfillCheckout { id, fulfillment }.run(uow, ctx).await
            }
            EventKind::ReturnInitiated => {
                let target = Lifecycle::ReturnPending;
                MoveCheckout { id, target }.run(uow, ctx).await
            }
            EventKind::AddendumsRequested => {
                let status = InsuranceStatus::Denied;
                SetInsurance { id, status }.run(uow, ctx).await?;
                let target = Lifecycle::AddendumsPending;
                MoveCheckout { id, target }.run(uow, ctx).await
            }
            _ => return told(uow, shop, &mut checkout, doing).await,
        };
        return moved.map(|moved| moved.lifecycle().to_string());
    }
    let is_carriers = matches!(
        kind,
        EventKind::Delivered | EventKind::FulfillmentFailed | EventKind::ShipmentResumed
    );
    if is_carriers && details.tracked {
        let reported = CarrierReport {
            at,
            status: doing.status,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        };
        let origin = EventOrigin::Webhook;
        let reported = shipments::report(uow, ctx.ids, at, id, reported, origin).await?;
        return Ok(reported.lifecycle().to_string());
    }
    told(uow, shop, &mut checkout, doing).await
}

/// The event as whoever it comes of tells of it.
async fn told(
    uow: &mut dyn UnitOfWork,
    shop: &Shop<'_>,
    checkout: &mut Checkout,
    doing: Doing,
) -> Result<String, Error> {
    let mut happened = event(doing.kind, doing.details, checkout, &shop.make, doing.at);
    if doing.kind == EventKind::PickupLocationGiven {
        happened = Event::PickupLocationGiven {
            location: doing.pickup,
        };
    }
    // Stock is taken in the same unit of work.
    if let Event::DepositAuthorized { hold, method, .. } = happened.clone() {
        let mut stock = StockTaken::Untracked;
        if checkout.lifecycle() == Lifecycle::DepositProcessing && doing.actor == Actor::Provider {
            let mode = checkout.mode;
            stock = uow
                .variants()
                .take_stock(checkout.variant_id, mode, checkout.quantity())
                .await?;
        }
        happened = Event::deposit_authorized(hold, method, stock);
    }
    if doing.kind == EventKind::StockFreed {
        return Ok("is the job's to tell".to_owned());
    }
    let by = Circumstances::new(doing.at, doing.actor);
    let due = if doing.details.reusable {
        Due::Now
    } else {
        Due::WhenTold
    };
    let ids = shop.make.ids();
    let applied = moving::apply_due(uow, ids, checkout, happened, &by, due).await?;
    let moves: Vec<_> = applied.transitions.iter().map(|step| step.to).collect();
    Ok(match applied.outcome {
        Outcome::Applied => format!("{moves:?} {:?}", applied.effects),
        Outcome::AlreadyApplied => "known".to_owned(),
    })
}

/// Lets those go on for whom a unit became free.
async fn promote(shop: &Shop<'_>, variant: ProductVariantPubId) -> String {
    let subject = JobSubject::Waitlist(variant);
    let now = shop.make.clock().now();
    let mut done = 0_u32;
    loop {
        let job = shop
            .done("jobs.claim_of: claims", async |uow| {
                uow.jobs().claim_of(subject, now, LEASE).await
            })
            .await;
        let Some(job) = job else {
            return format!("{done} promotions");
        };
        let mut uow = shop.begin().await;
        if let Err(error) =
            waitlist::promote(uow.as_mut(), shop.make.ids(), now, &job, variant).await
        {
            panic!("the promotion failed: {error}");
        }
        must(
            uow.jobs().complete(&job, now).await,
            "jobs.complete: completes",
        );
        must(uow.commit().await, "commit: makes durable");
        done = done.saturating_add(1);
    }
}

/// Where the checkout stands, its history and what is still to be done for it.
async fn end_of(shop: &Shop<'_>, id: CheckoutPubId) -> String {
    let mut view = shop.view().await;
    let checkout = must(view.checkouts().get(id).await, "checkouts.get: reads");
    let history = must(
        view.checkouts().history(id).await,
        "checkouts.history: reads",
    );
    let filter = JobFilter {
        state: None,
        subject: Some(JobSubject::Checkout(id)),
    };
    let jobs = must(view.jobs().list(&filter, 1_000).await, "jobs.list: lists");
    let jobs: Vec<_> = jobs
        .iter()
        .map(|job| (job.new.effect, job.state, job.new.created_at))
        .collect();
    let known = checkout.map(|it| {
        let it = it.into_snapshot();
        (
            (it.state, it.quote, it.deposit, it.recurring, it.shipment),
            (it.return_, it.waitlist, it.lease, it.milestones, it.version),
            (it.signed_at, it.holds_stock, it.insurance, it.updated_at),
        )
    });
    format!("{known:?}\n{history:?}\n{jobs:?}")
}
