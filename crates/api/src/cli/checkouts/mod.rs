//! `lessor checkout`: single checkouts, by the operator.

mod qualify;

use clap::Subcommand;

use super::output::Reply;
use super::session::Session;

/// Decide about checkouts.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckoutCommand {
    /// Decide about the credit of a checkout's customer
    #[command(
        after_help = "Examples:\n  lessor checkout qualify chk_06EAAA… --decision approved --reference 'case 7'\n  \
        lessor checkout qualify chk_06EAAA… --decision declined --reasons incomeInsufficient,lengthOfResidence\n\n\
        While the checkout is qualificationPending. The customer reads the reasons, and never a score."
    )]
    Qualify(qualify::QualifyArgs),
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: CheckoutCommand) -> anyhow::Result<Reply> {
    match command {
        CheckoutCommand::Qualify(args) => qualify::run(&session, args).await,
    }
}
