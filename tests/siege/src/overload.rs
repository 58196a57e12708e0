//! Twice as much is asked for as can be done.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::load::{self, Ask, Tally, rate, shown};
use crate::report::Row;
use crate::scene::Scene;
use crate::shop::{Answer, Shop};
use crate::{Siege, system};

/// Organizations that ask, each with a share that no rate limit is near to.
const SHOPS: usize = 4;
/// Clients who ask again once they are answered: twice as many as there are connections to the database, so that none is idle.
const CLIENTS: usize = 40;
/// How much more is asked for than can be done.
const TIMES: f64 = 2.0;

const LEAST_PERCENT: f64 = 90.0;
const LATEST: Duration = Duration::from_millis(1_500);
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// So many quick answers one after the other are no chance.
const IN_A_ROW: u32 = 20;

/// Shops of their own at the scene.
pub(crate) async fn shops(scene: &Scene, count: usize) -> Vec<Shop> {
    let mut shops = Vec::new();
    for _ in 0..count {
        shops.push(scene.shop().await);
    }
    shops
}

/// What clients get who ask again once they are answered, after a while of the same.
pub(crate) async fn capacity(shops: &[Shop], ask: Ask, window: Duration) -> Tally {
    load::closed(shops, CLIENTS, ask, window / 3).await;
    load::closed(shops, CLIENTS, ask, window).await
}

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let window = Duration::from_secs(if siege.short { 4 } else { 15 });
    let scene = Scene::embedded(siege.binary, &[]);
    let shops = shops(&scene, SHOPS).await;
    let capable = capacity(&shops, Ask::Writes, window).await;
    let calm = load::open(&shops, 20.0, Ask::Writes, window / 3).await;
    let capacity = rate(capable.in_time, window);

    let own = std::process::id();
    let used = system::used(own);
    let over = Instant::now() + window;
    let tally = load::open(&shops, capacity * TIMES, Ask::Writes, window).await;
    let used = system::percent(used, system::used(own), window);
    let back = back(&shops, calm.done_within(0.99) * 3, over).await;

    let goodput = rate(tally.in_time, window);
    let percent = 100.0 * goodput / capacity;
    let latest = tally.answered_within(0.99);
    let (refused, failed) = (tally.refused, tally.failed);
    vec![
        Row::new(
            "overload: answers of use at 2× capacity",
            format!(
                "{goodput:.0}/s of {capacity:.0}/s = {percent:.0} %; {refused} refused, {failed} failed; \
                 asking took {used:.0} % of a core"
            ),
            format!("≥ {LEAST_PERCENT:.0} %, 0 failed"),
            percent >= LEAST_PERCENT && failed == 0,
        ),
        Row::new(
            "overload: p99 of all answers",
            format!(
                "{} (p50 {}, successes p99 {})",
                shown(latest),
                shown(tally.answered_within(0.5)),
                shown(tally.done_within(0.99))
            ),
            format!("< {}", shown(LATEST)),
            latest < LATEST,
        ),
        Row::new(
            "overload: back to normal after it",
            back.map_or("not".to_owned(), shown),
            format!("≤ {}", shown(BACK_WITHIN)),
            back.is_some_and(|back| back <= BACK_WITHIN),
        ),
    ]
}

/// How long after the load was over the first of many quick answers in a row was asked for; none when they do not come.
async fn back(shops: &[Shop], quick: Duration, over: Instant) -> Option<Duration> {
    let mut row = None;
    let mut length = 0;
    for shop in shops.iter().cycle() {
        let asked = Instant::now();
        let is_quick = matches!(shop.write().await, Answer::Done(_)) && asked.elapsed() <= quick;
        if is_quick {
            row.get_or_insert(asked - over);
            length += 1;
        } else {
            (row, length) = (None, 0);
        }
        if length >= IN_A_ROW {
            return row;
        }
        if over.elapsed() > BACK_WITHIN * 2 {
            return None;
        }
        sleep(Duration::from_millis(20)).await;
    }
    None
}
