//! One organization asks for far more than its share.

use std::time::Duration;

use crate::Siege;
use crate::load::{self, Ask, rate, shown};
use crate::overload::capacity;
use crate::report::Row;
use crate::scene::Scene;

/// How much more than can be done for it.
const TIMES: f64 = 3.0;
/// What the other asks for a second.
const QUIET_RATE: f64 = 10.0;
const MOST: f64 = 2.0;

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let window = Duration::from_secs(if siege.short { 4 } else { 15 });
    // The fair share is measured, and not what refuses before it.
    let scene = Scene::embedded(siege.binary, &["--rate-limit", "off"]);
    let noisy = [scene.shop().await];
    let quiet = [scene.shop().await];
    let capacity = rate(capacity(&noisy, Ask::Writes, window).await.in_time, window);
    let alone = load::open(&quiet, QUIET_RATE, Ask::Writes, window).await;
    let (noise, beside) = tokio::join!(
        load::open(&noisy, capacity * TIMES, Ask::Writes, window),
        load::open(&quiet, QUIET_RATE, Ask::Writes, window),
    );
    let (before, after) = (alone.done_within(0.5), beside.done_within(0.5));
    let slower = after.as_secs_f64() / before.as_secs_f64();
    let (lost, why) = beside.lost();
    vec![Row::new(
        "noisy neighbour at 3× capacity: another's writes",
        format!(
            "p50 {} → {} = {slower:.1}×, p99 {} → {}, {lost} lost{why}; its own {:.0}/s of {capacity:.0}/s",
            shown(before),
            shown(after),
            shown(alone.done_within(0.99)),
            shown(beside.done_within(0.99)),
            rate(noise.in_time, window),
        ),
        format!("p50 ≤ {MOST:.0}×, 0 lost"),
        slower <= MOST && lost == 0,
    )]
}
