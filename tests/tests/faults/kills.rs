//! Server and worker are killed again and again while clients lease, and the processor's messages come
//! late, in any order, twice or never: nothing is lost, nothing doubled, and the sums agree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_domain::ports::Entropy as _;
use lessor_processor_double::{Decline, Occasion};
use serde_json::{Value, json};

use crate::feed;
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

/// How a checkout goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Shipped without tracking, so billed at once.
    Shipped,
    /// Shipped with tracking, billed when it is delivered.
    Tracked,
    /// Called off while the deposit is held.
    Hesitant,
    /// Called off when the deposit was taken.
    Regretful,
    /// Shipped, but the first payment is declined.
    Declined,
    /// Leased, and given back.
    Returned,
}

impl Way {
    const ALL: [Self; 6] = [
        Self::Shipped,
        Self::Tracked,
        Self::Hesitant,
        Self::Regretful,
        Self::Declined,
        Self::Returned,
    ];

    /// As far as a client goes by itself.
    async fn walk(self, world: &World, name: &str) -> String {
        let id = world.checkout(name).await;
        if self == Self::Hesitant {
            world.identify(&id).await;
            world.reach(&id, "documentsPending").await;
            world.cancel(&id).await;
            return id;
        }
        world.confirm(&id).await;
        match self {
            Self::Regretful => world.cancel(&id).await,
            Self::Tracked => {
                world.fulfill(&id, Some(TRACKING)).await;
                world.carry_out(&id).await;
            }
            Self::Declined => {
                let [intent] = &*world.made("payment_intent", &id) else {
                    panic!("{id} has paid its deposit once")
                };
                let intent = world.double.object(intent).unwrap();
                let card = intent["payment_method"].as_str().unwrap();
                let decline = Some(Decline::INSUFFICIENT_FUNDS);
                world
                    .double
                    .decline_on(card, Occasion::OffSession, decline)
                    .unwrap();
                world.fulfill(&id, None).await;
            }
            Self::Returned => {
                world.fulfill(&id, None).await;
                world.until_state(&id, "leaseActive").await;
                world.put(&id, "returnPending").await;
                world.put(&id, "returned").await;
            }
            Self::Shipped | Self::Hesitant => {
                world.fulfill(&id, None).await;
            }
        }
        id
    }

    /// Checks what came of it when everybody was told everything.
    async fn check(self, world: &World, id: &str) {
        let account = world.double.account_of(id);
        assert_eq!(account.held, 0, "{self:?} {id}: {account:?}");
        match self {
            Self::Shipped | Self::Tracked => {
                world.until_state(id, "leaseActive").await;
                world.assert_billed_once(id);
            }
            Self::Hesitant | Self::Regretful => {
                assert_eq!(account.kept(), 0, "{self:?} {id}: {account:?}");
                assert_eq!(account.subscriptions, []);
            }
            Self::Returned => {
                world.assert_billed_once(id);
                let ended = account.subscriptions.iter();
                assert!(ended.clone().all(|(_, status)| status == "canceled"));
                assert_eq!(account.refunded, account.captured, "{id}: {account:?}");
            }
            Self::Declined => {
                let checkout = world.get(&format!("/v1/checkouts/{id}")).await;
                let reasons = checkout["progress"]["attention"].as_array().unwrap();
                assert!(
                    reasons
                        .iter()
                        .any(|it| it["reason"] == "firstPaymentFailed"),
                    "{id} does not show why it is not billed: {checkout:#}"
                );
                assert_eq!(account.paid_invoices, []);
                let path = format!("/v1/checkouts/{id}/payments/retry");
                let card = json!({ "paymentMethodId": "pm_card_mastercard" });
                world.post_once(&path, &format!("retry-{id}"), &card).await;
                world.until_state(id, "leaseActive").await;
                world.assert_billed_once(id);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_nothing_is_lost_or_doubled() {
    let kills = std::env::var("LESSOR_TEST_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(KILLS);
    let world = World::new(Setup {
        separate_worker: true,
        unreliable: true,
        ..Setup::default()
    })
    .await;
    let listener = feed::Listener::new(&world).await;
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
    let over = AtomicBool::new(false);
    let clients = join_all((0..CLIENTS).map(|client| {
        let (world, over) = (&world, &over);
        async move {
            let mut walked = Vec::new();
            for lease in 0.. {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                // Each client begins with another way.
                let way = Way::ALL[(client + lease) % Way::ALL.len()];
                let name = format!("client{client}-{lease}");
                walked.push((way, way.walk(world, &name).await));
            }
            walked
        }
    }));
    let told = AtomicBool::new(false);
    let (walked, events) = futures::join!(
        async {
            let (walked, ()) = futures::join!(clients, async {
                killing.await;
                over.store(true, Ordering::SeqCst);
            });
            told.store(true, Ordering::SeqCst);
            walked
        },
        // Somebody follows what happens, through every kill.
        feed::followed(&world, &told)
    );
    let calm = Instant::now();
    world.until_told().await;
    let emptied = calm.elapsed();
    // What was lost on the way is asked for: whoever compares takes it in.
    let compared = world.command(&["reconcile", "--mode", "sandbox", "--mend"]);
    assert_eq!(compared["failures"], json!([]), "{compared:#}");
    world.until_told().await;
    let walked: Vec<(Way, String)> = walked.into_iter().flatten().collect();
    assert!(walked.len() >= CLIENTS, "only {} checkouts", walked.len());
    world.until_books_agree().await;
    for (way, id) in &walked {
        way.check(&world, id).await;
    }
    world.until_told().await;
    let compared = world.command(&["reconcile", "--mode", "sandbox", "--mend"]);
    assert_eq!(compared["failures"], json!([]), "{compared:#}");
    world.until_books_agree().await;
    // What happened since is read on from there.
    let mut events = events;
    events.extend(feed::rest(&world, events.last()).await);
    feed::check(&world, &events).await;
    listener.check(&world, &events).await;
    let cut = world.double.prorations();
    assert_eq!(cut, Vec::<Value>::new(), "a month was cut");
    report(&format!(
        "{kills} kills, {} checkouts, {} events; the job queue was empty {:.1} s after the last",
        walked.len(),
        events.len(),
        emptied.as_secs_f64()
    ));
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
