//! `lessor inbox`: messages of providers that are not handled.

use clap::{Args, Subcommand};
use lessor_domain::ports::{InboxRecord, InboxState};
use lessor_domain::services::Error;
use serde::Serialize;
use serde_json::json;

use super::output::{Reply, time};
use super::session::Session;

/// Show messages of providers that are not handled, and have them handled again.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List messages that wait or failed, oldest first
    #[command(
        after_help = "Examples:\n  lessor inbox list\n  lessor inbox list --state failed --json\n\n\
        A message waits until what it is about is known. One that cannot be read, or is about nothing that\n\
        ever became known, has failed: it is kept, and changes nothing until `lessor inbox retry`."
    )]
    List {
        /// Only those that wait, or that failed
        #[arg(long, value_parser = open_state)]
        state: Option<InboxState>,
        /// The most of each state that are listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
    /// Have a message handled again from now on, or all that wait or failed
    #[command(
        after_help = "Examples:\n  lessor inbox retry evt_1QxYzAbCdEf\n  lessor inbox retry --all\n\n\
        A worker handles them within seconds. What fails again is listed again."
    )]
    Retry(RetryArgs),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RetryArgs {
    /// Only this message
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// All of them
    #[arg(long)]
    all: bool,
}

fn open_state(text: &str) -> Result<InboxState, String> {
    match text.parse() {
        Ok(state @ (InboxState::Waiting | InboxState::Failed)) => Ok(state),
        _ => Err("must be waiting or failed".to_owned()),
    }
}

/// A message as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    source: String,
    mode: &'static str,
    state: &'static str,
    received_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl From<InboxRecord> for View {
    fn from(record: InboxRecord) -> Self {
        Self {
            id: record.id,
            source: record.source,
            mode: record.mode.as_str(),
            state: record.state.as_str(),
            received_at: time(record.received_at),
            problem: record.problem,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: InboxCommand) -> anyhow::Result<Reply> {
    match command {
        InboxCommand::List { state, limit } => list(&session, state, limit).await,
        InboxCommand::Retry(args) => retry(&session, args.id.as_deref()).await,
    }
}

async fn list(session: &Session, state: Option<InboxState>, limit: u32) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let mut views: Vec<View> = Vec::new();
    for listed in [InboxState::Failed, InboxState::Waiting] {
        if state.is_none_or(|state| state == listed) {
            let found = view.inbox().list(listed, limit).await?;
            views.extend(found.into_iter().map(View::from));
        }
    }
    let (waiting, failed) = view.inbox().backlog().await?;
    let rows = views.iter().map(|view| {
        [
            view.id.clone(),
            view.source.clone(),
            view.mode.to_owned(),
            view.state.to_owned(),
            view.received_at.clone(),
            view.problem.clone().unwrap_or_default(),
        ]
    });
    let headers = ["id", "from", "mode", "state", "received", "problem"];
    let reply = Reply::list(&views, headers, rows)?;
    Ok(reply
        .with_member("waiting", waiting.into())
        .with_member("failed", failed.into())
        .with_note(&format!("{waiting} waiting, {failed} failed")))
}

async fn retry(session: &Session, id: Option<&str>) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let requeued = uow.inbox().requeue(id, session.now()).await?;
    uow.commit().await?;
    if id.is_some() && requeued == 0 {
        return Err(Error::not_found("waiting or failed message").into());
    }
    let messages = if requeued == 1 {
        "message is"
    } else {
        "messages are"
    };
    Ok(Reply::text(
        json!({ "requeued": requeued }),
        format!("{requeued} {messages} to be handled now\n"),
    ))
}
