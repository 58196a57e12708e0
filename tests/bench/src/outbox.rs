//! Jobs a second, by workers, with simulated providers.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;
use tokio::time::sleep;

use crate::measure::Meter;
use crate::seed::Shop;
use crate::stage::{Running, Stage};

/// How many workers there are in turn.
const WORKERS: [usize; 3] = [1, 2, 4];
/// Jobs of each turn.
const JOBS: u32 = 3_000;
/// They are given up after this time.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Throughput {
    pub(crate) workers: usize,
    pub(crate) jobs_a_second: f64,
    /// What a job takes of the processor in microseconds: all workers, and the database.
    pub(crate) of_workers: f64,
    pub(crate) of_database: f64,
}

/// Has workers tell the processor of as many variants as there are jobs.
///
/// # Errors
/// They do not work, or not to the end.
pub(crate) async fn measure(stage: &Stage, shop: &Shop) -> anyhow::Result<Vec<Throughput>> {
    let mut all = Vec::new();
    for workers in WORKERS {
        let running: Vec<Running> = (0..workers)
            .map(|_| stage.work())
            .collect::<Result<_, _>>()?;
        // What they do at their start is done.
        sleep(Duration::from_secs(3)).await;
        let database = stage.database_counted()?;
        let read = || -> anyhow::Result<_> {
            let mut spent = Vec::new();
            for worker in &running {
                let server = worker.counted();
                spent.push(Meter { server, database }.read()?);
            }
            Ok(spent)
        };
        let before = read()?;
        push(stage, shop).await?;
        let begun = Instant::now();
        let sql = "select count(*) from jobs where effect = 'pushVariant' and state = 'pending'";
        while stage.sql.query_one(sql, &[]).await?.get::<_, i64>(0) > 0 {
            ensure!(begun.elapsed() < PATIENCE, "jobs are left after a minute");
            sleep(Duration::from_millis(50)).await;
        }
        let took = begun.elapsed().as_secs_f64();
        let spent: Vec<_> = (read()?.into_iter().zip(before))
            .map(|(after, before)| after.since(before))
            .collect();
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(JOBS);
        all.push(Throughput {
            workers,
            jobs_a_second: f64::from(JOBS) / took,
            of_workers: micros(spent.iter().map(|it| it.server).sum()),
            of_database: spent.first().map_or(0.0, |it| micros(it.database)),
        });
    }
    Ok(all)
}

/// Jobs as the server writes them when variants change, in one statement.
async fn push(stage: &Stage, shop: &Shop) -> anyhow::Result<()> {
    let sql = format!(
        "insert into jobs (organization_id, id, effect, subject_kind, subject_id, mode, created_at, available_at, state)
         select organization_id, gen_random_uuid(), 'pushVariant', 'variant', id, 'sandbox', now(), now(), 'pending'
         from product_variants, generate_series(1, {}) limit {JOBS}",
        JOBS.div_ceil(shop.size.max(1)),
    );
    stage.sql.batch_execute(&sql).await?;
    Ok(())
}
