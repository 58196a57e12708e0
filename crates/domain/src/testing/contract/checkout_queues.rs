//! Checkouts that wait for something: stock, a service area, time, a carrier.

use chrono::TimeDelta;

use super::full;
use super::shop::Shop;
use crate::access::Mode;
use crate::catalog::ProductVariant;
use crate::checkout::{Actor, Billing, Checkout, Circumstances, Deposit, Event, Hold, Lifecycle};
use crate::ids::CheckoutPubId;
use crate::ports::{Database, IdGenerator};
use crate::testing::altered;
use crate::time::Timestamp;

/// More than any suite makes.
const MANY: u32 = 10_000;

pub(super) async fn all(database: &dyn Database) {
    let shop = Shop::open(database).await;
    the_line_for_stock_is_in_order(&shop).await;
    the_line_for_a_location_is_in_order(&shop).await;
    untouched_checkouts_are_found(&shop).await;
    lapsing_deposits_are_found(&shop).await;
    billed_checkouts_are_walked(&shop).await;
    shipments_under_way_take_turns(&shop).await;
}

fn ids(checkouts: &[Checkout]) -> Vec<CheckoutPubId> {
    checkouts.iter().map(|checkout| checkout.id).collect()
}

/// Those of the found ones that the suite made, in the order found.
pub(super) fn ours(found: &[CheckoutPubId], made: &[&Checkout]) -> Vec<CheckoutPubId> {
    let is_ours = |id: &&CheckoutPubId| made.iter().any(|checkout| checkout.id == **id);
    found.iter().filter(is_ours).copied().collect()
}

async fn waiting_in(
    shop: &Shop<'_>,
    mode: Mode,
    variant: &ProductVariant,
    limit: u32,
) -> Vec<CheckoutPubId> {
    let found = shop
        .done("checkouts.lock_waiting_for_stock: locks", async |uow| {
            uow.checkouts()
                .lock_waiting_for_stock(variant.id, mode, limit)
                .await
        })
        .await;
    ids(&found)
}

async fn places(shop: &Shop<'_>, line: &[CheckoutPubId]) -> Vec<Option<u64>> {
    let mut places = Vec::new();
    for id in line {
        let place = shop
            .seen("checkouts.place_in_line: reads", async |view| {
                view.checkouts().place_in_line(*id).await
            })
            .await;
        places.push(place);
    }
    places
}

async fn waiting(shop: &Shop<'_>, variant: &ProductVariant, limit: u32) -> Vec<CheckoutPubId> {
    waiting_in(shop, Mode::Sandbox, variant, limit).await
}

async fn first_waiting(
    shop: &Shop<'_>,
    mode: Mode,
    variant: &ProductVariant,
) -> Option<(CheckoutPubId, u32)> {
    shop.seen("checkouts.first_waiting_for_stock: reads", async |view| {
        view.checkouts()
            .first_waiting_for_stock(variant.id, mode)
            .await
    })
    .await
    .map(|first| (first.id, first.quantity().get()))
}

fn authorized_without_stock(shop: &Shop<'_>, expires_at: Timestamp) -> Event {
    Event::DepositAuthorizedWithoutStock {
        hold: Some(Hold::new(
            format!("pi_{}", shop.make.ids().next()),
            expires_at,
        )),
        method: None,
    }
}

async fn the_line_for_stock_is_in_order(shop: &Shop<'_>) {
    let make = &shop.make;
    let variant = shop.any_variant().await;
    let other = shop.any_variant().await;
    let first = first_waiting(shop, Mode::Sandbox, &variant).await;
    assert_eq!(first, None, "checkouts.first_waiting_for_stock: of nobody");
    let of = async |variant: &ProductVariant, lifecycle| {
        let customer = shop.anybody().await;
        shop.checkout(make.checkout(&customer, variant).at(lifecycle))
            .await
    };
    // Made first, but begins to wait last of those with a deposit.
    let mut late = of(&variant, Lifecycle::DepositProcessing).await;
    let mut early = of(&variant, Lifecycle::DepositProcessing).await;
    let customer = shop.anybody().await;
    let first = make.checkout(&customer, &variant).quantity(3);
    let first = shop
        .checkout(first.at(Lifecycle::WaitlistedAfterProfile))
        .await;
    assert_eq!(
        first_waiting(shop, Mode::Sandbox, &variant).await,
        Some((first.id, 3)),
        "checkouts.first_waiting_for_stock: the first one, with all its items"
    );
    let second = of(&variant, Lifecycle::WaitlistedAfterProfile).await;
    of(&variant, Lifecycle::WaitlistedLocation).await;
    let gone = of(&variant, Lifecycle::Cancelled).await;
    let elsewhere = of(&other, Lifecycle::WaitlistedAfterProfile).await;
    let live = shop.anybody_in(Mode::Live).await;
    let live = make
        .checkout(&live, &variant)
        .at(Lifecycle::WaitlistedAfterProfile);
    let live = shop.checkout(live).await;
    for checkout in [&mut early, &mut late] {
        let at = make.tick();
        let event = authorized_without_stock(shop, at);
        let by = Circumstances::new(at, Actor::Provider);
        shop.apply(checkout, event, &by).await;
    }
    let line = [early.id, late.id, first.id, second.id];
    assert_eq!(
        waiting(shop, &variant, MANY).await,
        line,
        "checkouts.lock_waiting_for_stock: the variant's in the mode, those with a deposit first, then in the order in which they began to wait"
    );
    assert_eq!(
        first_waiting(shop, Mode::Sandbox, &variant).await,
        Some((early.id, 1)),
        "checkouts.first_waiting_for_stock: who waits with a deposit is before those without"
    );
    assert_eq!(
        first_waiting(shop, Mode::Live, &variant).await,
        Some((live.id, 1)),
        "checkouts.first_waiting_for_stock: each mode has a line of its own"
    );
    assert_eq!(
        places(shop, &line).await,
        [Some(1), Some(2), Some(3), Some(4)],
        "checkouts.place_in_line: as those go on that wait for the variant's stock"
    );
    assert_eq!(
        places(shop, &[live.id, elsewhere.id, gone.id]).await,
        [Some(1), Some(1), None],
        "checkouts.place_in_line: each mode and each variant has a line of its own, and who waits for nothing is in none"
    );
    assert_eq!(
        waiting_in(shop, Mode::Live, &variant, MANY).await,
        [live.id],
        "checkouts.lock_waiting_for_stock: each mode has a line of its own"
    );
    assert_eq!(
        waiting(shop, &variant, 3).await,
        line.get(..3).unwrap_or_default(),
        "checkouts.lock_waiting_for_stock: so many at the most"
    );
    // A change that is no move keeps the place.
    let mut touched = altered(&early, |it| it.updated_at = make.tick());
    shop.done("checkouts.update: writes", async |uow| {
        uow.checkouts().update(&mut touched).await
    })
    .await;
    assert_eq!(
        waiting(shop, &variant, MANY).await,
        line,
        "checkouts.lock_waiting_for_stock: a change that is no move keeps the place in the line"
    );
    let by = Circumstances::new(make.tick(), Actor::System);
    shop.apply(&mut touched, Event::AuthorizationLapsed, &by)
        .await;
    let again = [late.id, first.id, second.id, touched.id];
    assert_eq!(
        places(shop, &again).await,
        [Some(1), Some(2), Some(3), Some(4)],
        "checkouts.place_in_line: one whose deposit lapsed is behind those that began to wait before"
    );
    assert_eq!(
        waiting(shop, &variant, MANY).await,
        again,
        "checkouts.lock_waiting_for_stock: one whose deposit lapsed keeps the time at which it began to wait"
    );
}

async fn the_line_for_a_location_is_in_order(shop: &Shop<'_>) {
    let make = &shop.make;
    let organization = shop.organization.id;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(
            shop.any_checkout(|checkout| checkout.at(Lifecycle::WaitlistedLocation))
                .await,
        );
    }
    let next = async |after, limit| {
        shop.seen("checkouts.waiting_for_location: reads", async |view| {
            view.checkouts()
                .waiting_for_location(organization, after, limit)
                .await
        })
        .await
    };
    let found = next(None, MANY).await;
    let refs: Vec<_> = made.iter().collect();
    assert_eq!(
        ours(&found, &refs),
        ids(&made),
        "checkouts.waiting_for_location: in the order in which they began to wait"
    );
    // Others of the shop wait already.
    let standing = places(shop, &ids(&made)).await;
    let first = standing.first().copied().flatten().unwrap_or_default();
    let one_after_the_other: Vec<_> = (first..).take(made.len()).map(Some).collect();
    assert_eq!(
        standing, one_after_the_other,
        "checkouts.place_in_line: as those began to wait that wait for their location"
    );
    let [first, second, third] = made.as_mut_slice() else {
        panic!("the suite made three checkouts");
    };
    let by = Circumstances::new(make.tick(), Actor::System);
    shop.apply(first, Event::AreaWidened, &by).await;
    assert_eq!(
        (
            next(Some(first.id), MANY).await,
            next(Some(first.id), 1).await
        ),
        (vec![second.id, third.id], vec![second.id]),
        "checkouts.waiting_for_location: goes on after one that was freed meanwhile"
    );
    let neighbour = shop.neighbour().await;
    let foreign = neighbour
        .seen("checkouts.waiting_for_location: reads", async |view| {
            view.checkouts()
                .waiting_for_location(neighbour.organization.id, None, MANY)
                .await
        })
        .await;
    assert_eq!(
        foreign,
        [],
        "checkouts.waiting_for_location: not another organization's"
    );
}

async fn untouched_checkouts_are_found(shop: &Shop<'_>) {
    let start = shop.make.tick();
    let at = |days| {
        start
            .checked_sub_signed(TimeDelta::days(days))
            .unwrap_or(start)
    };
    let mut made = Vec::new();
    for (lifecycle, days) in [
        (Lifecycle::Created, 40),
        (Lifecycle::RecurringPaymentMethodPending, 50),
        (Lifecycle::WaitlistedAfterDeposit, 45),
        (Lifecycle::DepositFailed, 30),
        (Lifecycle::Created, 29),
        (Lifecycle::DocumentsPending, 60),
        (Lifecycle::OrderConfirmed, 60),
        (Lifecycle::LeaseActive, 60),
        (Lifecycle::Expired, 60),
    ] {
        let checkout = shop
            .any_checkout(|checkout| checkout.at(lifecycle).with(|it| it.acted_at = at(days)))
            .await;
        made.push(checkout);
    }
    let signed = shop
        .any_checkout(|checkout| {
            checkout.at(Lifecycle::DocumentsPending).with(|it| {
                it.acted_at = at(70);
                it.signed_at = Some(at(70));
            })
        })
        .await;
    made.push(signed);
    let refs: Vec<_> = made.iter().collect();
    let found = shop
        .seen("checkouts.untouched_since: reads", async |view| {
            view.checkouts().untouched_since(at(30), MANY).await
        })
        .await;
    let days: Vec<_> = ours(&found, &refs)
        .iter()
        .filter_map(|id| made.iter().find(|checkout| checkout.id == *id))
        .map(|checkout| start.signed_duration_since(checkout.acted_at).num_days())
        .collect();
    assert_eq!(
        days,
        [60, 50, 45, 40],
        "checkouts.untouched_since: those that expire and are not signed, left alone since before the time, longest ago first"
    );
    let one = shop
        .seen("checkouts.untouched_since: reads", async |view| {
            view.checkouts().untouched_since(at(30), 1).await
        })
        .await;
    assert_eq!(
        one.len(),
        1,
        "checkouts.untouched_since: so many at the most"
    );
}

async fn lapsing_deposits_are_found(shop: &Shop<'_>) {
    let start = shop.make.tick();
    let hours = |hours| {
        start
            .checked_add_signed(TimeDelta::hours(hours))
            .unwrap_or(start)
    };
    let mut made = Vec::new();
    for (lifecycle, lapses, captured) in [
        (Lifecycle::DocumentsPending, 20, false),
        (Lifecycle::WaitlistedAfterDeposit, 10, false),
        (Lifecycle::RecurringPaymentMethodPending, 24, false),
        (Lifecycle::OrderConfirmed, 10, true),
        (Lifecycle::Cancelled, 10, false),
    ] {
        let checkout = shop
            .any_checkout(|checkout| {
                checkout.at(lifecycle).with(|it| {
                    let hold = Hold::new(format!("pi_{}", it.id), hours(lapses));
                    it.deposit = if captured {
                        Deposit::Captured {
                            hold,
                            invoice_id: format!("in_{}", it.id),
                            at: start,
                        }
                    } else {
                        Deposit::Authorized { hold }
                    };
                })
            })
            .await;
        made.push(checkout);
    }
    let [documents, waitlisted, ..] = made.as_slice() else {
        panic!("the suite made five checkouts");
    };
    let refs: Vec<_> = made.iter().collect();
    let found = shop
        .seen("checkouts.lapsing_before: reads", async |view| {
            view.checkouts().lapsing_before(hours(24), None, MANY).await
        })
        .await;
    assert_eq!(
        ours(&found, &refs),
        [documents.id, waitlisted.id],
        "checkouts.lapsing_before: running, authorized, not captured, lapsing before the time, by id"
    );
    let mut walked = Vec::new();
    let mut after = None;
    loop {
        let page = shop
            .seen("checkouts.lapsing_before: reads", async |view| {
                view.checkouts().lapsing_before(hours(24), after, 1).await
            })
            .await;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        walked.extend(page);
    }
    assert_eq!(
        ours(&walked, &refs),
        [documents.id, waitlisted.id],
        "checkouts.lapsing_before: goes on after one"
    );
}

async fn billed_checkouts_are_walked(shop: &Shop<'_>) {
    let mut billed = Vec::new();
    for lifecycle in [
        Lifecycle::Shipped,
        Lifecycle::LeaseActive,
        Lifecycle::Cancelled,
    ] {
        let checkout = shop
            .any_checkout(|checkout| {
                checkout.at(lifecycle).with(|it| {
                    if it.recurring.billing == Billing::NotRequested {
                        it.recurring.billing = Billing::Requested { at: it.created_at };
                    }
                })
            })
            .await;
        billed.push(checkout);
    }
    let idle = shop.any_checkout(|it| it.at(Lifecycle::Shipped)).await;
    let live = shop
        .any_checkout_in(Mode::Live, |it| it.at(Lifecycle::LeaseActive))
        .await;
    let mut walked = Vec::new();
    let mut after = None;
    loop {
        let page = shop
            .seen("checkouts.billed: reads", async |view| {
                view.checkouts().billed(Mode::Sandbox, after, 2).await
            })
            .await;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        walked.extend(page);
    }
    let made: Vec<_> = billed.iter().chain([&idle, &live]).collect();
    assert_eq!(
        ours(&walked, &made),
        ids(&billed),
        "checkouts.billed: those of the mode whose subscription was asked for, ended ones too, by id"
    );
}

async fn shipments_under_way_take_turns(shop: &Shop<'_>) {
    let make = &shop.make;
    let ship = async |lifecycle, is_tracked: bool, is_delivered: bool| {
        let number = make.ids().next().simple().to_string();
        shop.any_checkout(|checkout| {
            checkout.at(lifecycle).with(|it| {
                it.shipment.shipped_at = Some(it.created_at);
                it.shipment.tracking = is_tracked.then(|| full::tracking(&number));
                it.shipment.delivered_at = is_delivered.then_some(it.created_at);
            })
        })
        .await
    };
    let first = ship(Lifecycle::Shipped, true, false).await;
    let stuck = ship(Lifecycle::FulfillmentException, true, false).await;
    let untracked = ship(Lifecycle::Shipped, false, false).await;
    let delivered = ship(Lifecycle::Shipped, true, true).await;
    let active = ship(Lifecycle::LeaseActive, true, false).await;
    let mut made = vec![&first, &stuck, &untracked, &delivered, &active];
    let ask = async || {
        shop.done("checkouts.under_way: answers", async |uow| {
            uow.checkouts().under_way(MANY).await
        })
        .await
    };
    let mut asked = ours(&ask().await, &made);
    asked.sort();
    let mut expected = [first.id, stuck.id];
    expected.sort();
    assert_eq!(
        asked, expected,
        "checkouts.under_way: tracked shipments that were not delivered, in an exception too"
    );
    let fresh = ship(Lifecycle::Shipped, true, false).await;
    made.push(&fresh);
    let asked = ours(&ask().await, &made);
    assert_eq!(
        asked.first(),
        Some(&fresh.id),
        "checkouts.under_way: those asked for longest ago first, those never asked for before all"
    );
}
