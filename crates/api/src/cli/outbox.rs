//! `lessor outbox`: what providers are still to be told.

use clap::Subcommand;
use lessor_domain::ports::{Job, JobFilter, JobState, JobSubject};
use lessor_domain::services::Error;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::output::{Reply, time};
use super::session::Session;

/// Show and repeat what providers are still to be told.
#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List jobs that are pending or dead, oldest first
    #[command(
        after_help = "Examples:\n  lessor outbox list\n  lessor outbox list --state dead --json\n\n\
        A job is pending until it is done. One that cannot be done is dead: nothing more is tried for its\n\
        checkout or product until `lessor outbox retry`."
    )]
    List {
        /// Only those that are pending, dead or done
        #[arg(long)]
        state: Option<JobState>,
        /// The most that are listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
    /// Make waiting and dead jobs due now
    #[command(
        after_help = "Examples:\n  lessor outbox retry                                        \
        (all of them)\n  lessor outbox retry 0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20"
    )]
    Retry {
        /// Only this job
        #[arg(value_name = "ID")]
        id: Option<Uuid>,
    },
}

/// A job as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    effect: String,
    subject: String,
    organization_id: i64,
    mode: &'static str,
    state: &'static str,
    attempts: u32,
    created_at: String,
    available_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

impl From<&Job> for View {
    fn from(job: &Job) -> Self {
        Self {
            id: job.new.id.to_string(),
            effect: job.new.effect.to_string(),
            subject: match job.new.subject {
                JobSubject::Checkout(id) => id.to_string(),
                JobSubject::Product(id) => id.to_string(),
                JobSubject::Variant(id) | JobSubject::Waitlist(id) => id.to_string(),
                JobSubject::Customer(id) => id.to_string(),
            },
            organization_id: job.new.organization_id.get(),
            mode: job.new.mode.as_str(),
            state: job.state.as_str(),
            attempts: job.attempts,
            created_at: time(job.new.created_at),
            available_at: time(job.new.available_at),
            last_error: job.last_error.clone(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: OutboxCommand) -> anyhow::Result<Reply> {
    match command {
        OutboxCommand::List { state, limit } => list(&session, state, limit).await,
        OutboxCommand::Retry { id } => retry(&session, id).await,
    }
}

async fn list(session: &Session, state: Option<JobState>, limit: u32) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let filter = JobFilter {
        state,
        subject: None,
    };
    let jobs = view.outbox().list(&filter, limit).await?;
    let (pending, dead) = view.outbox().backlog().await?;
    let views: Vec<View> = jobs.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.id.clone(),
            view.effect.clone(),
            view.subject.clone(),
            view.mode.to_owned(),
            view.state.to_owned(),
            view.attempts.to_string(),
            view.available_at.clone(),
            view.last_error.clone().unwrap_or_default(),
        ]
    });
    let reply = Reply::list(
        &views,
        [
            "id",
            "effect",
            "subject",
            "mode",
            "state",
            "attempts",
            "due",
            "last error",
        ],
        rows,
    )?;
    Ok(reply
        .with_member("pending", pending.into())
        .with_member("dead", dead.into())
        .with_note(&format!("{pending} pending, {dead} dead")))
}

async fn retry(session: &Session, id: Option<Uuid>) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let requeued = uow.outbox().requeue(id, session.now()).await?;
    uow.commit().await?;
    if id.is_some() && requeued == 0 {
        return Err(Error::not_found("pending or dead job").into());
    }
    let jobs = if requeued == 1 { "job is" } else { "jobs are" };
    Ok(Reply::text(
        json!({ "requeued": requeued }),
        format!("{requeued} {jobs} due now\n"),
    ))
}
