//! The command line of `lessor`.
//!
//! A command answers a [`Reply`](output::Reply): a small table for people, or with `--json` exactly one
//! JSON object on standard output. What goes wrong is one line (or one JSON object) on standard error
//! and a status that is not zero: 2 when the command line is at fault, else 1.

mod agreements;
mod audit;
mod backup;
mod checkouts;
mod completions;
mod config;
mod credit;
mod demo;
mod doctor;
mod endpoints;
mod events;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod listen;
mod mails;
mod man;
mod migrate;
mod openapi;
mod organizations;
mod output;
mod pickup_locations;
mod processor_accounts;
mod products;
mod reconcile;
mod serve;
mod session;
mod signers;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::run::config::{self as settings, Config, EVERYWHERE, SERVING};
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

/// What every command takes, beside the settings that it shares.
#[derive(Debug, Args)]
struct GlobalArgs {
    /// Configuration file in TOML [env: LESSOR_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    config: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
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
    /// Decide about checkouts, and give their pages other links
    #[command(subcommand)]
    Checkout(checkouts::CheckoutCommand),
    /// Show, repeat and skip what providers are still to be told
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Show messages of providers that are not handled, and have them handled again
    #[command(subcommand)]
    Inbox(inbox::InboxCommand),
    /// Show, repeat and preview mails, and end that an address is sent none
    #[command(subcommand)]
    Mail(mails::MailCommand),
    /// Verify agreements
    #[command(subcommand)]
    Agreement(agreements::AgreementCommand),
    /// Show who did what in an organization, newest first
    Audit(audit::AuditArgs),
    /// Show what happened to an organization's records, and have it told again
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Send what happens from now on to a URL, signed, until it is interrupted
    Listen(listen::ListenArgs),
    /// Compare checkouts with what the payment processor has, and show what differs
    Reconcile(reconcile::ReconcileArgs),
    /// Look whether the installation is as it should be, and say what to do where it is not
    Doctor(doctor::DoctorArgs),
    /// Bring the database's tables up to date
    Migrate(migrate::MigrateArgs),
    /// Write all records of the database to a file
    Backup(backup::BackupArgs),
    /// Make the tables in a new database and put a backup in
    Restore(backup::RestoreArgs),
    /// Show which settings are in force, and where each comes from
    Config(config::ConfigArgs),
    /// Print the OpenAPI document of the HTTP interface
    Openapi(openapi::OpenapiArgs),
    /// Print what a shell completes command lines of `lessor` by
    Completions(completions::CompletionsArgs),
    /// Print the manual page of all commands
    Man(man::ManArgs),
}

/// The command line, with the settings that commands have as flags.
fn command() -> clap::Command {
    let works = |command: clap::Command| command.args(settings::flags(None));
    let serves = |command| works(command).args(settings::flags(Some(SERVING)));
    Cli::command()
        .args(settings::flags(Some(EVERYWHERE)).map(|flag| flag.global(true)))
        .mut_subcommand("demo", serves)
        .mut_subcommand("serve", serves)
        .mut_subcommand("doctor", serves)
        .mut_subcommand("config", serves)
        .mut_subcommand("worker", works)
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Before the arguments are understood this is all there is to know how to complain.
    let wants_json = args.iter().any(|arg| arg == "--json");
    let read = |given: ArgMatches| Ok((Cli::from_arg_matches(&given)?, given));
    let (cli, given) = match command().try_get_matches_from(args).and_then(read) {
        Ok(read) => read,
        Err(error) => return usage(&error, wants_json),
    };
    let output = Output::new(cli.global.json);
    match dispatch(cli, &given, output) {
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

fn dispatch(cli: Cli, given: &ArgMatches, output: Output) -> anyhow::Result<()> {
    let Cli { global, command } = cli;
    // A variable that is no text cannot be one of ours.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config = Config::load(
        settings::given(given),
        environment,
        global.config.as_deref(),
    )?;
    match command {
        Command::Demo(args) => demo::run(&config, output, &args),
        Command::Serve(_) => serve::run(&config, output),
        Command::Worker(_) => worker::run(&config, output),
        Command::Org(command) if command.seals() => {
            session::run_sealing(&config, output, |session| {
                organizations::run(session, command)
            })
        }
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
        Command::Checkout(command) => checkouts::run(&config, output, command),
        Command::Jobs(command) => {
            session::run(&config, output, |session| jobs::run(session, command))
        }
        Command::Inbox(command) => {
            session::run(&config, output, |session| inbox::run(session, command))
        }
        Command::Mail(command) => mails::run(&config, output, command),
        Command::Agreement(command) => {
            session::run(&config, output, |session| agreements::run(session, command))
        }
        Command::Audit(args) => session::run(&config, output, |session| audit::run(session, args)),
        Command::Events(command) => events::run(&config, output, command),
        Command::Listen(args) => listen::run(&config, output, args),
        Command::Reconcile(args) => reconcile::run(&config, output, &args),
        Command::Doctor(_) => doctor::run(&config, output),
        Command::Migrate(args) => migrate::run(&config, output, &args),
        Command::Backup(args) => backup::back_up(&config, output, &args),
        Command::Restore(args) => backup::restore(&config, output, &args),
        Command::Config(args) => output.reply(&config::run(&config, &args)?),
        Command::Openapi(_) => output.reply(&openapi::run(&config)),
        Command::Completions(args) => output.reply(&completions::run(&args)?),
        Command::Man(args) => output.reply(&man::run(&args)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
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
        check(&command(), "lessor", &mut without);
        assert_eq!(without, Vec::<String>::new());
    }

    /// Each flag that a setting names is one, where it is wanted, and no other argument bears its name.
    #[test]
    fn settings_are_flags_where_they_are_wanted() {
        fn check(command: &clap::Command, path: &str) {
            let has = |key: &str| command.get_arguments().any(|arg| arg.get_id() == key);
            for setting in settings::settings() {
                let under =
                    |heading| settings::flags(heading).any(|it| it.get_id() == &setting.key);
                let wanted = match path {
                    "lessor" => under(Some(EVERYWHERE)),
                    "lessor worker" => under(None),
                    "lessor demo" | "lessor serve" | "lessor doctor" | "lessor config" => {
                        under(None) || under(Some(SERVING))
                    }
                    _ => false,
                };
                assert_eq!(has(&setting.key), wanted, "{path}: {}", setting.key);
            }
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        check(&command(), "lessor");
    }

    /// What a command is given as flags reaches the configuration, and nothing else does.
    #[test]
    fn every_setting_that_has_a_flag_can_be_given() {
        let flags: Vec<settings::Setting> = (settings::settings().into_iter())
            .filter(|setting| setting.flag.is_some())
            .collect();
        let texts = flags
            .iter()
            .filter_map(|setting| match setting.flag.as_deref()? {
                flag @ ("--no-worker" | "--no-migrate") => Some(flag.to_owned()),
                flag => Some(format!("{flag}=7")),
            });
        let line: Vec<String> = ["lessor".to_owned(), "serve".to_owned()]
            .into_iter()
            .chain(texts)
            .collect();
        let given = settings::given(&command().try_get_matches_from(line).unwrap());
        let mut keys: Vec<&str> = flags.iter().map(|setting| setting.key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(given.keys().collect::<Vec<_>>(), keys);
        assert_eq!((&*given["no_worker"], &*given["listen"]), ("true", "7"));
        let line = ["lessor", "--log", "debug", "org", "list"];
        let given = settings::given(&command().try_get_matches_from(line).unwrap());
        assert_eq!(
            given.into_iter().collect::<Vec<_>>(),
            [("log".to_owned(), "debug".to_owned())]
        );
        let line = ["lessor", "worker", "--listen", "127.0.0.1:1"];
        assert!(command().try_get_matches_from(line).is_err());
    }
}
