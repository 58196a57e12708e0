//! The command line of `lessor`.
//!
//! A command answers a [`Reply`](output::Reply): a small table for people, or with `--json` exactly one
//! JSON object on standard output. What goes wrong is one line (or one JSON object) on standard error
//! and a status that is not zero: 2 when the command line is at fault, else 1.

mod args;
mod config;
mod demo;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod migrate;
mod openapi;
mod organizations;
mod output;
mod pickup_locations;
mod products;
mod reconcile;
mod serve;
mod session;
mod worker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::run::config::{Config, Sources};
use output::Output;

/// An open-source leasing engine: catalog, pricing, checkouts, fulfillment and billing over HTTP.
#[derive(Debug, Parser)]
#[command(
    name = "lessor",
    version,
    max_term_width = 100,
    after_help = "Start here:
  lessor demo                        a whole lease from product to first payment, on an own database
  lessor serve                       the service on http://127.0.0.1:8080
  lessor org create --name 'My shop' an organization that leases
  lessor key create --org 1 --mode sandbox --permissions all

Each setting is a flag, an environment variable or a key of a TOML file, in this order:
  lessor config --describe"
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
struct GlobalArgs {
    /// Folder of the embedded database [env: LESSOR_DATA_DIR] [default: ./lessor-data]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    data_dir: Option<String>,
    /// Configuration file in TOML [env: LESSOR_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    config: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// Which log lines are written, such as info,lessor=debug [env: LESSOR_LOG]
    #[arg(
        long,
        global = true,
        value_name = "FILTER",
        help_heading = "Everywhere"
    )]
    log: Option<String>,
    /// How log lines are written, human or json [env: LESSOR_LOG_FORMAT]
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        help_heading = "Everywhere"
    )]
    log_format: Option<String>,
    /// Folder of the PostgreSQL binaries for the embedded database [env: LESSOR_PG_BIN_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pg_bin_dir: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play a whole lease on a database of its own, and stay up to be explored
    Demo(demo::DemoArgs),
    /// Serve the HTTP interface, and carry out what it causes
    Serve(serve::ServeArgs),
    /// Carry out what `lessor serve --no-worker` causes, on this or another machine
    Worker(worker::WorkerArgs),
    /// Create, change and show organizations
    #[command(subcommand)]
    Org(organizations::OrgCommand),
    /// Create, list, revoke and roll API keys
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Manage the lease terms that organizations offer
    #[command(subcommand)]
    Terms(lease_terms::TermsCommand),
    /// Review products
    #[command(subcommand)]
    Product(products::ProductCommand),
    /// Manage the places where customers pick goods up
    #[command(subcommand)]
    PickupLocation(pickup_locations::PickupLocationCommand),
    /// Show, repeat and skip what providers are still to be told
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Show messages of providers that are not handled, and have them handled again
    #[command(subcommand)]
    Inbox(inbox::InboxCommand),
    /// Compare checkouts with what the payment processor has, and show what differs
    Reconcile(reconcile::ReconcileArgs),
    /// Bring the database's tables up to date
    Migrate(migrate::MigrateArgs),
    /// Show which settings are in force, and where each comes from
    Config(config::ConfigArgs),
    /// Print the OpenAPI document of the HTTP interface
    Openapi(openapi::OpenapiArgs),
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Before the arguments are understood this is all there is to know how to complain.
    let wants_json = args.iter().any(|arg| arg == "--json");
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, wants_json),
    };
    let output = Output::new(cli.global.json);
    match dispatch(cli, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.fail(&error);
            ExitCode::FAILURE
        }
    }
}

fn usage(error: &clap::Error, wants_json: bool) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if wants_json && !is_help {
        Output::new(true).refuse(error);
    } else {
        // Nobody is left to tell when the terminal is gone.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn dispatch(cli: Cli, output: Output) -> anyhow::Result<()> {
    let Cli { global, command } = cli;
    let mut flags = BTreeMap::new();
    let mut give = |key: &'static str, value: Option<String>| {
        if let Some(value) = value {
            flags.insert(key, value);
        }
    };
    give("data_dir", global.data_dir);
    give("log", global.log);
    give("log_format", global.log_format);
    give("pg_bin_dir", global.pg_bin_dir);
    match &command {
        Command::Demo(args) => args.service.give(&mut give),
        Command::Serve(args) => args.service.give(&mut give),
        Command::Worker(args) => args.process.give(&mut give),
        Command::Config(args) => args.service.give(&mut give),
        Command::Migrate(_)
        | Command::Openapi(_)
        | Command::Org(_)
        | Command::Key(_)
        | Command::Terms(_)
        | Command::Product(_)
        | Command::PickupLocation(_)
        | Command::Jobs(_)
        | Command::Inbox(_)
        | Command::Reconcile(_) => {}
    }
    // A variable that is no text cannot be one of ours.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let sources = Sources::load(flags, environment, global.config.as_deref())?;
    let config = Config::resolve(&sources)?;
    match command {
        Command::Demo(args) => demo::run(&config, output, &args),
        Command::Serve(_) => serve::run(&config, output),
        Command::Worker(_) => worker::run(&config, output),
        Command::Org(command) => session::run(&config, output, |session| {
            organizations::run(session, command)
        }),
        Command::Key(command) => {
            session::run(&config, output, |session| keys::run(session, command))
        }
        Command::Terms(command) => session::run(&config, output, |session| {
            lease_terms::run(session, command)
        }),
        Command::Product(command) => {
            session::run(&config, output, |session| products::run(session, command))
        }
        Command::PickupLocation(command) => session::run(&config, output, |session| {
            pickup_locations::run(session, command)
        }),
        Command::Jobs(command) => {
            session::run(&config, output, |session| jobs::run(session, command))
        }
        Command::Inbox(command) => {
            session::run(&config, output, |session| inbox::run(session, command))
        }
        Command::Reconcile(args) => reconcile::run(&config, output, &args),
        Command::Migrate(args) => migrate::run(&config, output, &args),
        Command::Config(args) => output.reply(&config::run(&config, &args)?),
        Command::Openapi(_) => output.reply(&openapi::run(&config)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Every command that does something shows how it is used.
    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str, without: &mut Vec<String>) {
            for sub in command
                .get_subcommands()
                .filter(|sub| sub.get_name() != "help")
            {
                let path = format!("{path} {}", sub.get_name());
                if sub.has_subcommands() {
                    check(sub, &path, without);
                } else if sub
                    .get_after_help()
                    .is_none_or(|help| !help.to_string().contains(&path))
                {
                    without.push(path);
                }
            }
        }
        let mut without = Vec::new();
        check(&Cli::command(), "lessor", &mut without);
        assert_eq!(without, Vec::<String>::new());
    }
}
