//! Stock, waiting and going on: first come, first served.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{Lifecycle, WaitlistReason};
use lessor_domain::organization::NotServed;
use lessor_domain::quantity::Quantity;
use lessor_domain::services::checkouts::CancelCheckout;
use lessor_domain::services::organizations::{UpdateOrganization, update_organization};
use lessor_domain::services::products::{ProductChanges, UpdateProduct};
use lessor_domain::services::variants::{UpdateVariant, VariantChanges};
use lessor_domain::services::{Error, UseCase as _};

use lessor_domain::checkout::Checkout;
use lessor_domain::ids::CheckoutPubId;

use crate::world::World;

/// An order of so many.
async fn order_of(world: &World, email: &str, number: u32) -> Checkout {
    let quantity = Quantity::new(number).unwrap();
    let made = world.try_order(email, |input| input.quantity = quantity);
    made.await.unwrap().0
}

async fn cancel(world: &World, id: CheckoutPubId) {
    let mut uow = world.begin().await;
    CancelCheckout { id, reason: None }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
}

async fn states(world: &World, orders: &[&Checkout]) -> Vec<Lifecycle> {
    let mut states = Vec::new();
    for order in orders {
        states.push(world.read(order.id).await.lifecycle());
    }
    states
}

const FREED: Lifecycle = Lifecycle::IdentityRequired;
const WAITS: Lifecycle = Lifecycle::WaitlistedAfterProfile;
const PAID: Lifecycle = Lifecycle::RecurringPaymentMethodPending;
const WAITS_PAID: Lifecycle = Lifecycle::WaitlistedAfterDeposit;

#[tokio::test]
async fn several_are_taken_with_the_deposit_and_come_back_together() {
    let world = World::new().await;
    world.set_stock(5).await;
    let first = order_of(&world, "a@example.com", 3).await;
    let second = order_of(&world, "b@example.com", 3).await;
    assert_eq!(first.quantity().get(), 3);
    let ids: std::collections::BTreeSet<_> = first.items.iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), 3, "each unit has an id of its own");
    let first = world.advance(&first, PAID).await;
    assert!(first.holds_stock);
    assert_eq!(world.stock().await, Some(2));
    let second = world.advance(&second, PAID).await;
    assert_eq!(second.lifecycle(), WAITS_PAID, "three are not there");
    assert_eq!(world.stock().await, Some(2), "and none is taken");
    cancel(&world, first.id).await;
    world.work().await;
    assert_eq!(states(&world, &[&second]).await, [PAID]);
    assert_eq!(world.stock().await, Some(2));
}

#[tokio::test]
async fn who_asks_for_more_than_there_is_waits() {
    let world = World::new().await;
    world.set_stock(2).await;
    let three = order_of(&world, "a@example.com", 3).await;
    assert_eq!(three.lifecycle(), WAITS);
    // What is free is kept for the first in line.
    let one = order_of(&world, "b@example.com", 1).await;
    assert_eq!(one.lifecycle(), WAITS);
    world.set_stock(3).await;
    world.work().await;
    assert_eq!(states(&world, &[&three, &one]).await, [FREED, WAITS]);
    world.set_stock(4).await;
    world.work().await;
    assert_eq!(states(&world, &[&three, &one]).await, [FREED, FREED]);
}

/// Units that come one by one are kept for the first in line until there are enough, and what is left
/// over then goes to the next.
#[tokio::test]
async fn what_comes_bit_by_bit_is_kept_for_the_first() {
    let world = World::new().await;
    world.set_stock(0).await;
    let large = order_of(&world, "a@example.com", 3).await;
    let small = order_of(&world, "b@example.com", 1).await;
    let last = order_of(&world, "c@example.com", 2).await;
    let all = [&large, &small, &last];
    for stock in [1, 2] {
        world.set_stock(stock).await;
        world.work().await;
        assert_eq!(states(&world, &all).await, [WAITS; 3], "{stock}");
    }
    world.set_stock(4).await;
    world.work().await;
    assert_eq!(
        states(&world, &all).await,
        [FREED, FREED, WAITS],
        "the fourth was kept for nobody"
    );
    world.set_stock(6).await;
    world.work().await;
    assert_eq!(states(&world, &all).await, [FREED; 3]);
    world.assert_idle().await;
}

/// Who waits for much and leaves holds nobody up any more.
#[tokio::test]
async fn who_leaves_the_line_leaves_what_was_kept() {
    let world = World::new().await;
    world.set_stock(3).await;
    let large = order_of(&world, "a@example.com", 5).await;
    let two = order_of(&world, "b@example.com", 2).await;
    let one = order_of(&world, "c@example.com", 1).await;
    let late = order_of(&world, "d@example.com", 1).await;
    let rest = [&two, &one, &late];
    assert_eq!(states(&world, &rest).await, [WAITS; 3]);
    cancel(&world, large.id).await;
    world.work().await;
    assert_eq!(states(&world, &rest).await, [FREED, FREED, WAITS]);
    world.assert_idle().await;
}

/// A deposit that comes in takes nothing of what somebody with a deposit waits for.
#[tokio::test]
async fn no_deposit_overtakes_one_that_waits() {
    let world = World::new().await;
    world.set_stock(4).await;
    let large = order_of(&world, "a@example.com", 4).await;
    let holder = order_of(&world, "b@example.com", 1).await;
    let small = order_of(&world, "c@example.com", 1).await;
    let holder = world.advance(&holder, PAID).await;
    assert!(holder.holds_stock);
    let large = world.advance(&large, PAID).await;
    assert_eq!(large.lifecycle(), WAITS_PAID);
    let small = world.advance(&small, PAID).await;
    assert_eq!(small.lifecycle(), WAITS_PAID, "behind the one that waits");
    assert_eq!(world.stock().await, Some(3));
    cancel(&world, holder.id).await;
    world.work().await;
    assert_eq!(states(&world, &[&large, &small]).await, [PAID, WAITS_PAID]);
    assert_eq!(world.stock().await, Some(0));
    world.set_stock(1).await;
    world.work().await;
    assert_eq!(states(&world, &[&small]).await, [PAID]);
}

#[tokio::test]
async fn more_than_can_be_priced_is_refused() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let changes = VariantChanges {
        price: "20000000.00".parse().ok(),
        ..VariantChanges::default()
    };
    let id = world.variant.id;
    UpdateVariant { id, changes }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
    let made = world
        .try_order("a@example.com", |input| input.quantity = Quantity::MAX)
        .await;
    assert!(
        matches!(&made, Err(Error::Invalid { param, .. }) if param == "quantity"),
        "{made:?}"
    );
    let made = order_of(&world, "a@example.com", 49).await;
    assert_eq!(made.quantity().get(), 49);
}

#[tokio::test]
async fn without_stock_new_checkouts_wait_and_go_on_in_order() {
    let world = World::new().await;
    world.set_stock(0).await;
    let mut orders = Vec::new();
    for customer in ["a", "b", "c"] {
        let order = world.order(&format!("{customer}@example.com")).await;
        assert_eq!(order.lifecycle(), Lifecycle::WaitlistedAfterProfile);
        assert_eq!(
            order.waitlist.as_ref().unwrap().reason,
            WaitlistReason::Inventory
        );
        orders.push(order);
    }
    world.set_stock(2).await;
    world.work().await;
    let mut states = Vec::new();
    for order in &orders {
        states.push(world.read(order.id).await.lifecycle());
    }
    assert_eq!(
        states,
        [
            Lifecycle::IdentityRequired,
            Lifecycle::IdentityRequired,
            Lifecycle::WaitlistedAfterProfile
        ]
    );
    world.set_stock(3).await;
    world.work().await;
    assert_eq!(
        world.read(orders[2].id).await.lifecycle(),
        Lifecycle::IdentityRequired
    );
}

#[tokio::test]
async fn the_last_unit_goes_to_the_first_deposit_and_comes_back_on_cancel() {
    let world = World::new().await;
    world.set_stock(1).await;
    let first = world.order("a@example.com").await;
    let second = world.order("b@example.com").await;
    let first = world
        .advance(&first, Lifecycle::RecurringPaymentMethodPending)
        .await;
    assert!(first.holds_stock);
    let second = world
        .advance(&second, Lifecycle::RecurringPaymentMethodPending)
        .await;
    assert_eq!(second.lifecycle(), Lifecycle::WaitlistedAfterDeposit);
    let late = world.order("c@example.com").await;
    assert_eq!(late.lifecycle(), Lifecycle::WaitlistedAfterProfile);

    let mut uow = world.begin().await;
    CancelCheckout {
        id: first.id,
        reason: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    world.work().await;
    let second = world.read(second.id).await;
    assert_eq!(
        second.lifecycle(),
        Lifecycle::RecurringPaymentMethodPending,
        "a deposit goes before a later order"
    );
    assert!(second.holds_stock);
    assert_eq!(world.stock().await, Some(0));
    assert_eq!(
        world.read(late.id).await.lifecycle(),
        Lifecycle::WaitlistedAfterProfile
    );
}

#[tokio::test]
async fn switching_tracking_off_frees_everybody() {
    let world = World::new().await;
    world.set_stock(0).await;
    let a = world.order("a@example.com").await;
    let b = world.order("b@example.com").await;
    world.set_stock(-1).await;
    world.work().await;
    for order in [a, b] {
        assert_eq!(
            world.read(order.id).await.lifecycle(),
            Lifecycle::IdentityRequired
        );
    }
}

#[tokio::test]
async fn as_many_go_on_as_there_are_units_however_many_wait() {
    let world = World::new().await;
    world.set_stock(0).await;
    let mut orders = Vec::new();
    for customer in 0..251 {
        orders.push(world.order(&format!("{customer}@example.com")).await.id);
    }
    world.set_stock(250).await;
    world.work().await;
    let mut states = Vec::new();
    for order in &orders {
        states.push(world.read(*order).await.lifecycle());
    }
    let (last, freed) = states.split_last().unwrap();
    assert!(
        freed
            .iter()
            .all(|state| *state == Lifecycle::IdentityRequired),
        "first come, first served: {freed:?}"
    );
    assert_eq!(*last, Lifecycle::WaitlistedAfterProfile);
    world.assert_idle().await;
}

#[tokio::test]
async fn a_waitlisted_product_makes_wait_and_frees() {
    let world = World::new().await;
    let update = async |world: &World, is_waitlisted: bool| {
        let mut uow = world.begin().await;
        let update = ProductChanges {
            is_waitlisted: Some(is_waitlisted),
            ..ProductChanges::default()
        };
        UpdateProduct {
            id: world.product.id,
            changes: update,
        }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
        uow.commit().await.unwrap();
    };
    update(&world, true).await;
    let order = world.order("a@example.com").await;
    assert_eq!(order.lifecycle(), Lifecycle::WaitlistedAfterProfile);
    update(&world, false).await;
    world.work().await;
    assert_eq!(
        world.read(order.id).await.lifecycle(),
        Lifecycle::IdentityRequired
    );
}

/// A sandbox key takes, adds and frees nothing of what is real, and the other way round.
#[tokio::test]
async fn each_mode_has_its_own_stock_and_its_own_line() {
    for (mode, other) in [(Mode::Live, Mode::Sandbox), (Mode::Sandbox, Mode::Live)] {
        let mut world = World::new().await;
        world.access.mode = other;
        world.set_stock(0).await;
        let waiting = world.order("a@example.com").await;
        assert_eq!(waiting.lifecycle(), Lifecycle::WaitlistedAfterProfile);

        world.access.mode = mode;
        assert_eq!(world.stock().await, None, "it is not counted in this mode");
        let free = world.order("a@example.com").await;
        assert_eq!(free.lifecycle(), Lifecycle::Created);
        world.set_stock(0).await;
        let behind = world.order("b@example.com").await;
        assert_eq!(behind.lifecycle(), Lifecycle::WaitlistedAfterProfile);
        world.set_stock(5).await;
        world.work().await;
        let state = world.read(behind.id).await.lifecycle();
        assert_eq!(state, Lifecycle::IdentityRequired);
        let state = world.read(waiting.id).await.lifecycle();
        assert_eq!(
            state,
            Lifecycle::WaitlistedAfterProfile,
            "{mode} stock is none of {other} mode"
        );

        world.access.mode = other;
        assert_eq!(world.stock().await, Some(0));
        world.set_stock(1).await;
        world.work().await;
        let state = world.read(waiting.id).await.lifecycle();
        assert_eq!(state, Lifecycle::IdentityRequired);
        world.access.mode = mode;
        assert_eq!(world.stock().await, Some(5));
        world.assert_idle().await;
    }
}

/// Whether a product is offered is the same in both modes, whoever opens it.
#[tokio::test]
async fn what_is_offered_again_frees_in_both_modes() {
    let mut world = World::new().await;
    let update = async |world: &World, is_waitlisted: bool| {
        let mut uow = world.begin().await;
        let changes = VariantChanges {
            is_waitlisted: Some(is_waitlisted),
            ..VariantChanges::default()
        };
        let id = world.variant.id;
        UpdateVariant { id, changes }
            .run(uow.as_mut(), &world.ctx())
            .await
            .unwrap();
        uow.commit().await.unwrap();
    };
    update(&world, true).await;
    let mut orders = Vec::new();
    for mode in Mode::ALL {
        world.access.mode = mode;
        world.set_stock(1).await;
        for customer in ["a", "b"] {
            let order = world.order(&format!("{customer}@example.com")).await;
            assert_eq!(order.lifecycle(), Lifecycle::WaitlistedAfterProfile);
            orders.push(order.id);
        }
    }
    update(&world, false).await;
    world.work().await;
    let mut states = Vec::new();
    for order in orders {
        states.push(world.read(order).await.lifecycle());
    }
    // As many of each mode as it has units.
    let (freed, waits) = (
        Lifecycle::IdentityRequired,
        Lifecycle::WaitlistedAfterProfile,
    );
    assert_eq!(states, [freed, waits, freed, waits]);
}

/// A unit that a sandbox checkout gives back is not one that can be sold.
#[tokio::test]
async fn a_unit_goes_back_where_it_came_from() {
    let mut world = World::new().await;
    for mode in Mode::ALL {
        world.access.mode = mode;
        world.set_stock(1).await;
    }
    world.access.mode = Mode::Sandbox;
    let order = world.order("a@example.com").await;
    let order = world
        .advance(&order, Lifecycle::RecurringPaymentMethodPending)
        .await;
    assert!(order.holds_stock);
    let stock = async |world: &mut World| {
        let mut found = Vec::new();
        for mode in Mode::ALL {
            world.access.mode = mode;
            found.push(world.stock().await);
        }
        world.access.mode = Mode::Sandbox;
        found
    };
    assert_eq!(stock(&mut world).await, [Some(1), Some(0)]);
    let mut uow = world.begin().await;
    CancelCheckout {
        id: order.id,
        reason: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    assert_eq!(stock(&mut world).await, [Some(1), Some(1)]);
}

/// What is counted from now on is what is free; a unit that is with somebody is one more when it
/// comes back.
#[tokio::test]
async fn units_that_were_promised_before_anybody_counted_come_back() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    let order = world
        .advance(&order, Lifecycle::RecurringPaymentMethodPending)
        .await;
    world.set_stock(3).await;
    let mut uow = world.begin().await;
    CancelCheckout {
        id: order.id,
        reason: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    assert_eq!(world.stock().await, Some(4));
}

#[tokio::test]
async fn an_address_that_is_not_served_waits_for_the_area() {
    let world = World::new().await;
    let mut address = world.fixtures.address();
    address.country = "DE".parse().unwrap();
    let (order, _) = world
        .try_order("a@example.com", |input| {
            input.shipping_address = Some(address);
        })
        .await
        .unwrap();
    assert_eq!(order.lifecycle(), Lifecycle::WaitlistedLocation);
    let waitlist = order.waitlist.clone().unwrap();
    assert_eq!(
        (waitlist.reason, waitlist.reason_code),
        (WaitlistReason::Location, Some(NotServed::Country))
    );
    assert!(order.shipping.locked);
    let mut uow = world.begin_for_server().await;
    let update = UpdateOrganization {
        service_area: Some("US,DE".parse().unwrap()),
        ..UpdateOrganization::default()
    };
    let organization = lessor_domain::ids::IdRef::Public(world.organization.pub_id);
    update_organization(
        uow.as_mut(),
        world.ids.as_ref(),
        lessor_domain::ports::Clock::now(world.clock.as_ref()),
        &world.operator(),
        organization,
        update,
    )
    .await
    .unwrap();
    uow.commit().await.unwrap();
    assert_eq!(
        world.read(order.id).await.lifecycle(),
        Lifecycle::IdentityRequired
    );
}

#[tokio::test]
async fn an_order_id_is_used_once() {
    let world = World::new().await;
    world
        .try_order("a@example.com", |input| {
            input.external_order_id = Some("o-1".parse().unwrap());
        })
        .await
        .unwrap();
    let again = world
        .try_order("b@example.com", |input| {
            input.external_order_id = Some("o-1".parse().unwrap());
        })
        .await;
    assert!(
        matches!(&again, Err(Error::Taken { param, .. }) if param == "externalOrderId"),
        "{again:?}"
    );
}
