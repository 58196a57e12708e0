//! `lessor demo`: the service, and a whole lease played on it.

use clap::Args;
use serde_json::{Value, json};

use super::output::{Output, Reply};
use super::session;
use crate::demo::{self, Listener, Report, Step};
use crate::middleware::WebOrigin;
use crate::run::compose;
use crate::run::config::Config;
use crate::run::service::{self, Service};

/// Where `python3 -m http.server` serves a shop's page: the demo lets it read prices.
const STOREFRONT: &str = "http://localhost:8000";

/// Play a whole lease on a database of its own, and stay up to be explored.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor demo\n  lessor demo --exit                            \
    (status 0 only if both leases are active)\n  lessor --data-dir /tmp/demo demo --exit --json\n\n\
    The demo always runs the embedded database under --data-dir, also where DATABASE_URL is set. It can be\n\
    repeated there, and `lessor serve` shows what it left."
)]
pub(crate) struct DemoArgs {
    /// Stop after the journey
    #[arg(long)]
    exit: bool,
}

/// Runs the command until it is told to stop, or with `--exit` to the end of the journey.
pub(crate) fn run(config: &Config, output: Output, args: &DemoArgs) -> anyhow::Result<()> {
    let mut config = config.clone();
    // What the demo tells is what people want to read.
    config.log.get_or_insert_with(|| "warn".to_owned());
    service::init_logs(&config)?;
    if config.cors_origins.is_empty() {
        config
            .cors_origins
            .extend(WebOrigin::parse(STOREFRONT).ok());
    }
    if config.database_url.take().is_some() {
        output.progress("DATABASE_URL is left alone: the demo has a database of its own");
    }
    let runtime = compose::runtime(service::threads(&config))?;
    let location = runtime.block_on(async {
        let stop = service::stop_token()?;
        let listener = match service::bind(&config.listen) {
            // Nobody asked for this very port.
            Err(_) if config.is_default("listen") => service::bind("127.0.0.1:0")?,
            bound => bound?,
        };
        let progress = move |step: &str| output.progress(&format!("{step} …"));
        let Some(location) = service::host(&config, &stop, progress).await? else {
            return Ok(None);
        };
        let service = Service::start(&config, &location, listener, progress).await?;
        let narrator = Narrator(output);
        let origin = session::origin();
        let journey = demo::run(service.url(), service.engine(), &origin, &narrator);
        let report = match stop.run_until_cancelled(journey).await {
            None => {
                service.stop().await?;
                return Ok(Some(location));
            }
            Some(Ok(report)) => report,
            Some(Err(error)) => {
                service.stop().await?;
                drop(location);
                return Err(error);
            }
        };
        output.reply(&summary(&report, service.url(), args.exit)?)?;
        if args.exit {
            service.stop().await?;
        } else {
            service.run(&location, &stop).await?;
        }
        anyhow::Ok(Some(location))
    });
    runtime.shutdown_background();
    drop(location?);
    Ok(())
}

/// Tells people of the steps as they are made.
struct Narrator(Output);

impl Listener for Narrator {
    fn made(&self, number: usize, step: &Step) {
        let mut text = format!("\n{number:>2}  {}", step.title);
        for call in &step.calls {
            text.push_str(&format!(
                "\n    {} {} -> {}",
                call.method, call.path, call.status
            ));
        }
        for line in &step.shows {
            text.push_str("\n      ");
            text.push_str(line);
        }
        self.0.tell(&text);
    }
}

fn summary(report: &Report, url: &str, exits: bool) -> anyhow::Result<Reply> {
    let mut value = serde_json::to_value(report)?;
    if let Value::Object(members) = &mut value {
        members.insert("url".to_owned(), json!(url));
        members.insert("documentationUrl".to_owned(), json!(format!("{url}/docs")));
        members.insert(
            "referenceUrl".to_owned(),
            json!(format!("{url}/docs/reference")),
        );
    }
    let mut text = format!(
        "\n{} leases are active, each with one subscription.\n",
        report.leases.len()
    );
    if !exits {
        text.push_str(&format!(
            "\n  base URL       {url}\n  sandbox key    {}\n  documentation  {url}/docs\n  checkout page  {}\n\n  \
             price in a page of {STOREFRONT}:\n    \
             <script type=\"module\" crossorigin src=\"{url}/elements/lessor-price.js\"></script>\n    \
             <lessor-price variant=\"{}\" publishable-key=\"{}\"></lessor-price>\n\n\
             The page is a new customer's: open it and go through it to the signature.\n\
             Try: curl -H 'Authorization: Bearer {}' {url}/v1/checkouts\n\
             It stays up until you press Ctrl-C, here or, from elsewhere, kill -TERM {}.\n",
            report.sandbox_key,
            report.checkout_url,
            report.sku,
            report.publishable_key,
            report.sandbox_key,
            std::process::id()
        ));
    }
    Ok(Reply::text(value, text))
}
