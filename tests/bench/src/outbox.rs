//! Jobs a second, by workers, with simulated providers.

use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::sleep;

use crate::measure::Meter;
use crate::seed::Shop;
use crate::stage::{Running, Stage};

/// How many workers there are in turn.
const WORKERS: [usize; 3] = [1, 2, 4];
/// Jobs of each turn.
const JOBS: u32 = 3_000;
/// What is not done within this time is not waited for.
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

/// Has workers tell the processor of as many variants as there are jobs, on a stage that nothing else was done on.
///
/// # Errors
/// They do not work.
pub(crate) async fn measure(stage: &Stage) -> anyhow::Result<Vec<Throughput>> {
    // On a stage of its own: what workers owe to leases would be done beside it.
    Shop::of_catalog(stage, JOBS).await?;
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
        push(stage).await?;
        let begun = Instant::now();
        let sql = "select count(*) from jobs where effect = 'pushVariant' and state = 'pending'";
        let mut left = i64::from(JOBS);
        while left > 0 && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(50)).await;
            left = stage.sql.query_one(sql, &[]).await?.get(0);
        }
        let took = begun.elapsed().as_secs_f64();
        let done = f64::from(JOBS) - left as f64;
        stage
            .sql
            .batch_execute("delete from jobs where effect = 'pushVariant'")
            .await?;
        let spent: Vec<_> = (read()?.into_iter().zip(before))
            .map(|(after, before)| after.since(before))
            .collect();
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / done.max(1.0);
        all.push(Throughput {
            workers,
            jobs_a_second: done / took,
            of_workers: micros(spent.iter().map(|it| it.server).sum()),
            of_database: spent.first().map_or(0.0, |it| micros(it.database)),
        });
    }
    Ok(all)
}

/// Jobs as the server writes them when variants change, in one statement.
async fn push(stage: &Stage) -> anyhow::Result<()> {
    let sql = format!(
        "insert into jobs (organization_id, id, effect, subject_kind, subject_id, mode, created_at, available_at, state)
         select organization_id, gen_random_uuid(), 'pushVariant', 'variant', id, 'sandbox', now(), now(), 'pending'
         from product_variants where sku <> 'model' limit {JOBS}"
    );
    stage.sql.batch_execute(&sql).await?;
    Ok(())
}
