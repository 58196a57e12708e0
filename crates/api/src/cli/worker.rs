//! `lessor worker`: the worker alone.

use anyhow::Context as _;
use clap::Args;
use lessor_adapters::ambient::{SystemClock, SystemEntropy};
use serde_json::json;

use super::output::{Output, Reply};
use crate::auth::links::CheckoutPageLinks;
use crate::http::draining::Draining;
use crate::http::public_url::PublicUrl;
use crate::run::compose;
use crate::run::config::Config;
use crate::run::descriptors;
use crate::run::operators::{self, Operators};
use crate::run::server_key;
use crate::run::service;
use crate::run::systemd::{Notifier, Sockets};
use crate::telemetry::Metrics;

/// Carry out what `lessor serve --no-worker` causes, on this or another machine.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  DATABASE_URL='postgres://lessor:…@db/lessor' lessor worker\n\n\
    Any number of workers may run. SIGTERM and Ctrl-C stop it: jobs are finished or handed back."
)]
pub(crate) struct WorkerArgs {}

/// Runs the command until it is told to stop.
pub(crate) fn run(config: &Config, output: Output) -> anyhow::Result<()> {
    let inherited = Sockets::inherited()?;
    let _telling = service::init_logs(config)?;
    descriptors::raise(config.pool_size.get());
    let notifier = Notifier::from_environment();
    anyhow::ensure!(
        inherited.requests.is_none(),
        "a worker takes no requests: the one socket that is handed over to it bears \
         `FileDescriptorName=operators`"
    );
    let runtime = compose::runtime(service::threads(config))?;
    let location = runtime.block_on(async {
        let stop = service::stop_token(&notifier)?;
        let listener = operators::bind(config, inherited.operators)?;
        let progress = output.starting(&notifier);
        let Some(mut location) = service::host(config, &stop, progress.clone()).await? else {
            return Ok(None);
        };
        let database = compose::connect(config, location.url(), config.pool_size.get())?;
        let starting = async {
            compose::prepare(&database, config, move |name| {
                progress(&format!("migrating: {name}"));
            })
            .await?;
            // A machine that lacks the key is found at once.
            let keys = server_key::obtain(config, &database, &SystemClock, &SystemEntropy).await?;
            let database = database.sealing_with(keys.sealing());
            server_key::renew(&database).await?;
            anyhow::Ok((keys, database))
        };
        let Some(started) = stop.run_until_cancelled(starting).await else {
            return Ok(Some(location));
        };
        let (keys, database) = started?;
        let public_url = PublicUrl::new(&service::public_url(config));
        let links = CheckoutPageLinks::new(keys, public_url.clone());
        let composition = compose::compose(config, &database, &public_url)?;
        let mut following = composition.follow(&database, true);
        let worker = composition.worker(config, links)?;
        let operators = match listener {
            Some(listener) => {
                let metrics = Metrics::install().context("metrics")?;
                tokio::spawn(metrics.clone().upkeep());
                metrics.count_connections(&database);
                composition.count(&mut following);
                let readiness = operators::readiness(config, &location, &Draining::default())?;
                Some(Operators::start(listener, readiness, metrics)?)
            }
            None => None,
        };
        let working = worker.start();
        service::log_start(&location);
        let database = location.describe();
        let mut greeting =
            json!({ "status": "working", "database": database, "pid": std::process::id() });
        let mut text = format!(
            "Lessor {} works\n  database   {database}\n",
            env!("CARGO_PKG_VERSION")
        );
        if let Some(operators) = &operators {
            let url = format!("http://{}", operators.address());
            text.push_str(&format!("  operators  {url}/metrics\n"));
            greeting["operatorsUrl"] = json!(url);
        }
        output.reply(&Reply::text(greeting, text))?;
        notifier.ready(&format!("works, {database}"));
        let lost = service::until_stopped(&mut location, config, &stop).await;
        working.stop(service::drain_deadline(config)).await;
        drop(following);
        if let Some(operators) = operators {
            operators.stop().await;
        }
        lost?;
        anyhow::Ok(Some(location))
    });
    runtime.shutdown_background();
    drop(location?);
    Ok(())
}
