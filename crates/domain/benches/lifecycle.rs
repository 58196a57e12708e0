//! What the lifecycle costs: `cargo bench -p lessor-domain --bench lifecycle`
//!
//! The allocation columns appear only for what allocates: a transition does not, an event that is
//! applied allocates the moves and effects that it answers.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops where its own data is wrong"
)]

use std::collections::BTreeMap;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use lessor_domain::checkout::{
    Actor, Checkout, Circumstances, Event, EventKind, Facts, Lifecycle, Tracking, transition,
};
use lessor_domain::shipments::{Carrier, TrackingNumber};
use lessor_domain::testing::Fixtures;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench]
fn one_transition(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        transition(
            black_box(Lifecycle::OrderConfirmed),
            black_box(EventKind::Fulfilled),
        )
    });
}

/// Every state with every event, so that no branch can be foreseen.
#[divan::bench]
fn transitions_of_all_pairs(bencher: Bencher<'_, '_>) {
    let pairs: Vec<(Lifecycle, EventKind)> = Lifecycle::ALL
        .iter()
        .flat_map(|state| EventKind::ALL.iter().map(|event| (*state, *event)))
        .collect();
    bencher
        .counter(ItemsCount::new(pairs.len()))
        .bench_local(|| {
            for (state, event) in &pairs {
                black_box(transition(black_box(*state), black_box(*event)));
            }
        });
}

fn checkout(at: Lifecycle) -> (Fixtures, Checkout) {
    let make = Fixtures::default();
    let organization = make.organization().build();
    let customer = make.customer(&organization).build();
    let product = make.product(&organization).build();
    let variant = make.variant(&product).build();
    let term = make.lease_term(&organization).build();
    let checkout = make.checkout(&customer, &variant).term(&term).at(at);
    (make, checkout.build())
}

fn bench_apply(bencher: Bencher<'_, '_>, at: Lifecycle, event: &Event, actor: Actor) {
    let (make, checkout) = checkout(at);
    let by = Circumstances::new(make.tick(), actor);
    bencher
        .with_inputs(|| (checkout.clone(), event.clone()))
        .bench_local_values(|(mut checkout, event)| {
            let applied = checkout.apply(event, black_box(&by), &Facts::NONE);
            (checkout, applied)
        });
}

#[divan::bench]
fn apply_a_fulfilment(bencher: Bencher<'_, '_>) {
    let tracking = Tracking {
        number: TrackingNumber::parse("1Z410E7W0392751591").unwrap(),
        carrier: Carrier::Ups,
    };
    bench_apply(
        bencher,
        Lifecycle::OrderConfirmed,
        &Event::Fulfilled {
            tracking: Some(tracking),
            serial_numbers: BTreeMap::new(),
        },
        Actor::Operator,
    );
}

#[divan::bench]
fn apply_a_cancel(bencher: Bencher<'_, '_>) {
    let cancelled = Event::Cancelled { reason: None };
    bench_apply(
        bencher,
        Lifecycle::DocumentsPending,
        &cancelled,
        Actor::Operator,
    );
}

#[divan::bench]
fn apply_what_was_applied_before(bencher: Bencher<'_, '_>) {
    bench_apply(
        bencher,
        Lifecycle::LeaseActive,
        &Event::Opened,
        Actor::Customer,
    );
}
