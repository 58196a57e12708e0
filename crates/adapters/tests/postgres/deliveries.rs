//! What only a database shows of deliveries: workers at once, and long queues.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures_util::future::join_all;
use lessor_domain::events::EventType;
use lessor_domain::ports::{Database as _, DeliveryClaim, Errand, Reach};
use lessor_domain::webhooks::{NewDelivery, Occasion, WebhookEndpoint};

use super::scans::rows_read;
use super::support::{Shop, pool, run, skipped_on_a_cluster};

const LEASE: Duration = Duration::from_secs(3_600);
/// What waits for an endpoint that does not answer.
const WAITING: usize = 10_000;

/// So many, and so many of an endpoint, however slow it is.
const fn claim(per_endpoint: u32, limit: u32) -> DeliveryClaim {
    DeliveryClaim {
        limit,
        per_endpoint,
        lease: LEASE,
        slow_after: LEASE,
    }
}

async fn endpoint(shop: &Shop) -> WebhookEndpoint {
    let endpoint = shop.make.webhook_endpoint(&shop.organization);
    let kept = shop.run(async |uow| uow.webhook_endpoints().insert(&endpoint).await);
    assert!(kept.await.unwrap());
    endpoint
}

fn delivery(shop: &Shop, endpoint: &WebhookEndpoint) -> NewDelivery {
    NewDelivery {
        id: shop.make.id(),
        organization_id: endpoint.organization_id,
        mode: endpoint.mode,
        endpoint_id: endpoint.id,
        event_id: shop.make.id(),
        occasion: Occasion::Event(EventType::CheckoutUpdated),
        subject: shop
            .make
            .id::<lessor_domain::ids::CheckoutPubId>()
            .as_uuid(),
        sequence: 1,
        created_at: endpoint.created_at,
    }
}

async fn queue(shop: &Shop, endpoint: &WebhookEndpoint, count: usize) {
    let all: Vec<NewDelivery> = (0..count).map(|_| delivery(shop, endpoint)).collect();
    for part in all.chunks(1_000) {
        let queued = shop.run(async |uow| uow.deliveries().queue(part).await);
        assert_eq!(queued.await.unwrap(), part.len() as u64);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_take_different_ones_and_no_more_than_there_is_room_for() {
    let shop = Shop::open().await;
    let endpoint = endpoint(&shop).await;
    queue(&shop, &endpoint, 60).await;
    let database = pool(&shop.test, |settings| settings.max_connections = 10);
    let now = shop.make.tick() + TimeDelta::hours(1);
    for room in [8_u32, 20] {
        let mut taken = Vec::new();
        // Who meets another leaves the queue to them, and comes again.
        loop {
            let workers = (0..8).map(|_| {
                run(&database, shop.reach(), async |uow| {
                    uow.deliveries().claim(now, claim(room, 5)).await
                })
            });
            let more = join_all(workers).await.into_iter();
            let more: Vec<_> = more.flat_map(Result::unwrap).collect();
            if more.is_empty() {
                break;
            }
            taken.extend(more);
        }
        let different: BTreeSet<_> = taken.iter().map(|it| it.new.id).collect();
        assert_eq!(different.len(), taken.len(), "none is taken twice");
        let under_way = shop
            .test
            .query("select count(*) from deliveries where claimed_until is not null")
            .await;
        assert_eq!(under_way, [room.to_string()]);
    }
}

#[tokio::test]
async fn a_claim_reads_few_of_many_where_there_were_none_when_they_were_counted() {
    const MANY: usize = 2_000;
    if skipped_on_a_cluster("a claim is planned each time") {
        return;
    }
    let shop = Shop::open().await;
    let endpoint = endpoint(&shop).await;
    queue(&shop, &endpoint, 1).await;
    let emptied = "delete from deliveries; analyze deliveries";
    shop.test.execute(emptied).await;
    let now = shop.make.tick() + TimeDelta::hours(1);
    let read = rows_read(&shop.test, "deliveries", 3, async |database| {
        let taken = async || {
            let taken = run(database, shop.reach(), async |uow| {
                uow.deliveries().claim(now, claim(8, 8)).await
            });
            taken.await.unwrap().len()
        };
        queue(&shop, &endpoint, 1).await;
        // The plan is made, and kept.
        assert_eq!(taken().await, 1);
        queue(&shop, &endpoint, MANY).await;
        assert_eq!(taken().await, 7);
    });
    let read = read.await;
    // Whose turn it is, and those that were chosen, are looked for in all of the endpoint's, but not for each of the front.
    assert!(read < 8 * MANY as u64, "{read} rows were read");
}

/// It is a bound that a machine under load keeps too: what is looked at does not grow with the queue.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_dead_endpoint_costs_the_others_nothing() {
    if skipped_on_a_cluster("times of one server") {
        return;
    }
    let shop = Shop::open().await;
    let (dead, alive) = (endpoint(&shop).await, endpoint(&shop).await);
    queue(&shop, &dead, WAITING).await;
    shop.test.execute("analyze").await;
    let now = shop.make.tick() + TimeDelta::hours(1);
    // The dead one's room is taken by attempts that do not end.
    let taken = shop
        .run(async |uow| uow.deliveries().claim(now, claim(8, 32)).await)
        .await
        .unwrap();
    assert_eq!(taken.len(), 8);
    queue(&shop, &alive, 20).await;
    let begun = Instant::now();
    let mut delivered = 0;
    while delivered < 20 {
        let mut view = shop.database().read(Reach::Server).await.unwrap();
        let due = Errand::Deliveries { due: now };
        let owners = view.doors().owners_with(due).await.unwrap();
        assert_eq!(owners, [shop.organization.id]);
        drop(view);
        let taken = shop
            .run(async |uow| uow.deliveries().claim(now, claim(8, 4)).await)
            .await
            .unwrap();
        assert!(!taken.is_empty());
        for mut delivery in taken {
            assert_eq!(delivery.new.endpoint_id, alive.id);
            delivery.abandon("so", now);
            let settled = shop.run(async |uow| uow.deliveries().settle(&delivery).await);
            assert!(settled.await.unwrap());
            delivered += 1;
        }
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    // The whole queue is given up at once, and forgotten with its endpoint.
    let given_up = shop
        .run(async |uow| uow.deliveries().abandon(dead.id, "so", now).await)
        .await
        .unwrap();
    assert_eq!(given_up, WAITING as u64);
    let deleted = shop
        .run(async |uow| uow.webhook_endpoints().delete(dead.scope(), dead.id).await)
        .await
        .unwrap();
    assert!(deleted);
}
