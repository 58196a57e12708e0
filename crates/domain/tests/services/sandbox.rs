//! Moving a sandbox checkout by hand: it ends where it was asked to, or stays.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lessor_domain::checkout::{Checkout, Lifecycle};
use lessor_domain::customer::Profile;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{Database, IdentityResult, Reach, StoreError, UnitOfWork};
use lessor_domain::services::Error;

use crate::world::World;

use Lifecycle::{
    AddendumsPending, Cancelled, CaptureFailed, Created, DepositFailed, DepositProcessing,
    DocumentsPending, Expired, FulfillmentException, IdentityFailed, IdentityProcessing,
    LeaseActive, OrderConfirmed, PickupLocationPending, QualificationFailed, QualificationPending,
    Returned, Shipped, ShippingAddressPending, WaitlistedAfterDeposit, WaitlistedAfterProfile,
    WaitlistedLocation,
};

/// What is known when the checkout is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// An e-mail address.
    Nothing,
    /// A whole profile of somebody who was verified and checked before, and where to ship.
    Everything,
}

async fn move_to(world: &World, checkout: &Checkout, to: Lifecycle) -> Result<Checkout, Error> {
    world.sandbox().move_to(&world.ctx(), checkout.id, to).await
}

/// A checkout in the state; none where what is known leads past it.
async fn at(world: &World, state: Lifecycle, known: Known) -> Option<Checkout> {
    let profile = match known {
        Known::Nothing => Profile::default(),
        Known::Everything => {
            let address = world.fixtures.address();
            Profile {
                first_name: "Ada".parse().ok(),
                last_name: "Lovelace".parse().ok(),
                address1: Some(address.address1),
                city: Some(address.city),
                state: address.state,
                zip: Some(address.zip),
                country: Some(address.country),
                ..Profile::default()
            }
        }
    };
    if known == Known::Everything {
        let (before, _) = world
            .try_order("ada@example.com", |input| {
                input.term = Some("24".parse().unwrap());
            })
            .await
            .unwrap();
        world.advance(&before, OrderConfirmed).await;
    }
    if state == WaitlistedAfterProfile {
        world.set_stock(0).await;
    }
    let (order, _) = world
        .try_order("ada@example.com", |input| {
            input.customer.as_mut().unwrap().profile = profile;
            let address = world.fixtures.address();
            if state == WaitlistedLocation {
                input.shipping_address = Some(lessor_domain::address::Address {
                    country: "DE".parse().unwrap(),
                    state: None,
                    zip: "10115".parse().unwrap(),
                    ..address
                });
            } else if known == Known::Everything {
                input.shipping_address = Some(address);
            }
        })
        .await
        .unwrap();
    let (through, aside) = match state {
        PickupLocationPending => (ShippingAddressPending, true),
        DepositFailed | WaitlistedAfterDeposit => (DepositProcessing, true),
        CaptureFailed => (DocumentsPending, true),
        AddendumsPending | FulfillmentException => (OrderConfirmed, true),
        Cancelled | Expired => (Created, true),
        IdentityFailed => (IdentityProcessing, true),
        QualificationFailed => (QualificationPending, true),
        Created | WaitlistedAfterProfile | WaitlistedLocation => (Created, false),
        Returned => (LeaseActive, true),
        on_the_way => (on_the_way, false),
    };
    let mut order = order;
    if through != Created {
        order = world.advance(&order, through).await;
    }
    if state == Returned {
        order = move_to(world, &order, Lifecycle::ReturnPending)
            .await
            .unwrap();
    }
    if aside && order.lifecycle() == through || state == Returned {
        order = move_to(world, &order, state).await.ok()?;
    }
    (order.lifecycle() == state).then_some(order)
}

/// The states that a refusal names.
fn named(message: &str) -> BTreeSet<String> {
    let Some((_, states)) = message.split_once("possible now: ") else {
        panic!("names nothing: {message}")
    };
    let states = states
        .split(", ")
        .filter(|state| !state.starts_with("none") && *state != "it has ended");
    states.map(str::to_owned).collect()
}

/// From every state to every state, whatever is known of the customer.
#[tokio::test]
async fn a_move_ends_where_it_was_asked_to_or_nothing_moves() {
    let mut reached = BTreeSet::new();
    for known in [Known::Nothing, Known::Everything] {
        for state in Lifecycle::ALL.iter().copied() {
            let mut possible = BTreeSet::new();
            let mut refusals = Vec::new();
            for target in Lifecycle::ALL.iter().copied().filter(|to| *to != state) {
                let world = World::new().await;
                let Some(order) = at(&world, state, known).await else {
                    continue;
                };
                reached.insert(state);
                let moved = move_to(&world, &order, target).await;
                let now = world.read(order.id).await.lifecycle();
                match moved {
                    Ok(moved) => {
                        assert_eq!(
                            (moved.lifecycle(), now),
                            (target, target),
                            "{known:?}: {state} to {target}"
                        );
                        possible.insert(target.as_str().to_owned());
                    }
                    Err(Error::Rule { message }) => {
                        assert_eq!(now, state, "{known:?}: {state} to {target}: {message}");
                        refusals.push(named(&message));
                    }
                    Err(other) => panic!("{known:?}: {state} to {target}: {other}"),
                }
                // No worker moves it on by itself either.
                world.work().await;
                let later = world.read(order.id).await.lifecycle();
                assert_eq!(later, now, "{known:?}: {state} to {target}, later");
            }
            for refusal in refusals {
                assert_eq!(refusal, possible, "{known:?}: what {state} names");
            }
        }
    }
    let untried: Vec<&Lifecycle> = Lifecycle::ALL
        .iter()
        .filter(|state| !reached.contains(state))
        .collect();
    assert_eq!(untried, Vec::<&Lifecycle>::new(), "every state was tried");
}

/// Nobody proves who they are in a test: a verifier that has not decided is played, and one that
/// has decided counts.
#[tokio::test]
async fn advance_plays_a_verifier_that_does_not_decide() {
    for (decided, end) in [
        (None, OrderConfirmed),
        (Some(IdentityResult::AwaitingCustomer), OrderConfirmed),
        (Some(IdentityResult::Processing), OrderConfirmed),
        (Some(IdentityResult::Verified), OrderConfirmed),
        (Some(IdentityResult::Refused), IdentityFailed),
    ] {
        let world = World::new().await;
        let order = world.order("ada@example.com").await;
        let order = world.advance(&order, Lifecycle::IdentityVerifying).await;
        if let Some(decided) = decided {
            let session = format!("vs_{}", order.id.as_uuid().simple());
            world.providers.identity.decide(&session, decided);
        }
        let order = world.advance(&order, OrderConfirmed).await;
        assert_eq!(order.lifecycle(), end, "{decided:?}");
    }
}

/// A database where somebody else advances the checkout to the same state just before it is opened
/// for the so-manieth time.
struct Overtaken {
    world: Arc<World>,
    checkout: CheckoutPubId,
    target: Lifecycle,
    openings: AtomicUsize,
    at: usize,
}

impl Overtaken {
    async fn open(&self) {
        if self.openings.fetch_add(1, Ordering::SeqCst) == self.at {
            let (world, id) = (&self.world, self.checkout);
            // Refused where it is there already.
            drop(world.sandbox().advance(&world.ctx(), id, self.target).await);
        }
    }
}

#[async_trait]
impl Database for Overtaken {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.open().await;
        self.world.database.begin(reach).await
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.open().await;
        self.world.database.read(reach).await
    }
}

#[tokio::test]
async fn two_who_advance_to_a_state_at_the_same_time_end_there() {
    for target in [DocumentsPending, OrderConfirmed, Shipped] {
        for at in 0.. {
            let world = Arc::new(World::new().await);
            let checkout = world.order("ada@example.com").await.id;
            let database = Arc::new(Overtaken {
                world: Arc::clone(&world),
                checkout,
                target,
                openings: AtomicUsize::new(0),
                at,
            });
            let mut sandbox = world.sandbox();
            sandbox.runner.database = Arc::<Overtaken>::clone(&database);
            let advanced = sandbox.advance(&world.ctx(), checkout, target).await;
            if database.openings.load(Ordering::SeqCst) <= at {
                assert!(at > 20, "it was opened only {at} times");
                break;
            }
            let state = world.read(checkout).await.lifecycle();
            assert_eq!(state, target, "overtaken at opening {at}: {advanced:?}");
        }
    }
}
