//! Organizations and their pickup locations.

use super::shop::{Shop, must_be_missing, must_be_stale, must_conflict};
use crate::ids::IdRef;
use crate::ports::{Database, NewPickupLocation, UniqueField};

/// The store of organizations.
///
/// # Panics
/// With the clause that is broken.
pub async fn organizations(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let make = &shop.make;
    let new = make
        .organization()
        .name("Zoë's “Bikes”, 自転車")
        .currency("JPY")
        .serves("US-CA,US:941*,CA")
        .with(|it| {
            it.requires_product_review = true;
            it.discount = "12.5".parse().unwrap_or(it.discount);
        })
        .new_record();
    let kept = shop
        .done_for_server("organizations.insert: keeps an organization", async |uow| {
            uow.organizations().insert(&new).await
        })
        .await;
    assert_eq!(
        (
            kept.pub_id,
            &kept.name,
            kept.currency,
            kept.discount,
            &kept.service_area
        ),
        (
            new.pub_id,
            &new.name,
            new.currency,
            new.discount,
            &new.service_area
        ),
        "organizations.insert: answers what was given"
    );
    assert_eq!(
        (kept.created_at, kept.updated_at),
        (new.created_at, new.created_at),
        "organizations.insert: a new organization has changed when it was made"
    );
    assert_eq!(
        (kept.sandbox_writes_catalog, kept.first_live_key_at),
        (None, None),
        "organizations.insert: a new organization has no live key, and nobody said who writes its catalog"
    );
    let (by_number, by_public, by_get) = shop
        .seen_by_server("organizations.find: reads", async |view| {
            let store = view.organizations();
            Ok((
                store.find(IdRef::Number(kept.id)).await?,
                store.find(IdRef::Public(kept.pub_id)).await?,
                store.get(kept.id).await?,
            ))
        })
        .await;
    for found in [by_number, by_public, by_get] {
        assert_eq!(
            found.as_ref(),
            Some(&kept),
            "organizations: is found by either id as it was kept"
        );
    }
    let all = shop
        .seen_by_server("organizations.list: reads", async |view| {
            view.organizations().list().await
        })
        .await;
    let ours: Vec<_> = all
        .iter()
        .map(|organization| organization.id)
        .filter(|id| [shop.organization.id, kept.id].contains(id))
        .collect();
    assert_eq!(
        ours,
        [shop.organization.id, kept.id],
        "organizations.list: oldest first"
    );

    let mut changed = kept.clone();
    changed.service_area = "US".parse().unwrap_or_default();
    changed.first_live_key_at = Some(make.tick());
    // What was said is taken back in the end.
    for said in [Some(true), Some(false), None] {
        changed.sandbox_writes_catalog = said;
        changed.updated_at = make.tick();
        shop.done_for_server("organizations.update: writes", async |uow| {
            uow.organizations().update(&mut changed).await
        })
        .await;
        let stored = shop
            .done_for_server("organizations.lock: locks", async |uow| {
                uow.organizations().lock(kept.id).await
            })
            .await;
        assert_eq!(
            stored.as_ref(),
            Some(&changed),
            "organizations.update: what is stored is what the caller has then, version included"
        );
    }
    let mut stale = kept;
    let refused = shop
        .run_for_server(async |uow| uow.organizations().update(&mut stale).await)
        .await;
    must_be_stale(refused, "organizations.update: an older version");
    let mut unknown = make.organization().build();
    let refused = shop
        .run_for_server(async |uow| uow.organizations().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "organizations.update: an unknown one");
}

/// The store of pickup locations.
///
/// # Panics
/// With the clause that is broken.
pub async fn pickup_locations(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let neighbour = shop.neighbour().await;
    let name = |text: &str| match text.parse() {
        Ok(name) => name,
        Err(error) => panic!("{text} is a name: {error}"),
    };
    let new = |text: &str| NewPickupLocation {
        organization_id: shop.organization.id,
        name: name(text),
        address: shop.make.address(),
    };
    let insert = async |new: &NewPickupLocation| {
        shop.run(async |uow| uow.pickup_locations().insert(new).await)
            .await
    };
    let first = super::shop::must(
        insert(&new("Harbour")).await,
        "pickup_locations.insert: keeps a location",
    );
    let second = super::shop::must(
        insert(&new("Airport")).await,
        "pickup_locations.insert: keeps a location",
    );
    assert!(
        first.active,
        "pickup_locations.insert: a new location can be chosen"
    );
    let (found, foreign, list) = shop
        .seen("pickup_locations.get: reads", async |view| {
            let store = view.pickup_locations();
            Ok((
                store.get(shop.organization.id, first.id).await?,
                store.get(neighbour.organization.id, first.id).await?,
                store.list(shop.organization.id).await?,
            ))
        })
        .await;
    assert_eq!(
        found.as_ref(),
        Some(&first),
        "pickup_locations.get: as it was kept"
    );
    assert_eq!(
        foreign, None,
        "pickup_locations.get: not another organization's"
    );
    assert_eq!(
        list,
        [first.clone(), second],
        "pickup_locations.list: oldest first"
    );
    must_conflict(
        insert(&new("Harbour")).await,
        UniqueField::Name,
        "pickup_locations.insert: the name of an active location",
    );
    let mut closed = first;
    closed.active = false;
    shop.done("pickup_locations.update: writes", async |uow| {
        uow.pickup_locations().update(&closed).await
    })
    .await;
    let found = shop
        .seen("pickup_locations.get: reads", async |view| {
            view.pickup_locations()
                .get(shop.organization.id, closed.id)
                .await
        })
        .await;
    assert_eq!(
        found.as_ref(),
        Some(&closed),
        "pickup_locations.update: as it was written"
    );
    super::shop::must(
        insert(&new("Harbour")).await,
        "pickup_locations.insert: a closed location frees its name",
    );
    closed.id = match crate::ids::PickupLocationId::new(i64::MAX) {
        Ok(id) => id,
        Err(error) => panic!("the largest number is one: {error}"),
    };
    let refused = shop
        .run(async |uow| uow.pickup_locations().update(&closed).await)
        .await;
    must_be_missing(refused, "pickup_locations.update: an unknown one");
}
