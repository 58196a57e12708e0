//! Shipping, and what carriers report.

use async_trait::async_trait;

use std::collections::BTreeMap;

use super::audit::{self, Entry};
use super::{Context, Error, UseCase, checkouts, moving};
use crate::access::Permission;
use crate::audit::AuditAction;
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, Lifecycle, MissingStep, Tracking, serial_number_twice,
};
use crate::ids::{CheckoutItemPubId, CheckoutPubId};
use crate::ports::{CarrierDetector, IdGenerator, UnitOfWork};
use crate::shipments::{
    Carrier, CarrierReport, EventOrigin, TrackingEvent, TrackingNumber, TrackingStatus,
};
use crate::text::Line;
use crate::time::Timestamp;

/// What a fulfillment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fulfillment {
    /// The tracking number; without one billing starts at once.
    pub tracking_number: Option<TrackingNumber>,
    /// The carrier; told from the number when nobody says.
    pub carrier: Option<Carrier>,
    /// Serial numbers of the shipped goods by checkout item.
    pub serial_numbers: BTreeMap<CheckoutItemPubId, Line>,
}

/// The way of a checkout's goods, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackingView {
    pub checkout: Checkout,
    /// What was reported, oldest first.
    pub events: Vec<TrackingEvent>,
}

fn carrier_of(
    detector: &dyn CarrierDetector,
    number: &TrackingNumber,
    named: Option<Carrier>,
    before: Option<Carrier>,
) -> Result<Carrier, Error> {
    match named {
        Some(carrier) => Ok(carrier),
        None => detector
            .detect(number)
            .or_else(|why| before.ok_or_else(|| Error::invalid("trackingNumber", why))),
    }
}

/// Marks the checkout fulfilled. The same again changes nothing.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a tracking number whose carrier
/// cannot be told, serial numbers of items that are not the checkout's, steps that
/// are missing, another tracking number than the one that it was fulfilled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FulfillCheckout {
    /// Which one.
    pub id: CheckoutPubId,
    /// What was shipped.
    pub fulfillment: Fulfillment,
}

#[async_trait]
impl UseCase for FulfillCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutFulfill
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = checkouts::lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        if self.fulfillment.tracking_number.is_none() && self.fulfillment.carrier.is_some() {
            return Err(Error::Missing {
                param: "trackingNumber".to_owned(),
            });
        }
        if let Some(unknown) = self
            .fulfillment
            .serial_numbers
            .keys()
            .find(|id| !checkout.items.iter().any(|item| item.id == **id))
        {
            return Err(Error::invalid(
                format!("serialNumbers.{unknown}"),
                "is not an item of the checkout",
            ));
        }
        if let Some(twice) = serial_number_twice(&self.fulfillment.serial_numbers) {
            return Err(Error::invalid(
                format!("serialNumbers.{twice}"),
                "is the serial number of another item too: each has its own",
            ));
        }
        let tracking = match self.fulfillment.tracking_number {
            Some(number) => {
                let before = checkout
                    .shipment
                    .tracking
                    .as_ref()
                    .filter(|known| known.number == number)
                    .map(|known| known.carrier);
                let carrier = carrier_of(ctx.carriers, &number, self.fulfillment.carrier, before)?;
                Some(Tracking { number, carrier })
            }
            None => None,
        };
        if checkout.shipment.shipped_at.is_some() {
            return again(
                &checkout,
                tracking.as_ref(),
                &self.fulfillment.serial_numbers,
            );
        }
        if checkout.lifecycle() != Lifecycle::OrderConfirmed {
            let customer = moving::customer_of(uow, &checkout).await?;
            let identity = customer.screening.identity;
            let missing: Vec<&str> = checkout
                .missing_before_shipping(identity)
                .into_iter()
                .map(MissingStep::as_str)
                .collect();
            let state = checkout.lifecycle();
            return Err(Error::rule(if state.is_ended() || missing.is_empty() {
                format!("the checkout is {state}: only one that is orderConfirmed can be fulfilled")
            } else {
                format!(
                    "the checkout is {state} and cannot be fulfilled yet; missing: {}",
                    missing.join(", ")
                )
            }));
        }
        let by = ctx.circumstances(Actor::Operator);
        moving::apply(
            uow,
            ctx.ids,
            &mut checkout,
            Event::Fulfilled {
                tracking: tracking.clone(),
                serial_numbers: self.fulfillment.serial_numbers,
            },
            &by,
        )
        .await?;
        if let Some(tracking) = tracking {
            let reported = CarrierReport {
                at: ctx.now,
                status: TrackingStatus::PreTransit,
                description: None,
                location: None,
                signed_by: None,
                estimated_delivery: None,
            };
            let event = TrackingEvent {
                reported,
                origin: EventOrigin::Lessor,
                received_at: ctx.now,
            };
            uow.shipments()
                .insert(checkout.id, &tracking, &event)
                .await?;
            return claim(uow, ctx, checkout, &tracking).await;
        }
        Ok(checkout)
    }
}

/// Takes in what was reported of the shipment before its number was given.
async fn claim(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    mut checkout: Checkout,
    tracking: &Tracking,
) -> Result<Checkout, Error> {
    let id = checkout.id;
    let by = ctx.circumstances(Actor::Provider);
    for early in uow.shipments().unclaimed(tracking).await? {
        (checkout, _) = take_in(uow, ctx.ids, &by, id, early.reported, early.origin).await?;
    }
    Ok(checkout)
}

/// A second fulfillment: the same content is the same fulfillment.
fn again(
    checkout: &Checkout,
    tracking: Option<&Tracking>,
    serials: &BTreeMap<CheckoutItemPubId, Line>,
) -> Result<Checkout, Error> {
    if checkout.lifecycle().is_ended() {
        return Err(Error::rule(format!(
            "the checkout is {} and cannot be fulfilled",
            checkout.lifecycle()
        )));
    }
    let same_serials = checkout.items.iter().all(|item| {
        serials
            .get(&item.id)
            .is_none_or(|serial| item.serial_number.as_ref() == Some(serial))
    });
    match tracking {
        Some(tracking) if checkout.shipment.tracking.as_ref() != Some(tracking) => {
            Err(Error::rule(
                "the checkout is fulfilled already with other tracking: change it with POST /v1/checkouts/{id}/tracking",
            ))
        }
        None if checkout.shipment.tracking.is_some() => Err(Error::rule(
            "the checkout is fulfilled already with a tracking number: it cannot be fulfilled without one",
        )),
        _ if !same_serials => Err(Error::rule(
            "the checkout is fulfilled already with other serial numbers",
        )),
        _ => Ok(checkout.clone()),
    }
}

/// Adds tracking to a fulfilled checkout, or changes it.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a carrier that cannot be told, a
/// checkout that is not shipped, or delivered already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTracking {
    /// Which one.
    pub id: CheckoutPubId,
    /// The tracking number.
    pub number: TrackingNumber,
    /// The carrier; told from the number when nobody says.
    pub carrier: Option<Carrier>,
}

#[async_trait]
impl UseCase for SetTracking {
    type Output = TrackingView;

    fn permission(&self) -> Permission {
        Permission::CheckoutFulfill
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<TrackingView, Error> {
        let mut checkout = checkouts::lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let before = checkout
            .shipment
            .tracking
            .as_ref()
            .map(|known| known.carrier);
        let tracking = Tracking {
            carrier: carrier_of(ctx.carriers, &self.number, self.carrier, before)?,
            number: self.number,
        };
        if checkout.shipment.tracking.as_ref() == Some(&tracking) {
            return view(uow, checkout).await;
        }
        if checkout.shipment.shipped_at.is_none() || checkout.lifecycle().is_ended() {
            return Err(Error::rule(format!(
                "the checkout is {}: tracking is given after the fulfillment",
                checkout.lifecycle()
            )));
        }
        if checkout.shipment.delivered_at.is_some() {
            return Err(Error::rule("the goods are delivered: their tracking stays"));
        }
        let was = checkout.clone();
        let changed = checkout
            .change_tracking(tracking.clone(), ctx.now)
            .map_err(|obstacle| Error::rule(obstacle.to_string()))?;
        if changed {
            uow.checkouts().update(&mut checkout).await?;
            let set = Entry::changed(AuditAction::CheckoutTrackingSet, &was, &checkout);
            audit::note(uow, ctx, set).await?;
            checkout = claim(uow, ctx, checkout, &tracking).await?;
        }
        view(uow, checkout).await
    }
}

/// Where the goods are.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Rule`] before the fulfillment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetTracking {
    /// Which one.
    pub id: CheckoutPubId,
}

#[async_trait]
impl UseCase for GetTracking {
    type Output = TrackingView;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<TrackingView, Error> {
        let checkout = checkouts::GetCheckout { id: self.id }.run(uow, ctx).await?;
        if checkout.shipment.shipped_at.is_none() {
            return Err(Error::rule(format!(
                "the checkout is {} and has no tracking before it is fulfilled",
                checkout.lifecycle()
            )));
        }
        view(uow, checkout).await
    }
}

pub(crate) async fn view(
    uow: &mut dyn UnitOfWork,
    checkout: Checkout,
) -> Result<TrackingView, Error> {
    let events = match &checkout.shipment.tracking {
        Some(tracking) => uow.shipments().list(checkout.id, tracking).await?,
        None => Vec::new(),
    };
    Ok(TrackingView { checkout, events })
}

/// Takes in what was reported of the checkout's shipment. Late, repeated and
/// out-of-order reports end in the same state: what counts is the report that is
/// newest by the carrier's word, and a delivery stays a delivery.
///
/// # Errors
/// [`Error::Rule`] when the goods are not shipped.
pub async fn report(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    id: CheckoutPubId,
    reported: CarrierReport,
    origin: EventOrigin,
) -> Result<Checkout, Error> {
    let by = Circumstances::new(now, Actor::Provider);
    let (checkout, _) = take_in(uow, ids, &by, id, reported, origin).await?;
    Ok(checkout)
}

/// [`report`], by a sandbox key that plays the carrier.
///
/// # Errors
/// As of [`report`].
pub(crate) async fn play_report(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    reported: CarrierReport,
) -> Result<Checkout, Error> {
    let by = ctx.circumstances(Actor::Provider);
    let told = reported.clone();
    let (checkout, is_new) = take_in(uow, ctx.ids, &by, id, reported, EventOrigin::Sandbox).await?;
    if is_new {
        audit::note(uow, ctx, Entry::tracking_played(&checkout, &told)).await?;
    }
    Ok(checkout)
}

/// Takes a report in, see [`report`]. Tells whether it is new.
async fn take_in(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    id: CheckoutPubId,
    reported: CarrierReport,
    origin: EventOrigin,
) -> Result<(Checkout, bool), Error> {
    let now = by.at;
    let mut checkout = moving::lock(uow, id).await?;
    let Some(tracking) = checkout.shipment.tracking.clone() else {
        return Err(Error::rule(format!(
            "the checkout is {} and has no tracking number",
            checkout.lifecycle()
        )));
    };
    let event = TrackingEvent {
        reported: reported.clone(),
        origin,
        received_at: now,
    };
    if !uow
        .shipments()
        .insert(checkout.id, &tracking, &event)
        .await?
    {
        return Ok((checkout, false));
    }
    if checkout.lifecycle().is_ended() || checkout.shipment.delivered_at.is_some() {
        // Kept for the record; nothing is left to move, but a signature may come late.
        if let Some(signed_by) = reported.signed_by
            && checkout.take_in_signature(signed_by, now)
        {
            uow.checkouts().update(&mut checkout).await?;
        }
        return Ok((checkout, true));
    }
    if reported.status == TrackingStatus::Delivered {
        let event = Event::Delivered {
            at: reported.at,
            signed_by: reported.signed_by,
        };
        moving::apply(uow, ids, &mut checkout, event, by).await?;
        return Ok((checkout, true));
    }
    let events = uow.shipments().list(checkout.id, &tracking).await?;
    // Lessor's note of the shipment is no word of the carrier, whatever the two clocks say.
    let newest = events
        .iter()
        .filter(|event| event.origin != EventOrigin::Lessor)
        .max_by_key(|event| event.reported.at);
    let status = newest.map_or(reported.status, |event| event.reported.status);
    let reason = reported.description;
    if checkout.take_in_tracking(status, now) {
        uow.checkouts().update(&mut checkout).await?;
    }
    let event = match checkout.lifecycle() {
        Lifecycle::Shipped if status.is_exception() => Some(Event::FulfillmentFailed { reason }),
        Lifecycle::FulfillmentException if status.is_movement() => Some(Event::ShipmentResumed),
        _ => None,
    };
    if let Some(event) = event {
        moving::apply(uow, ids, &mut checkout, event, by).await?;
    }
    Ok((checkout, true))
}
