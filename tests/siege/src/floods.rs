//! Thousands of connections that want to be in the way.

mod attack;

use std::time::Duration;

use self::attack::{Attack, Kind};
use crate::load::{self, Ask, Tally, shown};
use crate::report::Row;
use crate::scene::Scene;
use crate::shop::Shop;
use crate::{Siege, system};

/// How much slower it may be answered.
const TIMES: u32 = 10;
/// The most memory of the server, in KiB.
const MEMORY: u64 = 256 * 1024;

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let Measures {
        connections,
        window,
        rate,
        floor,
    } = Measures::of(siege);
    let scene = Scene::embedded(siege.binary, &[]);
    let shop = scene.shop().await;
    healthy(&shop, rate, window / 4).await;
    let mut rows = Vec::new();
    // What nobody reads an unoptimised build is busy with for seconds.
    let kinds = (Kind::ALL.into_iter()).filter(|kind| !siege.short || kind.is_read());
    for kind in kinds {
        for addresses in kind.addresses() {
            let at_rest = healthy(&shop, rate, window / 2).await;
            scene.server.peak_memory();
            let attack = Attack::begin(kind, scene.address(), connections, *addresses);
            let attacked = healthy(&shop, rate, window).await;
            let memory = scene.server.peak_memory();
            let held = system::held_for_connections();
            let (most, ended) = attack.end().await;
            let from = if *addresses == 1 { ", one address" } else { "" };
            let [before, after] = [&at_rest, &attacked].map(|tally| tally.answered_within(0.99));
            let (lost, why) = attacked.lost();
            let holds = after < before.max(floor) * TIMES
                && lost == 0
                && memory < MEMORY
                && most >= connections;
            rows.push(Row::new(
                &format!("flood of {connections}: {}{from}", kind.as_str()),
                format!(
                    "p99 {} → {}, {lost} of {} lost{why}, {} MB and {} MB of the system's; \
                     {most} connections at most, {ended} ended",
                    shown(before),
                    shown(after),
                    attacked.done() + lost,
                    memory / 1024,
                    held / 1024 / 1024
                ),
                format!("p99 < {TIMES}×, 0 lost, < {} MB", MEMORY / 1024),
                holds,
            ));
        }
    }
    rows
}

/// How much of it.
struct Measures {
    connections: usize,
    window: Duration,
    /// What the client asks for a second that is not to be hurt.
    rate: f64,
    /// What is as good as rest.
    floor: Duration,
}

impl Measures {
    const fn of(siege: Siege) -> Self {
        if siege.short {
            // An unoptimised build has little left beside that, and its rest is not what it is compared with.
            Self {
                connections: 300,
                window: Duration::from_secs(4),
                rate: 10.0,
                floor: Duration::from_millis(100),
            }
        } else {
            Self {
                connections: 2_000,
                window: Duration::from_secs(20),
                rate: 50.0,
                floor: Duration::ZERO,
            }
        }
    }
}

async fn healthy(shop: &Shop, rate: f64, window: Duration) -> Tally {
    load::open(std::slice::from_ref(shop), rate, Ask::Both, window).await
}
