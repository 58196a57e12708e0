//! `lessor reconcile`: whether the processor bills what is leased.

use clap::Args;
use lessor_domain::access::Mode;
use lessor_domain::workers::reconcile::Finding;
use serde::Serialize;

use super::output::{Output, Reply};
use super::session;
use crate::compose::Engine;
use crate::config::Config;

/// Leases that are compared at once.
const PAGE: u32 = 100;

/// Compare leases with what the payment processor bills.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor reconcile                                    \
    (live leases, nothing is changed)\n  lessor reconcile --mode sandbox --mend\n\n\
    Found are leases that nothing bills, subscriptions that bill twice or for a lease that has ended, and\n\
    ends that only one side knows. Mended is what needs no person: the job that makes or ends a\n\
    subscription is asked for again, one too many is ended. A worker does the same every hour."
)]
pub(crate) struct ReconcileArgs {
    /// Whose leases, live or sandbox
    #[arg(long, default_value = "live")]
    mode: Mode,
    /// Mend what may be mended
    #[arg(long)]
    mend: bool,
}

/// A difference as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    checkout_id: String,
    difference: &'static str,
    description: String,
    mended: bool,
}

impl From<&Finding> for View {
    fn from(finding: &Finding) -> Self {
        Self {
            checkout_id: finding.checkout.to_string(),
            difference: finding.difference.name(),
            description: finding.difference.to_string(),
            mended: finding.mended,
        }
    }
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, args: &ReconcileArgs) -> anyhow::Result<()> {
    session::run_on_engine(config, output, |engine| reconcile(engine, args))
}

async fn reconcile(engine: Engine, args: &ReconcileArgs) -> anyhow::Result<Reply> {
    let reconciler = engine.reconciler();
    let (mut leases, mut findings, mut after) = (0_usize, Vec::new(), None);
    loop {
        let compared = reconciler
            .compare(args.mode, after, PAGE, args.mend)
            .await?;
        leases = leases.saturating_add(compared.leases);
        findings.extend(compared.findings.iter().map(View::from));
        let Some(next) = compared.next else { break };
        after = Some(next);
    }
    let mended = findings.iter().filter(|finding| finding.mended).count();
    let rows = findings.iter().map(|finding| {
        [
            finding.checkout_id.clone(),
            finding.description.clone(),
            if finding.mended { "mended" } else { "" }.to_owned(),
        ]
    });
    let reply = Reply::list(&findings, ["checkout", "difference", ""], rows)?;
    Ok(reply
        .with_member("leases", leases.into())
        .with_member("mended", mended.into())
        .with_note(&format!(
            "{leases} leases compared, {} differences, {mended} mended",
            findings.len()
        )))
}
