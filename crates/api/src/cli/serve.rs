//! `lessor serve`: the HTTP interface, and in the same process the worker.

use clap::Args;
use serde_json::json;

use super::output::{Output, Reply};
use crate::run::compose::{self, Location};
use crate::run::config::Config;
use crate::run::descriptors;
use crate::run::service::{self, Listeners, Service};
use crate::run::systemd::{Notifier, Sockets};

/// Serve the HTTP interface, and carry out what it causes.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor serve                                        \
    (http://127.0.0.1:8080, database in ./lessor-data)\n  \
    lessor serve --listen 0.0.0.0:8080 --public-url https://lease.example.com\n  \
    DATABASE_URL='postgres://lessor:…@db/lessor?sslmode=verify-full' lessor serve --no-worker\n\n\
    SIGTERM and Ctrl-C stop it in order: no new connections, requests answered, jobs finished or handed back,\n\
    then the embedded database. All settings: lessor config --describe"
)]
pub(crate) struct ServeArgs {}

/// Runs the command until it is told to stop.
pub(crate) fn run(config: &Config, output: Output) -> anyhow::Result<()> {
    let inherited = Sockets::inherited()?;
    let _telling = service::init_logs(config)?;
    let to_database = config.pool_size.get();
    descriptors::raise(to_database.saturating_add(config.max_connections.get()));
    let notifier = Notifier::from_environment();
    let runtime = compose::runtime(service::threads(config))?;
    let location = runtime.block_on(async {
        let stop = service::stop_token(&notifier)?;
        let listeners = Listeners::bind(config, inherited)?;
        let progress = output.starting(&notifier);
        let Some(mut location) = service::host(config, &stop, progress.clone()).await? else {
            return Ok(None);
        };
        let starting = Service::start(config, &location, listeners, progress);
        let Some(started) = stop.run_until_cancelled(starting).await else {
            return Ok(Some(location));
        };
        let service = started?;
        service::log_start(&location);
        output.reply(&greeting(&service, &location))?;
        notifier.ready(&format!(
            "serves {}, {}",
            service.url(),
            location.describe()
        ));
        service.run(&mut location, &stop).await?;
        anyhow::Ok(Some(location))
    });
    // Whoever still uses the database ends before it.
    runtime.shutdown_background();
    drop(location?);
    Ok(())
}

fn greeting(service: &Service, location: &Location) -> Reply {
    let url = service.url();
    let database = location.describe();
    let mut greeting = json!({
        "url": url,
        "documentationUrl": format!("{url}/docs"),
        "referenceUrl": format!("{url}/docs/reference"),
        "database": database,
        "pid": std::process::id(),
    });
    let mut text = format!(
        "Lessor {} serves {url}\n  documentation  {url}/docs\n  database       {database}\n",
        env!("CARGO_PKG_VERSION")
    );
    if let Some(address) = service.operators() {
        let operators = format!("http://{address}");
        text.push_str(&format!("  operators      {operators}/metrics\n"));
        greeting["operatorsUrl"] = json!(operators);
    }
    Reply::text(greeting, text)
}
