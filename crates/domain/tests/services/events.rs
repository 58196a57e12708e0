//! What happened: an event for each change, and none without.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use lessor_domain::access::{Mode, Permission, Permissions};
use lessor_domain::checkout::Lifecycle;
use lessor_domain::events::{EventSubject, EventType, NumberedEvent};
use lessor_domain::ids::{CheckoutPubId, IdRef};
use lessor_domain::ports::{EventFilter, EventListener, NewLeaseTerm, Scope};
use lessor_domain::services::checkouts::{CancelCheckout, scope_of};
use lessor_domain::services::events::{GetEvent, ListEvents, TellingDatabase, number};
use lessor_domain::services::lease_terms::DeleteLeaseTerm;
use lessor_domain::services::products::{DeleteProduct, ProductChanges, UpdateProduct};
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment};
use lessor_domain::services::variants::{UpdateVariant, VariantChanges};
use lessor_domain::services::{Error, UseCase};
use lessor_domain::testing::FakeRecords;

use crate::world::World;

/// Counts what it hears of each feed.
#[derive(Default)]
struct Ears(Mutex<BTreeMap<Mode, usize>>);

impl EventListener for Ears {
    fn written(&self, scope: Scope) {
        *self.0.lock().unwrap().entry(scope.mode).or_default() += 1;
    }
}

/// A world whose stores tell of what is changed.
async fn telling() -> (World, Arc<Ears>) {
    let mut world = World::new().await;
    let ears = Arc::new(Ears::default());
    world.stores = Arc::new(TellingDatabase::new(
        world.stores.clone(),
        world.clock.clone(),
        world.ids.clone(),
        Arc::new(FakeRecords),
        ears.clone(),
    ));
    (world, ears)
}

async fn run<U: UseCase>(world: &World, use_case: U) -> Result<U::Output, Error> {
    let mut uow = world.begin().await;
    let done = use_case.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(done)
}

/// What happened in the mode since the number.
async fn told(world: &World, mode: Mode, after: u64) -> Vec<NumberedEvent> {
    let scope = Scope {
        mode,
        ..scope_of(&world.access)
    };
    let (ids, clock) = (world.ids.as_ref(), world.clock.as_ref());
    number(world.stores.as_ref(), ids, clock, scope)
        .await
        .unwrap();
    let mut view = world.view().await;
    view.events()
        .list(scope, &EventFilter::default(), after, 1_000)
        .await
        .unwrap()
}

/// The types and how far the feed is.
async fn types_since(world: &World, mode: Mode, last: &mut u64) -> Vec<&'static str> {
    let events = told(world, mode, *last).await;
    *last = events.last().map_or(*last, |event| event.sequence);
    events
        .iter()
        .map(|event| event.event.event_type.as_str())
        .collect()
}

/// What happened to the checkout alone.
async fn of_checkout(world: &World, id: CheckoutPubId, last: &mut u64) -> Vec<&'static str> {
    let events = told(world, Mode::Sandbox, *last).await;
    *last = events.last().map_or(*last, |event| event.sequence);
    events
        .iter()
        .filter(|event| event.event.subject == EventSubject::Checkout(id))
        .map(|event| event.event.event_type.as_str())
        .collect()
}

fn renamed(world: &World, name: &str) -> UpdateProduct {
    UpdateProduct {
        id: world.product.id,
        changes: ProductChanges {
            name: Some(name.parse().unwrap()),
            ..ProductChanges::default()
        },
    }
}

#[tokio::test]
async fn what_both_modes_share_is_told_in_both_feeds() {
    let (world, ears) = telling().await;
    run(&world, renamed(&world, "Gravel bike")).await.unwrap();
    let mut ids = Vec::new();
    for mode in Mode::ALL {
        let events = told(&world, mode, 0).await;
        let [event] = events.as_slice() else {
            panic!("one event: {events:?}");
        };
        assert_eq!(event.sequence, 1);
        let event = &event.event;
        assert_eq!(event.event_type, EventType::ProductUpdated);
        assert_eq!(event.subject, EventSubject::Product(world.product.id));
        assert_eq!(event.customer, None);
        let contents = event.contents.as_ref().unwrap();
        assert!(contents.object.contains("Gravel bike"), "{contents:?}");
        let previous = contents.previous.as_ref().unwrap();
        assert!(previous.contains("Road bike"), "{contents:?}");
        ids.push(event.id);
        assert_eq!(ears.0.lock().unwrap()[&mode], 1);
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn what_changes_nothing_and_what_is_not_committed_is_no_event() {
    let (world, ears) = telling().await;
    // The name that it has.
    run(&world, renamed(&world, "Road bike")).await.unwrap();
    let mut uow = world.begin().await;
    renamed(&world, "Gravel bike")
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.roll_back().await.unwrap();
    let mut uow = world.begin().await;
    renamed(&world, "Gravel bike")
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    drop(uow);
    // A version that nobody sees.
    let mut uow = world.begin().await;
    let (organization, id) = (world.organization.id, world.product.id);
    let product = uow.products().lock(organization, id).await.unwrap();
    uow.products().update(&mut product.unwrap()).await.unwrap();
    uow.commit().await.unwrap();
    for mode in Mode::ALL {
        assert_eq!(told(&world, mode, 0).await, []);
    }
    assert!(ears.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn several_writes_of_one_unit_are_one_event() {
    let (world, _) = telling().await;
    let mut uow = world.begin().await;
    for name in ["Gravel bike", "City bike", "Trail bike"] {
        renamed(&world, name)
            .run(uow.as_mut(), &world.ctx())
            .await
            .unwrap();
    }
    uow.commit().await.unwrap();
    let events = told(&world, Mode::Live, 0).await;
    let [event] = events.as_slice() else {
        panic!("one event: {events:?}");
    };
    let contents = event.event.contents.as_ref().unwrap();
    assert!(contents.object.contains("Trail bike"), "{contents:?}");
    let previous = contents.previous.as_ref().unwrap();
    assert!(previous.contains("Road bike"), "{contents:?}");
}

#[tokio::test]
async fn an_event_names_the_request_that_it_happened_by() {
    let (world, _) = telling().await;
    let mut uow = world.begin().await;
    uow.asked_by("req_1");
    renamed(&world, "Gravel bike")
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
    run(&world, renamed(&world, "City bike")).await.unwrap();
    let events = told(&world, Mode::Live, 0).await;
    let by: Vec<Option<&str>> = events
        .iter()
        .map(|event| event.event.request_id.as_deref())
        .collect();
    assert_eq!(by, [Some("req_1"), None]);
}

#[tokio::test]
async fn stock_is_told_in_its_mode() {
    let (world, _) = telling().await;
    let mut last = 0;
    for (quantity, told) in [
        (2, "product_variant.updated"),
        (0, "product_variant.out_of_stock"),
        (1, "product_variant.back_in_stock"),
    ] {
        world.set_stock(quantity).await;
        let types = types_since(&world, Mode::Sandbox, &mut last).await;
        assert_eq!(types, [told]);
    }
    assert_eq!(told(&world, Mode::Live, 0).await, []);
    // Whatever else changes is told in both, with the stock of each.
    let update = UpdateVariant {
        id: world.variant.id,
        changes: VariantChanges {
            name: Some("Gravel bike".parse().unwrap()),
            ..VariantChanges::default()
        },
    };
    run(&world, update).await.unwrap();
    for (mode, stock) in [(Mode::Live, "Untracked"), (Mode::Sandbox, "Tracked(1)")] {
        let events = told(&world, mode, 0).await;
        let event = &events.last().unwrap().event;
        assert_eq!(event.event_type, EventType::ProductVariantUpdated);
        let contents = event.contents.as_ref().unwrap();
        assert!(contents.object.contains(stock), "{contents:?}");
    }
}

#[tokio::test]
async fn what_goes_with_a_product_is_told_as_well() {
    let (world, _) = telling().await;
    let own = world.fixtures.lease_term(&world.organization).months(18);
    let own = NewLeaseTerm {
        product_id: Some(world.product.id),
        ..own.new_record()
    };
    let mut uow = world.begin().await;
    let term = uow.lease_terms().insert(&own).await.unwrap();
    uow.commit().await.unwrap();
    let other = DeleteLeaseTerm {
        id: IdRef::Public(term.id),
    };
    let mut last = 0;
    assert_eq!(
        types_since(&world, Mode::Live, &mut last).await,
        ["lease_term.created"]
    );
    let product = world.product.id;
    run(&world, DeleteProduct { id: product }).await.unwrap();
    let events = told(&world, Mode::Live, last).await;
    let mut subjects: Vec<(EventType, EventSubject)> = events
        .iter()
        .map(|event| (event.event.event_type, event.event.subject))
        .collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        [
            (EventType::ProductDeleted, EventSubject::Product(product)),
            (
                EventType::ProductVariantDeleted,
                EventSubject::ProductVariant(world.variant.id)
            ),
            (
                EventType::LeaseTermDeleted,
                EventSubject::LeaseTerm(term.id)
            ),
        ]
    );
    for event in &events {
        let contents = event.event.contents.as_ref().unwrap();
        assert!(!contents.object.is_empty());
        assert_eq!(contents.previous, None);
    }
    let gone = run(&world, other).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_lease_is_told_from_its_order_to_its_return() {
    let (world, _) = telling().await;
    let mut last = 0;
    let order = world.order("ada@example.com").await;
    let types = types_since(&world, Mode::Sandbox, &mut last).await;
    assert_eq!(types, ["customer.created", "checkout.created"]);
    let id = order.id;
    let mut all = Vec::new();
    let order = world
        .advance(&order, Lifecycle::RecurringPaymentMethodPending)
        .await;
    all.extend(of_checkout(&world, id, &mut last).await);
    for wanted in [
        "checkout.updated",
        "checkout.qualified",
        "checkout.deposit_authorized",
    ] {
        assert!(all.contains(&wanted), "{wanted}: {all:?}");
    }
    world.advance(&order, Lifecycle::OrderConfirmed).await;
    let signed = of_checkout(&world, id, &mut last).await;
    let named: Vec<&str> = signed
        .into_iter()
        .filter(|name| *name != "checkout.updated")
        .collect();
    assert_eq!(
        named,
        [
            "checkout.documents_ready",
            "checkout.documents_signed",
            "checkout.deposit_paid",
            "checkout.order_confirmed",
        ]
    );
    let fulfill = FulfillCheckout {
        id,
        fulfillment: Fulfillment::default(),
    };
    run(&world, fulfill).await.unwrap();
    assert_eq!(
        of_checkout(&world, id, &mut last).await,
        ["checkout.fulfilled"],
        "without a tracking number it is not told as shipped"
    );
    world.work().await;
    let active = of_checkout(&world, id, &mut last).await;
    assert!(active.contains(&"checkout.completed"), "{active:?}");
    let order = world.read(id).await;
    let order = world.advance(&order, Lifecycle::ReturnPending).await;
    let begun = of_checkout(&world, id, &mut last).await;
    assert!(begun.contains(&"checkout.return_initiated"), "{begun:?}");
    world.advance(&order, Lifecycle::Returned).await;
    world.work().await;
    let returned = of_checkout(&world, id, &mut last).await;
    assert_eq!(returned.first(), Some(&"checkout.returned"), "{returned:?}");
    assert!(
        returned.contains(&"checkout.deposit_refunded"),
        "{returned:?}"
    );
    // Of each the feed shows what it was like then, and whose it is.
    for event in told(&world, Mode::Sandbox, 0).await {
        let event = &event.event;
        if let EventSubject::Checkout(_) = event.subject {
            assert_eq!(event.customer, Some(order.customer_id));
            assert!(event.contents.is_some());
        }
    }
    assert_eq!(told(&world, Mode::Live, 0).await, []);
}

#[tokio::test]
async fn what_goes_wrong_and_what_is_let_go_is_told() {
    let (world, _) = telling().await;
    world.set_stock(1).await;
    let mut last = 0;
    let first = world.order("a@example.com").await;
    let second = world.order("b@example.com").await;
    told(&world, Mode::Sandbox, 0).await;
    types_since(&world, Mode::Sandbox, &mut last).await;
    let first = world.advance(&first, Lifecycle::DepositPending).await;
    types_since(&world, Mode::Sandbox, &mut last).await;
    let first = world
        .advance(&first, Lifecycle::RecurringPaymentMethodPending)
        .await;
    let types = types_since(&world, Mode::Sandbox, &mut last).await;
    for wanted in [
        "checkout.deposit_authorized",
        "product_variant.out_of_stock",
    ] {
        assert!(types.contains(&wanted), "{wanted}: {types:?}");
    }
    // Who pays for what is gone waits, and goes on when it comes back.
    let second = world
        .advance(&second, Lifecycle::RecurringPaymentMethodPending)
        .await;
    let waits = of_checkout(&world, second.id, &mut last).await;
    for wanted in ["checkout.waitlisted", "checkout.deposit_authorized"] {
        assert!(waits.contains(&wanted), "{wanted}: {waits:?}");
    }
    let cancel = CancelCheckout {
        id: first.id,
        reason: None,
    };
    run(&world, cancel).await.unwrap();
    world.work().await;
    let events = told(&world, Mode::Sandbox, last).await;
    let of = |id| -> Vec<EventType> {
        events
            .iter()
            .filter(|event| event.event.subject == EventSubject::Checkout(id))
            .map(|event| event.event.event_type)
            .collect()
    };
    assert_eq!(
        of(first.id),
        [
            EventType::CheckoutCancelled,
            EventType::CheckoutDepositReleased
        ]
    );
    assert!(of(second.id).contains(&EventType::CheckoutPromoted));
}

#[tokio::test]
async fn a_key_reads_its_own_feed_with_the_permission() {
    let (mut world, _) = telling().await;
    run(&world, renamed(&world, "Gravel bike")).await.unwrap();
    let live = told(&world, Mode::Live, 0).await;
    let sandbox = told(&world, Mode::Sandbox, 0).await;
    let list = |after| ListEvents {
        types: Vec::new(),
        subject: None,
        after,
        limit: 10,
    };
    let seen = run(&world, list(None)).await.unwrap();
    assert_eq!(seen.items, sandbox);
    let (own, foreign) = (sandbox[0].event.id, live[0].event.id);
    assert_eq!(run(&world, list(Some(own))).await.unwrap().items, []);
    let refused = run(&world, list(Some(foreign))).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "startingAfter"),
        "{refused:?}"
    );
    let got = run(&world, GetEvent { id: own }).await.unwrap();
    assert_eq!(got, sandbox[0]);
    let refused = run(&world, GetEvent { id: foreign }).await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );
    world.access.permissions = Permissions::all()
        .iter()
        .filter(|permission| *permission != Permission::EventRead)
        .collect();
    let refused = run(&world, list(None)).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    let refused = run(&world, GetEvent { id: own }).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
}
