//! Jobs a second, by workers: with simulated providers, and with one that is asked over a line.

use std::time::{Duration, Instant};

use lessor_processor_double::{Double, Fault, Rule};
use serde::Serialize;
use tokio::time::sleep;

use crate::measure::Meter;
use crate::seed::Shop;
use crate::stage::{Running, Stage};

/// How many workers there are in turn.
const WORKERS: [usize; 3] = [1, 2, 4];
/// Jobs of each turn at most.
const JOBS: u32 = 3_000;
/// How many jobs a worker has under way.
const PLACES: i64 = 8;
/// How many times a worker's places are filled before it is counted what it does.
const ROUNDS: u32 = 10;
/// What is not done within this time is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// After how long a provider answers that is asked over a line.
pub(crate) const AWAY: Duration = Duration::from_millis(100);

/// Who is told of variants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Provider {
    /// One that is simulated in the same database.
    Simulated,
    /// One that is asked over a line, and answers after [`AWAY`]. It knows nothing before.
    Away,
}

impl Provider {
    /// Jobs of each turn. One that is asked over a line looks through all that it knows for each list.
    const fn jobs(self) -> u32 {
        match self {
            Self::Simulated => JOBS,
            Self::Away => JOBS / 12,
        }
    }

    /// The provider, where it is none of the database's.
    fn start(self) -> std::io::Result<Option<Double>> {
        if matches!(self, Self::Simulated) {
            return Ok(None);
        }
        let double = Double::start()?;
        let millis = u64::try_from(AWAY.as_millis()).unwrap_or(u64::MAX);
        double.fault(Rule::always("*", "/**", Fault::Slow { millis }));
        Ok(Some(double))
    }
}

/// What workers are told of the provider.
fn settings(double: &Double) -> Vec<(&'static str, String)> {
    vec![
        ("LESSOR_PROCESSOR_URL", double.url()),
        ("LESSOR_PROCESSOR_SANDBOX_KEY", "sk_test_bench".to_owned()),
    ]
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Throughput {
    pub(crate) workers: usize,
    pub(crate) jobs_a_second: f64,
    /// What a job takes of the processor in microseconds: all workers, and the database.
    pub(crate) of_workers: f64,
    pub(crate) of_database: f64,
}

/// Makes what the provider is told of, on a stage that nothing else was done on: what workers owe to leases would be done beside it.
///
/// # Errors
/// The server does not make it.
pub(crate) async fn set(stage: &Stage) -> anyhow::Result<()> {
    Shop::of_catalog(stage, JOBS).await?;
    Ok(())
}

/// Has workers tell the provider of as many variants as there are jobs.
///
/// # Errors
/// They do not work.
pub(crate) async fn measure(stage: &Stage, provider: Provider) -> anyhow::Result<Vec<Throughput>> {
    let jobs = provider.jobs();
    let mut all = Vec::new();
    for workers in WORKERS {
        let double = provider.start()?;
        let settings = double.as_ref().map(settings).unwrap_or_default();
        let running: Vec<Running> = (0..workers)
            .map(|_| stage.work(&settings))
            .collect::<Result<_, _>>()?;
        // What they do at their start is done, and with the first jobs all have the connections that they need.
        sleep(Duration::from_secs(3)).await;
        let places = PLACES * i64::try_from(workers)?;
        // Of others than are counted: one that is asked over a line knows them then.
        push(stage, u32::try_from(places)? * ROUNDS, "desc").await?;
        left_of(stage, 0).await?;
        forget(stage).await?;
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
        push(stage, jobs, "asc").await?;
        // From when the first is done: nobody told the workers that there are any.
        let first = left_of(stage, i64::from(jobs) - 1).await?;
        let begun = Instant::now();
        // When the last are under way, not all places are taken any more.
        let last = left_of(stage, places).await?;
        let took = begun.elapsed().as_secs_f64();
        let left = left_of(stage, 0).await?;
        forget(stage).await?;
        let spent: Vec<_> = (read()?.into_iter().zip(before))
            .map(|(after, before)| after.since(before))
            .collect();
        let done = f64::from(jobs) - left as f64;
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / done.max(1.0);
        all.push(Throughput {
            workers,
            jobs_a_second: (first - last) as f64 / took,
            of_workers: micros(spent.iter().map(|it| it.server).sum()),
            of_database: spent.first().map_or(0.0, |it| micros(it.database)),
        });
    }
    Ok(all)
}

/// How many jobs are left once it are so many, or nobody waits any longer.
async fn left_of(stage: &Stage, so_many: i64) -> anyhow::Result<i64> {
    let sql = "select count(*) from jobs where effect = 'pushVariant' and state = 'pending'";
    let begun = Instant::now();
    loop {
        let left = stage.sql.query_one(sql, &[]).await?.get(0);
        if left <= so_many || begun.elapsed() > PATIENCE {
            return Ok(left);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Removes those that were done, and whatever is left.
async fn forget(stage: &Stage) -> anyhow::Result<()> {
    let sql = "delete from jobs where effect = 'pushVariant'";
    Ok(stage.sql.batch_execute(sql).await?)
}

/// Jobs as the server writes them when variants change, in one statement: of the first of those, or of the last.
async fn push(stage: &Stage, jobs: u32, order: &str) -> anyhow::Result<()> {
    let sql = format!(
        "insert into jobs (organization_id, id, effect, subject_kind, subject_id, mode, created_at, available_at, state)
         select organization_id, gen_random_uuid(), 'pushVariant', 'variant', id, 'sandbox', now(), now(), 'pending'
         from product_variants where sku <> 'model' order by id {order} limit {jobs}"
    );
    stage.sql.batch_execute(&sql).await?;
    Ok(())
}
