//! Tracking events.

use chrono::TimeDelta;

use super::full;
use super::shop::Shop;
use crate::ports::{Database, IdGenerator as _};
use crate::shipments::{CarrierReport, EventOrigin, TrackingEvent, TrackingStatus};

/// The store of tracking events.
///
/// # Panics
/// With the clause that is broken.
pub async fn shipments(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let start = shop.make.tick();
    let at = |hours| {
        start
            .checked_add_signed(TimeDelta::hours(hours))
            .unwrap_or(start)
    };
    let event = |hours, status, description: Option<&str>, location: Option<&str>| TrackingEvent {
        reported: CarrierReport {
            at: at(hours),
            status,
            description: description.map(full::parsed),
            location: location.map(full::parsed),
            signed_by: Some(full::parsed("A. Lovelace")),
            estimated_delivery: Some(at(48)),
        },
        origin: EventOrigin::Webhook,
        received_at: shop.make.tick(),
    };
    let tracking = full::tracking("1Z410E7W0392751591");
    let other = full::tracking("1Z879E930346834440");
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let neighbour = shop.any_checkout(|checkout| checkout).await;
    let insert = async |id, tracking, event: &TrackingEvent| {
        shop.done("tracking.insert: keeps an event", async |uow| {
            uow.shipments().insert(id, tracking, event).await
        })
        .await
    };
    let late = event(
        9,
        TrackingStatus::InTransit,
        Some("Arrived\nat facility"),
        Some("Reno, NV"),
    );
    let early = event(1, TrackingStatus::PreTransit, None, None);
    for new in [&late, &early] {
        assert!(
            insert(checkout.id, &tracking, new).await,
            "tracking.insert: an event that is not kept yet is new"
        );
    }
    let mut repeated = early.clone();
    repeated.origin = EventOrigin::Poll;
    repeated.received_at = shop.make.tick();
    assert!(
        !insert(checkout.id, &tracking, &repeated).await,
        "tracking.insert: the same time, status, description and location is the same event, whoever told and whatever is missing"
    );
    for (what, different) in [
        (
            "description",
            event(9, TrackingStatus::InTransit, None, Some("Reno, NV")),
        ),
        (
            "location",
            event(
                9,
                TrackingStatus::InTransit,
                Some("Arrived\nat facility"),
                None,
            ),
        ),
        ("status", event(1, TrackingStatus::Unknown, None, None)),
        ("time", event(2, TrackingStatus::PreTransit, None, None)),
    ] {
        assert!(
            insert(checkout.id, &tracking, &different).await,
            "tracking.insert: another {what} is another event"
        );
    }
    assert!(
        insert(checkout.id, &other, &early).await && insert(neighbour.id, &tracking, &early).await,
        "tracking.insert: another tracking number or checkout is another event"
    );
    let list = async |tracking| {
        shop.seen("tracking.list: reads", async |view| {
            view.shipments().list(checkout.id, tracking).await
        })
        .await
    };
    let found = list(&tracking).await;
    assert!(
        found.is_sorted_by_key(|event| event.reported.at) && found.len() == 6,
        "tracking.list: oldest first, each once"
    );
    assert!(
        found.contains(&early) && found.contains(&late),
        "tracking.list: as they were kept, the first teller included"
    );
    assert_eq!(
        list(&other).await,
        std::slice::from_ref(&early),
        "tracking.list: under the tracking number only"
    );

    // Of this run alone: nothing of it belongs to an organization.
    let unknown = full::tracking(&shop.make.ids().next().simple().to_string());
    for unclaimed in [&late, &early, &early] {
        shop.done_for_server("tracking.keep_unclaimed: keeps an event", async |uow| {
            uow.shipments().keep_unclaimed(&unknown, unclaimed).await
        })
        .await;
    }
    let kept = async || {
        shop.seen_by_server("tracking.unclaimed: reads", async |view| {
            view.shipments().unclaimed(&unknown).await
        })
        .await
    };
    assert_eq!(
        kept().await,
        [early.clone(), late.clone()],
        "tracking.unclaimed: what was kept of the shipment, once, oldest first"
    );
    let forgotten = shop
        .done_for_server("tracking.purge_unclaimed: forgets", async |uow| {
            uow.shipments().purge_unclaimed(early.received_at).await
        })
        .await;
    assert!(forgotten >= 1, "tracking.purge_unclaimed: tells how many");
    assert_eq!(
        kept().await,
        [early],
        "tracking.purge_unclaimed: those that were taken in before"
    );
}
