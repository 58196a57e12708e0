//! How far long walks have come.

use super::shop::Shop;
use crate::ports::{Database, IdGenerator};

/// The store of cursors.
///
/// # Panics
/// With the clause that is broken.
pub async fn cursors(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let walk = |name: &str| format!("{name}-{}", shop.make.ids().next().simple());
    let (events, holds) = (walk("events"), walk("holds"));
    let position = async |walk: &str| {
        shop.seen_by_server("cursors.position: reads", async |view| {
            view.cursors().position(walk).await
        })
        .await
    };
    let set = async |walk: &str, position: &str| {
        shop.done_for_server("cursors.set_position: writes", async |uow| {
            uow.cursors().set_position(walk, position).await
        })
        .await;
    };
    assert_eq!(
        position(&events).await,
        None,
        "cursors.position: a walk that nobody began is nowhere"
    );
    set(&events, "evt_1").await;
    set(&holds, "pi_1").await;
    set(&events, "evt_2").await;
    assert_eq!(
        (position(&events).await, position(&holds).await),
        (Some("evt_2".to_owned()), Some("pi_1".to_owned())),
        "cursors.set_position: where each walk came last"
    );
    let dropped = shop
        .run_for_server(async |uow| {
            uow.cursors().set_position(&events, "evt_3").await?;
            Err::<(), _>(crate::ports::StoreError::Contended)
        })
        .await;
    assert!(dropped.is_err(), "unit of work: fails with its work");
    assert_eq!(
        position(&events).await.as_deref(),
        Some("evt_2"),
        "cursors.set_position: with the work that was done, or not at all"
    );
}
