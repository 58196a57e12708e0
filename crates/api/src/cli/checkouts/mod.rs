//! `lessor checkout`: what an operator does with a checkout.

mod qualify;
mod relink;

use clap::Subcommand;

use super::output::Output;
use super::session;
use crate::run::config::Config;

/// Decide about checkouts, and give their pages other links.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckoutCommand {
    /// Decide about the credit of a checkout's customer
    #[command(
        after_help = "Examples:\n  lessor checkout qualify chk_06EAAA… --decision approved --reference 'case 7'\n  \
        lessor checkout qualify chk_06EAAA… --decision declined --reasons incomeInsufficient,lengthOfResidence\n\n\
        While the checkout is qualificationPending. The customer reads the reasons, and never a score."
    )]
    Qualify(qualify::QualifyArgs),
    /// Make a new link of a checkout's page, and end the old one
    #[command(after_help = "Example:\n  lessor checkout relink chk_06EAAA…")]
    Relink(relink::RelinkArgs),
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, command: CheckoutCommand) -> anyhow::Result<()> {
    match command {
        CheckoutCommand::Qualify(args) => session::run(config, output, |session| async move {
            qualify::run(&session, args).await
        }),
        CheckoutCommand::Relink(args) => {
            session::run_with_links(config, output, |session, links| {
                relink::run(session, links, args)
            })
        }
    }
}
