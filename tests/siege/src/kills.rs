//! Somebody is killed while clients write: what was acknowledged is there afterwards, and once.

use std::time::Duration;

use lessor_tests::Running;
use lessor_tests::process::postmaster;
use lessor_tests::server::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::load::shown;
use crate::report::Row;
use crate::scene::{Data, Scene};
use crate::writers::Writers;
use crate::{Siege, system};

/// A job that a dead worker was at is taken up again so soon.
const JOB_LEASE: [&str; 2] = ["--job-lease", "2s"];
/// Writes that are acknowledged before each kill, and after the last.
const BETWEEN: u64 = 25;
const LIMIT: &str = "0 lost, none twice";

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let times = if siege.short { 1 } else { 3 };
    let mut scene = Scene::embedded(siege.binary, &[]);
    let backends = of_the_database(&scene, "backend", times, backend).await;
    let postmasters = of_the_database(&scene, "postmaster", times, postmaster_of).await;
    let servers = of_the_server(&mut scene, times).await;
    drop(scene);
    vec![
        backends,
        postmasters,
        servers,
        of_the_worker(siege, times).await,
    ]
}

/// A process of the database is killed, which the server survives.
async fn of_the_database(
    scene: &Scene,
    who: &str,
    times: u32,
    find: fn(&Scene) -> Option<u32>,
) -> Row {
    let writers = Writers::begin(&scene.shop().await);
    for _ in 0..times {
        writers.acknowledged(BETWEEN).await;
        kill(until(|| find(scene)).await);
        writers.interrupted();
    }
    writers.acknowledged(BETWEEN).await;
    row(who, times, writers).await
}

/// The server is killed, and its database with it.
async fn of_the_server(scene: &mut Scene, times: u32) -> Row {
    let shop = scene.shop().await;
    let writers = Writers::begin(&shop);
    for _ in 0..times {
        writers.acknowledged(BETWEEN).await;
        scene.server.kill();
        writers.interrupted();
        scene.serve_again();
    }
    writers.acknowledged(BETWEEN).await;
    row("server", times, writers).await
}

/// The worker is killed: what it was to do is done by the next.
async fn of_the_worker(siege: Siege, times: u32) -> Row {
    let mut flags = vec!["--no-worker"];
    flags.extend(JOB_LEASE);
    let scene = Scene::embedded(siege.binary, &flags);
    let shop = scene.shop().await;
    let worker = || {
        let mut command = scene.data.command(siege.binary);
        Running::start(command.args(["--json", "worker"]).args(JOB_LEASE))
    };
    let mut working = worker();
    let writers = Writers::leasing(&shop);
    for _ in 0..times {
        writers.acknowledged(BETWEEN / 5).await;
        working.kill();
        // Something waits for the next one.
        writers.acknowledged(BETWEEN / 5).await;
        working = worker();
    }
    writers.acknowledged(BETWEEN / 5).await;
    let outcome = writers.end().await;
    Row::new(
        "kill -9 of a worker, under load",
        format!("{times} times: {outcome}; lost is what does not become an active lease"),
        LIMIT.to_owned(),
        outcome.is_whole(),
    )
}

async fn row(who: &str, times: u32, writers: Writers) -> Row {
    let longest = writers.longest_pause();
    let outcome = writers.end().await;
    Row::new(
        &format!("kill -9 of a {who}, under load"),
        format!(
            "{times} times: {outcome}; writes again within {}",
            shown(longest)
        ),
        LIMIT.to_owned(),
        outcome.is_whole(),
    )
}

fn postmaster_of(scene: &Scene) -> Option<u32> {
    let Data::Embedded(folder) = &scene.data else {
        return None;
    };
    u32::try_from(postmaster(folder)?.as_raw_nonzero().get()).ok()
}

/// A session of the server at its database.
fn backend(scene: &Scene) -> Option<u32> {
    let is_session = |pid: &u32| {
        // postgres: ROLE DATABASE ADDRESS STATE, where those of the database itself have no database.
        let title = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        title.is_ok_and(|title| title.contains(" lessor "))
    };
    system::children(postmaster_of(scene)?)
        .into_iter()
        .find(is_session)
}

/// Kills a process that is there.
///
/// # Panics
/// When it is not.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let killed = pid.map(|pid| kill_process(pid, Signal::KILL));
    assert_eq!(killed, Some(Ok(())), "{pid:?}");
}

/// Waits until there is one.
async fn until<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "there is none");
        sleep(Duration::from_millis(20)).await;
    }
}
