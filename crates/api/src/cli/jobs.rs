//! `lessor jobs`: what providers are still to be told.

use clap::Subcommand;
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ports::{Backlog, Job, JobFilter, JobState, JobSubject, UnitOfWork};
use lessor_domain::services::Error;
use lessor_domain::text::Line;
use lessor_domain::time::Timestamp;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::output::{Reply, time};
use super::session::{self, Session};

/// Show, repeat and skip what providers are still to be told.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List jobs that are pending or dead, oldest first
    #[command(
        after_help = "Examples:\n  lessor jobs list\n  lessor jobs list --state dead --json\n\n\
        A job is pending until it is done. One that cannot be done is dead: what stands behind it for the same\n\
        checkout or product waits, but for what lets money go, until `lessor jobs retry` or `skip`."
    )]
    List {
        /// Only those that are pending, held, dead, done or skipped
        #[arg(long)]
        state: Option<JobState>,
        /// The most that are listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
    /// Make waiting and dead jobs due now
    #[command(
        after_help = "Examples:\n  lessor jobs retry                                        \
        (all of them)\n  lessor jobs retry 0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20"
    )]
    Retry {
        /// Only this job
        #[arg(value_name = "ID")]
        id: Option<Uuid>,
    },
    /// Give a job up for good, so that what stands behind it goes on
    #[command(
        after_help = "Example:\n  lessor jobs skip 0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20 --reason 'billed by hand'\n\n\
        What the job was to do is not done, now or later: see to it yourself. The reason stays with the job.\n\
        One that a worker is at is refused."
    )]
    Skip {
        /// The job
        #[arg(value_name = "ID")]
        id: Uuid,
        /// Why, for those who come after
        #[arg(long, value_name = "TEXT")]
        reason: Line,
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
pub(crate) async fn run(session: Session, command: JobsCommand) -> anyhow::Result<Reply> {
    match command {
        JobsCommand::List { state, limit } => list(&session, state, limit).await,
        JobsCommand::Retry { id } => retry(&session, id).await,
        JobsCommand::Skip { id, reason } => skip(&session, id, &reason).await,
    }
}

async fn list(session: &Session, state: Option<JobState>, limit: u32) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let filter = JobFilter {
        state,
        subject: None,
    };
    let mut jobs = Vec::new();
    for organization in session::candidates(view.as_mut(), None).await? {
        view.enter(organization.id).await?;
        jobs.extend(view.jobs().list(&filter, limit).await?);
    }
    // Those of one time stay in the order that they have.
    jobs.sort_by_key(|job| job.new.created_at);
    jobs.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let Backlog {
        pending,
        in_doubt,
        dead,
        first_due: _,
    } = view.doors().backlog().await?;
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
        .with_member("inDoubt", in_doubt.into())
        .with_member("dead", dead.into())
        .with_note(&format!(
            "{pending} pending, {in_doubt} of them in doubt, {dead} dead"
        )))
}

async fn retry(session: &Session, id: Option<Uuid>) -> anyhow::Result<Reply> {
    let now = session.now();
    let mut uow = session.begin().await?;
    let owners: Vec<OrganizationId> = match id {
        Some(id) => uow.doors().owner_of_job(id).await?.into_iter().collect(),
        None => {
            let organizations = session::candidates(uow.as_mut(), None).await?;
            organizations.iter().map(|owner| owner.id).collect()
        }
    };
    let mut requeued = 0_u64;
    for owner in owners {
        uow.enter(owner).await?;
        requeued = requeued.saturating_add(uow.jobs().requeue(id, now).await?);
    }
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

/// More jobs than this are open nowhere that somebody looks after.
const MOST_OPEN: u32 = 100_000;

async fn skip(session: &Session, id: Uuid, reason: &Line) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let now = session.now();
    let missing = || Error::not_found("pending, held or dead job");
    let owner = uow.doors().owner_of_job(id).await?.ok_or_else(missing)?;
    uow.enter(owner).await?;
    let open = uow.jobs().list(&JobFilter::default(), MOST_OPEN).await?;
    let job = open.into_iter().find(|job| job.new.id == id);
    let job = job.ok_or_else(missing)?;
    // The order of locks: the checkout before its jobs.
    if let JobSubject::Checkout(checkout) = job.new.subject {
        settle(uow.as_mut(), checkout, &job, now).await?;
    }
    if !uow.jobs().skip(id, reason.as_str(), now).await? {
        return Err(Error::rule(
            "a worker is at the job, or has just done it: look again with `lessor jobs list`",
        )
        .into());
    }
    uow.commit().await?;
    let view = View::from(&job);
    Ok(Reply::text(
        json!({ "skipped": view.id, "effect": view.effect, "subject": view.subject }),
        format!(
            "{} of {} will not be done; what stands behind it goes on\n",
            view.effect, view.subject
        ),
    ))
}

/// Nobody has to look at the checkout any more because of the job.
async fn settle(
    uow: &mut dyn UnitOfWork,
    id: CheckoutPubId,
    job: &Job,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(mut checkout) = uow.checkouts().lock(id).await? else {
        return Ok(());
    };
    if checkout.settle_refused(job.new.effect, now) {
        uow.checkouts().update(&mut checkout).await?;
    }
    Ok(())
}
