//! `lessor reconcile`: whether the processor bills what is leased.

use clap::Args;
use lessor_domain::access::Mode;
use lessor_domain::cause::chain;
use lessor_domain::ports::Reach;
use lessor_domain::workers::Engine;
use lessor_domain::workers::inbox::Inbox;
use lessor_domain::workers::reconcile::{Failure, Finding};
use serde::Serialize;
use serde_json::json;

use super::output::{Output, Reply, time};
use super::session;
use crate::run::config::Config;

/// Messages that are handled at once.
const MESSAGES: u32 = 100;

/// Compare checkouts with what the payment processor has, and show what differs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor reconcile                                    \
    (live checkouts; nothing is mended)\n  lessor reconcile --mode sandbox --mend\n  \
    lessor reconcile --exit-code > /dev/null || notify  (in a timer)\n\n\
    First the processor's list of messages is read, as far as it is new: what never came is taken in as if\n\
    it had, and handled before anything is compared. What still differs then is shown here and at the\n\
    checkout (`progress.attention`), where it stays until a comparison finds it no more.\n\n\
    Compared are subscriptions (missing, unknown, double, status, price, end), invoices and deposits of the\n\
    last 62 days, deposits that nobody needs, and refunds that failed. With --mend whatever needs no person\n\
    is mended: the job that makes, asks about or ends a subscription is asked for again, one too many is\n\
    ended and paid back. A checkout that cannot be compared is named and keeps no other from it. A worker\n\
    does the same every hour, with --mend."
)]
pub(crate) struct ReconcileArgs {
    /// Whose checkouts, live or sandbox
    #[arg(long, default_value = "live")]
    mode: Mode,
    /// Mend what may be mended
    #[arg(long)]
    mend: bool,
    /// Status 1 when anything is left that differs or could not be compared
    #[arg(long)]
    exit_code: bool,
}

/// A difference as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingView {
    checkout_id: String,
    difference: &'static str,
    description: String,
    since: String,
    advice: &'static str,
    mended: bool,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        Self {
            checkout_id: finding.checkout.to_string(),
            difference: finding.difference.name(),
            description: finding.difference.to_string(),
            since: time(finding.since),
            advice: finding.difference.advice(),
            mended: finding.mended,
        }
    }
}

/// What could not be compared, as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureView {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkout_id: Option<String>,
    problem: String,
}

impl From<&Failure> for FailureView {
    fn from(failure: &Failure) -> Self {
        Self {
            checkout_id: failure.checkout.map(|id| id.to_string()),
            problem: failure.problem.clone(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, args: &ReconcileArgs) -> anyhow::Result<()> {
    session::run_on_engine(config, output, |engine| reconcile(engine, args))
}

async fn reconcile(engine: Engine, args: &ReconcileArgs) -> anyhow::Result<Reply> {
    let reconciler = engine.reconciler();
    let mut messages = reconciler.fetch_messages(args.mode).await?;
    let unhandled = handle(&engine, &engine.inbox()).await;
    let report = reconciler.run(args.mode, args.mend).await?;
    messages = messages.saturating_add(report.messages);

    let findings: Vec<FindingView> = report.findings.iter().map(FindingView::from).collect();
    let mut failures: Vec<FailureView> = report.failures.iter().map(FailureView::from).collect();
    if let Err(error) = unhandled {
        let problem = format!("messages are left to the worker: {}", chain(error.as_ref()));
        failures.push(FailureView {
            checkout_id: None,
            problem,
        });
    }
    let compared = report.compared;
    let mended = findings.iter().filter(|finding| finding.mended).count();
    let open = findings.len().saturating_sub(mended);
    let rows = findings.iter().map(|finding| {
        let todo = if finding.mended {
            "mended"
        } else {
            finding.advice
        };
        [
            finding.checkout_id.clone(),
            finding.description.clone(),
            finding.since.clone(),
            todo.to_owned(),
        ]
    });
    let rows = rows.chain(failures.iter().map(|failure| {
        [
            failure.checkout_id.clone().unwrap_or_default(),
            format!("could not be compared: {}", failure.problem),
            String::new(),
            "run it again; if it stays, look at the checkout".to_owned(),
        ]
    }));
    let headers = ["checkout", "what", "since", "what to do"];
    let value = json!({
        "mode": args.mode.as_str(),
        "findings": findings,
        "failures": failures,
        "compared": compared,
        "messages": messages,
        "mended": mended,
    });
    let reply = Reply::table(value, headers, rows).with_note(&format!(
        "{compared} compared, {} differences, {mended} mended, {} failures, {messages} messages taken in",
        findings.len(),
        failures.len()
    ));
    let remain = open.saturating_add(failures.len());
    Ok(if args.exit_code && remain > 0 {
        reply.but_fail(format!(
            "{open} differences remain, {} could not be compared",
            failures.len()
        ))
    } else {
        reply
    })
}

/// Handles what waits, so that the comparison sees what the messages tell. One that waits for
/// something else is left to the worker.
async fn handle(engine: &Engine, inbox: &Inbox) -> anyhow::Result<()> {
    let mut before = u64::MAX;
    loop {
        let mut view = engine.database.read(Reach::Server).await?;
        let (waiting, _) = view.inbox().backlog().await?;
        drop(view);
        if waiting == 0 || waiting >= before {
            return Ok(());
        }
        before = waiting;
        inbox.handle_kept(MESSAGES).await?;
    }
}
