//! The real binary measured beside the least that could do the same, and as its tables grow: see `docs/PERFORMANCE.md`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people, who read what it prints"
)]

mod binary;
mod busy;
mod capture;
mod growth;
mod http;
mod limit;
mod line;
mod load;
mod measure;
mod options;
mod outbox;
mod pace;
mod paths;
mod processor_time;
mod report;
mod resources;
mod seed;
mod spec;
mod stage;

use std::time::Instant;

use anyhow::Context as _;
use clap::Parser as _;
use rustix::process::{Resource, getrlimit, setrlimit};

use self::options::{Arguments, Command, Options};
use self::outbox::Provider;
use self::paths::{PATHS, Path};
use self::report::{Form, Report};
use self::seed::Shop;
use self::stage::Stage;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(Command::Limit { spec }) = arguments.command {
        return limit::serve(&spec);
    }
    let options = arguments.options;
    // A thousand connections are more files than a shell allows.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files)?;
    // One thread: what it leaves of the processor is for what is measured.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(run(&options))?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        let form = if options.markdown {
            Form::Markdown
        } else {
            Form::Text
        };
        println!("{}", report.write(form));
    }
    Ok(())
}

async fn run(options: &Options) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let told = |what: &str| eprintln!("{:>5.0} s  {what}", begun.elapsed().as_secs_f64());
    let mut report = Report {
        before: processor_time::machine(),
        ..Report::default()
    };
    let binary = binary::find(options.binary.as_deref())?;
    let stage = Stage::open(binary.clone(), &options.data_dir).await?;
    let mut shop = Shop::open(&stage).await?;
    let mut sizes = options.sizes.clone();
    sizes.sort_unstable();
    // To grow takes minutes, for nothing where no path is asked.
    let is_wanted = options.wants("busy") || PATHS.iter().any(|path| options.wants(path.name));
    sizes.retain(|_| is_wanted);
    for size in sizes {
        told(&format!("{size} of each"));
        shop.grow(&stage.sql, size).await?;
        let reads = |path: &Path| path.write().is_none();
        let measured = measure::paths(&stage, &mut shop, options, reads, &told).await?;
        report.ratios.extend(measured);
        if options.wants("busy") && report.busy.is_empty() {
            report.busy = busy::measure(&stage, &mut shop, options, &told).await?;
        }
        let writes = |path: &Path| path.write().is_some();
        let measured = measure::paths(&stage, &mut shop, options, writes, &told).await?;
        report.ratios.extend(measured);
    }
    if options.wants("resources") {
        told("what a server needs");
        report.resources = Some(resources::measure(&stage).await.context("resources")?);
    }
    drop(stage);
    if options.wants("growth") {
        report.lists = growth::costs(&binary, options, &told).await?;
    }
    if options.wants("outbox") {
        told("jobs");
        let stage = Stage::open(binary, &options.data_dir).await?;
        outbox::set(&stage).await.context("outbox")?;
        let simulated = outbox::measure(&stage, Provider::Simulated).await;
        report.outbox = simulated.context("outbox")?;
        let away = outbox::measure(&stage, Provider::Away).await;
        report.away = away.context("outbox, over a line")?;
    }
    report.after = processor_time::machine();
    Ok(report)
}
