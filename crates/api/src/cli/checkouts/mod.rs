//! `lessor checkout`: what an operator does with a checkout.

mod relink;

use clap::Subcommand;

use super::output::Output;
use super::session;
use crate::run::config::Config;

/// Give the page of a checkout another link.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckoutCommand {
    /// Make a new link of a checkout's page, and end the old one
    #[command(after_help = "Example:\n  lessor checkout relink chk_06EAAA…")]
    Relink(relink::RelinkArgs),
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, command: CheckoutCommand) -> anyhow::Result<()> {
    match command {
        CheckoutCommand::Relink(args) => {
            session::run_with_links(config, output, |session, links| {
                relink::run(session, links, args)
            })
        }
    }
}
