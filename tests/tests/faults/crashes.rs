//! The process dies at every point between the job queue and the processor, and between any two requests
//! that a job makes of it, once and twice for every kind of job, with a tracked shipment and without:
//! the lease comes out the same. With `LESSOR_TEST_DEATHS=all` each of these with each.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures::StreamExt as _;
use futures::stream;
use lessor_domain::workers::jobs::CrashPoint;

use crate::journey::TRACKING;
use crate::world::{Setup, World, every_death};

/// Worlds that are under way at a time: most of their time is waiting.
const AT_ONCE: usize = 20;
/// More requests than any job makes of the processor.
const TOO_MANY: u32 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn at_every_point_a_lease_is_billed_once() {
    let mut cells = Vec::new();
    let (some, others) = ([(1, true), (2, false)], [(1, false), (2, true)]);
    let others = others.into_iter().filter(|_| every_death());
    let ways: Vec<_> = some.into_iter().chain(others).collect();
    for point in CrashPoint::ALL {
        for &(times, tracked) in &ways {
            cells.push((point.as_str().to_owned(), times, tracked));
        }
    }
    let mut under_way = stream::iter(cells)
        .map(|(point, times, tracked)| async move {
            // Once a customer is known no job comes by that point again.
            let kinds_of_jobs = if point == CrashPoint::CustomerKnown.as_str() {
                1
            } else {
                8
            };
            let deaths = lease(&point, times, tracked).await;
            assert!(
                deaths >= kinds_of_jobs * times,
                "it died only {deaths} times at {point}"
            );
        })
        .buffer_unordered(AT_ONCE);
    while under_way.next().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn between_any_two_requests_a_lease_is_billed_once() {
    let cells = (1..=TOO_MANY).flat_map(|number| [(number, 1, true), (number, 2, false)]);
    let mut under_way = stream::iter(cells)
        .map(|(number, times, tracked)| async move {
            let deaths = lease(&format!("request{number}"), times, tracked).await;
            (number, deaths)
        })
        .buffer_unordered(AT_ONCE);
    let mut deaths = BTreeMap::<u32, u32>::new();
    while let Some((number, died)) = under_way.next().await {
        *deaths.entry(number).or_default() += died;
    }
    let last = deaths.pop_last();
    assert_eq!(last, Some((TOO_MANY, 0)), "some job makes more requests");
    // The longest job alone dies in each cell of every number; others may be shorter when they are tried again.
    assert!(deaths.values().all(|died| *died >= 2), "{deaths:?}");
}

/// A whole lease, one order that is cancelled when it is confirmed, and one that is cancelled while its
/// deposit is only held. Answers how often the process died.
async fn lease(point: &str, times: u32, tracked: bool) -> u32 {
    let world = World::new(Setup {
        abort: Some((point.to_owned(), times)),
        messages: true,
        ..Setup::default()
    })
    .await;
    let id = world.checkout("lessee").await;
    world.confirm(&id).await;
    world.fulfill(&id, tracked.then_some(TRACKING)).await;
    if tracked {
        assert_eq!(
            world.made("subscription", &id),
            Vec::<String>::new(),
            "billed before delivery"
        );
        world.carry_out(&id).await;
    }
    world.until_state(&id, "leaseActive").await;
    world.assert_billed_once(&id);

    let held = world.checkout("hesitant").await;
    world.identify(&held).await;
    world.reach(&held, "documentsPending").await;
    world.cancel(&held).await;
    let paid = world.checkout("regretful").await;
    world.confirm(&paid).await;
    world.cancel(&paid).await;

    world.put(&id, "returnPending").await;
    world.put(&id, "returned").await;
    world.until_told().await;

    world.assert_billed_once(&id);
    let [subscription] = &*world.made("subscription", &id) else {
        panic!("{id} has another subscription");
    };
    assert_eq!(
        world.double.object(subscription).unwrap()["status"],
        "canceled"
    );
    for (id, refunds) in [(&id, 1), (&paid, 1), (&held, 0)] {
        assert_eq!(world.made("refund", id).len(), refunds, "{id} at {point}");
    }
    world.assert_paid_once(&paid);
    let left = world.double.held_by("lessor_checkout");
    assert!(left.is_empty(), "money is still held: {left:?}");
    for (customer, made) in world.double.ids_by("customer", "lessor_customer") {
        assert_eq!(made.len(), 1, "{customer} is known twice");
    }
    world.until_books_agree().await;
    world.server.starts.load(Ordering::SeqCst) - 1
}
