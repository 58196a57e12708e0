//! What the customer, the organization and providers say, played.

use super::WAIT;
use super::samples::{sample_address, sample_tracking, with_profile};
use super::ways::Act;
use crate::agreement::Signature;
use crate::audit::AuditAction;
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Applied, Checkout, Effect, Event, EventKind, Lifecycle, PaymentMethod,
};
use crate::ports::{JobSubject, UnitOfWork};
use crate::services::audit::{self, Entry};
use crate::services::journey::Journey;
use crate::services::moving::Due;
use crate::services::{Context, Error, customers, identity, moving};
use std::collections::BTreeMap;
use std::time::Duration;

/// Whether what comes next was asked for already: the job that does it is waiting.
pub(super) fn has_asked(checkout: &Checkout) -> bool {
    let is_asked_for = match checkout.lifecycle().next() {
        Some(EventKind::DocumentsSigned) => {
            checkout.lease_document_id.is_none() || checkout.signed_at.is_some()
        }
        Some(EventKind::Delivered) => checkout.recurring.billing.requested_at().is_some(),
        _ => false,
    };
    is_asked_for || checkout.lifecycle().is_at_provider()
}

pub(super) fn stuck(checkout: &Checkout) -> Error {
    Error::rule(format!(
        "the checkout is {} and goes no further by itself",
        checkout.lifecycle()
    ))
}

/// Plays what the customer or the organization does next, on the page where it is the customer.
pub(super) async fn play(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
    kind: EventKind,
    target: Lifecycle,
    method: Option<PaymentMethod>,
) -> Result<(), Error> {
    let journey = Journey::played(ctx.now, ctx.ids, ctx.origin);
    let (event, actor) = match kind {
        EventKind::Opened => return done(journey.open(uow, checkout).await),
        EventKind::ProfileCompleted => {
            let customer = moving::customer_of(uow, checkout).await?;
            if customer.profile.is_complete() {
                return done(journey.complete_profile(uow, checkout).await);
            }
            let profile = with_profile(uow, checkout, &customer).await?.profile;
            return done(journey.take_profile(uow, checkout, profile).await);
        }
        EventKind::IdentityRequested => return done(journey.request_identity(uow, checkout).await),
        EventKind::IdentitySubmitted => return done(journey.submit_identity(uow, checkout).await),
        EventKind::ShippingAddressGiven if target == Lifecycle::PickupLocationPending => {
            return done(journey.choose_pickup(uow, checkout).await);
        }
        EventKind::ShippingAddressGiven => {
            let profile = moving::customer_of(uow, checkout).await?.profile.address();
            let address = match checkout.served_address(profile.as_ref()) {
                Some(address) => address.clone(),
                None => sample_address(uow, checkout, None).await?,
            };
            return done(journey.give_shipping_address(uow, checkout, address).await);
        }
        EventKind::PickupLocationGiven => {
            let locations = uow
                .pickup_locations()
                .list(checkout.organization_id)
                .await?;
            return done(match locations.iter().find(|location| location.active) {
                Some(open) => journey.give_pickup_location(uow, checkout, open.id).await,
                None => journey.choose_shipping(uow, checkout).await,
            });
        }
        EventKind::LeaseAccepted => return done(journey.accept_lease(uow, checkout).await),
        EventKind::DepositSubmitted => {
            return done(journey.submit_deposit(uow, checkout, None).await);
        }
        EventKind::PaymentMethodSaved => {
            let method = method.ok_or_else(|| stuck(checkout))?;
            return done(journey.save_payment_method(uow, checkout, method).await);
        }
        EventKind::DocumentsSigned => {
            let customer = moving::customer_of(uow, checkout).await?;
            let signature = Signature::of(&customer.profile);
            return done(journey.sign_documents(uow, checkout, &signature).await);
        }
        EventKind::CaptureRetried => return done(journey.retry_capture(uow, checkout).await),
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
    let by = ctx.circumstances(actor);
    done(moving::apply_due(uow, ctx.ids, checkout, event, &by, Due::WhenTold).await)
}

fn done(played: Result<Applied, Error>) -> Result<(), Error> {
    played.map(|_| ())
}

/// Tells the checkout of the event, which brings it to the state and no further.
pub(super) async fn tell(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
    played: Act,
    target: Lifecycle,
) -> Result<(), Error> {
    let Act {
        mut event,
        actor,
        customer,
    } = played;
    let kind = event.kind();
    let mut customer = customer;
    if let Some(found) = &mut customer {
        let before = moving::customer_of(uow, checkout).await?;
        found.updated_at = ctx.now;
        uow.customers().update(found).await?;
        let updated = Entry::changed(AuditAction::CustomerUpdated, &before, found);
        let screened = Entry::screened(&before, found);
        audit::note_all(uow, ctx, vec![updated, screened]).await?;
    }
    if let Event::StockFreed { stock } = &mut event
        && checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit
        && uow
            .variants()
            .take_stock(checkout.variant_id, checkout.mode, checkout.quantity())
            .await?
            == StockTaken::Taken
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
    let by = ctx.circumstances(actor);
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
            let by = ctx.circumstances(Actor::System);
            customers::profile_completed(uow, ctx.ids, customer, &by).await
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
        let customer = moving::customer_of(uow, checkout).await?;
        let signature = Signature::of(&customer.profile);
        Journey::played(ctx.now, ctx.ids, ctx.origin)
            .sign_documents(uow, checkout, &signature)
            .await?;
    }
    let subject = JobSubject::Checkout(checkout.id);
    while let Some(job) = uow.jobs().claim_of(subject, ctx.now, WAIT).await? {
        if job.new.effect != Effect::CaptureDeposit {
            uow.jobs().renew(&job, Duration::ZERO).await?;
            break;
        }
        uow.jobs().complete(&job, ctx.now).await?;
    }
    Ok(())
}
