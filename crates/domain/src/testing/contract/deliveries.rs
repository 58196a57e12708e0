//! Events on their way to endpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use super::shop::{Shop, after, first};
use super::webhook_endpoints::endpoint;
use crate::events::EventType;
use crate::ids::{DeliveryPubId, EventPubId, WebhookEndpointPubId};
use crate::ports::{Database, DeliveryClaim, Erasure, ReplacementAnswer};
use crate::time::Timestamp;
use crate::webhooks::{
    AttemptResult, Delivery, DeliveryStatus, EndpointHealth, LastAttempt, NewDelivery, Occasion,
    WebhookEndpoint, WebhookEndpointStatus,
};

/// Longer than any suite takes, by whatever clock.
const LEASE: Duration = Duration::from_secs(36_000_000);
/// More than any suite makes.
const MANY: u32 = 1_000;
/// Whatever is due, of endpoints that are never too slow.
pub(super) const CLAIM: DeliveryClaim = DeliveryClaim {
    limit: MANY,
    per_endpoint: MANY,
    lease: LEASE,
    slow_after: LEASE,
};

/// The store of events on their way to endpoints.
///
/// # Panics
/// With the clause that is broken.
pub async fn deliveries(database: &dyn Database) {
    deliveries_are_kept_as_they_are(&Shop::open(database).await).await;
    one_of_an_event_is_pending(&Shop::open(database).await).await;
    what_is_due_is_taken_once(&Shop::open(database).await).await;
    those_about_a_record_keep_their_order(&Shop::open(database).await).await;
    endpoints_have_room(&Shop::open(database).await).await;
    endpoints_that_fail_rest(&Shop::open(database).await).await;
    endpoints_that_are_slow_are_waited_for(&Shop::open(database).await).await;
    what_is_abandoned_has_failed(&Shop::open(database).await).await;
    lists_are_newest_first(&Shop::open(database).await).await;
    what_was_taken_is_known(&Shop::open(database).await).await;
    what_is_over_is_forgotten(&Shop::open(database).await).await;
    what_was_answered_goes_with_the_customer(&Shop::open(database).await).await;
}

/// A delivery of some event about some record to the endpoint.
pub(super) fn delivery(
    shop: &Shop<'_>,
    endpoint: &WebhookEndpoint,
    change: impl FnOnce(&mut NewDelivery),
) -> NewDelivery {
    let mut new = NewDelivery {
        id: shop.make.id(),
        organization_id: endpoint.organization_id,
        mode: endpoint.mode,
        endpoint_id: endpoint.id,
        event_id: shop.make.id(),
        occasion: Occasion::Event(EventType::CheckoutUpdated),
        subject: shop.make.id::<EventPubId>().as_uuid(),
        sequence: 1,
        created_at: shop.make.tick(),
    };
    change(&mut new);
    new
}

async fn queue(shop: &Shop<'_>, new: &[NewDelivery]) -> u64 {
    shop.done("deliveries.queue: keeps deliveries", async |uow| {
        uow.deliveries().queue(new).await
    })
    .await
}

async fn claim_at(shop: &Shop<'_>, now: Timestamp, per_endpoint: u32, limit: u32) -> Vec<Delivery> {
    shop.done("deliveries.claim: takes", async |uow| {
        let claim = DeliveryClaim {
            limit,
            per_endpoint,
            ..CLAIM
        };
        uow.deliveries().claim(now, claim).await
    })
    .await
}

async fn claim(shop: &Shop<'_>) -> Vec<Delivery> {
    claim_at(shop, shop.make.tick(), MANY, MANY).await
}

async fn settle(shop: &Shop<'_>, delivery: &Delivery) -> bool {
    shop.done("deliveries.settle: answers", async |uow| {
        uow.deliveries().settle(delivery).await
    })
    .await
}

async fn list(shop: &Shop<'_>, endpoint: &WebhookEndpoint) -> Vec<Delivery> {
    shop.seen("deliveries.list: reads", async |view| {
        view.deliveries().list(endpoint.id, first(MANY)).await
    })
    .await
}

fn ids(deliveries: &[Delivery]) -> BTreeSet<DeliveryPubId> {
    deliveries.iter().map(|delivery| delivery.new.id).collect()
}

fn answered(status: u16) -> AttemptResult {
    AttemptResult::Answered {
        status,
        body: "„noted“".to_owned(),
        retry_after: None,
    }
}

/// The attempt of the delivery has ended so.
async fn tried(shop: &Shop<'_>, mut delivery: Delivery, status: u16) -> Delivery {
    delivery.tried(answered(status), 12, shop.make.tick(), 127);
    let clause = "deliveries.settle: the claim that holds the delivery may write";
    assert!(settle(shop, &delivery).await, "{clause}");
    delivery
}

#[track_caller]
fn only(claimed: Vec<Delivery>) -> Delivery {
    match <[Delivery; 1]>::try_from(claimed) {
        Ok([only]) => only,
        Err(claimed) => panic!("deliveries.claim: one is to be taken, but: {claimed:?}"),
    }
}

async fn deliveries_are_kept_as_they_are(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let new = delivery(shop, &endpoint, |_| {});
    let test = delivery(shop, &endpoint, |new| {
        new.occasion = Occasion::Test;
        new.sequence = 0;
        new.subject = endpoint.id.as_uuid();
    });
    let count = queue(shop, &[new.clone(), test.clone()]).await;
    assert_eq!(count, 2, "deliveries.queue: tells how many there were");
    assert_eq!(
        list(shop, &endpoint).await,
        [Delivery::from(test), Delivery::from(new)],
        "deliveries.queue: they are due when they are made, and were never tried"
    );
    let mut claimed = claim(shop).await;
    claimed.sort_by_key(|it| it.new.sequence);
    let [mut test, event] = match <[Delivery; 2]>::try_from(claimed) {
        Ok(both) => both,
        Err(claimed) => panic!("deliveries.claim: both, but: {claimed:?}"),
    };
    let error = "it could not be reached".to_owned();
    test.tried(
        AttemptResult::Unanswered { error },
        10_000,
        shop.make.tick(),
        0,
    );
    assert!(settle(shop, &test).await);
    let event = tried(shop, event, 202).await;
    assert_eq!(
        list(shop, &endpoint).await,
        [test, event],
        "deliveries.settle: every member is written"
    );
}

async fn one_of_an_event_is_pending(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let new = delivery(shop, &endpoint, |_| {});
    queue(shop, std::slice::from_ref(&new)).await;
    let failed = tried(shop, only(claim(shop).await), 500).await;
    let again = delivery(shop, &endpoint, |it| it.event_id = new.event_id);
    let clause = "deliveries.queue: what is pending is due at once instead of being there twice";
    assert_eq!(
        queue(shop, std::slice::from_ref(&again)).await,
        1,
        "{clause}"
    );
    let listed = list(shop, &endpoint).await;
    assert_eq!(ids(&listed), BTreeSet::from([new.id]), "{clause}");
    let taken = only(claim(shop).await);
    assert_eq!(taken.attempts, failed.attempts, "{clause}");
    let taken = tried(shop, taken, 200).await;
    let late = delivery(shop, &endpoint, |it| it.event_id = new.event_id);
    assert_eq!(queue(shop, std::slice::from_ref(&late)).await, 1);
    assert_eq!(
        ids(&list(shop, &endpoint).await),
        BTreeSet::from([taken.new.id, late.id]),
        "deliveries.queue: what is over is made anew"
    );
}

async fn what_is_due_is_taken_once(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let new = delivery(shop, &endpoint, |_| {});
    let before = new.created_at;
    let early = before
        .checked_sub_signed(TimeDelta::milliseconds(1))
        .unwrap_or(before);
    queue(shop, std::slice::from_ref(&new)).await;
    let clause = "deliveries.claim: what is due, and nobody is at";
    assert_eq!(claim_at(shop, early, MANY, MANY).await, [], "{clause}");
    assert_eq!(claim_at(shop, before, MANY, 0).await, [], "{clause}");
    let taken = only(claim_at(shop, before, MANY, MANY).await);
    assert_eq!(taken.claims, 1, "deliveries.claim: counts the claims up");
    assert_eq!(taken.new, new, "{clause}");
    assert_eq!(claim(shop).await, [], "{clause}");
    shop.done("deliveries.hand_back: gives back", async |uow| {
        uow.deliveries().hand_back(&taken).await
    })
    .await;
    let again = only(claim(shop).await);
    assert_eq!((again.claims, again.attempts), (2, 0), "{clause}");
    let mut late = taken;
    late.tried(answered(200), 1, shop.make.tick(), 0);
    let clause = "deliveries.settle: a claim that is not the last one writes nothing";
    assert!(!settle(shop, &late).await, "{clause}");
    let again = tried(shop, again, 503).await;
    assert!(
        !settle(shop, &again).await,
        "{clause}, nor one that has ended"
    );
    assert_eq!(
        claim(shop).await,
        [],
        "deliveries.claim: not before it is due"
    );
    let due = again.next_attempt_at.unwrap_or_default();
    let taken = only(claim_at(shop, due, MANY, MANY).await);
    assert_eq!(taken.attempts, 1, "deliveries.claim: when it is");
    tried(shop, taken, 200).await;
    let much_later = due.checked_add_signed(TimeDelta::days(9)).unwrap_or(due);
    let claimed = claim_at(shop, much_later, MANY, MANY).await;
    assert_eq!(claimed, [], "deliveries.claim: nothing that is over");
}

async fn those_about_a_record_keep_their_order(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let make = |subject, sequence| {
        delivery(shop, &endpoint, |new| {
            new.subject = subject;
            new.sequence = sequence;
        })
    };
    let (a1, b2, a3, a4) = (make(one, 1), make(other, 2), make(one, 3), make(one, 4));
    // Whatever they were kept in.
    queue(shop, &[a4.clone(), a3.clone(), b2.clone(), a1.clone()]).await;
    let claimed = claim(shop).await;
    let clause = "deliveries.claim: of each record the one of the lowest number first";
    assert_eq!(ids(&claimed), BTreeSet::from([a1.id, b2.id]), "{clause}");
    assert_eq!(claim(shop).await, [], "{clause}");
    for delivery in claimed {
        let status = if delivery.new.id == a1.id { 500 } else { 200 };
        tried(shop, delivery, status).await;
    }
    let next = only(claim(shop).await);
    let clause = "deliveries.claim: what was tried and failed holds nothing up";
    assert_eq!(next.new.id, a3.id, "{clause}");
    tried(shop, next, 200).await;
    let last = only(claim(shop).await);
    assert_eq!(
        last.new.id, a4.id,
        "deliveries.claim: when the one before was taken"
    );
    tried(shop, last, 200).await;
}

async fn endpoints_have_room(shop: &Shop<'_>) {
    let busy = endpoint(shop, |_| {}).await;
    let other = endpoint(shop, |_| {}).await;
    let mut all = Vec::new();
    for _ in 0..10 {
        all.push(delivery(shop, &busy, |_| {}));
    }
    for _ in 0..3 {
        all.push(delivery(shop, &other, |_| {}));
    }
    queue(shop, &all).await;
    let of = |claimed: &[Delivery], endpoint: &WebhookEndpoint| {
        let its = claimed.iter();
        its.filter(|it| it.new.endpoint_id == endpoint.id).count()
    };
    let now = shop.make.tick();
    let claimed = claim_at(shop, now, 4, MANY).await;
    let clause = "deliveries.claim: so many of an endpoint at a time";
    assert_eq!(
        (of(&claimed, &busy), of(&claimed, &other)),
        (4, 3),
        "{clause}"
    );
    assert_eq!(claim_at(shop, now, 4, MANY).await, [], "{clause}");
    for delivery in claimed {
        tried(shop, delivery, 200).await;
    }
    queue(
        shop,
        &[
            delivery(shop, &other, |_| {}),
            delivery(shop, &other, |_| {}),
        ],
    )
    .await;
    let claimed = claim_at(shop, shop.make.tick(), 4, 4).await;
    assert_eq!(
        (of(&claimed, &busy), of(&claimed, &other)),
        (2, 2),
        "deliveries.claim: endpoints get equal shares of what is taken"
    );
}

async fn health(shop: &Shop<'_>, id: WebhookEndpointPubId) -> Option<EndpointHealth> {
    shop.done("deliveries.lock_health: reads", async |uow| {
        uow.deliveries().lock_health(id).await
    })
    .await
}

async fn endpoints_that_fail_rest(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let id = endpoint.id;
    let clause = "deliveries.lock_health: nothing is known of a new endpoint";
    assert_eq!(
        health(shop, id).await,
        Some(EndpointHealth::default()),
        "{clause}"
    );
    assert_eq!(
        health(shop, shop.make.id()).await,
        None,
        "deliveries.lock_health: none where there is no endpoint"
    );
    for _ in 0..3 {
        queue(shop, &[delivery(shop, &endpoint, |_| {})]).await;
    }
    let now = shop.make.tick();
    let until = now.checked_add_signed(TimeDelta::hours(1)).unwrap_or(now);
    let failing = EndpointHealth {
        failures: crate::webhooks::TRIED_IN_VAIN,
        failing_since: Some(now),
        last_failed_at: Some(now),
        resting_until: Some(until),
    };
    let set = async |id| {
        shop.done("deliveries.set_health: writes", async |uow| {
            uow.deliveries().set_health(id, &failing).await
        })
        .await
    };
    assert_eq!([set(shop.make.id()).await, set(id).await], [false, true]);
    assert_eq!(
        health(shop, id).await,
        Some(failing.clone()),
        "deliveries.set_health: every member is written"
    );
    let claimed = claim_at(shop, now, MANY, MANY).await;
    assert_eq!(
        claimed,
        [],
        "deliveries.claim: none of an endpoint that rests"
    );
    let claimed = claim_at(shop, until, MANY, MANY).await;
    only(claimed);
    let claimed = claim_at(shop, until, MANY, MANY).await;
    assert_eq!(
        claimed,
        [],
        "deliveries.claim: one at a time of an endpoint that fails"
    );
    let clear = async || {
        shop.done("deliveries.clear_health: writes", async |uow| {
            uow.deliveries().clear_health(id).await
        })
        .await
    };
    let clause = "deliveries.clear_health: tells whether anything was known";
    assert_eq!([clear().await, clear().await], [true, false], "{clause}");
    assert_eq!(health(shop, id).await, Some(EndpointHealth::default()));
    assert_eq!(
        claim_at(shop, until, MANY, MANY).await.len(),
        2,
        "deliveries.claim: the rest of an endpoint that fares well"
    );
}

async fn endpoints_that_are_slow_are_waited_for(shop: &Shop<'_>) {
    let slow = endpoint(shop, |_| {}).await;
    let other = endpoint(shop, |_| {}).await;
    queue(shop, &[delivery(shop, &slow, |_| {})]).await;
    let under_way = only(claim(shop).await);
    let next = [
        delivery(shop, &slow, |_| {}),
        delivery(shop, &other, |_| {}),
    ];
    queue(shop, &next).await;
    let claim = async || {
        let claim = DeliveryClaim {
            slow_after: Duration::ZERO,
            ..CLAIM
        };
        shop.done("deliveries.claim: takes", async |uow| {
            uow.deliveries().claim(shop.make.tick(), claim).await
        })
        .await
    };
    let clause = "deliveries.claim: none of an endpoint at which one is under way for long";
    let taken = only(claim().await);
    assert_eq!(taken.new.endpoint_id, other.id, "{clause}");
    tried(shop, under_way, 200).await;
    let taken = only(claim().await);
    assert_eq!(taken.new.endpoint_id, slow.id, "{clause}");
}

async fn what_is_abandoned_has_failed(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let (taken, waiting) = (
        delivery(shop, &endpoint, |_| {}),
        delivery(shop, &endpoint, |_| {}),
    );
    let done = delivery(shop, &endpoint, |_| {});
    queue(shop, std::slice::from_ref(&done)).await;
    tried(shop, only(claim(shop).await), 200).await;
    queue(shop, std::slice::from_ref(&taken)).await;
    let mut claimed = only(claim(shop).await);
    queue(shop, std::slice::from_ref(&waiting)).await;
    let at = shop.make.tick();
    let abandon = async || {
        shop.done("deliveries.abandon: writes", async |uow| {
            uow.deliveries()
                .abandon(endpoint.id, "it was disabled", at)
                .await
        })
        .await
    };
    let clause = "deliveries.abandon: what is pending, also where somebody is at it";
    assert_eq!([abandon().await, abandon().await], [2, 0], "{clause}");
    for delivery in list(shop, &endpoint).await {
        let was_done = delivery.new.id == done.id;
        let expected = if was_done {
            DeliveryStatus::Succeeded
        } else {
            DeliveryStatus::Failed
        };
        assert_eq!(delivery.status, expected, "{clause}");
        if !was_done {
            assert_eq!(delivery.last.error.as_deref(), Some("it was disabled"));
            assert_eq!((delivery.next_attempt_at, delivery.updated_at), (None, at));
        }
    }
    claimed.tried(answered(200), 1, at, 0);
    assert!(
        !settle(shop, &claimed).await,
        "deliveries.settle: not what was abandoned"
    );
    // What is over is not in the way of another.
    let again = delivery(shop, &endpoint, |it| it.event_id = taken.event_id);
    queue(shop, std::slice::from_ref(&again)).await;
    assert_eq!(only(claim(shop).await).new.id, again.id);
    let mut disabled = endpoint.clone();
    disabled.status = WebhookEndpointStatus::Disabled;
    shop.done("webhook_endpoints.update: writes", async |uow| {
        uow.webhook_endpoints().update(&mut disabled).await
    })
    .await;
    queue(shop, &[delivery(shop, &endpoint, |_| {})]).await;
    let claimed = claim(shop).await;
    assert_eq!(
        claimed,
        [],
        "deliveries.claim: none of an endpoint that is disabled"
    );
    shop.done("webhook_endpoints.delete: answers", async |uow| {
        let scope = shop.sandbox();
        uow.webhook_endpoints().delete(scope, endpoint.id).await
    })
    .await;
    assert_eq!(
        list(shop, &endpoint).await,
        [],
        "webhook_endpoints.delete: its deliveries go with it"
    );
}

async fn lists_are_newest_first(shop: &Shop<'_>) {
    let its = endpoint(shop, |_| {}).await;
    let other = endpoint(shop, |_| {}).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(delivery(shop, &its, |_| {}));
    }
    queue(shop, &all).await;
    let foreign = delivery(shop, &other, |_| {});
    queue(shop, std::slice::from_ref(&foreign)).await;
    all.reverse();
    let ids: Vec<DeliveryPubId> = all.iter().map(|new| new.id).collect();
    let page = async |page| {
        let found = shop
            .seen("deliveries.list: reads", async |view| {
                view.deliveries().list(its.id, page).await
            })
            .await;
        found.iter().map(|it| it.new.id).collect::<Vec<_>>()
    };
    let clause = "deliveries.list: newest first, page by page";
    let (two, rest) = ids.split_at(2);
    assert_eq!(page(first(2)).await, two, "{clause}");
    let Some(last) = two.last() else {
        panic!("two were kept")
    };
    assert_eq!(page(after(last.as_uuid(), MANY)).await, rest, "{clause}");
    let stray = foreign.id.as_uuid();
    assert_eq!(
        page(after(stray, MANY)).await,
        [],
        "deliveries.list: nothing comes after what the endpoint does not have"
    );
    for (id, is_there) in [(last.as_uuid(), true), (stray, false)] {
        let found = shop
            .seen("deliveries.has: answers", async |view| {
                view.deliveries().has(its.id, id).await
            })
            .await;
        assert_eq!(found, is_there, "deliveries.has: what is the endpoint's");
    }
}

async fn what_was_taken_is_known(shop: &Shop<'_>) {
    let its = endpoint(shop, |_| {}).await;
    let other = endpoint(shop, |_| {}).await;
    let [taken, failed, pending] = [(); 3].map(|()| delivery(shop, &its, |_| {}));
    queue(shop, std::slice::from_ref(&taken)).await;
    tried(shop, only(claim(shop).await), 204).await;
    // Twice, and known once.
    queue(
        shop,
        &[delivery(shop, &its, |it| it.event_id = taken.event_id)],
    )
    .await;
    tried(shop, only(claim(shop).await), 204).await;
    queue(shop, std::slice::from_ref(&failed)).await;
    tried(shop, only(claim(shop).await), 410).await;
    let elsewhere = delivery(shop, &other, |it| it.event_id = pending.event_id);
    queue(shop, std::slice::from_ref(&elsewhere)).await;
    tried(shop, only(claim(shop).await), 200).await;
    queue(shop, std::slice::from_ref(&pending)).await;
    let events = [&taken, &failed, &pending].map(|new| new.event_id);
    let found = shop
        .seen("deliveries.acknowledged: reads", async |view| {
            view.deliveries().acknowledged(its.id, &events).await
        })
        .await;
    assert_eq!(
        found,
        [taken.event_id],
        "deliveries.acknowledged: what the endpoint took, each once"
    );
}

async fn what_is_over_is_forgotten(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let mut made = Vec::new();
    for status in [200, 410, 500] {
        let new = delivery(shop, &endpoint, |_| {});
        queue(shop, std::slice::from_ref(&new)).await;
        tried(shop, only(claim(shop).await), status).await;
        made.push(new);
    }
    let late = shop.make.tick();
    let purge = async |before, limit| {
        shop.done("deliveries.purge: forgets", async |uow| {
            uow.deliveries().purge(before, limit).await
        })
        .await
    };
    let clause = "deliveries.purge: what is over and was made before the time, the oldest first";
    let [first, ..] = made.as_slice() else {
        panic!("three were made")
    };
    assert_eq!(purge(first.created_at, MANY).await, 0, "{clause}");
    assert_eq!(purge(late, 1).await, 1, "{clause}");
    let left = ids(&list(shop, &endpoint).await);
    assert!(!left.contains(&first.id) && left.len() == 2, "{clause}");
    assert_eq!(purge(late, MANY).await, 1, "{clause}");
    let left = list(shop, &endpoint).await;
    assert!(
        left.iter().all(|it| it.status == DeliveryStatus::Pending),
        "deliveries.purge: nothing that is pending"
    );
}

async fn what_was_answered_goes_with_the_customer(shop: &Shop<'_>) {
    let endpoint = endpoint(shop, |_| {}).await;
    let customer = shop.anybody().await;
    let checkout = shop.make.id();
    let subjects = [
        customer.id.as_uuid(),
        crate::ids::CheckoutPubId::as_uuid(&checkout),
        Uuid::from_u128(9),
    ];
    for (subject, sequence) in subjects.into_iter().zip(1_u64..) {
        let new = delivery(shop, &endpoint, |new| {
            new.subject = subject;
            new.sequence = sequence;
        });
        queue(shop, std::slice::from_ref(&new)).await;
        tried(shop, only(claim(shop).await), 200).await;
    }
    let erasure = Erasure {
        customer: customer.id,
        names: Vec::new(),
        ended: vec![checkout],
        running: Vec::new(),
        never_leased: Vec::new(),
        shipments: Vec::new(),
        email: customer.email.clone(),
        since: shop.make.tick(),
        replacement: ReplacementAnswer {
            status: 404,
            body: b"erased".to_vec(),
        },
    };
    shop.done("personal_data.erase: erases", async |uow| {
        uow.personal_data().erase(shop.sandbox(), &erasure).await
    })
    .await;
    let bodies: Vec<Option<String>> = list(shop, &endpoint)
        .await
        .into_iter()
        .map(|Delivery { last, .. }| {
            let LastAttempt { response_body, .. } = last;
            response_body
        })
        .collect();
    assert_eq!(
        bodies,
        [Some("„noted“".to_owned()), None, None],
        "personal_data.erase: takes away what endpoints answered about the person"
    );
}
