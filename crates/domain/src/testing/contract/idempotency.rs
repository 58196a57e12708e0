//! Answers to requests that may be repeated.

use chrono::TimeDelta;

use super::shop::Shop;
use crate::access::Mode;
use crate::ports::{Database, IdempotencyKey, StoredAnswer};

/// The store of answers. That one at a time works on a key is a clause of
/// [`concurrent_units`](super::concurrent_units).
///
/// # Panics
/// With the clause that is broken.
pub async fn idempotency(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let neighbour = shop.neighbour().await;
    let start = shop.make.tick();
    let hours = |hours| {
        start
            .checked_add_signed(TimeDelta::hours(hours))
            .unwrap_or(start)
    };
    let key = IdempotencyKey {
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        path: "POST /v1/checkouts".to_owned(),
        key: "ключ-1".to_owned(),
    };
    let answer = |status, created_at| StoredAnswer {
        request_hash: [9; 32],
        status,
        body: br#"{"id":"chk_1","price":"1.10"}"#.to_vec(),
        is_existing: status == 200,
        is_final: false,
        created_at,
    };
    let find = async |key: &IdempotencyKey, since| {
        shop.seen("idempotency.find: reads", async |view| {
            view.idempotency().find(key, since).await
        })
        .await
    };
    let held = shop
        .done("idempotency.put: keeps an answer", async |uow| {
            let held = uow.idempotency().try_lock(&key).await?;
            uow.idempotency().put(&key, &answer(200, start)).await?;
            Ok(held)
        })
        .await;
    assert!(held, "idempotency.try_lock: a key that nobody holds is had");
    assert_eq!(
        find(&key, start).await,
        Some(answer(200, start)),
        "idempotency.find: byte for byte as it was kept, since its time"
    );
    assert_eq!(
        find(&key, hours(1)).await,
        None,
        "idempotency.find: not one that was kept before the time"
    );
    for other in [
        IdempotencyKey {
            organization_id: neighbour.organization.id,
            ..key.clone()
        },
        IdempotencyKey {
            mode: Mode::Live,
            ..key.clone()
        },
        IdempotencyKey {
            path: "POST /v1/products".to_owned(),
            ..key.clone()
        },
        IdempotencyKey {
            key: "ключ-2".to_owned(),
            ..key.clone()
        },
    ] {
        assert_eq!(
            find(&other, start).await,
            None,
            "idempotency.find: organization, mode, path and key decide"
        );
    }
    let mut replaced = answer(400, hours(2));
    replaced.is_final = true;
    replaced.body = vec![0, 255, 10];
    let fresh = IdempotencyKey {
        key: "fresh".to_owned(),
        ..key.clone()
    };
    shop.done("idempotency.put: keeps an answer", async |uow| {
        uow.idempotency().put(&key, &replaced).await?;
        uow.idempotency().put(&fresh, &answer(200, hours(9))).await
    })
    .await;
    assert_eq!(
        find(&key, start).await.as_ref(),
        Some(&replaced),
        "idempotency.put: in place of an older answer"
    );
    let purged = shop
        .done("idempotency.purge: forgets", async |uow| {
            uow.idempotency().purge(hours(9)).await
        })
        .await;
    assert!(
        purged >= 1,
        "idempotency.purge: tells how many it has forgotten"
    );
    assert_eq!(
        (find(&key, start).await, find(&fresh, start).await),
        (None, Some(answer(200, hours(9)))),
        "idempotency.purge: forgets what was kept before the time, and only that"
    );
}
