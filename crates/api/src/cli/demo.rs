//! `lessor demo`: the service, and a whole lease played on it.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::output::{Output, Reply};
use super::session;
use crate::demo::live::Stage;
use crate::demo::{self, Listener, LiveReport, Report, Step};
use crate::middleware::WebOrigin;
use crate::run::compose;
use crate::run::config::{Config, ProcessorConfig};
use crate::run::service::{self, Listeners, Service};
use crate::run::systemd::{Notifier, Sockets};

/// Where `python3 -m http.server` serves a shop's page: the demo lets it read prices.
const STOREFRONT: &str = "http://localhost:8000";

/// Play a whole lease on a database of its own, and stay up to be explored.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor demo\n  lessor demo --exit                            \
    (status 0 only if both leases are active)\n  lessor --data-dir /tmp/demo demo --exit --json\n  \
    lessor demo --live-double                     (a live page to walk; the processor is a double)\n\n\
    The demo always runs the embedded database under --data-dir, also where DATABASE_URL is set. It can be\n\
    repeated there, and `lessor serve` shows what it left."
)]
pub(crate) struct DemoArgs {
    /// Stop after the journey
    #[arg(long)]
    exit: bool,
    /// Play a live lease instead, with the processor's double in this process: the customer proves who they are
    /// and pays on its pages. With --exit it walks them itself
    #[arg(long)]
    live_double: bool,
}

/// Runs the command until it is told to stop, or with `--exit` to the end of the journey.
pub(crate) fn run(config: &Config, output: Output, args: &DemoArgs) -> anyhow::Result<()> {
    let mut config = config.clone();
    // What the demo tells is what people want to read.
    config.log.get_or_insert_with(|| "warn".to_owned());
    let _telling = service::init_logs(&config)?;
    if config.cors_origins.is_empty() {
        config
            .cors_origins
            .extend(WebOrigin::parse(STOREFRONT).ok());
    }
    if config.database_url.take().is_some() {
        output.progress("DATABASE_URL is left alone: the demo has a database of its own");
    }
    let stage = args.live_double.then(Stage::set).transpose()?;
    if let Some(stage) = &stage {
        // Whatever key of the real one is set stays unused.
        config.processor = ProcessorConfig {
            url: Some(stage.url()),
            live_key: None,
            sandbox_key: None,
            live_webhook_secrets: Vec::new(),
            sandbox_webhook_secrets: Vec::new(),
        };
    }
    let runtime = compose::runtime(service::threads(&config))?;
    let location = runtime.block_on(async {
        let stop = service::stop_token(&Notifier::default())?;
        let requests = match service::bind(&config.listen) {
            // Nobody asked for this very port.
            Err(_) if config.is_default("listen") => service::bind("127.0.0.1:0")?,
            bound => bound?,
        };
        let sockets = Sockets {
            requests: Some(requests),
            operators: None,
        };
        let listeners = Listeners::bind(&config, sockets)?;
        let progress = move |step: &str| output.progress(&format!("{step} …"));
        let Some(mut location) = service::host(&config, &stop, progress).await? else {
            return Ok(None);
        };
        let starting = Service::start(&config, &location, listeners, progress);
        let Some(started) = stop.run_until_cancelled(starting).await else {
            return Ok(Some(location));
        };
        let service = started?;
        let database = Arc::clone(&service.engine().database);
        let journey = play(&service, stage.as_ref(), output, args.exit);
        let played = stop.run_until_cancelled(journey).await;
        let ended = match played {
            Some(Ok(reply)) => {
                output.reply(&reply)?;
                if args.exit {
                    service.stop().await
                } else {
                    service.run(&mut location, &stop).await
                }
            }
            Some(Err(error)) => service.stop().await.and(Err(error)),
            None => service.stop().await,
        };
        if let Some(stage) = &stage {
            stage.strike(database, &session::origin()).await?;
        }
        ended?;
        anyhow::Ok(Some(location))
    });
    runtime.shutdown_background();
    drop(location?);
    Ok(())
}

/// Makes the journey; answers what there is to say of it.
async fn play(
    service: &Service,
    stage: Option<&Stage>,
    output: Output,
    exits: bool,
) -> anyhow::Result<Reply> {
    let (url, engine) = (service.url(), service.engine());
    let (origin, narrator) = (session::origin(), Narrator(output));
    match stage {
        None => {
            let report = demo::run(url, engine, &origin, &narrator).await?;
            summary(&report, url, exits)
        }
        Some(stage) => {
            let report = stage.play(url, engine, &origin, &narrator, exits).await?;
            live_summary(&report, url)
        }
    }
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

/// The report, with where things are.
fn located(report: impl Serialize, url: &str) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    if let Value::Object(members) = &mut value {
        members.insert("url".to_owned(), json!(url));
        members.insert("documentationUrl".to_owned(), json!(format!("{url}/docs")));
        members.insert(
            "referenceUrl".to_owned(),
            json!(format!("{url}/docs/reference")),
        );
    }
    Ok(value)
}

fn live_summary(report: &LiveReport, url: &str) -> anyhow::Result<Reply> {
    let text = match &report.lease {
        Some(lease) => format!(
            "\nThe live lease {} is active, with one subscription.\n",
            lease.checkout_id
        ),
        None => format!(
            "\n  base URL       {url}\n  live key       {}\n  processor      {}   (a double: no money moves)\n  \
             checkout page  {}\n\n\
             The page is live: open it and go through it. Where it leads to the processor's pages, those of the\n\
             double have a button for each thing that a customer may do there. When you have signed, hand the\n\
             goods over:\n  \
             curl -X POST -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n    \
             {url}/v1/checkouts/{}/fulfill -d '{{}}'\n\
             It stays up until you press Ctrl-C, here or, from elsewhere, kill -TERM {}.\n",
            report.live_key,
            report.processor_url,
            report.checkout_url,
            report.live_key,
            report.checkout_id,
            std::process::id()
        ),
    };
    Ok(Reply::text(located(report, url)?, text))
}

fn summary(report: &Report, url: &str, exits: bool) -> anyhow::Result<Reply> {
    let value = located(report, url)?;
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
