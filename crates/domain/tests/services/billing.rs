//! The monthly payments: a first one that fails, what the processor says later, disputes, what is
//! paid back, and what nobody bills.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{
    AttentionReason, Billing, Checkout, Invoice, InvoiceOutcome, Lifecycle, Refusal, Standing,
};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{
    Balance, Entry, Refund, RefundState, Subscription, SubscriptionState, Thing,
};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{Clock, OurIds, ProcessorEvent, ProcessorFact};
use lessor_domain::services::payments::{self, Findings};
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment};
use lessor_domain::services::{Concern, UseCase as _, billing, checkouts};
use lessor_domain::testing::Reply;
use lessor_domain::time::add_months_at;
use lessor_domain::workers::reconcile::{Difference, Reconciler};

use crate::world::World;

fn refusal(code: &str) -> Refusal {
    Refusal {
        code: code.to_owned(),
        message: "Your card was declined.".to_owned(),
    }
}

fn invoice(world: &World, checkout: &Checkout, id: &str, outcome: InvoiceOutcome) -> Invoice {
    Invoice {
        id: id.to_owned(),
        subscription_id: format!("sub_{}", checkout.id.as_uuid().simple()),
        payment_intent_id: Some(format!("pi_{id}")),
        amount: checkout.quote.unwrap().total_monthly_payment,
        is_cycle: true,
        outcome,
        at: world.clock.now(),
    }
}

fn failed(attempts: u32) -> InvoiceOutcome {
    InvoiceOutcome::Failed {
        attempts,
        refusal: refusal("card_declined"),
    }
}

fn incomplete(world: &World, checkout: &Checkout) -> Subscription {
    Subscription {
        id: format!("sub_{}", checkout.id.as_uuid().simple()),
        checkout: Some(checkout.id),
        state: SubscriptionState::Incomplete,
        monthly: checkout.quote.unwrap().total_monthly_payment,
        anchor: world.clock.now(),
        ends_at: add_months_at(world.clock.now(), 12),
        invoices: vec![invoice(world, checkout, "in_1", failed(1))],
    }
}

/// Ships goods without tracking, so that they are to be billed at once. Nobody is told yet.
async fn ship(world: &World, id: CheckoutPubId) {
    let mut uow = world.begin().await;
    let input = Fulfillment::default();
    FulfillCheckout {
        id,
        fulfillment: input,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
}

async fn move_to(world: &World, id: CheckoutPubId, to: Lifecycle) {
    let mut uow = world.begin().await;
    checkouts::MoveCheckout { id, target: to }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
}

async fn cancel(world: &World, id: CheckoutPubId) {
    let mut uow = world.begin().await;
    checkouts::CancelCheckout { id, reason: None }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
}

async fn tell(
    world: &World,
    about: Option<CheckoutPubId>,
    mode: Mode,
    fact: ProcessorFact,
) -> Concern {
    asked(world, about, mode, fact, Findings::default()).await
}

async fn asked(
    world: &World,
    about: Option<CheckoutPubId>,
    mode: Mode,
    fact: ProcessorFact,
    asked: Findings,
) -> Concern {
    let event = ProcessorEvent {
        id: "evt_1".to_owned(),
        at: world.clock.now(),
        mode,
        about: OurIds {
            checkout: about,
            ..OurIds::default()
        },
        fact,
    };
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.clock.now());
    let handled = payments::handle(uow.as_mut(), ids, now, &event, asked, None)
        .await
        .unwrap();
    uow.commit().await.unwrap();
    handled
}

async fn confirmed(world: &World) -> Checkout {
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::OrderConfirmed).await
}

async fn balance(world: &World, id: CheckoutPubId) -> Balance {
    let rows = world.rows(id).await;
    Balance::of(Money::zero(Currency::USD), &rows).unwrap()
}

fn reconciler(world: &World) -> Reconciler {
    world.engine().reconciler()
}

/// A lease whose first payment the bank declined.
async fn declined(world: &World) -> Checkout {
    let order = confirmed(world).await;
    let processor = &world.providers.processor;
    processor
        .subscriptions
        .then(Reply::Done(incomplete(world, &order)));
    ship(world, order.id).await;
    world.work().await;
    let lease = world.read(order.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::Shipped, "nothing is active");
    assert!(matches!(
        lease.recurring.billing,
        Billing::Incomplete { .. }
    ));
    let shown = lease.attention.first().unwrap();
    assert_eq!(shown.reason, AttentionReason::FirstPaymentFailed);
    assert!(shown.detail.as_deref().unwrap().contains("declined"));
    lease
}

#[tokio::test]
async fn a_first_payment_that_failed_is_made_with_another_card() {
    let world = World::new().await;
    let lease = declined(&world).await;
    let mut uow = world.begin().await;
    billing::RetryPayments {
        id: lease.id,
        method: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    world.work().await;
    let lease = world.read(lease.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(lease.recurring.paid_cycles, 1);
    assert_eq!(lease.attention, []);
    assert_eq!(world.calls("pay_invoices"), 1);
    assert_eq!(world.calls("create_subscription"), 1);
}

#[tokio::test]
async fn a_first_payment_that_somebody_makes_at_the_processor_begins_the_lease() {
    let world = World::new().await;
    let lease = declined(&world).await;
    let paid = invoice(&world, &lease, "in_1", InvoiceOutcome::Paid);
    world.providers.processor.alter(lease.id, |known| {
        known.state = SubscriptionState::Active;
        known.invoices = vec![paid.clone()];
    });
    tell(&world, None, Mode::Sandbox, ProcessorFact::Invoice(paid)).await;
    world.work().await;
    let lease = world.read(lease.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(lease.attention, []);
}

#[tokio::test]
async fn a_subscription_that_was_given_up_is_followed_by_exactly_one() {
    let world = World::new().await;
    let lease = declined(&world).await;
    let id = lease
        .recurring
        .billing
        .subscription_id()
        .unwrap()
        .to_owned();
    world.clock.advance(TimeDelta::hours(23));
    world.providers.processor.alter(lease.id, |known| {
        known.state = SubscriptionState::Ended;
        for invoice in &mut known.invoices {
            invoice.outcome = InvoiceOutcome::Void;
        }
    });
    let second = Subscription {
        id: "sub_2".to_owned(),
        invoices: vec![Invoice {
            subscription_id: "sub_2".to_owned(),
            ..invoice(&world, &lease, "in_2", InvoiceOutcome::Paid)
        }],
        state: SubscriptionState::Active,
        ..incomplete(&world, &lease)
    };
    world
        .providers
        .processor
        .subscriptions
        .then(Reply::Done(second));
    let ended = || ProcessorFact::Subscription {
        subscription_id: id.clone(),
        state: SubscriptionState::Ended,
        ends_at: None,
    };
    for _ in 0..3 {
        tell(&world, None, Mode::Sandbox, ended()).await;
        world.work().await;
    }
    let lease = world.read(lease.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(lease.recurring.billing.subscription_id(), Some("sub_2"));
    assert_eq!(lease.recurring.paid_cycles, 1);
    assert_eq!(world.calls("create_subscription"), 2);
    assert_eq!(lease.attention, []);
}

#[tokio::test]
async fn a_second_first_payment_that_fails_waits_for_a_person() {
    let world = World::new().await;
    let lease = declined(&world).await;
    for round in 2..=3 {
        world.clock.advance(TimeDelta::hours(23));
        world.providers.processor.alter(lease.id, |known| {
            known.state = SubscriptionState::Ended;
            for invoice in &mut known.invoices {
                invoice.outcome = InvoiceOutcome::Void;
            }
        });
        let next = Subscription {
            id: format!("sub_{round}"),
            ..incomplete(&world, &lease)
        };
        world
            .providers
            .processor
            .subscriptions
            .then(Reply::Done(next));
        world
            .ask(lease.id, lessor_domain::checkout::Effect::CheckSubscription)
            .await;
        world.work().await;
    }
    let waiting = world.read(lease.id).await;
    assert_eq!(world.calls("create_subscription"), 2, "one more, no third");
    assert!(matches!(waiting.recurring.billing, Billing::Ended { .. }));
    assert!(waiting.needs(AttentionReason::NotBilled));
    // The person says so.
    let mut uow = world.begin().await;
    billing::RetryPayments {
        id: lease.id,
        method: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    world.work().await;
    assert_eq!(world.calls("create_subscription"), 3);
}

#[tokio::test]
async fn a_checkout_that_ended_is_looked_up_and_never_billed_anew() {
    // In doubt: it was made, and the answer lost; or it was not.
    for was_made in [true, false] {
        let world = World::new().await;
        let order = confirmed(&world).await;
        let processor = &world.providers.processor;
        let made = Subscription {
            state: SubscriptionState::Active,
            invoices: vec![invoice(&world, &order, "in_1", InvoiceOutcome::Paid)],
            ..incomplete(&world, &order)
        };
        processor.subscriptions.then(if was_made {
            Reply::Lost(made)
        } else {
            Reply::Unreachable
        });
        ship(&world, order.id).await;
        world.work().await;
        move_to(&world, order.id, Lifecycle::FulfillmentException).await;
        cancel(&world, order.id).await;
        for _ in 0..4 {
            world.clock.advance(TimeDelta::minutes(11));
            world.work().await;
        }
        world.assert_idle().await;
        assert_eq!(world.calls("create_subscription"), 1, "never anew");
        assert_eq!(world.calls("cancel_subscription"), usize::from(was_made));
        let sums = balance(&world, order.id).await;
        let taken = sums.captured.checked_add(sums.paid).unwrap();
        assert_eq!(sums.paid.is_zero(), !was_made);
        assert_eq!(sums.refunded, taken, "what was charged is paid back");
        assert!(sums.held.is_zero());
        assert_eq!(world.read(order.id).await.attention, []);
    }
}

#[tokio::test]
async fn a_payment_that_comes_after_the_cancel_is_paid_back() {
    let world = World::new().await;
    let order = confirmed(&world).await;
    ship(&world, order.id).await;
    move_to(&world, order.id, Lifecycle::FulfillmentException).await;
    cancel(&world, order.id).await;
    world.work().await;
    world.assert_idle().await;
    let late = invoice(&world, &order, "in_late", InvoiceOutcome::Paid);
    let about = Some(order.id);
    tell(&world, about, Mode::Sandbox, ProcessorFact::Invoice(late)).await;
    world.work().await;
    let sums = balance(&world, order.id).await;
    assert!(!sums.paid.is_zero());
    let taken = sums.captured.checked_add(sums.paid).unwrap();
    assert_eq!(sums.refunded, taken);
}

#[tokio::test]
async fn what_the_processor_says_of_the_subscription_is_asked_and_shown() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    let lease = world.advance(&order, Lifecycle::LeaseActive).await;
    let id = lease
        .recurring
        .billing
        .subscription_id()
        .unwrap()
        .to_owned();
    for (state, standing) in [
        (SubscriptionState::PastDue, Standing::PastDue),
        (SubscriptionState::Unpaid, Standing::Unpaid),
        (SubscriptionState::Paused, Standing::Paused),
        (SubscriptionState::Active, Standing::Good),
    ] {
        world
            .providers
            .processor
            .alter(lease.id, |known| known.state = state);
        let changed = ProcessorFact::Subscription {
            subscription_id: id.clone(),
            state,
            ends_at: None,
        };
        tell(&world, None, Mode::Sandbox, changed).await;
        world.work().await;
        let lease = world.read(lease.id).await;
        let Billing::Active {
            standing: known, ..
        } = lease.recurring.billing
        else {
            panic!("it bills")
        };
        assert_eq!(known, standing);
        let is_shown = lease.needs(AttentionReason::PastDue);
        assert_eq!(is_shown, standing != Standing::Good);
    }
}

#[tokio::test]
async fn a_dispute_of_a_monthly_payment_finds_its_lease() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    let lease = world.advance(&order, Lifecycle::LeaseActive).await;
    let disputed = |intent: &str, dispute: &str| ProcessorFact::Disputed {
        payment_intent_id: Some(intent.to_owned()),
        dispute_id: dispute.to_owned(),
        amount: Money::from_minor(5_080, Currency::USD),
        status: "needs_response".to_owned(),
        closed: false,
    };
    // The first invoice is known with its payment.
    let intent = format!("pi_in_{}", lease.id.as_uuid().simple());
    let known = disputed(&intent, "dp_1");
    assert_eq!(
        tell(&world, None, Mode::Live, known.clone()).await,
        Concern::Nothing,
        "a message of another mode touches nothing"
    );
    assert_eq!(
        tell(&world, None, Mode::Sandbox, known).await,
        Concern::Checkout(lease.id)
    );
    // Of another the processor is asked which invoice it pays.
    let told = Findings {
        invoice: Some(invoice(&world, &lease, "in_7", InvoiceOutcome::Paid)),
        ..Findings::default()
    };
    let other = disputed("pi_unknown", "dp_2");
    let handled = asked(&world, None, Mode::Sandbox, other, told).await;
    assert_eq!(handled, Concern::Checkout(lease.id));
    assert!(world.read(lease.id).await.needs(AttentionReason::Disputed));
}

#[tokio::test]
async fn a_refund_that_fails_is_shown_and_can_be_made_again() {
    let world = World::new().await;
    let order = confirmed(&world).await;
    cancel(&world, order.id).await;
    world.work().await;
    let rows = world.rows(order.id).await;
    let refund = rows
        .iter()
        .find(|row| matches!(row.thing, Thing::Refund { .. }));
    let refund = refund.unwrap();
    let Thing::Refund {
        payment_intent_id, ..
    } = &refund.thing
    else {
        panic!("a refund")
    };
    let came_back = Refund {
        id: refund.id.clone(),
        payment_intent_id: payment_intent_id.clone(),
        amount: refund.amount,
        state: RefundState::Failed,
        failure: Some("expired_or_canceled_card".to_owned()),
        at: world.clock.now(),
    };
    let fact = ProcessorFact::Refund(came_back);
    tell(&world, None, Mode::Sandbox, fact).await;
    let shown = world.read(order.id).await;
    assert!(shown.needs(AttentionReason::ProcessorRefused));
    assert!(balance(&world, order.id).await.refunded.is_zero());
    world
        .providers
        .processor
        .refunds
        .then(Reply::Done(Some(Refund {
            id: "re_2".to_owned(),
            payment_intent_id: payment_intent_id.clone(),
            amount: refund.amount,
            state: RefundState::Succeeded,
            failure: None,
            at: world.clock.now(),
        })));
    world
        .ask(order.id, lessor_domain::checkout::Effect::RefundDeposit)
        .await;
    world.work().await;
    assert_eq!(balance(&world, order.id).await.refunded, refund.amount);
}

#[tokio::test]
async fn a_request_that_will_never_do_is_dead_at_once_and_keeps_no_money_back() {
    let world = World::new().await;
    let order = confirmed(&world).await;
    let processor = &world.providers.processor;
    processor
        .subscriptions
        .then(Reply::Refused("parameter_invalid"));
    ship(&world, order.id).await;
    world.work().await;
    let refused = world.read(order.id).await;
    assert!(refused.needs(AttentionReason::ProcessorRefused));
    assert_eq!(world.calls("create_subscription"), 1, "not for three days");
    // What lets go does not wait behind it.
    move_to(&world, order.id, Lifecycle::FulfillmentException).await;
    cancel(&world, order.id).await;
    world.work().await;
    let sums = balance(&world, order.id).await;
    assert_eq!(sums.refunded, sums.captured);
    assert!(!sums.captured.is_zero());
    // The dead job is put aside for good.
    let mut uow = world.begin().await;
    let dead = uow
        .jobs()
        .list(&lessor_domain::ports::JobFilter::default(), 10)
        .await
        .unwrap();
    let [dead] = dead.as_slice() else {
        panic!("one job is left: {dead:?}")
    };
    let now = world.clock.now();
    assert!(
        uow.jobs()
            .skip(dead.new.id, "cancelled", now)
            .await
            .unwrap()
    );
    uow.commit().await.unwrap();
    world.assert_idle().await;
}

#[tokio::test]
async fn who_ships_and_is_not_billed_for_an_hour_is_told() {
    let world = World::new().await;
    let order = confirmed(&world).await;
    for _ in 0..20 {
        world
            .providers
            .processor
            .subscriptions
            .then(Reply::Unreachable);
    }
    ship(&world, order.id).await;
    world.work().await;
    world.housekeeper().run_once().await.unwrap();
    assert_eq!(world.read(order.id).await.attention, []);
    world.clock.advance(TimeDelta::minutes(61));
    assert_eq!(world.housekeeper().run_once().await.unwrap().raised, 1);
    assert_eq!(world.housekeeper().run_once().await.unwrap().raised, 0);
    assert!(world.read(order.id).await.needs(AttentionReason::NotBilled));
    let counts = world.view().await.doors().attention().await.unwrap();
    assert_eq!(counts, [(AttentionReason::NotBilled, 1)]);
}

#[tokio::test]
async fn leases_that_are_not_paid_up_keep_no_other_from_ending() {
    let world = World::new().await;
    let mut leases = Vec::new();
    for number in 0..3 {
        let order = world.order(&format!("{number}@example.com")).await;
        leases.push(world.advance(&order, Lifecycle::LeaseActive).await);
    }
    world.clock.advance(TimeDelta::days(400));
    let paid = leases.last().unwrap();
    for month in 2..=12 {
        let paid = invoice(&world, paid, &format!("in_{month}"), InvoiceOutcome::Paid);
        tell(&world, None, Mode::Sandbox, ProcessorFact::Invoice(paid)).await;
    }
    let mut housekeeper = world.housekeeper();
    housekeeper.policy.batch = 1;
    housekeeper.run_once().await.unwrap();
    let ended = world.read(paid.id).await;
    assert_eq!(ended.lifecycle(), Lifecycle::ReturnPending);
}

#[tokio::test]
async fn a_comparison_finds_what_was_changed_at_the_processor() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    let lease = world.advance(&order, Lifecycle::LeaseActive).await;
    let compare = async |mend| reconciler(&world).run(Mode::Sandbox, mend).await.unwrap();
    let names = |report: &lessor_domain::workers::reconcile::Report| {
        let findings = report.findings.iter();
        findings
            .map(|finding| (finding.difference.name(), finding.mended))
            .collect::<Vec<_>>()
    };
    let clean = compare(false).await;
    assert_eq!((names(&clean), clean.failures), (vec![], vec![]));
    let right = {
        let mut right = None;
        let processor = &world.providers.processor;
        processor.alter(lease.id, |known| right = Some(known.clone()));
        right.unwrap()
    };
    type Change = fn(&mut Subscription);
    let changes: [(Change, &str, bool); 4] = [
        (|it| it.ends_at = None, "end", true),
        (
            |it| it.monthly = Money::from_minor(1, Currency::USD),
            "price",
            false,
        ),
        (|it| it.state = SubscriptionState::Paused, "status", true),
        (|it| it.state = SubscriptionState::Ended, "status", true),
    ];
    for (change, name, is_mended) in changes {
        world.providers.processor.alter(lease.id, |it| {
            *it = right.clone();
            change(it);
        });
        let found = compare(false).await;
        assert_eq!(names(&found), [(name, false)]);
        assert!(
            world
                .read(lease.id)
                .await
                .needs(AttentionReason::Difference)
        );
        let found = compare(true).await;
        assert_eq!(names(&found), [(name, is_mended)]);
        world.work().await;
        // A person mends the price.
        if !is_mended {
            let right = right.clone();
            let processor = &world.providers.processor;
            processor.alter(lease.id, |known| *known = right);
        }
        let again = compare(false).await;
        assert_eq!(names(&again), [], "{name}");
        assert!(
            !world
                .read(lease.id)
                .await
                .needs(AttentionReason::Difference),
            "{name}"
        );
    }
    let unpriced = Difference::Price {
        subscription_id: right.id,
        ours: right.monthly,
        theirs: Money::zero(Currency::USD),
    };
    assert!(unpriced.to_string().contains("was agreed"));
    assert!(!unpriced.advice().is_empty());
}

#[tokio::test]
async fn an_end_that_was_only_roughly_given_is_made_exact() {
    let world = World::new().await;
    let lease = declined(&world).await;
    let exact = add_months_at(world.clock.now(), 12).unwrap();
    world.providers.processor.alter(lease.id, |known| {
        known.state = SubscriptionState::Active;
        known.ends_at = Some(exact + TimeDelta::seconds(2));
        for invoice in &mut known.invoices {
            invoice.outcome = InvoiceOutcome::Paid;
        }
    });
    world
        .ask(lease.id, lessor_domain::checkout::Effect::CheckSubscription)
        .await;
    world.work().await;
    assert_eq!(world.calls("set_end"), 1);
    let rows = world.rows(lease.id).await;
    let row = rows.iter().find(|row| row.subscription_state().is_some());
    assert!(matches!(
        row.map(|row| &row.thing),
        Some(Thing::Subscription { ends_at: Some(end), .. }) if *end == exact
    ));
    assert_eq!(row.and_then(Entry::last_instant), Some(exact));
}

#[tokio::test]
async fn an_answer_that_is_older_than_the_messages_says_nothing_wrong_for_long() {
    let world = World::new().await;
    let order = confirmed(&world).await;
    let processor = &world.providers.processor;
    processor
        .subscriptions
        .then(Reply::Done(incomplete(&world, &order)));
    ship(&world, order.id).await;
    // Before the answer is written down, the customer pays on the processor's page.
    let paid = invoice(&world, &order, "in_1", InvoiceOutcome::Paid);
    let about = Some(order.id);
    let fact = ProcessorFact::Invoice(paid.clone());
    tell(&world, about, Mode::Sandbox, fact).await;
    world.runner().run_due(10).await.unwrap();
    world.providers.processor.alter(order.id, |known| {
        known.state = SubscriptionState::Active;
        known.invoices = vec![paid.clone()];
    });
    world.work().await;
    let lease = world.read(order.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(lease.attention, []);
}
