//! Who sees what of the audit.

use lessor_domain::access::{Access, Mode, Permission};
use lessor_domain::audit::AuditEvent;
use lessor_domain::ports::{AuditFilter, Page, Start};
use lessor_domain::services::audit::ListAudit;
use lessor_domain::services::{Context, Error, UseCase};

use super::{all, key};
use crate::world::World;

/// A page of what the holder of a key of the mode sees.
async fn listed(
    world: &World,
    mode: Mode,
    filter: AuditFilter,
    start: Start,
) -> Result<Vec<String>, Error> {
    let access = Access {
        mode,
        ..world.access.clone()
    };
    let ctx = Context {
        access: &access,
        ..world.ctx()
    };
    let page = Page { start, limit: 100 };
    let mut view = world.view().await;
    let slice = ListAudit {
        filter,
        page,
        is_long: false,
    }
    .run(view.as_mut(), &ctx)
    .await?;
    assert!(!slice.has_more);
    if start == Start::Offset(0) {
        assert_eq!(slice.total, Some(slice.items.len() as u64));
    }
    let name = |event: &AuditEvent| format!("{} {}", event.action, event.subject);
    Ok(slice.items.iter().map(name).collect())
}

/// A sandbox key sees its mode and the catalog, and nothing that the command line did; a live key sees
/// everything.
#[tokio::test]
async fn a_key_sees_its_mode_and_the_catalog() {
    let mut world = World::new().await;
    let sandbox = world.order("ada@example.com").await;
    let (key, ..) = key(&world, Mode::Sandbox).await;
    world.access.mode = Mode::Live;
    let live = world.order("ada@example.com").await;
    let (first, everything) = (Start::Offset(0), AuditFilter::default());
    let of_live = listed(&world, Mode::Live, everything.clone(), first).await;
    let of_sandbox = listed(&world, Mode::Sandbox, everything.clone(), first).await;
    let (of_live, of_sandbox) = (of_live.unwrap(), of_sandbox.unwrap());
    for (seen, by_live, by_sandbox) in [
        (format!("checkout.created {}", sandbox.id), true, true),
        (format!("checkout.created {}", live.id), true, false),
        (format!("product.created {}", world.product.id), true, true),
        (format!("key.created {key}"), true, false),
    ] {
        assert_eq!(of_live.contains(&seen), by_live, "{seen}");
        assert_eq!(of_sandbox.contains(&seen), by_sandbox, "{seen}");
    }
    let newest = format!("checkout.created {}", live.id);
    assert_eq!(of_live.first(), Some(&newest));

    let of_order = AuditFilter {
        subject: Some(live.id.into()),
        ..AuditFilter::default()
    };
    let found = listed(&world, Mode::Live, of_order, first).await;
    assert_eq!(found.unwrap(), [newest]);
    let by_operator = AuditFilter {
        actor: Some("cli:ada".to_owned()),
        ..AuditFilter::default()
    };
    let found = listed(&world, Mode::Live, by_operator.clone(), first).await;
    assert!(found.unwrap().contains(&format!("key.created {key}")));
    let found = listed(&world, Mode::Sandbox, by_operator, first).await;
    assert!(found.unwrap().is_empty());

    // A list goes on after what its reader sees, and after nothing else.
    let events = all(world.view().await.as_mut(), world.organization.id).await;
    let of_live_order = |event: &&AuditEvent| event.subject == live.id.into();
    let unseen = events.iter().find(of_live_order).unwrap().id;
    let after = Start::After(unseen.as_uuid());
    let rest = listed(&world, Mode::Live, everything.clone(), after).await;
    assert_eq!(rest.unwrap(), of_live[1..]);
    let refused = listed(&world, Mode::Sandbox, everything, after).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "startingAfter"),
        "{refused:?}"
    );
    world.access.permissions = [Permission::CustomerErase].into_iter().collect();
    let refused = listed(&world, Mode::Live, AuditFilter::default(), first).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
}
