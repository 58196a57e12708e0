//! `lessor listen`: what happens, sent to a URL on this machine while somebody writes its receiver.

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::outbound::{Outbound, SignedPost, Targets, new_secret};
use lessor_adapters::processor::standard_webhooks::SharedSecret;
use lessor_domain::access::Mode;
use lessor_domain::events::{EventPattern, NumberedEvent};
use lessor_domain::ids::OrganizationRef;
use lessor_domain::organization::Organization;
use lessor_domain::ports::{EventFilter, Scope};
use lessor_domain::text::Url;
use lessor_domain::webhooks::MAX_RESPONSE_BODY;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::events::number;
use super::output::{Output, Reply, time};
use super::session::{self, Session};
use crate::routes::events::EventRecord;
use crate::run::config::Config;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(500);
/// How many are read at once.
const PAGE: u32 = 100;

/// Send what happens from now on to a URL, signed, until it is interrupted
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor listen --org 1 --mode sandbox --forward-to http://localhost:3000/webhooks\n  \
    lessor listen --org 1 --mode sandbox --types 'checkout.*' --forward-to http://localhost:3000/webhooks\n\n\
    Prints the secret that it signs with. Each event is sent once, in its order, and what became of it is shown:\n\
    for the real thing make a webhook endpoint, whose deliveries are tried again. http and this machine's own\n\
    addresses are allowed here."
)]
pub(crate) struct ListenArgs {
    /// The organization: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Of which mode: live or sandbox
    #[arg(long, value_name = "MODE")]
    mode: Mode,
    /// Where to
    #[arg(long, value_name = "URL")]
    forward_to: Url,
    /// Only of these types, such as checkout.created or checkout.*
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    types: Vec<EventPattern>,
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, args: ListenArgs) -> anyhow::Result<()> {
    session::run(config, output, |session| async move {
        listen(&session, &args, output).await
    })
}

/// Sends events, and shows what became of each.
struct Forwarder<'a> {
    outbound: Outbound,
    url: &'a Url,
    secret: SharedSecret,
    organization: Organization,
}

async fn listen(session: &Session, args: &ListenArgs, output: Output) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let organization = session::organization(view.as_mut(), args.org).await?;
    let scope = Scope {
        organization_id: organization.id,
        mode: args.mode,
    };
    drop(view);
    // Whoever runs a command on a machine may ask that machine.
    let targets = Targets {
        allow_loopback: true,
    };
    targets
        .check(args.forward_to.as_str())
        .context("--forward-to")?;
    let secret = new_secret(&SystemEntropy);
    let forwarder = Forwarder {
        outbound: Outbound::new(targets),
        url: &args.forward_to,
        secret: secret.expose().parse()?,
        organization,
    };
    let begun = Reply::text(
        json!({ "forwardTo": args.forward_to.as_str(), "secret": secret.expose() }),
        format!(
            "Events go to {}, signed with\n  {}\n",
            args.forward_to,
            secret.expose()
        ),
    );
    let over = || Ok(Reply::text(Value::Null, ""));
    let filter = EventFilter {
        types: EventPattern::types(&args.types),
        subject: None,
    };
    number(session, scope).await?;
    let mut view = session.read().await?;
    view.enter(scope.organization_id).await?;
    let mut last = view.events().last(scope).await?;
    drop(view);
    // Whoever reads this misses nothing from here on.
    if !output.line(&begun)? {
        return over();
    }
    loop {
        number(session, scope).await?;
        let mut view = session.read().await?;
        view.enter(scope.organization_id).await?;
        let found = view.events().list(scope, &filter, last, PAGE).await?;
        drop(view);
        for event in &found {
            last = event.sequence;
            if !output.line(&forwarder.forward(session, event).await?)? {
                return over();
            }
        }
        if found.is_empty() {
            sleep(LOOK).await;
        }
    }
}

impl Forwarder<'_> {
    async fn forward(&self, session: &Session, event: &NumberedEvent) -> anyhow::Result<Reply> {
        let record = EventRecord::new(event, self.organization.pub_id)?;
        let body = serde_json::to_vec(&record)?;
        let id = event.event.id.to_string();
        let post = SignedPost {
            url: self.url.as_str(),
            id: &id,
            body: &body,
            secrets: std::slice::from_ref(&self.secret),
            at: session.now(),
        };
        let sent = self.outbound.notify(&post, MAX_RESPONSE_BODY).await;
        let (status, error) = match sent {
            Ok(answer) => (Some(answer.status), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let event_type = event.event.event_type;
        let mut told = json!({ "eventId": id, "type": event_type.as_str() });
        let shown = match (&status, &error) {
            (Some(status), _) => {
                told["responseStatus"] = json!(status);
                status.to_string()
            }
            (None, error) => {
                let error = error.clone().unwrap_or_default();
                told["error"] = json!(error);
                error
            }
        };
        let at = time(event.event.created_at);
        let line = format!("{at}  {id}  {event_type}  {shown}\n");
        Ok(Reply::text(told, line))
    }
}
