//! API keys.

use chrono::TimeDelta;

use super::shop::{Shop, must_be_missing};
use crate::access::{ApiKey, KeyHash, Mode, Permission};
use crate::customer::Customer;
use crate::ports::{Database, KeyHolder, StoreError};

/// The store of API keys.
///
/// # Panics
/// With the clause that is broken.
pub async fn keys(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let make = &shop.make;
    let user = shop.anybody_in(Mode::Live).await;
    let tester = shop.anybody().await;
    let first = make
        .api_key(&user)
        .permissions(&[Permission::ProductRead, Permission::LeaseTermRead])
        .with(|it| {
            it.name = "Backoffice".parse().ok();
            it.expires_at = it.created_at.checked_add_signed(TimeDelta::days(90));
        })
        .build();
    let second = make.api_key(&tester).publishable().build();
    shop.done("keys.insert: keeps keys", async |uow| {
        uow.keys().insert(&first).await?;
        uow.keys().insert(&second).await
    })
    .await;
    let holder = |key: &ApiKey, user: &Customer| KeyHolder {
        key: key.clone(),
        organization_pub_id: shop.organization.pub_id,
        user_pub_id: user.id,
        sandbox_writes_catalog: true,
    };
    let (by_hash, by_id, unknown, list, everybodys) = shop
        .seen_by_server("keys.find_by_hash: reads", async |view| {
            let store = view.keys();
            Ok((
                store.find_by_hash(&first.hash).await?,
                store.get(second.id).await?,
                store.find_by_hash(&KeyHash([0; 32])).await?,
                store.list(Some(shop.organization.id)).await?,
                store.list(None).await?,
            ))
        })
        .await;
    assert_eq!(
        by_hash,
        Some(holder(&first, &user)),
        "keys.find_by_hash: as it was kept, with both public ids"
    );
    assert_eq!(
        by_id,
        Some(holder(&second, &tester)),
        "keys.get: as it was kept"
    );
    assert_eq!(unknown, None, "keys.find_by_hash: none of an unknown hash");
    assert_eq!(
        list,
        [holder(&second, &tester), holder(&first, &user)],
        "keys.list: the organization's, newest first"
    );
    assert!(
        list.iter().all(|holder| everybodys.contains(holder)),
        "keys.list: without an organization, every key"
    );
    let neighbour = shop.neighbour().await;
    let foreign = shop
        .seen_by_server("keys.list: reads", async |view| {
            view.keys().list(Some(neighbour.organization.id)).await
        })
        .await;
    assert_eq!(foreign, [], "keys.list: none of another organization");

    let revoked = make.tick();
    let used = make.tick();
    shop.done_for_server("keys.close: writes", async |uow| {
        uow.keys()
            .close(first.id, Some(revoked), first.expires_at)
            .await
    })
    .await;
    shop.done("keys.touch: writes", async |uow| {
        uow.keys().touch(second.id, used).await
    })
    .await;
    let (closed, touched, listed) = shop
        .seen_by_server("keys.get: reads", async |view| {
            Ok((
                view.keys().find_by_hash(&first.hash).await?,
                view.keys().get(second.id).await?,
                view.keys().list(Some(shop.organization.id)).await?,
            ))
        })
        .await;
    assert_eq!(
        closed.map(|holder| (holder.key.revoked_at, holder.key.expires_at)),
        Some((Some(revoked), first.expires_at)),
        "keys.find_by_hash: a revoked key is still found, with the times it was closed at"
    );
    for found in touched.iter().chain(listed.first()) {
        let noted = found.key.last_used_at;
        assert!(
            noted.is_some_and(|at| used.signed_duration_since(at).abs() <= TimeDelta::minutes(1)),
            "keys.touch: notes the use to the minute, not {noted:?}"
        );
    }
    let refused = shop
        .run_for_server(async |uow| uow.keys().close(make.id(), Some(revoked), None).await)
        .await;
    must_be_missing(refused, "keys.close: an unknown key");
    assert_eq!(
        (first.mode, second.mode),
        (Mode::Live, Mode::Sandbox),
        "the suite has a key of each mode"
    );
    let mut able = make.api_key(&tester).publishable().build();
    able.permissions = [Permission::ProductRead].into_iter().collect();
    let refused = shop.run(async |uow| uow.keys().insert(&able).await).await;
    assert!(
        matches!(refused, Err(StoreError::Internal(_))),
        "keys.insert: a publishable key has no permissions, {refused:?}"
    );
    follow_the_organization(&shop, &first).await;
}

/// However a key is looked for, what its organization lets sandbox keys do is as it is now.
async fn follow_the_organization(shop: &Shop<'_>, key: &ApiKey) {
    let mut organization = shop.organization.clone();
    let at = shop.make.tick();
    for (said, first_live_key_at, expected) in [
        (None, Some(at), false),
        (Some(true), Some(at), true),
        (Some(false), None, false),
        (None, None, true),
    ] {
        organization.sandbox_writes_catalog = said;
        organization.first_live_key_at = first_live_key_at;
        shop.done_for_server("organizations.update: writes", async |uow| {
            uow.organizations().update(&mut organization).await
        })
        .await;
        let (by_hash, by_id, list) = shop
            .seen_by_server("keys.find_by_hash: reads", async |view| {
                let store = view.keys();
                Ok((
                    store.find_by_hash(&key.hash).await?,
                    store.get(key.id).await?,
                    store.list(Some(key.organization_id)).await?,
                ))
            })
            .await;
        for found in by_hash.iter().chain(&by_id).chain(&list) {
            assert_eq!(
                found.sandbox_writes_catalog, expected,
                "keys: as the organization says now, {said:?} {first_live_key_at:?}"
            );
        }
        assert!(
            by_hash.is_some() && by_id.is_some(),
            "keys: found as before"
        );
    }
}
