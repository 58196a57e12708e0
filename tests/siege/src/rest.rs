//! What a server takes that nobody asks anything of, and how soon it is there.

use std::time::Duration;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::process::postmaster;
use lessor_tests::server::PATIENCE;
use tokio::time::{Instant, sleep};

use crate::load::shown;
use crate::report::Row;
use crate::scene::{Data, Scene};
use crate::{Siege, system};

/// From the start of the process to `/readyz`, on a database that is there.
const READY: Duration = Duration::from_millis(300);
/// Of one core, in percent.
const IDLE: f64 = 0.5;
/// In KiB.
const MEMORY: u64 = 40 * 1024;
/// After a start there are things to do once.
const SETTLING: Duration = Duration::from_secs(5);

pub(crate) async fn start(siege: Siege) -> Vec<Row> {
    let times = if siege.short { 3 } else { 15 };
    let data = Data::Database(TestDatabase::create().await);
    // The first start on a database leaves something there.
    let shop = Scene::on(siege.binary, data, &[]);
    let asked = shop.shop().await;
    let Scene { data, server, .. } = shop;
    drop(server);
    let mut taken = Vec::new();
    for _ in 0..times {
        let begun = Instant::now();
        let server = data.serve(siege.binary, &[]);
        let asked = asked.at(&server.url);
        while !asked.is_ready().await {
            assert!(begun.elapsed() < PATIENCE, "it does not get ready");
        }
        taken.push(begun.elapsed());
    }
    taken.sort_unstable();
    let middle = taken.get(times / 2).copied().unwrap_or_default();
    let slowest = taken.last().copied().unwrap_or_default();
    vec![Row::new(
        "start to ready on an existing database",
        format!(
            "{} in the middle of {times}, slowest {}",
            shown(middle),
            shown(slowest)
        ),
        format!("< {}", shown(READY)),
        middle < READY,
    )]
}

pub(crate) async fn idle(siege: Siege) -> Vec<Row> {
    let window = Duration::from_secs(if siege.short { 10 } else { 60 });
    let scene = Scene::embedded(siege.binary, &[]);
    // Who has never been asked anything is not what is at rest most of the time.
    let shop = scene.shop().await;
    for _ in 0..20 {
        shop.write().await;
    }
    sleep(SETTLING).await;
    let server = scene.server.id();
    let Data::Embedded(folder) = &scene.data else {
        return Vec::new();
    };
    let database =
        postmaster(folder).and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    let database = database.unwrap_or_default();
    let used = || (system::used(server), system::used_with_children(database));
    let before = used();
    sleep(window).await;
    let after = used();
    let of_server = system::percent(before.0, after.0, window);
    let of_database = system::percent(before.1, after.1, window);
    let memory = scene.server.memory();
    vec![
        Row::new(
            "idle: processor time",
            format!(
                "server {of_server:.2} % and database {of_database:.2} % of a core, over {} s",
                window.as_secs()
            ),
            format!("< {IDLE} % together"),
            of_server + of_database < IDLE,
        ),
        Row::new(
            "idle: memory of the server",
            format!("{} MB", memory / 1024),
            format!("< {} MB", MEMORY / 1024),
            memory < MEMORY,
        ),
    ]
}
