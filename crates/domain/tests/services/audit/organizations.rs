//! Who did what to an organization, its pickup locations and its keys.

use chrono::TimeDelta;
use lessor_domain::access::{KeyHash, Mode};
use lessor_domain::ids::IdRef;
use lessor_domain::ports::{Clock as _, Database as _};
use lessor_domain::services::keys::{RollKey, revoke_key, roll_key};
use lessor_domain::services::organizations::{
    CreateOrganization, UpdateOrganization, create_organization, update_organization,
};
use lessor_domain::services::pickup_locations::{
    CreatePickupLocation, UpdatePickupLocation, create_pickup_location, update_pickup_location,
};
use lessor_domain::services::{Error, Patch};

use super::{all, key, line, text, watched};
use crate::world::World;

#[tokio::test]
async fn of_organizations() {
    let world = World::new().await;
    let (id, named) = (
        world.organization.pub_id,
        IdRef::Public(world.organization.pub_id),
    );
    let update = UpdateOrganization {
        name: Some("Bikes and more".parse().unwrap()),
        discount: Some("5".parse().unwrap()),
        sandbox_writes_catalog: Patch::Set(true),
        ..UpdateOrganization::default()
    };
    let expected = format!(
        "organization.updated {id} organization: [discountPercentage=0 | name=Bikes | \
         sandboxWritesCatalogSetting=default] -> [discountPercentage=5 | name=Bikes and more | \
         sandboxWritesCatalogSetting=on]"
    );
    for expected in [vec![expected], Vec::new()] {
        let update = update.clone();
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            update_organization(uow, ctx.ids, ctx.now, ctx.origin, named, update).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }
}

/// A new organization's audit begins with itself.
#[tokio::test]
async fn of_new_organizations() {
    let world = World::new().await;
    let (ids, now, operator) = (world.ids.as_ref(), world.clock.now(), world.operator());
    let mut uow = world.begin_for_server().await;
    let input = CreateOrganization {
        name: "Elsewhere".parse().unwrap(),
        currency: "EUR".parse().unwrap(),
        discount: "0".parse().unwrap(),
        service_area: "DE".parse().unwrap(),
        requires_product_review: false,
        oftake_partner_id: None,
    };
    let made = create_organization(uow.as_mut(), ids, now, &operator, input).await;
    let made = made.unwrap();
    uow.commit().await.unwrap();
    let mut view = world.database.read(made.id.into()).await.unwrap();
    let events = all(view.as_mut(), made.id).await;
    assert!(events.iter().all(|event| event.origin == operator));
    let lines: Vec<String> = events.iter().map(line).collect();
    let expected = format!(
        "organization.created {} organization: [] -> [currency=EUR | discountPercentage=0 | name=Elsewhere | \
         offtakePartnerId=1 | requiresProductReview=false | sandboxWritesCatalog=true | \
         sandboxWritesCatalogSetting=default | serviceArea=DE]",
        made.pub_id
    );
    assert_eq!(lines[0], expected);
    let months: Vec<_> = events[1..]
        .iter()
        .map(|event| event.change.after.get("termInMonths").unwrap())
        .collect();
    assert_eq!(months, ["12", "24", "36"]);
}

#[tokio::test]
async fn of_pickup_locations() {
    let world = World::new().await;
    let organization_id = world.organization.id;
    let input = CreatePickupLocation {
        organization_id,
        name: "Market Street".parse().unwrap(),
        address: world.fixtures.address(),
    };
    let again = input.clone();
    let (made, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        create_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, input).await
    })
    .await;
    let id = made.unwrap().id;
    let expected = format!(
        "pickup_location.created {id} organization: [] -> [active=true | address.address1=1 Market St | \
         address.city=San Francisco | address.country=US | address.firstName=Ada | address.lastName=Lovelace | \
         address.state=CA | address.zip=94105 | name=Market Street]"
    );
    assert_eq!(lines, [expected]);
    let (refused, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        create_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, again).await
    })
    .await;
    assert!(matches!(refused, Err(Error::Taken { .. })), "{refused:?}");
    assert!(lines.is_empty(), "{lines:?}");

    let update = UpdatePickupLocation {
        organization_id,
        id,
        name: None,
        address: None,
        active: Some(false),
    };
    let expected =
        format!("pickup_location.updated {id} organization: [active=true] -> [active=false]");
    for expected in [vec![expected], Vec::new()] {
        let update = update.clone();
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            update_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, update).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn of_keys() {
    let world = World::new().await;
    let now = text(world.clock.now());
    let organization = world.organization.pub_id;
    let (live, user, lines) = key(&world, Mode::Live).await;
    // The first live key takes the catalog from the sandbox.
    let expected = [
        format!(
            "organization.updated {organization} organization: [sandboxWritesCatalog=true] -> [firstLiveKeyAt={now} | \
             sandboxWritesCatalog=false]"
        ),
        format!("customer.created {user} live: [] -> [email=shop@example.com]"),
        format!(
            "key.created {live} live: [] -> [hint=a1B2 | kind=secret | mode=live | name=Shop | \
             permissions=ProductRead | userPublicId={user}]"
        ),
    ];
    assert_eq!(lines, expected);

    let expected = format!("key.revoked {live} live: [] -> [revokedAt={now}]");
    for expected in [vec![expected], Vec::new()] {
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            revoke_key(uow, ctx.ids, ctx.now, ctx.origin, live).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }

    let (old, user, _) = key(&world, Mode::Sandbox).await;
    let roll = |id, number: u8| RollKey {
        id,
        overlap: std::time::Duration::from_secs(60),
        hash: KeyHash([number; 32]),
        hint: "c3D4".to_owned(),
    };
    let input = roll(old, 3);
    let (rolled, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        roll_key(uow, ctx.ids, ctx.now, ctx.origin, input).await
    })
    .await;
    let new = rolled.unwrap().key.id;
    let end = text(world.clock.now() + TimeDelta::seconds(60));
    let expected = [
        format!("key.rolled {old} sandbox: [] -> [expiresAt={end} | newKeyId={new}]"),
        format!(
            "key.created {new} sandbox: [] -> [hint=c3D4 | kind=secret | mode=sandbox | name=Shop | \
             permissions=ProductRead | userPublicId={user}]"
        ),
    ];
    assert_eq!(lines, expected);
    // A key that is revoked is not replaced.
    let input = roll(live, 4);
    let (refused, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        roll_key(uow, ctx.ids, ctx.now, ctx.origin, input).await
    })
    .await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    assert!(lines.is_empty(), "{lines:?}");
}
