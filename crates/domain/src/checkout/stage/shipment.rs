//! From the confirmed order to the goods that are with the customer.

use std::collections::{BTreeMap, BTreeSet};

use super::billing;
use crate::checkout::event::Actor;
use crate::checkout::parts::AttentionReason;
use crate::checkout::parts::Tracking;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Obstacle, Ruling, Step, Told};
use crate::customer::IdentityStatus;
use crate::ids::CheckoutItemPubId;
use crate::names::named_enum;
use crate::shipments::TrackingStatus;
use crate::text::{EventText, Line};
use crate::time::Timestamp;

rules! {
    AddendumsRequested by Operator {
        go    OrderConfirmed => AddendumsPending;
        done  AddendumsPending;
        never Created..=CaptureFailed | Shipped..=QualificationFailed;
    }
    AddendumsSigned by Customer | Operator | Provider {
        go    AddendumsPending => OrderConfirmed;
        done  OrderConfirmed | Shipped..=ReturnPending;
        never Created..=CaptureFailed | Returned..=QualificationFailed;
    }
    Fulfilled by Operator {
        go    OrderConfirmed => Shipped;
        done  Shipped | LeaseActive | ReturnPending;
        never Created..=CaptureFailed | AddendumsPending | FulfillmentException
            | Returned..=QualificationFailed;
    }
    FulfillmentFailed by Operator | Provider {
        go    OrderConfirmed | Shipped => FulfillmentException;
        // A carrier that reports a failure after the delivery is too late.
        done  FulfillmentException..=Returned | Cancelled..=QualificationFailed;
        never Created..=CaptureFailed | AddendumsPending
            | WaitlistedAfterProfile..=WaitlistedLocation;
    }
    OrderResumed by Operator | Provider {
        go    FulfillmentException => OrderConfirmed;
        done  OrderConfirmed;
        never Created..=CaptureFailed | AddendumsPending..=Shipped
            | LeaseActive..=QualificationFailed;
    }
    ShipmentResumed by Operator | Provider {
        go    FulfillmentException => Shipped;
        done  Shipped | LeaseActive..=Returned | Cancelled..=QualificationFailed;
        never Created..=AddendumsPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
    Delivered by Operator | Provider {
        // The state stays until the subscription runs: a lease is active only when it is billed.
        stay  Shipped;
        go    FulfillmentException => Shipped;
        // Goods that were billed when they were shipped arrive later.
        stay  LeaseActive..=Returned | Cancelled..=QualificationFailed;
        never Created..=AddendumsPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
}

named_enum! {
    /// What a checkout may lack before its goods can be shipped, as people are told.
    pub enum MissingStep {
        /// The customer's identity is not verified.
        IdentityVerification = "identity verification",
        /// The credit check has not passed.
        Qualification = "qualification",
        /// The deposit is neither held nor captured.
        Deposit = "deposit",
        /// The lease is not signed.
        DocumentSigning = "document signing",
    }
}

impl Checkout {
    /// What is missing before the goods can be shipped; `identity` is the customer's.
    #[must_use]
    pub fn missing_before_shipping(&self, identity: IdentityStatus) -> Vec<MissingStep> {
        let state = self.lifecycle();
        let waits_with_deposit = state == Lifecycle::WaitlistedAfterDeposit;
        let reached = |other: Lifecycle| {
            waits_with_deposit || state.rank().is_some() && state.rank() >= other.rank()
        };
        let is_verified = reached(Lifecycle::QualificationPending)
            || state.rank().is_none() && identity == IdentityStatus::Verified;
        // An authorized deposit is paid as far as the customer can pay it.
        let is_paid =
            reached(Lifecycle::RecurringPaymentMethodPending) && state != Lifecycle::CaptureFailed;
        [
            (is_verified, MissingStep::IdentityVerification),
            (
                reached(Lifecycle::ShippingAddressPending),
                MissingStep::Qualification,
            ),
            (is_paid, MissingStep::Deposit),
            (self.signed_at.is_some(), MissingStep::DocumentSigning),
        ]
        .into_iter()
        .filter_map(|(is_done, step)| (!is_done).then_some(step))
        .collect()
    }

    /// Gives the goods on their way another tracking number, or one at all. False when it is the
    /// one that they have.
    ///
    /// # Errors
    /// [`Obstacle::NotShipped`], [`Obstacle::Ended`], [`Obstacle::Delivered`].
    pub fn change_tracking(&mut self, tracking: Tracking, at: Timestamp) -> Result<bool, Obstacle> {
        if self.shipment.tracking.as_ref() == Some(&tracking) {
            return Ok(false);
        }
        if self.lifecycle().is_ended() {
            return Err(Obstacle::Ended);
        }
        if self.shipment.shipped_at.is_none() {
            return Err(Obstacle::NotShipped);
        }
        if self.shipment.delivered_at.is_some() {
            return Err(Obstacle::Delivered);
        }
        self.0.shipment.tracking = Some(tracking);
        self.0.shipment.status = Some(TrackingStatus::PreTransit);
        self.0.shipment.heard_at = Some(at);
        self.0.lower(AttentionReason::DeliveryOverdue);
        self.0.changed(at);
        Ok(true)
    }

    /// The carrier says where the goods are. False when it says what it said before.
    pub fn take_in_tracking(&mut self, status: TrackingStatus, at: Timestamp) -> bool {
        let was_silent = self.0.needs(AttentionReason::DeliveryOverdue);
        if self.shipment.status == Some(status) && !was_silent {
            return false;
        }
        self.0.shipment.status = Some(status);
        self.0.shipment.heard_at = Some(at);
        self.0.lower(AttentionReason::DeliveryOverdue);
        self.0.changed(at);
        true
    }

    /// The carrier says who signed for goods that are known to be delivered. The first word
    /// counts: false when somebody is known.
    pub fn take_in_signature(&mut self, signed_by: Line, at: Timestamp) -> bool {
        if self.shipment.signed_by.is_some() {
            return false;
        }
        self.0.shipment.signed_by = Some(signed_by);
        self.0.changed(at);
        true
    }
}

/// The first item that is given the serial number of one before it: each thing has its own.
#[must_use]
pub fn serial_number_twice(
    serial_numbers: &BTreeMap<CheckoutItemPubId, Line>,
) -> Option<CheckoutItemPubId> {
    let mut given = BTreeSet::new();
    serial_numbers
        .iter()
        .find(|(_, serial)| !given.insert(serial.as_str()))
        .map(|(id, _)| *id)
}

pub(in crate::checkout) fn fulfilled(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    tracking: Option<Tracking>,
    serial_numbers: BTreeMap<CheckoutItemPubId, Line>,
) -> Ruling {
    let is_item = |id: &CheckoutItemPubId| checkout.items.iter().any(|item| item.id == *id);
    if let Some(unknown) = serial_numbers.keys().find(|id| !is_item(id)) {
        return Err(Obstacle::NotAnItem(*unknown));
    }
    if let Some(twice) = serial_number_twice(&serial_numbers) {
        return Err(Obstacle::SerialNumberTwice(twice));
    }
    for (id, serial) in serial_numbers {
        for item in checkout.items.iter_mut().filter(|item| item.id == id) {
            item.serial_number = Some(serial.clone());
        }
    }
    checkout.shipment.shipped_at = Some(step.by.at);
    checkout.shipment.heard_at = Some(step.by.at);
    if tracking.is_some() {
        checkout.shipment.status = Some(TrackingStatus::PreTransit);
    } else {
        billing::request(checkout, step);
    }
    checkout.shipment.tracking = tracking;
    Ok(Told::News)
}

/// A carrier's word that comes late is passed over; a person is told.
pub(in crate::checkout) fn failed(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    _: Option<EventText>,
) -> Ruling {
    match checkout.shipment.delivered_at {
        None => Ok(Told::News),
        Some(_) if step.by.actor == Actor::Operator => Err(Obstacle::Delivered),
        // Also while the checkout still waits for its subscription.
        Some(_) => Ok(Told::Known),
    }
}

pub(in crate::checkout) const fn order_resumed(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
) -> Ruling {
    if checkout.shipment.shipped_at.is_some() {
        return Err(Obstacle::Shipped);
    }
    Ok(Told::News)
}

pub(in crate::checkout) const fn shipment_resumed(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
) -> Ruling {
    if checkout.shipment.shipped_at.is_none() {
        return Err(Obstacle::NotShipped);
    }
    Ok(Told::News)
}

pub(in crate::checkout) fn delivered(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    at: Timestamp,
    signed_by: Option<Line>,
) -> Ruling {
    let is_open = step.from.is_under_way();
    match checkout.shipment.shipped_at {
        None if is_open => return Err(Obstacle::NotShipped),
        None => return Ok(Told::Known),
        Some(_) => {}
    }
    let is_exception = step.from == Lifecycle::FulfillmentException;
    if checkout.shipment.delivered_at.is_some() && !is_exception {
        return Ok(Told::Known);
    }
    checkout.shipment.delivered_at = Some(at);
    if signed_by.is_some() {
        checkout.shipment.signed_by = signed_by;
    }
    if checkout.shipment.tracking.is_some() {
        checkout.shipment.status = Some(TrackingStatus::Delivered);
    }
    if is_open {
        billing::request(checkout, step);
    }
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::effect::Effect;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::stage::tests::{
        DETAILS, Story, TO_CONFIRMATION, TO_DEPOSIT, UNTRACKED, event,
    };
    use crate::checkout::step::{Circumstances, Facts, Outcome};

    #[test]
    fn tracked_goods_are_billed_from_their_delivery_on() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(TO_CONFIRMATION, DETAILS);
        let shipped = story.walk(&[EventKind::Fulfilled], DETAILS);
        assert_eq!(shipped.effects, []);
        let delivered = story.walk(&[EventKind::Delivered], DETAILS);
        assert_eq!(delivered.effects, [Effect::CreateSubscription]);
        assert_eq!(
            story.checkout.lifecycle(),
            Lifecycle::Shipped,
            "until the subscription runs"
        );
        let again = story.walk(&[EventKind::Delivered], DETAILS);
        assert_eq!(
            (again.outcome, again.effects),
            (Outcome::AlreadyApplied, vec![])
        );
        story.walk(&[EventKind::SubscriptionStarted], DETAILS);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseActive);
    }

    #[test]
    fn untracked_goods_are_billed_at_once_and_never_twice() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, UNTRACKED);
        story.walk(TO_CONFIRMATION, UNTRACKED);
        let shipped = story.walk(&[EventKind::Fulfilled], UNTRACKED);
        assert_eq!(shipped.effects, [Effect::CreateSubscription]);
        let delivered = story.walk(&[EventKind::Delivered], UNTRACKED);
        assert_eq!(
            delivered.effects,
            [],
            "it was asked for when the goods were shipped"
        );
    }

    #[test]
    fn an_exception_goes_back_to_where_it_came_from() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(TO_CONFIRMATION, DETAILS);
        story.walk(&[EventKind::FulfillmentFailed], DETAILS);
        let progress = story.checkout.progress();
        assert!(progress.is_failed && progress.needs_attention());
        let refused = story
            .try_event(Event::ShipmentResumed, &Facts::NONE)
            .unwrap_err();
        assert!(refused.contains("orderConfirmed"), "{refused}");
        story.walk(
            &[
                EventKind::OrderResumed,
                EventKind::Fulfilled,
                EventKind::FulfillmentFailed,
            ],
            DETAILS,
        );
        let refused = story
            .try_event(Event::OrderResumed, &Facts::NONE)
            .unwrap_err();
        assert!(refused.contains("shipped"), "{refused}");
        let delivered = story.walk(&[EventKind::Delivered], DETAILS);
        assert_eq!(delivered.effects, [Effect::CreateSubscription]);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::Shipped);
    }

    /// Every order of the items, each once.
    fn permutations<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
        items.iter().fold(vec![Vec::new()], |orders, item| {
            orders
                .iter()
                .flat_map(|order| {
                    (0..=order.len()).map(|place| {
                        let mut longer = order.clone();
                        longer.insert(place, *item);
                        longer
                    })
                })
                .collect()
        })
    }

    #[test]
    fn every_order_of_a_carriers_reports_ends_in_the_same_state() {
        let reports = [
            EventKind::FulfillmentFailed,
            EventKind::ShipmentResumed,
            EventKind::Delivered,
            // Each of these arrives twice.
            EventKind::FulfillmentFailed,
            EventKind::ShipmentResumed,
            EventKind::Delivered,
        ];
        let orders = permutations(&reports);
        assert_eq!(orders.len(), 720);
        for order in orders {
            let mut story = Story::new();
            story.walk(TO_DEPOSIT, DETAILS);
            story.walk(TO_CONFIRMATION, DETAILS);
            story.walk(&[EventKind::Fulfilled], DETAILS);
            let delivered = story.make.tick();
            let mut effects = Vec::new();
            for kind in &order {
                let reported = event(*kind, DETAILS, &story.checkout, &story.make, delivered);
                let at = story.make.tick();
                let by = Circumstances::new(at, Actor::Provider);
                let applied = story.checkout.apply(reported, &by, &Facts::NONE).unwrap();
                effects.extend(applied.effects);
            }
            let checkout = &story.checkout;
            assert_eq!(checkout.lifecycle(), Lifecycle::Shipped, "{order:?}");
            assert_eq!(
                (
                    checkout.shipment.delivered_at,
                    checkout.shipment.status,
                    effects
                ),
                (
                    Some(delivered),
                    Some(TrackingStatus::Delivered),
                    vec![Effect::CreateSubscription]
                ),
                "{order:?}"
            );
            story.walk(&[EventKind::SubscriptionStarted], DETAILS);
            assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseActive);
            for kind in &order {
                let late = event(*kind, DETAILS, &story.checkout, &story.make, delivered);
                assert_eq!(story.tell(late).outcome, Outcome::AlreadyApplied, "{kind}");
            }
        }
    }

    #[test]
    fn an_operator_is_told_that_delivered_goods_have_no_exception() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(TO_CONFIRMATION, DETAILS);
        story.walk(&[EventKind::Fulfilled, EventKind::Delivered], DETAILS);
        let before = story.checkout.clone();
        let at = story.make.tick();
        let mut fail = |actor| {
            story.checkout.apply(
                Event::FulfillmentFailed { reason: None },
                &Circumstances::new(at, actor),
                &Facts::NONE,
            )
        };
        let refused = fail(Actor::Operator).unwrap_err();
        assert_eq!(refused.obstacle, Obstacle::Delivered);
        let late = fail(Actor::Provider).unwrap();
        assert_eq!(late.outcome, Outcome::AlreadyApplied);
        assert_eq!(story.checkout, before);
    }

    #[test]
    fn goods_that_were_billed_when_they_were_shipped_arrive_once() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, UNTRACKED);
        story.walk(TO_CONFIRMATION, UNTRACKED);
        story.walk(
            &[EventKind::Fulfilled, EventKind::SubscriptionStarted],
            UNTRACKED,
        );
        assert_eq!(story.checkout.shipment.delivered_at, None);
        story.walk(&[EventKind::Delivered], UNTRACKED);
        let delivered_at = story.checkout.shipment.delivered_at;
        assert!(delivered_at.is_some());
        story.walk(&[EventKind::Delivered], UNTRACKED);
        assert_eq!(story.checkout.shipment.delivered_at, delivered_at);
    }
}
