//! What a server needs: memory, time to start, room on the disk.

use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;

use crate::load::{Load, Source};
use crate::processor_time::memory;
use crate::stage::Stage;

/// Connections of a server that is full.
const MANY: usize = 1_000;
/// How often it is started.
const STARTS: usize = 5;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resources {
    /// In MiB: a server that nobody asked yet.
    pub(crate) memory_at_rest: f64,
    /// With a thousand connections, each of which read a variant and a list.
    pub(crate) memory_with_many: f64,
    /// From its start until it answers, in milliseconds: the median of five.
    pub(crate) ready_in: f64,
    /// In MiB.
    pub(crate) binary: f64,
}

/// Measures another server on the same database.
///
/// # Errors
/// It does not serve.
pub(crate) async fn measure(stage: &Stage) -> anyhow::Result<Resources> {
    let mut starts: Vec<Duration> = Vec::new();
    for _ in 0..STARTS {
        starts.push(stage.serve(stage.database())?.started_in);
    }
    starts.sort_unstable();
    let server = stage.serve(stage.database())?;
    sleep(Duration::from_secs(2)).await;
    let memory_at_rest = memory(server.pid())?;
    let paths = ["/v1/checkouts", "/v1/products"];
    let make = |number: u32| {
        let path = if number.is_multiple_of(2) {
            paths[0]
        } else {
            paths[1]
        };
        stage.get(path)
    };
    let mut load = Load::open(&server.address, MANY).await?;
    let source = Source {
        make: &make,
        numbers: 0..2,
        repeats: true,
    };
    // Long enough for each of them to be answered.
    let run = load.run(&source, Duration::from_secs(5), None).await;
    let memory_with_many = memory(server.pid())?;
    run?;
    Ok(Resources {
        memory_at_rest,
        memory_with_many,
        ready_in: starts
            .get(STARTS / 2)
            .map_or(f64::NAN, |it| it.as_secs_f64() * 1e3),
        binary: std::fs::metadata(stage.binary())?.len() as f64 / 1_048_576.0,
    })
}
