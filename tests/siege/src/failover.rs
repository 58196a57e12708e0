//! The primary dies, its standby takes its place, and the line leads there.

use std::time::Duration;

use lessor_adapters::testing::ReplicaPair;
use lessor_tests::tap::Tap;
use tokio::time::Instant;

use crate::Siege;
use crate::kills::kill;
use crate::load::shown;
use crate::report::Row;
use crate::scene::{Data, Scene};
use crate::writers::Writers;

const NAME: &str = "failover to a synchronous standby, under load";
/// From the kill until writes are acknowledged again, the promotion included.
const MOST: Duration = Duration::from_secs(10);
/// Writes that are acknowledged before it, and after it.
const BETWEEN: u64 = 50;

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let Some(pair) = ReplicaPair::start().await else {
        return vec![Row::not_measured(NAME, "PostgreSQL cannot stream here")];
    };
    pair.synchronous().await;
    let line = Tap::on(pair.url()).await;
    let scene = Scene::on(siege.binary, Data::At(line.url.clone()), &[]);
    let writers = Writers::begin(&scene.shop().await);
    writers.acknowledged(BETWEEN).await;
    kill(pair.primary_pid());
    writers.interrupted();
    let begun = Instant::now();
    pair.promote().await;
    let promotion = begun.elapsed();
    line.lead_to(pair.replica_url());
    writers.acknowledged(BETWEEN).await;
    let pause = writers.longest_pause();
    let outcome = writers.end().await;
    vec![Row::new(
        NAME,
        format!(
            "{outcome}; writes again within {}, of which {} until it is promoted",
            shown(pause),
            shown(promotion)
        ),
        format!("0 lost, none twice, ≤ {}", shown(MOST)),
        outcome.is_whole() && pause <= MOST,
    )]
}
