//! Server and worker are killed again and again while clients lease: nothing is lost, nothing doubled.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_domain::ports::Entropy as _;

use crate::journey::TRACKING;
use crate::world::{Setup, World};

/// How often somebody is killed, unless `LESSOR_TEST_KILLS` says otherwise.
const KILLS: u32 = 30;
/// Clients at a time.
const CLIENTS: usize = 8;

fn random() -> u64 {
    let mut bytes = [0; 8];
    lessor_adapters::ambient::SystemEntropy.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_nothing_is_lost_or_doubled() {
    let kills = std::env::var("LESSOR_TEST_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(KILLS);
    let world = World::new(Setup {
        separate_worker: true,
        messages: true,
        ..Setup::default()
    })
    .await;
    let killing = async {
        for _ in 0..kills {
            // Random, so that it meets whatever is under way.
            tokio::time::sleep(Duration::from_millis(100 + random() % 1_400)).await;
            match &world.worker {
                Some(worker) if random().is_multiple_of(2) => worker.kill(),
                _ => world.server.kill(),
            }
        }
    };
    let over = std::sync::atomic::AtomicBool::new(false);
    let clients = join_all((0..CLIENTS).map(|client| {
        let (world, over) = (&world, &over);
        async move {
            let mut leased = Vec::new();
            for lease in 0.. {
                if over.load(std::sync::atomic::Ordering::SeqCst) {
                    break;
                }
                let id = world.checkout(&format!("client{client}-{lease}")).await;
                world.confirm(&id).await;
                let tracked = lease % 2 == 1;
                world.fulfill(&id, tracked.then_some(TRACKING)).await;
                if tracked {
                    world.deliver(&id).await;
                }
                leased.push(id);
            }
            leased
        }
    }));
    let (leased, ()) = futures::join!(clients, async {
        killing.await;
        over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let calm = Instant::now();
    world.until_told().await;
    let emptied = calm.elapsed();
    let leased: Vec<String> = leased.into_iter().flatten().collect();
    assert!(leased.len() >= CLIENTS, "only {} leases", leased.len());
    for id in &leased {
        world.until_state(id, "leaseActive").await;
        world.assert_billed_once(id);
    }
    let subscriptions = world.double.ids_by("subscription", "lessor_checkout");
    assert_eq!(
        subscriptions.len(),
        leased.len(),
        "something else is billed"
    );
    report(&format!(
        "{kills} kills, {} leases; the outbox was empty {:.1} s after the last",
        leased.len(),
        emptied.as_secs_f64()
    ));
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
