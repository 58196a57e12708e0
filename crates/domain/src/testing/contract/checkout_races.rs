//! Checkouts that race.

use futures_util::future::join_all;

use super::shop::{Shop, must};
use crate::checkout::{Actor, Circumstances, Event, Facts, Lifecycle};
use crate::ports::{Database, InsertedCheckout, StoreError, UniqueField};

/// How many race.
const RACERS: usize = 6;

pub(super) async fn all(database: &dyn Database) {
    let shop = Shop::open(database).await;
    one_checkout_under_a_race(&shop).await;
    one_order_under_a_race(&shop).await;
    one_move_under_a_race(&shop).await;
}

async fn one_checkout_under_a_race(shop: &Shop<'_>) {
    let customer = shop.anybody().await;
    let variant = shop.any_variant().await;
    let racers: Vec<_> = (0..RACERS)
        .map(|_| shop.make.checkout(&customer, &variant).build())
        .collect();
    let inserted = join_all(racers.iter().map(async |checkout| {
        loop {
            let inserted = shop
                .run(async |uow| uow.checkouts().insert(checkout, &[]).await)
                .await;
            match inserted {
                Err(StoreError::Contended) => {}
                inserted => return must(inserted, "checkouts.insert: answers under a race"),
            }
        }
    }))
    .await;
    let winners: Vec<_> = racers
        .iter()
        .zip(&inserted)
        .filter(|(_, inserted)| **inserted == InsertedCheckout::New)
        .map(|(checkout, _)| checkout.id)
        .collect();
    let [winner] = winners.as_slice() else {
        panic!(
            "checkouts.insert: under a race there is one checkout, not {}",
            winners.len()
        );
    };
    for inserted in inserted {
        if let InsertedCheckout::Existing(existing) = inserted {
            assert_eq!(
                existing.id, *winner,
                "checkouts.insert: the losers of a race are answered the winner"
            );
        }
    }
}

async fn one_order_under_a_race(shop: &Shop<'_>) {
    let mut racers = Vec::new();
    for _ in 0..RACERS {
        let customer = shop.anybody().await;
        let variant = shop.any_variant().await;
        racers.push(
            shop.make
                .checkout(&customer, &variant)
                .order("raced")
                .build(),
        );
    }
    let kept = join_all(racers.iter().map(async |checkout| {
        loop {
            let inserted = shop
                .run(async |uow| uow.checkouts().insert(checkout, &[]).await)
                .await;
            match inserted {
                Err(StoreError::Contended) => {}
                Err(StoreError::Conflict(UniqueField::ExternalOrderId)) => return false,
                inserted => {
                    must(inserted, "checkouts.insert: answers under a race");
                    return true;
                }
            }
        }
    }))
    .await;
    assert_eq!(
        kept.iter().filter(|kept| **kept).count(),
        1,
        "checkouts.insert: under a race one checkout has the external order id"
    );
}

async fn one_move_under_a_race(shop: &Shop<'_>) {
    let start = shop
        .any_checkout(|checkout| checkout.at(Lifecycle::ReturnPending))
        .await;
    let by = Circumstances::new(shop.make.tick(), Actor::Operator);
    let race = async |event: Event| {
        let mut checkout = start.clone();
        let applied = match checkout.apply(event, &by, &Facts::NONE) {
            Ok(applied) => applied,
            Err(error) => panic!("the suite applies an event that is not possible: {error}"),
        };
        let written = shop
            .run(async |uow| {
                uow.checkouts().update(&mut checkout).await?;
                uow.checkouts()
                    .record(checkout.id, &applied.transitions)
                    .await
            })
            .await;
        match written {
            Ok(()) => Some(checkout.lifecycle()),
            Err(StoreError::Stale(_) | StoreError::Contended) => None,
            Err(error) => panic!("checkouts.update: of racing moves one wins, but: {error}"),
        }
    };
    let (cancelled, completed) =
        futures_util::future::join(race(Event::ReturnCancelled), race(Event::ReturnCompleted))
            .await;
    let (stored, history) = shop
        .seen("checkouts.get: reads", async |view| {
            Ok((
                view.checkouts().get(start.id).await?,
                view.checkouts().history(start.id).await?,
            ))
        })
        .await;
    let winners: Vec<_> = [cancelled, completed].into_iter().flatten().collect();
    assert_eq!(
        winners,
        stored
            .iter()
            .map(|checkout| checkout.lifecycle())
            .collect::<Vec<_>>(),
        "checkouts.update: of two racing moves exactly one wins, and is what is stored"
    );
    assert_eq!(
        history.len(),
        1,
        "checkouts.record: the move that lost is not in the history"
    );
}
