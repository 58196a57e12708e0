//! Who did what.

use std::net::IpAddr;

use super::full::parsed;
use super::shop::{Shop, after, first};
use crate::access::Mode;
use crate::audit::{
    AuditAction, AuditActor, AuditArea, AuditChange, AuditEvent, AuditMembers, AuditSubject,
    AuditViewer, Origin,
};
use crate::customer::Customer;
use crate::ids::{ApiKeyPubId, PickupLocationId, ProductPubId};
use crate::ports::{AuditFilter, Database, Erasure, Page, ReplacementAnswer};

/// The store of the audit.
///
/// # Panics
/// With the clause that is broken.
pub async fn audit(database: &dyn Database) {
    let shop = Shop::open(database).await;
    events_are_kept_as_they_are(&shop).await;
    what_is_kept_stays(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_newest_first(&shop).await;
    let shop = Shop::open(database).await;
    a_list_is_what_is_asked_for(&shop).await;
    let shop = Shop::open(database).await;
    a_viewer_sees_what_is_theirs(&shop).await;
    what_is_personal_goes_with_the_customer(&shop).await;
}

/// A key of a name, used from somewhere.
fn by_key(shop: &Shop<'_>) -> Origin {
    Origin {
        actor: AuditActor::Key {
            id: shop.make.id(),
            name: Some(parsed("Warehouse „Nord“")),
        },
        request_id: Some("req_0000000000000000000001".to_owned()),
        address: Some(parsed("2001:db8::7")),
    }
}

fn members(pairs: &[(&str, &str)]) -> AuditMembers {
    let mut members = AuditMembers::new();
    for (name, value) in pairs {
        members.set(name, value);
    }
    members
}

/// That a product of the organization was renamed.
fn renamed(shop: &Shop<'_>, origin: Origin, change: impl FnOnce(&mut AuditEvent)) -> AuditEvent {
    let mut event = AuditEvent {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        area: AuditArea::Catalog,
        at: shop.make.tick(),
        origin,
        action: AuditAction::ProductUpdated,
        subject: shop.make.id::<ProductPubId>().into(),
        change: AuditChange::between(
            members(&[("name", "Road bike")]),
            members(&[("name", "Fahrrad „Größe M“\n👩\u{200D}👧"), ("sku", "")]),
        ),
        customer: None,
    };
    change(&mut event);
    event
}

/// That the customer's profile was changed.
fn moved_house(shop: &Shop<'_>, origin: Origin, customer: &Customer) -> AuditEvent {
    renamed(shop, origin, |event| {
        event.area = customer.mode.into();
        event.action = AuditAction::CustomerUpdated;
        event.subject = customer.id.into();
        event.change = AuditChange::between(
            members(&[("city", "San Francisco")]),
            members(&[("city", "Nürnberg")]),
        );
        event.customer = Some(customer.id);
    })
}

async fn append(shop: &Shop<'_>, events: &[AuditEvent]) {
    shop.done("audit.append: keeps events", async |uow| {
        uow.audit().append(events).await
    })
    .await;
}

async fn list(
    shop: &Shop<'_>,
    viewer: AuditViewer,
    filter: &AuditFilter,
    page: Page,
) -> Vec<AuditEvent> {
    let id = shop.organization.id;
    shop.seen("audit.list: reads", async |view| {
        view.audit().list(id, viewer, filter, page).await
    })
    .await
}

async fn count(shop: &Shop<'_>, viewer: AuditViewer, filter: &AuditFilter) -> u64 {
    let id = shop.organization.id;
    shop.seen("audit.count: counts", async |view| {
        let count = view.audit().count(id, viewer, filter, u64::MAX).await?;
        let one = view.audit().count(id, viewer, filter, 1).await?;
        assert_eq!(one, count.min(1), "audit.count: up to so many");
        Ok(count)
    })
    .await
}

async fn events_are_kept_as_they_are(shop: &Shop<'_>) {
    let customer = shop.anybody_in(Mode::Live).await;
    let location = PickupLocationId::new(12).map(AuditSubject::from);
    let Ok(location) = location else {
        panic!("the suite's pickup location has a number");
    };
    let nobody = |actor| Origin {
        actor,
        ..Origin::SYSTEM
    };
    let nameless = AuditActor::Key {
        id: shop.make.id::<ApiKeyPubId>(),
        name: None,
    };
    let by_customer = Origin {
        address: Some(IpAddr::from([192, 0, 2, 1])),
        ..Origin::customer(customer.id)
    };
    let events = [
        renamed(shop, by_key(shop), |_| {}),
        renamed(shop, nobody(nameless), |event| {
            event.action = AuditAction::ProductDeleted;
            event.change = AuditChange::deleted(members(&[("name", "Road bike")]));
        }),
        renamed(shop, Origin::cli("ada lovelace"), |event| {
            event.area = AuditArea::Organization;
            event.action = AuditAction::PickupLocationCreated;
            event.subject = location;
            event.change = AuditChange::created(members(&[("name", "Depot")]));
        }),
        renamed(shop, Origin::provider("processor"), |event| {
            event.area = AuditArea::Sandbox;
            event.action = AuditAction::CustomerErased;
            event.change = AuditChange::NONE;
        }),
        renamed(shop, Origin::SYSTEM, |_| {}),
        moved_house(shop, by_key(shop), &customer),
        moved_house(shop, by_customer, &customer),
    ];
    append(shop, &events).await;
    let organization = shop.organization.id;
    let neighbour = shop.neighbour().await.organization.id;
    for event in &events {
        let (found, elsewhere) = shop
            .seen("audit.get: reads", async |view| {
                let store = view.audit();
                Ok((
                    store.get(organization, event.id).await?,
                    store.get(neighbour, event.id).await?,
                ))
            })
            .await;
        assert_eq!(
            found.as_ref(),
            Some(event),
            "audit.get: answers what was kept"
        );
        assert_eq!(elsewhere, None, "audit.get: within the organization");
    }
    let unknown = shop.make.id();
    let found = shop
        .seen("audit.get: reads", async |view| {
            view.audit().get(organization, unknown).await
        })
        .await;
    assert_eq!(found, None, "audit.get: none of an unknown id");
    let mut listed = list(shop, AuditViewer::Live, &AuditFilter::default(), first(9)).await;
    listed.reverse();
    assert_eq!(listed, events, "audit.list: answers what was kept");
    append(shop, &[]).await;
}

async fn what_is_kept_stays(shop: &Shop<'_>) {
    let kept = renamed(shop, by_key(shop), |_| {});
    append(shop, std::slice::from_ref(&kept)).await;
    let mut forged = renamed(shop, Origin::SYSTEM, |_| {});
    forged.id = kept.id;
    let done = shop
        .run(async |uow| uow.audit().append(std::slice::from_ref(&forged)).await)
        .await;
    assert!(
        done.is_err(),
        "audit.append: an event that is kept is not written over"
    );
    let organization = shop.organization.id;
    let found = shop
        .seen("audit.get: reads", async |view| {
            view.audit().get(organization, kept.id).await
        })
        .await;
    assert_eq!(
        found,
        Some(kept),
        "audit.append: an event stays as it was kept"
    );
}

async fn lists_are_newest_first(shop: &Shop<'_>) {
    let mut events = Vec::new();
    for _ in 0..5 {
        events.push(renamed(shop, by_key(shop), |_| {}));
    }
    let neighbour = shop.neighbour().await;
    let elsewhere = renamed(&neighbour, by_key(&neighbour), |_| {});
    append(&neighbour, &[elsewhere]).await;
    // Kept in another order than they were made in, and some of them together.
    let (older, newer) = events.split_at(2);
    append(shop, newer).await;
    append(shop, older).await;
    events.reverse();
    let all = AuditFilter::default();
    let viewer = AuditViewer::Live;
    assert_eq!(
        list(shop, viewer, &all, first(9)).await,
        events,
        "audit.list: the organization's, newest first by their ids"
    );
    assert_eq!(
        count(shop, viewer, &all).await,
        5,
        "audit.count: the organization's"
    );
    let mut paged = Vec::new();
    let mut page = first(2);
    loop {
        let part = list(shop, viewer, &all, page).await;
        let Some(last) = part.last() else { break };
        page = after(last.id.as_uuid(), 2);
        paged.extend(part);
    }
    assert_eq!(paged, events, "audit.list: pages neither skip nor repeat");
}

async fn a_list_is_what_is_asked_for(shop: &Shop<'_>) {
    let (ada, grace) = (by_key(shop), by_key(shop));
    let cli = Origin::cli("ada");
    let first_of_ada = renamed(shop, ada.clone(), |_| {});
    let of_grace = renamed(shop, grace, |event| {
        event.subject = first_of_ada.subject.clone();
    });
    let second_of_ada = renamed(shop, ada.clone(), |_| {});
    let of_cli = renamed(shop, cli, |event| {
        event.subject = first_of_ada.subject.clone();
    });
    append(
        shop,
        &[
            first_of_ada.clone(),
            of_grace.clone(),
            second_of_ada.clone(),
            of_cli.clone(),
        ],
    )
    .await;
    let filter = |subject: Option<&AuditSubject>, actor: Option<&str>| AuditFilter {
        subject: subject.cloned(),
        actor: actor.map(str::to_owned),
    };
    let subject = Some(&first_of_ada.subject);
    let key = ada.actor.id();
    let key = Some(key.as_str());
    let next = second_of_ada.id;
    let unknown = AuditSubject::from(shop.make.id::<ProductPubId>());
    let viewer = AuditViewer::Live;
    for (filter, expected) in [
        (
            filter(subject, None),
            vec![of_cli.clone(), of_grace, first_of_ada.clone()],
        ),
        (filter(None, key), vec![second_of_ada, first_of_ada.clone()]),
        (filter(subject, key), vec![first_of_ada.clone()]),
        (filter(subject, Some("cli:ada")), vec![of_cli.clone()]),
        (filter(None, Some("cli:ad")), vec![]),
        (filter(Some(&unknown), None), vec![]),
        (filter(None, Some("lessor")), vec![]),
    ] {
        assert_eq!(
            list(shop, viewer, &filter, first(9)).await,
            expected,
            "audit.list: of {filter:?}"
        );
        let total = u64::try_from(expected.len()).unwrap_or(u64::MAX);
        assert_eq!(
            count(shop, viewer, &filter).await,
            total,
            "audit.count: of {filter:?}"
        );
    }
    // A page goes on after an event that the filter hides.
    let start = after(of_cli.id.as_uuid(), 1);
    let found = list(shop, viewer, &filter(None, key), start).await;
    let found: Vec<_> = found.iter().map(|event| event.id).collect();
    assert_eq!(
        found,
        [next],
        "audit.list: an event that the filter hides marks a place all the same"
    );
}

async fn a_viewer_sees_what_is_theirs(shop: &Shop<'_>) {
    let customer = shop.anybody().await;
    let mut events = Vec::new();
    for area in AuditArea::ALL {
        for origin in [
            by_key(shop),
            Origin::cli("ada"),
            Origin::customer(customer.id),
            Origin::provider("processor"),
            Origin::SYSTEM,
        ] {
            events.push(renamed(shop, origin, |event| event.area = *area));
        }
    }
    append(shop, &events).await;
    events.reverse();
    let all = AuditFilter::default();
    for viewer in [AuditViewer::Live, AuditViewer::Sandbox] {
        let seen = |event: &&AuditEvent| viewer.shows(event);
        let expected: Vec<_> = events.iter().filter(seen).cloned().collect();
        assert_eq!(
            list(shop, viewer, &all, first(99)).await,
            expected,
            "audit.list: {viewer:?} sees what it may"
        );
        let total = u64::try_from(expected.len()).unwrap_or(u64::MAX);
        assert_eq!(
            count(shop, viewer, &all).await,
            total,
            "audit.count: {viewer:?} counts what it sees"
        );
    }
}

async fn what_is_personal_goes_with_the_customer(shop: &Shop<'_>) {
    let mut erased = shop.anybody().await;
    let stays = shop.anybody().await;
    let of_customer = |customer: &Customer| Origin {
        address: Some(IpAddr::from([192, 0, 2, 1])),
        ..Origin::customer(customer.id)
    };
    let before = [
        moved_house(shop, of_customer(&erased), &erased),
        moved_house(shop, by_key(shop), &erased),
        moved_house(shop, of_customer(&stays), &stays),
    ];
    append(shop, &before).await;
    let at = shop.make.tick();
    erased.forget_person(false, at);
    let erasure = Erasure {
        customer: erased.id,
        names: vec![erased.id.to_string()],
        ended: Vec::new(),
        running: Vec::new(),
        never_leased: Vec::new(),
        shipments: Vec::new(),
        email: erased.email.clone(),
        since: erased.created_at,
        replacement: ReplacementAnswer {
            status: 404,
            body: b"{}".to_vec(),
        },
    };
    shop.done("personal_data.erase: erases a customer", async |uow| {
        uow.customers().update(&mut erased).await?;
        uow.personal_data().erase(shop.sandbox(), &erasure).await
    })
    .await;
    let late = [
        moved_house(shop, by_key(shop), &erased),
        moved_house(shop, of_customer(&erased), &erased),
    ];
    append(shop, &late).await;
    let [own, of_key, of_another] = before;
    let [late_of_key, late_own] = late;
    let organization = shop.organization.id;
    for (event, expected) in [
        (&own, own.clone().without_personal_data()),
        (&of_key, of_key.clone().without_personal_data()),
        (&of_another, of_another.clone()),
        (&late_of_key, late_of_key.clone().without_personal_data()),
        (&late_own, late_own.clone().without_personal_data()),
    ] {
        let found = shop
            .seen("audit.get: reads", async |view| {
                view.audit().get(organization, event.id).await
            })
            .await;
        assert_eq!(
            found.as_ref(),
            Some(&expected),
            "audit.get: what was sealed of an erased customer is gone, and nothing else"
        );
        let about = AuditFilter {
            subject: Some(event.subject.clone()),
            actor: None,
        };
        let listed = list(shop, AuditViewer::Sandbox, &about, first(9)).await;
        assert!(
            listed.contains(&expected),
            "audit.list: reads what audit.get reads"
        );
    }
}
