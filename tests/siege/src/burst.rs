//! Everybody comes in the same moment.

use std::time::Duration;

use crate::Siege;
use crate::load::{self, Ask, shown};
use crate::report::Row;
use crate::scene::Scene;

/// Requests at once.
const COUNT: u32 = 100;
/// How often.
const TIMES: u32 = 5;

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let scene = Scene::embedded(siege.binary, &[]);
    let shop = scene.shop().await;
    // A server that has never been asked plans its statements first.
    load::closed(
        std::slice::from_ref(&shop),
        4,
        Ask::Writes,
        Duration::from_secs(1),
    )
    .await;
    // As many writes as that take an unoptimised build longer than anybody waits.
    let (times, ask, what) = if siege.short {
        (2, Ask::Reads, "reads")
    } else {
        (TIMES, Ask::Writes, "new checkouts")
    };
    let (mut refused, mut failed, mut slowest) = (0, 0, Duration::ZERO);
    for _ in 0..times {
        // On connections of its own each time, as a crowd has.
        let shop = shop.at(&scene.server.url);
        let tally = load::at_once(&shop, COUNT, ask).await;
        refused += tally.refused;
        failed += tally.failed;
        slowest = slowest.max(tally.answered_within(1.0));
    }
    vec![Row::new(
        &format!("burst: {COUNT} {what} at once"),
        format!(
            "{times} times: {refused} refused, {failed} failed; slowest {}",
            shown(slowest)
        ),
        "0 refused, 0 failed".to_owned(),
        refused == 0 && failed == 0,
    )]
}
