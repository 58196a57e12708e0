//! What is read again while something else of the organization changes.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::try_join;
use serde::Serialize;

use crate::load::{Load, Source};
use crate::measure::{Asked, Meter};
use crate::options::Options;
use crate::paths::{PATHS, Path, Write};
use crate::seed::Shop;
use crate::stage::Stage;

/// How many leases are made a second.
pub(crate) const LEASES: f64 = 5.0;
/// For how long it is asked before, in seconds: until all that can be is remembered.
const WARM_UP: f64 = 1.5;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Beside {
    pub(crate) path: &'static str,
    /// Requests a second while nothing changes, and while leases are made.
    pub(crate) calm: f64,
    pub(crate) busy: f64,
    /// What each takes of the processor in microseconds, server and database; with what the leases take.
    pub(crate) calm_cost: f64,
    pub(crate) busy_cost: f64,
    /// Leases that were made.
    pub(crate) leases: u64,
}

/// Asks for what may be remembered over the fewest connections, without and with leases being made.
///
/// # Errors
/// The server refuses, or ends.
pub(crate) async fn measure(
    stage: &Stage,
    shop: &mut Shop,
    options: &Options,
    told: &dyn Fn(&str),
) -> anyhow::Result<Vec<Beside>> {
    let mut all = Vec::new();
    for path in PATHS.into_iter().filter(Path::may_be_remembered) {
        told(&format!("{} while leases are made", path.name));
        let one = one(stage, shop, options, &path).await;
        all.push(one.context(path.name)?);
    }
    Ok(all)
}

async fn one(
    stage: &Stage,
    shop: &mut Shop,
    options: &Options,
    path: &Path,
) -> anyhow::Result<Beside> {
    let size = shop.size;
    let meter = Meter {
        server: stage.server.counted(),
        database: stage.database_counted()?,
    };
    let make = |number| path.request(stage, number, size);
    let asked = async || {
        let connections = options.connections.iter().min().copied().unwrap_or(1);
        let source = Source {
            make: &make,
            numbers: path.numbers(),
            repeats: true,
        };
        Asked::over(connections, &stage.server.address, meter, source).await
    };
    let mut calm = asked().await?;
    calm.go(WARM_UP, true).await?;
    calm.go(options.seconds, false).await?;

    let mut busy = asked().await?;
    let all = WARM_UP + options.seconds;
    let lease = |number| Write::Create.request(stage, number);
    let leases = Source {
        make: &lease,
        numbers: shop.fresh((all * LEASES) as u32),
        repeats: false,
    };
    let mut lessees = Load::open(&stage.server.address, 1).await?;
    let reading = async {
        busy.go(WARM_UP, true).await?;
        busy.go(options.seconds, false).await
    };
    let made = lessees.run(&leases, Duration::from_secs_f64(all), Some(LEASES));
    let ((), (leased, _)) = try_join(reading, made).await?;

    let [calm, busy] = [calm, busy].map(|asked| {
        let turn = asked.turn.context("no turn")?;
        let (server, database) = asked.spent.each(turn.answered);
        anyhow::Ok((turn.rate(), server + database))
    });
    let ((calm, calm_cost), (busy, busy_cost)) = (calm?, busy?);
    Ok(Beside {
        path: path.name,
        calm,
        busy,
        calm_cost,
        busy_cost,
        leases: leased.answered,
    })
}
