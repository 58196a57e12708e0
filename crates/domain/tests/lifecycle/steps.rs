//! Single stories: what the table cannot show.

use chrono::TimeDelta;
use lessor_domain::checkout::{
    Actor, Applied, Checkout, Circumstances, Effect, Event, EventKind, Facts, InsuranceStatus,
    Lifecycle, Outcome, StockTaken, WaitlistReason,
};
use lessor_domain::customer::{CreditStatus, IdentityStatus};
use lessor_domain::fulfillment::TrackingStatus;
use lessor_domain::ids::PickupLocationId;
use lessor_domain::testing::Fixtures;

use crate::events::{Details, card, event};

const DETAILS: Details = Details {
    tracked: true,
    reusable: false,
    number: 1,
};

struct Story {
    make: Fixtures,
    checkout: Checkout,
}

impl Story {
    fn new() -> Self {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let product = make.product(&organization).build();
        let variant = make.variant(&product).build();
        let term = make.lease_term(&organization).build();
        let checkout = make.checkout(&customer, &variant).term(&term).build();
        Self { make, checkout }
    }

    fn try_event(&mut self, event: Event, facts: &Facts) -> Result<Applied, String> {
        let at = self.make.clock().advance(TimeDelta::minutes(1));
        let actor = event
            .kind()
            .actors()
            .first()
            .copied()
            .unwrap_or(Actor::System);
        self.checkout
            .apply(event, &Circumstances::new(at, actor), facts)
            .map_err(|error| error.to_string())
    }

    fn tell(&mut self, event: Event) -> Applied {
        self.try_event(event, &Facts::NONE).unwrap()
    }

    /// Lets the events happen, with the data that they need.
    fn walk(&mut self, kinds: &[EventKind], details: Details) -> Applied {
        let mut last = None;
        for kind in kinds {
            let at = self.make.tick();
            let event = event(*kind, details, &self.checkout, &self.make, at);
            last = Some(self.tell(event));
        }
        last.unwrap()
    }
}

const TO_DEPOSIT: &[EventKind] = &[
    EventKind::Opened,
    EventKind::ProfileCompleted,
    EventKind::IdentityRequested,
    EventKind::IdentityStarted,
    EventKind::IdentitySubmitted,
    EventKind::IdentityVerified,
    EventKind::Qualified,
    EventKind::ShippingAddressGiven,
    EventKind::LeaseAccepted,
    EventKind::DepositSubmitted,
];
const TO_CONFIRMATION: &[EventKind] = &[
    EventKind::DepositAuthorized,
    EventKind::PaymentMethodSaved,
    EventKind::DocumentsSigned,
    EventKind::DepositCaptured,
];

#[test]
fn what_is_known_is_passed_through() {
    let mut story = Story::new();
    story.checkout.shipping.address = Some(story.make.address());
    let known = Facts {
        profile_complete: true,
        identity: IdentityStatus::Verified,
        credit: CreditStatus::Passed,
    };
    let applied = story.try_event(Event::Opened, &known).unwrap();
    assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseReviewPending);
    let path: Vec<_> = applied
        .transitions
        .iter()
        .map(|step| (step.to, step.actor))
        .collect();
    assert_eq!(
        path,
        [
            (Lifecycle::ProfilePending, Actor::Customer),
            (Lifecycle::IdentityRequired, Actor::System),
            (Lifecycle::QualificationPending, Actor::System),
            (Lifecycle::ShippingAddressPending, Actor::System),
            (Lifecycle::LeaseReviewPending, Actor::System),
        ]
    );
    assert_eq!(
        applied.effects,
        [],
        "a check that passed before is not asked for again"
    );
}

#[test]
fn a_step_back_is_not_passed_through_again() {
    let mut story = Story::new();
    story.walk(&TO_DEPOSIT[..8], DETAILS);
    assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseReviewPending);
    let known = Facts {
        profile_complete: true,
        ..Facts::NONE
    };
    story
        .try_event(Event::SteppedBackToAddress, &known)
        .unwrap();
    assert_eq!(
        story.checkout.lifecycle(),
        Lifecycle::ShippingAddressPending
    );
    story
        .try_event(Event::SteppedBackToProfile, &known)
        .unwrap();
    assert_eq!(story.checkout.lifecycle(), Lifecycle::ProfilePending);
}

#[test]
fn no_term_no_deposit() {
    let mut story = Story::new();
    story.checkout.term = None;
    story.walk(&TO_DEPOSIT[..8], DETAILS);
    let refused = story
        .try_event(Event::LeaseAccepted, &Facts::NONE)
        .unwrap_err();
    assert!(
        refused.contains("a lease term is to be chosen first"),
        "{refused}"
    );
}

#[test]
fn no_order_without_a_signature() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&TO_CONFIRMATION[..2], DETAILS);
    let at = story.make.tick();
    let captured = event(
        EventKind::DepositCaptured,
        DETAILS,
        &story.checkout,
        &story.make,
        at,
    );
    let refused = story.try_event(captured, &Facts::NONE).unwrap_err();
    assert!(refused.contains("signed"), "{refused}");
    assert_eq!(story.checkout.lifecycle(), Lifecycle::DocumentsPending);
}

#[test]
fn a_signature_counts_once_and_needs_a_payment_method() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&TO_CONFIRMATION[..2], DETAILS);
    // The processor may forget a method that it had saved.
    story.checkout.recurring.method = None;
    let refused = story
        .try_event(Event::DocumentsSigned, &Facts::NONE)
        .unwrap_err();
    assert!(refused.contains("payment method"), "{refused}");
    story.checkout.recurring.method = Some(card());
    let signed = story.tell(Event::DocumentsSigned);
    assert_eq!(signed.effects, [Effect::CaptureDeposit]);
    let signed_at = story.checkout.signed_at;
    assert!(signed_at.is_some());
    let again = story.tell(Event::DocumentsSigned);
    assert_eq!(
        (again.outcome, again.effects),
        (Outcome::AlreadyApplied, vec![])
    );
    assert_eq!(story.checkout.signed_at, signed_at);
}

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
    let untracked = Details {
        tracked: false,
        ..DETAILS
    };
    story.walk(TO_DEPOSIT, untracked);
    story.walk(TO_CONFIRMATION, untracked);
    let shipped = story.walk(&[EventKind::Fulfilled], untracked);
    assert_eq!(shipped.effects, [Effect::CreateSubscription]);
    let delivered = story.walk(&[EventKind::Delivered], untracked);
    assert_eq!(
        delivered.effects,
        [],
        "it was asked for when the goods were shipped"
    );
}

#[test]
fn a_lapsed_authorization_gives_stock_back_and_asks_for_the_deposit_again() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&TO_CONFIRMATION[..3], DETAILS);
    assert!(story.checkout.holds_stock);
    let lapsed = story.tell(Event::AuthorizationLapsed);
    assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositPending);
    assert!(lapsed.releases_stock && !story.checkout.holds_stock);
    assert_eq!(story.checkout.deposit.payment_intent_id, None);
    assert_eq!(
        story.checkout.signed_at, None,
        "what was signed named the lapsed deposit"
    );
}

#[test]
fn an_answer_after_the_cancel_leaves_its_ids_to_whoever_undoes_it() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    let cancelled = story.tell(Event::Cancelled { reason: None });
    assert_eq!(
        cancelled.effects,
        [Effect::VoidDeposit],
        "an authorization may be on its way"
    );
    let late = story.walk(&[EventKind::DepositAuthorized], DETAILS);
    assert_eq!(late.outcome, Outcome::AlreadyApplied);
    assert_eq!(
        story.checkout.deposit.payment_intent_id.as_deref(),
        Some("pi_1")
    );
    assert!(
        !story.checkout.holds_stock,
        "a late authorization holds no stock"
    );
}

#[test]
fn a_refused_customer_keeps_no_authorization_that_came_late() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(
        &[
            EventKind::DepositAuthorizedWithoutStock,
            EventKind::AuthorizationLapsed,
            EventKind::DepositAuthorized,
        ],
        DETAILS,
    );
    assert_eq!(
        story.checkout.lifecycle(),
        Lifecycle::WaitlistedAfterProfile
    );
    assert!(story.checkout.deposit.payment_intent_id.is_some());
    story.walk(
        &[EventKind::StockFreed, EventKind::IdentityVerified],
        DETAILS,
    );
    let refused = story.tell(Event::QualificationRefused);
    assert_eq!(refused.effects, [Effect::VoidDeposit]);
    assert_eq!(story.checkout.lifecycle(), Lifecycle::QualificationFailed);
}

#[test]
fn those_who_wait_take_no_stock_before_their_deposit() {
    let mut story = Story::new();
    story.checkout = story
        .make
        .checkout(
            &story
                .make
                .customer(&story.make.organization().build())
                .build(),
            &story
                .make
                .variant(
                    &story
                        .make
                        .product(&story.make.organization().build())
                        .build(),
                )
                .build(),
        )
        .at(Lifecycle::WaitlistedAfterProfile)
        .build();
    for stock in [StockTaken::Taken, StockTaken::NoneLeft] {
        let refused = story.try_event(Event::StockFreed { stock }, &Facts::NONE);
        assert!(refused.is_err(), "{stock}: {refused:?}");
    }
    story.tell(Event::StockFreed {
        stock: StockTaken::Untracked,
    });
    assert_eq!(story.checkout.lifecycle(), Lifecycle::IdentityRequired);
}

#[test]
fn stock_that_is_freed_is_held_for_who_waits_with_a_deposit() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&[EventKind::DepositAuthorizedWithoutStock], DETAILS);
    assert_eq!(
        story.checkout.waitlist.as_ref().map(|wait| wait.reason),
        Some(WaitlistReason::Inventory)
    );
    let before = story.checkout.clone();
    let none_left = Event::StockFreed {
        stock: StockTaken::NoneLeft,
    };
    let refused = story.try_event(none_left, &Facts::NONE).unwrap_err();
    assert!(refused.contains("no stock is left"), "{refused}");
    assert_eq!(story.checkout, before);
    story.tell(Event::StockFreed {
        stock: StockTaken::Taken,
    });
    assert!(story.checkout.holds_stock);
    assert_eq!(
        story.checkout.lifecycle(),
        Lifecycle::RecurringPaymentMethodPending
    );
}

#[test]
fn an_exception_goes_back_to_where_it_came_from() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(TO_CONFIRMATION, DETAILS);
    story.walk(&[EventKind::FulfillmentFailed], DETAILS);
    let progress = story.checkout.progress();
    assert!(progress.is_failed && progress.needs_attention);
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
    assert_eq!(
        refused.why,
        "the goods are delivered: they come back by a return"
    );
    let late = fail(Actor::Provider).unwrap();
    assert_eq!(late.outcome, Outcome::AlreadyApplied);
    assert_eq!(story.checkout, before);
}

#[test]
fn the_deposits_method_serves_for_the_recurring_payments() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(
        &TO_CONFIRMATION[..1],
        Details {
            reusable: true,
            ..DETAILS
        },
    );
    assert_eq!(story.checkout.recurring.method, Some(card()));
    assert_eq!(
        story.checkout.lifecycle(),
        Lifecycle::RecurringPaymentMethodPending
    );
}

#[test]
fn a_refusal_names_what_can_be_done_instead() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(TO_CONFIRMATION, DETAILS);
    let refused = story.try_event(
        Event::ReturnInitiated {
            reason: None,
            notes: None,
        },
        &Facts::NONE,
    );
    assert_eq!(
        refused.unwrap_err(),
        "returnInitiated is not possible while the checkout is orderConfirmed: \
         it can go to addendumsPending, shipped, fulfillmentException, cancelled now"
    );
    // Who has no move is told what is waited for.
    let by = Circumstances::new(story.make.tick(), Actor::Provider);
    let mut fresh = Story::new().checkout;
    let refused = fresh.apply(Event::Qualified, &by, &Facts::NONE);
    assert_eq!(refused.unwrap_err().why, "it waits for opened");
    story.tell(Event::Cancelled { reason: None });
    let refused = story.try_event(Event::Opened, &Facts::NONE).unwrap_err();
    assert!(refused.ends_with("it has ended"), "{refused}");
}

#[test]
fn nothing_is_passed_through_that_is_not_known() {
    let mut story = Story::new();
    story.tell(Event::Opened);
    assert_eq!(story.checkout.lifecycle(), Lifecycle::ProfilePending);
}

#[test]
fn a_known_pickup_location_is_passed_through() {
    let mut story = Story::new();
    story.checkout.pickup_location_id = PickupLocationId::new(7).ok();
    story.walk(&TO_DEPOSIT[..6], DETAILS);
    let applied = story.tell(Event::Qualified);
    let path: Vec<_> = applied.transitions.iter().map(|step| step.to).collect();
    assert_eq!(
        path,
        [
            Lifecycle::ShippingAddressPending,
            Lifecycle::PickupLocationPending,
            Lifecycle::LeaseReviewPending
        ]
    );
    assert_eq!(
        story.checkout.pickup_location_id.map(PickupLocationId::get),
        Some(7)
    );
}

#[test]
fn credit_is_checked_unless_it_is_known() {
    for (credit, effects, state) in [
        (
            CreditStatus::Unknown,
            vec![Effect::CheckCredit],
            Lifecycle::QualificationPending,
        ),
        (
            CreditStatus::Passed,
            vec![],
            Lifecycle::ShippingAddressPending,
        ),
    ] {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..5], DETAILS);
        let facts = Facts {
            credit,
            ..Facts::NONE
        };
        let applied = story.try_event(Event::IdentityVerified, &facts).unwrap();
        assert_eq!(applied.effects, effects);
        assert_eq!(story.checkout.lifecycle(), state);
    }
}

#[test]
fn a_refusal_of_the_processor_is_kept_until_a_payment_succeeds() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&[EventKind::DepositRefused], DETAILS);
    let failure = story.checkout.recurring.last_failure.clone().unwrap();
    assert_eq!(failure.code, "card_declined");
    assert_eq!(failure.message, "Your card was declined.");
    assert_eq!(failure.at, story.checkout.updated_at);
    story.walk(
        &[EventKind::DepositSubmitted, EventKind::DepositAuthorized],
        DETAILS,
    );
    assert_eq!(story.checkout.recurring.last_failure, None);
    story.walk(&TO_CONFIRMATION[1..3], DETAILS);
    story.walk(&[EventKind::CaptureRefused], DETAILS);
    assert!(story.checkout.recurring.last_failure.is_some());
    let retried = story.walk(&[EventKind::CaptureRetried], DETAILS);
    assert_eq!(retried.effects, [Effect::CaptureDeposit]);
    story.walk(&[EventKind::DepositCaptured], DETAILS);
    assert_eq!(story.checkout.recurring.last_failure, None);
}

#[test]
fn who_waits_is_told_what_for_and_others_wait_for_nothing() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&TO_CONFIRMATION[..1], DETAILS);
    assert_eq!(story.checkout.waitlist, None);
    story.tell(Event::AuthorizationLapsed);
    assert_eq!(story.checkout.waitlist, None);

    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&[EventKind::DepositAuthorizedWithoutStock], DETAILS);
    story.checkout.waitlist = None;
    story.tell(Event::AuthorizationLapsed);
    assert_eq!(
        story.checkout.waitlist.as_ref().map(|wait| wait.reason),
        Some(WaitlistReason::Inventory)
    );
}

#[test]
fn a_confirmed_order_is_insured_unless_that_was_denied() {
    for (before, after) in [
        (InsuranceStatus::Pending, InsuranceStatus::Approved),
        (InsuranceStatus::Denied, InsuranceStatus::Denied),
    ] {
        let mut story = Story::new();
        story.checkout.insurance = before;
        story.walk(TO_DEPOSIT, DETAILS);
        let saved = story.walk(&TO_CONFIRMATION[..2], DETAILS);
        assert_eq!(saved.effects, [Effect::PrepareDocuments]);
        story.walk(&TO_CONFIRMATION[2..], DETAILS);
        assert_eq!(story.checkout.insurance, after);
        let confirmed_at = story.checkout.milestones.confirmed_at;
        assert!(confirmed_at.is_some());
        // Coming back to the state is no second confirmation.
        story.walk(
            &[EventKind::AddendumsRequested, EventKind::AddendumsSigned],
            DETAILS,
        );
        assert_eq!(story.checkout.milestones.confirmed_at, confirmed_at);
    }
}

#[test]
fn a_capture_and_a_subscription_that_come_after_the_end_are_known_to_whoever_undoes_them() {
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, DETAILS);
    story.walk(&TO_CONFIRMATION[..3], DETAILS);
    let cancelled = story.tell(Event::Cancelled { reason: None });
    assert_eq!(cancelled.effects, [Effect::VoidDeposit]);
    story.walk(&[EventKind::DepositCaptured], DETAILS);
    assert_eq!(story.checkout.deposit.invoice_id.as_deref(), Some("in_1"));
    assert!(story.checkout.deposit.captured_at.is_some());

    let untracked = Details {
        tracked: false,
        ..DETAILS
    };
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, untracked);
    story.walk(TO_CONFIRMATION, untracked);
    story.walk(
        &[EventKind::Fulfilled, EventKind::FulfillmentFailed],
        untracked,
    );
    let cancelled = story.tell(Event::Cancelled { reason: None });
    assert_eq!(
        cancelled.effects,
        [Effect::RefundDeposit, Effect::CancelSubscription]
    );
    story.walk(&[EventKind::SubscriptionStarted], untracked);
    assert_eq!(
        story.checkout.recurring.subscription_id.as_deref(),
        Some("sub_1")
    );
}

#[test]
fn goods_that_were_billed_when_they_were_shipped_arrive_once() {
    let untracked = Details {
        tracked: false,
        ..DETAILS
    };
    let mut story = Story::new();
    story.walk(TO_DEPOSIT, untracked);
    story.walk(TO_CONFIRMATION, untracked);
    story.walk(
        &[EventKind::Fulfilled, EventKind::SubscriptionStarted],
        untracked,
    );
    assert_eq!(story.checkout.shipment.delivered_at, None);
    story.walk(&[EventKind::Delivered], untracked);
    let delivered_at = story.checkout.shipment.delivered_at;
    assert!(delivered_at.is_some());
    story.walk(&[EventKind::Delivered], untracked);
    assert_eq!(story.checkout.shipment.delivered_at, delivered_at);
}
