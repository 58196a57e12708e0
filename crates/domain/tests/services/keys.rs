//! Whom keys act as.

use std::time::Duration;

use lessor_domain::access::{KeyHash, KeyKind, Mode, Permissions};
use lessor_domain::customer::{Customer, Screening};
use lessor_domain::ids::IdRef;
use lessor_domain::metadata::Metadata;
use lessor_domain::ports::KeyHolder;
use lessor_domain::services::keys::{CreateKey, KeyUser, RollKey, create_key, roll_key};

use crate::world::World;

/// A key of the mode for the user.
async fn key(world: &World, mode: Mode, user: KeyUser) -> (KeyHolder, Customer) {
    let input = CreateKey {
        organization: IdRef::Public(world.organization.pub_id),
        user,
        kind: KeyKind::Secret,
        mode,
        permissions: Permissions::all(),
        name: None,
        expires_at: None,
        hash: KeyHash([8; 32]),
        hint: "a1B2".to_owned(),
    };
    let now = world.ctx().now;
    let mut uow = world.begin_for_server().await;
    let (ids, operator) = (world.ids.as_ref(), world.operator());
    let made = create_key(uow.as_mut(), ids, now, &operator, input).await;
    uow.commit().await.unwrap();
    made.unwrap()
}

fn address(text: &str) -> KeyUser {
    KeyUser::Email(text.parse().unwrap())
}

#[tokio::test]
async fn a_keys_user_is_of_its_mode() {
    let world = World::new().await;
    let somebody = world.fixtures.customer(&world.organization).build();
    let (order, _) = world
        .try_order("ada@example.com", |input| {
            input.customer.as_mut().unwrap().profile = somebody.profile.clone();
        })
        .await
        .unwrap();
    let played = order.customer_id;
    let (holder, real) = key(&world, Mode::Live, KeyUser::Id(played)).await;
    assert_ne!(real.id, played, "nobody is a customer of both modes");
    assert_eq!(
        (holder.user_pub_id, holder.key.user_id),
        (real.id, real.user_id)
    );
    assert_eq!((real.mode, holder.key.mode), (Mode::Live, Mode::Live));
    assert_eq!(real.email.as_str(), "ada@example.com");
    assert_eq!(real.profile, somebody.profile);
    // What was found out, and what the organization keeps, is not of this mode.
    assert_eq!(real.screening, Screening::default());
    assert_eq!(real.metadata, Metadata::default());

    for (mode, user, expected) in [
        (Mode::Live, KeyUser::Id(played), real.id),
        (Mode::Live, KeyUser::Id(real.id), real.id),
        (Mode::Live, address("Ada@Example.com"), real.id),
        (Mode::Sandbox, KeyUser::Id(real.id), played),
        (Mode::Sandbox, KeyUser::Id(played), played),
        (Mode::Sandbox, address("ADA@example.com"), played),
    ] {
        let (holder, user) = key(&world, mode, user).await;
        assert_eq!((holder.user_pub_id, user.id), (expected, expected));
        assert_eq!((holder.key.mode, user.mode), (mode, mode));
    }
}

#[tokio::test]
async fn an_address_is_another_user_in_each_mode() {
    let world = World::new().await;
    let (_, live) = key(&world, Mode::Live, address("shop@example.com")).await;
    let (_, sandbox) = key(&world, Mode::Sandbox, address("shop@example.com")).await;
    assert_ne!((live.id, live.user_id), (sandbox.id, sandbox.user_id));
}

#[tokio::test]
async fn a_rolled_key_keeps_its_user() {
    let world = World::new().await;
    for mode in Mode::ALL {
        let (old, user) = key(&world, mode, address("shop@example.com")).await;
        let now = world.ctx().now;
        let mut uow = world.begin_for_server().await;
        let input = RollKey {
            id: old.key.id,
            overlap: Duration::from_secs(60),
            hash: KeyHash([9; 32]),
            hint: "c3D4".to_owned(),
        };
        let (ids, operator) = (world.ids.as_ref(), world.operator());
        let new = roll_key(uow.as_mut(), ids, now, &operator, input)
            .await
            .unwrap();
        uow.commit().await.unwrap();
        assert_ne!(new.key.id, old.key.id);
        assert_eq!(
            (new.user_pub_id, new.key.user_id, new.key.mode),
            (user.id, user.user_id, mode)
        );
    }
}

#[tokio::test]
async fn what_a_keys_own_user_orders_is_of_the_keys_mode() {
    let mut world = World::new().await;
    for mode in Mode::ALL {
        let (holder, user) = key(&world, mode, address("shop@example.com")).await;
        world.access = holder.access();
        let (order, is_new) = world
            .try_order("nobody@example.com", |input| input.customer = None)
            .await
            .unwrap();
        assert!(is_new);
        assert_eq!(
            (order.mode, order.customer_id, order.user_id),
            (mode, user.id, user.user_id)
        );
    }
}
