//! `lessor events`: what happened in an organization.

use std::time::Duration;

use clap::{Args, Subcommand};
use lessor_adapters::ambient::SystemClock;
use lessor_domain::access::Mode;
use lessor_domain::events::{EventPattern, EventSubject, NumberedEvent};
use lessor_domain::ids::{EventPubId, OrganizationRef, WebhookEndpointPubId};
use lessor_domain::organization::Organization;
use lessor_domain::ports::{EventFilter, Scope, StoreError};
use lessor_domain::services::UseCase as _;
use lessor_domain::services::deliveries::RedeliverEvent;
use lessor_domain::services::events::{self, ListEvents};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::output::{Output, Reply, time};
use super::session::{self, Session, operator_access};
use crate::routes::events::EventRecord;
use crate::run::config::Config;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_secs(1);
/// How many are read at once.
const PAGE: u32 = 100;

/// Show what happened to an organization's records, and have it told again.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// List events, oldest first
    #[command(after_help = "Examples:\n  lessor events list --org 1 --mode live\n  \
        lessor events list --org 1 --mode sandbox --types 'checkout.*,payment.failed' --json\n  \
        lessor events list --org 1 --mode live --subject chk_06EAAA… --starting-after evt_06EAAA…\n\n\
        With --json each event is as GET /v1/events/{id} answers it.")]
    List(ListArgs),
    /// Show events as they happen, until it is interrupted
    #[command(
        after_help = "Examples:\n  lessor events tail --org 1 --mode sandbox\n  \
        lessor events tail --org 1 --mode live --types 'checkout.*' --json\n\n\
        Begins with what happens from now on, or after --starting-after. With --json each line is an event as\n\
        GET /v1/events/{id} answers it."
    )]
    Tail(TailArgs),
    /// Deliver an event to webhook endpoints again
    #[command(
        after_help = "Examples:\n  lessor events redeliver evt_06EAAA… --org 1 --mode live\n  \
        lessor events redeliver evt_06EAAA… --org 1 --mode sandbox --endpoint whe_06EAAA…\n\n\
        To the endpoint that is named, or to all enabled ones that are told of its type. The worker does it."
    )]
    Redeliver(RedeliverArgs),
}

/// Whose feed, and what of it.
#[derive(Debug, Args)]
struct FeedArgs {
    /// The organization: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Of which mode: live or sandbox
    #[arg(long, value_name = "MODE")]
    mode: Mode,
    /// Only of these types, such as checkout.created or checkout.*
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    types: Vec<EventPattern>,
    /// Only about this record: prod_…, pvar_…, usr_…, term_…, chk_…
    #[arg(long, value_name = "ID")]
    subject: Option<EventSubject>,
    /// Only what happened after this event
    #[arg(long, value_name = "EVT_ID")]
    starting_after: Option<EventPubId>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    feed: FeedArgs,
    /// The most that are listed
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    feed: FeedArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RedeliverArgs {
    /// The event
    #[arg(value_name = "EVT_ID")]
    id: EventPubId,
    /// The organization: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Of which mode: live or sandbox
    #[arg(long, value_name = "MODE")]
    mode: Mode,
    /// Only to this endpoint, whatever it is told of otherwise
    #[arg(long, value_name = "WHE_ID")]
    endpoint: Option<WebhookEndpointPubId>,
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, command: EventsCommand) -> anyhow::Result<()> {
    match command {
        EventsCommand::List(args) => session::run(config, output, |session| list(session, args)),
        EventsCommand::Tail(args) => session::run(config, output, |session| async move {
            tail(&session, &args.feed, output).await
        }),
        EventsCommand::Redeliver(args) => {
            session::run(config, output, |session| redeliver(session, args))
        }
    }
}

/// Gives what is committed its numbers.
pub(super) async fn number(session: &Session, scope: Scope) -> Result<bool, StoreError> {
    events::number(session.database(), session.ids(), &SystemClock, scope).await
}

async fn redeliver(session: Session, args: RedeliverArgs) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let organization = session::enter(uow.as_mut(), args.org).await?;
    let mut access = operator_access(organization.id, organization.pub_id)?;
    access.mode = args.mode;
    let redeliver = RedeliverEvent {
        id: args.id,
        endpoint: args.endpoint,
    };
    let queued = redeliver
        .run(uow.as_mut(), &session.operator(&access))
        .await?;
    uow.commit().await?;
    let noun = if queued == 1 {
        "delivery"
    } else {
        "deliveries"
    };
    Ok(Reply::text(
        json!({ "queued": queued }),
        format!("{queued} {noun} queued\n"),
    ))
}

/// The organization, and its feed of the mode.
async fn feed(session: &Session, args: &FeedArgs) -> anyhow::Result<(Organization, Scope)> {
    let mut view = session.read().await?;
    let organization = session::organization(view.as_mut(), args.org).await?;
    let scope = Scope {
        organization_id: organization.id,
        mode: args.mode,
    };
    Ok((organization, scope))
}

/// The events that the command asks for.
async fn read(
    session: &Session,
    organization: &Organization,
    args: &FeedArgs,
    limit: u32,
) -> anyhow::Result<Vec<NumberedEvent>> {
    let list = ListEvents {
        types: EventPattern::types(&args.types),
        subject: args.subject,
        after: args.starting_after,
        limit,
    };
    let mut view = session.read().await?;
    view.enter(organization.id).await?;
    let mut access = operator_access(organization.id, organization.pub_id)?;
    access.mode = args.mode;
    let slice = list.run(view.as_mut(), &session.operator(&access)).await?;
    Ok(slice.items)
}

fn row(event: &NumberedEvent) -> [String; 5] {
    let NumberedEvent { sequence, event } = event;
    [
        sequence.to_string(),
        event.id.to_string(),
        time(event.created_at),
        event.event_type.to_string(),
        event.subject.to_string(),
    ]
}

fn record(event: &NumberedEvent, organization: &Organization) -> anyhow::Result<Value> {
    let record = EventRecord::new(event, organization.pub_id)?;
    Ok(serde_json::to_value(record)?)
}

async fn list(session: Session, args: ListArgs) -> anyhow::Result<Reply> {
    let (organization, scope) = feed(&session, &args.feed).await?;
    number(&session, scope).await?;
    let events = read(&session, &organization, &args.feed, args.limit).await?;
    let records = events
        .iter()
        .map(|event| record(event, &organization))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let headers = ["number", "id", "at", "what", "to"];
    Reply::list(&records, headers, events.iter().map(row))
}

async fn tail(session: &Session, args: &FeedArgs, output: Output) -> anyhow::Result<Reply> {
    let (organization, scope) = feed(session, args).await?;
    let filter = EventFilter {
        types: EventPattern::types(&args.types),
        subject: args.subject,
    };
    number(session, scope).await?;
    let mut view = session.read().await?;
    view.enter(organization.id).await?;
    let mut last = match args.starting_after {
        Some(id) => match view.events().get(scope, id).await? {
            Some(event) => event.sequence,
            None => anyhow::bail!("{id} is no event of the feed, or is forgotten"),
        },
        None => view.events().last(scope).await?,
    };
    drop(view);
    loop {
        number(session, scope).await?;
        let mut view = session.read().await?;
        view.enter(organization.id).await?;
        let found = view.events().list(scope, &filter, last, PAGE).await?;
        drop(view);
        for event in &found {
            last = event.sequence;
            let line = Reply::text(
                record(event, &organization)?,
                format!("{}\n", row(event).join("  ")),
            );
            if !output.line(&line)? {
                return Ok(Reply::text(Value::Null, ""));
            }
        }
        if found.is_empty() {
            sleep(LOOK).await;
        }
    }
}
