//! Checkouts: what is kept, what is unique, what is found and listed.

use super::shop::{Shop, must, must_be_missing, must_be_stale, must_conflict};
use super::{checkout_lists, checkout_queues, checkout_races, checkout_watches, full};
use crate::access::Mode;
use crate::checkout::{
    Actor, Billing, Checkout, Circumstances, Deposit, Event, Hold, Lifecycle, Standing, WayOut,
};
use crate::ids::CheckoutPubId;
use crate::ports::{Database, IdGenerator, InsertedCheckout, PageToken, UniqueField};
use crate::testing::altered;

/// The store of checkouts. How many of them somebody must look at in all is a clause of
/// [`doors`](super::doors()).
///
/// # Panics
/// With the clause that is broken.
pub async fn checkouts(database: &dyn Database) {
    let _turn = super::WATCHES.lock().await;
    let shop = Shop::open(database).await;
    checkouts_are_kept_as_they_are(&shop).await;
    checkouts_are_of_their_customers_mode(&shop).await;
    one_checkout_runs_for_an_intent(&shop).await;
    a_second_unit_is_ordered_beside_a_lease(&shop).await;
    external_orders_are_unique(&shop).await;
    checkouts_are_found(&shop).await;
    histories_grow(&shop).await;
    checkout_lists::all(database).await;
    checkout_queues::all(database).await;
    checkout_watches::all(database).await;
    checkout_races::all(database).await;
}

async fn stored(shop: &Shop<'_>, id: CheckoutPubId) -> Option<Checkout> {
    shop.seen("checkouts.get: reads", async |view| {
        view.checkouts().get(id).await
    })
    .await
}

async fn checkouts_are_kept_as_they_are(shop: &Shop<'_>) {
    let plain = shop.any_checkout(|checkout| checkout).await;
    let mut full = full::checkout(shop).await;
    for checkout in [&plain, &full] {
        assert_eq!(
            stored(shop, checkout.id).await.as_ref(),
            Some(checkout),
            "checkouts.get: as it was kept"
        );
    }
    assert_eq!(
        stored(shop, shop.make.id()).await,
        None,
        "checkouts.get: none of an unknown id"
    );
    let mut stale = full.clone();
    let emptied = altered(&plain, |it| {
        it.id = full.id;
        it.items.clone_from(&full.items);
        for item in &mut it.items {
            item.serial_number = "WBK-0002".parse().ok();
        }
        (it.customer_id, it.user_id) = (full.customer_id, full.user_id);
        (it.product_id, it.variant_id) = (full.product_id, full.variant_id);
        (it.created_at, it.updated_at) = (full.created_at, shop.make.tick());
        it.page_nonce = full.page_nonce;
    });
    full = emptied;
    shop.done("checkouts.update: writes", async |uow| {
        uow.checkouts().update(&mut full).await
    })
    .await;
    assert_eq!(
        stored(shop, full.id).await.as_ref(),
        Some(&full),
        "checkouts.update: what is stored is what the caller has then, items, empty members and version included"
    );
    let locked = shop
        .done("checkouts.lock: locks", async |uow| {
            uow.checkouts().lock(full.id).await
        })
        .await;
    assert_eq!(
        locked.as_ref(),
        Some(&full),
        "checkouts.lock: reads the same"
    );
    let refused = shop
        .run(async |uow| uow.checkouts().update(&mut stale).await)
        .await;
    must_be_stale(refused, "checkouts.update: an older version");
    let mut unknown = altered(&plain, |it| it.id = shop.make.id());
    let refused = shop
        .run(async |uow| uow.checkouts().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "checkouts.update: an unknown one");
}

async fn checkouts_are_of_their_customers_mode(shop: &Shop<'_>) {
    let variant = shop.any_variant().await;
    for (mode, other) in [(Mode::Live, Mode::Sandbox), (Mode::Sandbox, Mode::Live)] {
        let customer = shop.anybody_in(mode).await;
        let checkout = shop.make.checkout(&customer, &variant);
        let stray = checkout.clone().with(|it| it.mode = other).build();
        let refused = shop
            .run(async |uow| uow.checkouts().insert(&stray, &[]).await)
            .await;
        must_be_missing(refused, "checkouts.insert: of a customer of the other mode");
        assert_eq!(
            shop.checkout(checkout).await.mode,
            mode,
            "checkouts.insert: of a customer of the mode"
        );
    }
}

async fn one_checkout_runs_for_an_intent(shop: &Shop<'_>) {
    let make = &shop.make;
    let customer = shop.anybody().await;
    let variant = shop.any_variant().await;
    let term = shop
        .term(make.lease_term(&shop.organization).months(24))
        .await;
    let other_term = shop
        .term(make.lease_term(&shop.organization).months(36))
        .await;
    let again = || make.checkout(&customer, &variant);
    let insert = async |checkout: Checkout| {
        shop.done("checkouts.insert: answers", async |uow| {
            uow.checkouts().insert(&checkout, &[]).await
        })
        .await
    };
    let mut open = shop.checkout(again().term(&term)).await;
    let existing = |checkout: &Checkout| InsertedCheckout::Existing(Box::new(checkout.clone()));
    assert_eq!(
        insert(again().term(&term).build()).await,
        existing(&open),
        "checkouts.insert: the running one of the same customer, variant and term is answered"
    );
    assert_eq!(
        insert(again().term(&other_term).build()).await,
        InsertedCheckout::New,
        "checkouts.insert: another term is another checkout"
    );
    let elsewhere = make.customer(&shop.organization).live();
    let elsewhere = elsewhere.email(customer.email.as_str());
    let elsewhere = shop.customer(elsewhere).await;
    assert_eq!(
        insert(make.checkout(&elsewhere, &variant).term(&term).build()).await,
        InsertedCheckout::New,
        "checkouts.insert: another mode is another checkout"
    );
    let undecided = shop.checkout(again()).await;
    assert_eq!(
        insert(again().build()).await,
        existing(&undecided),
        "checkouts.insert: two checkouts without a term are the same"
    );
    let find = async |term| {
        shop.seen("checkouts.find_open: reads", async |view| {
            view.checkouts()
                .find_open(shop.sandbox(), customer.id, variant.id, term)
                .await
        })
        .await
    };
    assert_eq!(
        (find(Some(term.id)).await, find(None).await),
        (Some(open.clone()), Some(undecided.clone())),
        "checkouts.find_open: by term, or by its absence"
    );
    let mut moved = altered(&undecided, |it| it.term = open.term);
    must_conflict(
        shop.run(async |uow| uow.checkouts().update(&mut moved).await)
            .await,
        UniqueField::OpenCheckout,
        "checkouts.update: a term that another running checkout has",
    );

    let by = Circumstances::new(make.tick(), Actor::Operator);
    shop.apply(&mut open, Event::Cancelled { reason: None }, &by)
        .await;
    assert_eq!(
        find(Some(term.id)).await,
        None,
        "checkouts.find_open: not one that has ended"
    );
    assert_eq!(
        insert(again().term(&term).build()).await,
        InsertedCheckout::New,
        "checkouts.insert: after the end of one, the customer may have another"
    );
    let rewritten = shop
        .run(async |uow| uow.checkouts().update(&mut open).await)
        .await;
    must(
        rewritten,
        "checkouts.update: one that has ended is in nobody's way",
    );
}

/// A lease keeps nobody from another unit; what is no lease yet does, and so does its order.
async fn a_second_unit_is_ordered_beside_a_lease(shop: &Shop<'_>) {
    let make = &shop.make;
    let customer = shop.anybody().await;
    let variant = shop.any_variant().await;
    let term = shop
        .term(make.lease_term(&shop.organization).months(48))
        .await;
    let again = |order: &str| make.checkout(&customer, &variant).term(&term).order(order);
    let insert = async |checkout: Checkout| {
        shop.done("checkouts.insert: answers", async |uow| {
            uow.checkouts().insert(&checkout, &[]).await
        })
        .await
    };
    let existing = |checkout: &Checkout| InsertedCheckout::Existing(Box::new(checkout.clone()));
    let lease = shop
        .checkout(again("unit-1").at(Lifecycle::LeaseActive))
        .await;
    let find = async || {
        let found = shop
            .seen("checkouts.find_open: reads", async |view| {
                view.checkouts()
                    .find_open(shop.sandbox(), customer.id, variant.id, Some(term.id))
                    .await
            })
            .await;
        found.map(|checkout| checkout.id)
    };
    assert_eq!(
        find().await,
        Some(lease.id),
        "checkouts.find_open: a lease has not ended"
    );
    assert_eq!(
        insert(again("unit-1").build()).await,
        existing(&lease),
        "checkouts.insert: an order is one checkout, in whatever state"
    );
    let second = shop.checkout(again("unit-2")).await;
    assert_eq!(
        find().await,
        Some(second.id),
        "checkouts.find_open: what is no lease yet goes before the lease"
    );
    assert_eq!(
        insert(again("unit-3").build()).await,
        existing(&second),
        "checkouts.insert: one at a time is no lease yet"
    );
}

async fn external_orders_are_unique(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let mut first = shop
        .any_checkout(|checkout| checkout.order("order-1"))
        .await;
    let insert = async |builder: crate::testing::CheckoutBuilder| {
        let checkout = builder.build();
        shop.run(async |uow| uow.checkouts().insert(&checkout, &[]).await)
            .await
    };
    let another = async |mode| {
        let customer = shop.anybody_in(mode).await;
        let variant = shop.any_variant().await;
        shop.make.checkout(&customer, &variant)
    };
    must_conflict(
        insert(another(Mode::Sandbox).await.order("order-1")).await,
        UniqueField::ExternalOrderId,
        "checkouts.insert: an external order id of the organization and mode",
    );
    must(
        insert(another(Mode::Live).await.order("order-1")).await,
        "checkouts.insert: the other mode may have the external order id",
    );
    let other = shop.any_checkout(|checkout| checkout).await;
    let mut other = altered(&other, |it| {
        it.external_order_id.clone_from(&first.external_order_id);
    });
    must_conflict(
        shop.run(async |uow| uow.checkouts().update(&mut other).await)
            .await,
        UniqueField::ExternalOrderId,
        "checkouts.update: an external order id of the organization and mode",
    );
    let by = Circumstances::new(shop.make.tick(), Actor::Operator);
    shop.apply(&mut first, Event::Cancelled { reason: None }, &by)
        .await;
    must_conflict(
        insert(another(Mode::Sandbox).await.order("order-1")).await,
        UniqueField::ExternalOrderId,
        "checkouts.insert: an ended checkout keeps its external order id",
    );
    let has = async |scope, id: &str| {
        let id = full::parsed(id);
        let found = shop
            .seen("checkouts.find_by_external_order: reads", async |view| {
                view.checkouts().find_by_external_order(scope, &id).await
            })
            .await;
        found.map(|checkout| checkout.id)
    };
    assert_eq!(
        [
            has(shop.sandbox(), "order-1").await,
            has(shop.sandbox(), "order-2").await,
            has(neighbour.sandbox(), "order-1").await,
        ],
        [Some(first.id), None, None],
        "checkouts.find_by_external_order: within organization and mode, ended or not"
    );
}

/// Of two checkouts whose nonces are their ids, and for whose pages no token is kept.
async fn pages_open_to_their_tokens(shop: &Shop<'_>, id: CheckoutPubId, other: CheckoutPubId) {
    let nonce = id.as_uuid().into_bytes();
    let (before, kept) = ([7; 32], [[8; 32], [9; 32]]);
    shop.done("checkouts.set_page_tokens: writes", async |uow| {
        uow.checkouts().set_page_tokens(id, &[before]).await?;
        uow.checkouts().set_page_tokens(id, &kept).await?;
        uow.checkouts().set_page_tokens(other, &[before]).await
    })
    .await;
    let unproven = |hash| PageToken::Unproven { nonce, hash };
    for (token, opened, why) in [
        (PageToken::Proven { nonce }, Some(id), "by what is proven"),
        (unproven(kept[0]), Some(id), "by a token that is kept"),
        (unproven(kept[1]), Some(id), "by each that is kept"),
        (
            unproven(before),
            None,
            "not by one it had before, nor by another page's",
        ),
        (unproven([0; 32]), None, "not by one that nobody kept"),
        (
            PageToken::Proven {
                nonce: shop.make.id::<CheckoutPubId>().as_uuid().into_bytes(),
            },
            None,
            "not by a nonce of no page",
        ),
    ] {
        let found = shop
            .seen("checkouts.find_by_page_token: reads", async |view| {
                view.checkouts().find_by_page_token(&token).await
            })
            .await;
        assert_eq!(
            found.map(|checkout| checkout.id),
            opened,
            "checkouts.find_by_page_token: {why}"
        );
    }
    let (customer, variant) = (shop.anybody().await, shop.any_variant().await);
    let new = shop.make.checkout(&customer, &variant).build();
    shop.done("checkouts.insert: keeps a checkout", async |uow| {
        uow.checkouts().insert(&new, &kept).await
    })
    .await;
    for hash in kept {
        let token = PageToken::Unproven {
            nonce: new.page_nonce,
            hash,
        };
        let clause = "checkouts.insert: opens the page to the tokens that it is given";
        let found = shop
            .seen(clause, async |view| {
                view.checkouts().find_by_page_token(&token).await
            })
            .await;
        assert_eq!(found.map(|found| found.id), Some(new.id), "{clause}");
    }
}

/// Of a checkout whose customer's browser was sent nowhere.
async fn ways_out_are_noted_once(shop: &Shop<'_>, id: CheckoutPubId, other: CheckoutPubId) {
    let stored = async || {
        shop.seen("checkouts.get: reads", async |view| {
            view.checkouts().get(id).await
        })
        .await
    };
    let before = stored().await;
    let last = async || {
        shop.seen("checkouts.last_way_out: reads", async |view| {
            let checkouts = view.checkouts();
            Ok((
                checkouts.last_way_out(id).await?,
                checkouts.last_way_out(other).await?,
            ))
        })
        .await
    };
    assert_eq!(
        last().await,
        (None, None),
        "checkouts.last_way_out: none yet"
    );
    for (way, is_first) in [
        (WayOut::Success, true),
        (WayOut::Success, false),
        (WayOut::Cancel, true),
        (WayOut::Failure, true),
        (WayOut::Failure, false),
    ] {
        let noted = shop
            .done("checkouts.note_way_out: writes", async |uow| {
                uow.checkouts().note_way_out(id, way).await
            })
            .await;
        assert_eq!(
            noted, is_first,
            "checkouts.note_way_out: says whether it is another than the last ({way})"
        );
        assert_eq!(
            last().await,
            (Some(way), None),
            "checkouts.last_way_out: of the checkout alone"
        );
    }
    assert_eq!(
        stored().await,
        before,
        "checkouts.note_way_out: is no change of the checkout"
    );
}

async fn checkouts_are_found(shop: &Shop<'_>) {
    let make = &shop.make;
    let unique = make.ids().next().simple().to_string();
    let tracking = full::tracking(&unique);
    let customer = shop.anybody().await;
    let mut ours = Vec::new();
    for (lifecycle, index) in [
        (Lifecycle::Shipped, 0),
        (Lifecycle::LeaseActive, 1),
        (Lifecycle::Cancelled, 2),
    ] {
        let variant = shop.any_variant().await;
        let builder = make.checkout(&customer, &variant).at(lifecycle).with(|it| {
            it.page_nonce = it.id.as_uuid().into_bytes();
            it.shipment.tracking = Some(tracking.clone());
            it.deposit = Deposit::Captured {
                hold: Hold::new(format!("pi_{unique}_{index}"), it.created_at),
                invoice_id: format!("in_{unique}_{index}"),
                at: it.created_at,
            };
            it.recurring.billing = Billing::Active {
                requested_at: it.created_at,
                subscription_id: format!("sub_{unique}_{index}"),
                standing: Standing::Good,
            };
        });
        ours.push(shop.checkout(builder).await.id);
    }
    let [shipped, active, cancelled] = ours.as_slice() else {
        panic!("the suite made three checkouts");
    };
    pages_open_to_their_tokens(shop, *shipped, *active).await;
    ways_out_are_noted_once(shop, *shipped, *active).await;
    let (by_tracking, of_customer) = shop
        .seen("checkouts.find_by_tracking: reads", async |view| {
            let store = view.checkouts();
            Ok((
                store.find_by_tracking(&tracking).await?,
                store
                    .of_customer(
                        Mode::Sandbox,
                        customer.id,
                        &[Lifecycle::Cancelled, Lifecycle::Shipped],
                    )
                    .await?,
            ))
        })
        .await;
    assert_eq!(
        by_tracking,
        [*active, *shipped],
        "checkouts.find_by_tracking: those that have not ended, newest first"
    );
    assert_eq!(
        of_customer,
        [*shipped, *cancelled],
        "checkouts.of_customer: those in the states, oldest first"
    );
}

async fn histories_grow(shop: &Shop<'_>) {
    let mut checkout = shop.any_checkout(|checkout| checkout).await;
    for (event, actor) in [
        (Event::Opened, Actor::Customer),
        (Event::ProfileCompleted, Actor::Customer),
        (
            Event::Cancelled {
                reason: "too dear".parse().ok(),
            },
            Actor::Operator,
        ),
    ] {
        let mut by = Circumstances::new(shop.make.tick(), actor);
        by.reason = "because".parse().ok();
        shop.apply(&mut checkout, event, &by).await;
    }
    let history = shop
        .seen("checkouts.history: reads", async |view| {
            view.checkouts().history(checkout.id).await
        })
        .await;
    let steps: Vec<_> = history
        .iter()
        .map(|stamped| {
            let it = &stamped.transition;
            (stamped.sequence, it.from, it.to, it.actor)
        })
        .collect();
    assert_eq!(
        steps,
        [
            (
                1,
                Lifecycle::Created,
                Lifecycle::ProfilePending,
                Actor::Customer
            ),
            (
                2,
                Lifecycle::ProfilePending,
                Lifecycle::IdentityRequired,
                Actor::Customer
            ),
            (
                3,
                Lifecycle::IdentityRequired,
                Lifecycle::Cancelled,
                Actor::Operator
            ),
        ],
        "checkouts.history: what was recorded, oldest first, numbered from 1"
    );
    assert!(
        history
            .iter()
            .all(|stamped| stamped.transition.reason == "because".parse().ok()),
        "checkouts.history: with the reasons"
    );
    assert_eq!(
        stored(shop, checkout.id).await.as_ref(),
        Some(&checkout),
        "checkouts.record: changes nothing of the checkout itself"
    );
}
