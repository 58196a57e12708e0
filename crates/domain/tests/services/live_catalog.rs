//! Who writes an organization's catalog, once it has a live key and before.

use lessor_domain::access::{Access, Denied, KeyHash, KeyKind, Mode, Permission, Permissions};
use lessor_domain::catalog::{Inventory, ProductStatus};
use lessor_domain::ids::IdRef;
use lessor_domain::organization::Organization;
use lessor_domain::ports::KeyHolder;
use lessor_domain::services::categories::CreateCategory;
use lessor_domain::services::keys::{
    CreateKey, KeyUser, RollKey, create_key, revoke_key, roll_key,
};
use lessor_domain::services::organizations::{UpdateOrganization, update_organization};
use lessor_domain::services::products::{DeleteProduct, ProductChanges, UpdateProduct};
use lessor_domain::services::variants::{DeleteVariant, UpdateVariant, VariantChanges};
use lessor_domain::services::{Context, Error, Patch, UseCase};

use crate::world::World;

/// A new key of the world's organization.
async fn key(world: &World, mode: Mode, kind: KeyKind, number: u8) -> KeyHolder {
    let input = CreateKey {
        organization: IdRef::Public(world.organization.pub_id),
        user: KeyUser::Id(world.access.user_pub_id),
        kind,
        mode,
        permissions: match kind {
            KeyKind::Secret => Permissions::all(),
            KeyKind::Publishable => Permissions::default(),
        },
        name: None,
        expires_at: None,
        hash: KeyHash([number; 32]),
        hint: "a1B2".to_owned(),
    };
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.ctx().now);
    let made = create_key(uow.as_mut(), ids, now, &world.operator(), input).await;
    let (holder, _) = made.unwrap();
    uow.commit().await.unwrap();
    holder
}

async fn say(world: &World, said: Patch<bool>) {
    let update = UpdateOrganization {
        sandbox_writes_catalog: said,
        ..UpdateOrganization::default()
    };
    let named = IdRef::Public(world.organization.pub_id);
    let (ids, now) = (world.ids.as_ref(), world.ctx().now);
    let mut uow = world.begin_for_server().await;
    let operator = world.operator();
    let updated = update_organization(uow.as_mut(), ids, now, &operator, named, update).await;
    updated.unwrap();
    uow.commit().await.unwrap();
}

/// The organization as it is now.
async fn organization(world: &World) -> Organization {
    let mut view = world.view().await;
    let found = view.organizations().get(world.organization.id).await;
    found.unwrap().unwrap()
}

/// What a request with the key may do now.
async fn access(world: &World, holder: &KeyHolder) -> Access {
    let mut view = world.view().await;
    let found = view.keys().get(holder.key.id).await.unwrap().unwrap();
    found.access()
}

/// Whether a request with the key may write the catalog now.
async fn writes(world: &World, holder: &KeyHolder) -> bool {
    let access = access(world, holder).await;
    access.require(Permission::ProductWrite).is_ok()
}

#[tokio::test]
async fn the_first_live_key_of_any_kind_takes_the_catalog() {
    for kind in KeyKind::ALL {
        let world = World::new().await;
        let sandbox = key(&world, Mode::Sandbox, KeyKind::Secret, 1).await;
        assert!(sandbox.sandbox_writes_catalog);
        key(&world, Mode::Sandbox, KeyKind::Publishable, 2).await;
        assert_eq!(organization(&world).await.first_live_key_at, None);
        assert!(
            writes(&world, &sandbox).await,
            "there are sandbox keys only"
        );
        world.clock.advance(chrono::TimeDelta::minutes(1));
        let now = world.ctx().now;
        let live = key(&world, Mode::Live, *kind, 3).await;
        assert!(!live.sandbox_writes_catalog, "{kind}");
        let told = organization(&world).await;
        assert_eq!((told.first_live_key_at, told.updated_at), (Some(now), now));
        assert!(!writes(&world, &sandbox).await, "{kind}");
        // A second one changes nothing.
        world.clock.advance(chrono::TimeDelta::minutes(1));
        key(&world, Mode::Live, *kind, 4).await;
        assert_eq!(organization(&world).await, told);
    }
}

#[tokio::test]
async fn what_became_live_stays_so_unless_the_operator_says_otherwise() {
    let world = World::new().await;
    let sandbox = key(&world, Mode::Sandbox, KeyKind::Secret, 1).await;
    // Whatever there is or is not, what is said counts.
    say(&world, Patch::Set(false)).await;
    assert!(!writes(&world, &sandbox).await, "off, without a live key");
    say(&world, Patch::Clear).await;
    assert!(
        writes(&world, &sandbox).await,
        "as ever, without a live key"
    );
    let live = key(&world, Mode::Live, KeyKind::Secret, 2).await;
    assert!(writes(&world, &live).await);
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.ctx().now);
    revoke_key(uow.as_mut(), ids, now, &world.operator(), live.key.id)
        .await
        .unwrap();
    uow.commit().await.unwrap();
    assert!(
        !writes(&world, &sandbox).await,
        "the last live key is revoked"
    );
    say(&world, Patch::Set(true)).await;
    assert!(writes(&world, &sandbox).await, "on");
    say(&world, Patch::Keep).await;
    assert!(writes(&world, &sandbox).await, "not mentioned");
    say(&world, Patch::Clear).await;
    assert!(!writes(&world, &sandbox).await, "as ever, after a live key");
}

/// A live key that was there before anybody noted it is noted when it is rolled.
#[tokio::test]
async fn a_rolled_live_key_counts_too() {
    for mode in Mode::ALL {
        let world = World::new().await;
        let old = key(&world, mode, KeyKind::Secret, 1).await;
        let mut unnoted = organization(&world).await;
        unnoted.first_live_key_at = None;
        let (ids, now) = (world.ids.as_ref(), world.ctx().now);
        let mut uow = world.begin_for_server().await;
        uow.organizations().update(&mut unnoted).await.unwrap();
        let input = RollKey {
            id: old.key.id,
            overlap: std::time::Duration::ZERO,
            hash: KeyHash([2; 32]),
            hint: "a1B2".to_owned(),
        };
        let rolled = roll_key(uow.as_mut(), ids, now, &world.operator(), input).await;
        let rolled = rolled.unwrap();
        uow.commit().await.unwrap();
        let is_live = mode == Mode::Live;
        assert_eq!(rolled.sandbox_writes_catalog, !is_live);
        let noted = organization(&world).await.first_live_key_at;
        assert_eq!(noted, is_live.then_some(now));
    }
}

/// What comes of the use case for the holder of the key.
async fn ask<U: UseCase>(world: &World, access: &Access, asked: U) -> Result<U::Output, Error> {
    let ctx = Context {
        access,
        ..world.ctx()
    };
    asked.run(world.begin().await.as_mut(), &ctx).await
}

#[tokio::test]
async fn a_sandbox_key_sets_stock_and_nothing_else_of_a_live_catalog() {
    let world = World::new().await;
    let sandbox = key(&world, Mode::Sandbox, KeyKind::Secret, 1).await;
    key(&world, Mode::Live, KeyKind::Secret, 2).await;
    let sandbox = access(&world, &sandbox).await;
    let (product, variant) = (world.product.id, world.variant.id);
    let stock = VariantChanges {
        inventory: Some(Inventory::Tracked(3)),
        ..VariantChanges::default()
    };
    let updated = UpdateVariant {
        id: variant,
        changes: stock.clone(),
    };
    let done = ask(&world, &sandbox, updated.clone()).await;
    assert!(done.is_ok(), "{:?}", done.err());
    // The permission is asked for all the same.
    let without: Vec<Permission> = Permissions::all()
        .iter()
        .filter(|permission| *permission != Permission::ProductVariantWrite)
        .collect();
    let lacks = Access {
        permissions: without.into_iter().collect(),
        ..sandbox.clone()
    };
    let missing = Denied::Permission(Permission::ProductVariantWrite);
    match ask(&world, &lacks, updated).await {
        Err(Error::Forbidden(denied)) => assert_eq!(denied, missing),
        other => panic!("{other:?}"),
    }
    macro_rules! refused {
        ($($asked:expr,)*) => {$(
            match ask(&world, &sandbox, $asked).await {
                Err(Error::Forbidden(denied)) => {
                    assert_eq!(denied, Denied::LiveCatalog, "{}", stringify!($asked));
                }
                other => panic!("{}: {other:?}", stringify!($asked)),
            }
        )*};
    }
    let renamed = VariantChanges {
        name: "Other".parse().ok(),
        ..stock.clone()
    };
    let archived = VariantChanges {
        status: Some(ProductStatus::Archived),
        ..stock
    };
    refused! {
        UpdateVariant { id: variant, changes: renamed },
        UpdateVariant { id: variant, changes: archived },
        UpdateVariant { id: variant, changes: VariantChanges::default() },
        UpdateProduct { id: product, changes: ProductChanges::default() },
        CreateCategory { name: "Bikes".parse().unwrap() },
        DeleteVariant { id: variant },
        DeleteProduct { id: product },
    }
}
