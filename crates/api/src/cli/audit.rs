//! `lessor audit`: who did what.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use lessor_domain::audit::{AuditEvent, AuditSubject};
use lessor_domain::ids::{AuditEventPubId, OrganizationRef};
use lessor_domain::ports::{AuditFilter, Page, Start};
use lessor_domain::services::UseCase as _;
use lessor_domain::services::audit::ListAudit;
use lessor_domain::text::Line;
use serde::Serialize;

use super::output::{Reply, time};
use super::session::{self, Session, operator_access};

/// Show who did what in an organization, newest first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor audit --org 1\n  lessor audit --org 1 --subject prod_06EAAA… --json\n  \
    lessor audit --org org_06EAAA… --actor cli:ada --limit 20\n\n\
    What was done to keys, settings, catalog, prices, lease terms, customers and checkouts, in both modes, by\n\
    keys, at the command line (`cli:` and the user of the system), by customers on their page, by providers\n\
    and by Lessor itself (`lessor`). What changed is shown by name; with --json before and after as well.\n\n\
    Events are kept as they are. What they say of a customer's person goes when that is erased."
)]
pub(crate) struct AuditArgs {
    /// The organization: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Only what was done to this, by its id: prod_…, key_…, the number of a pickup location
    #[arg(long, value_name = "ID")]
    subject: Option<AuditSubject>,
    /// Only what this actor did, by its id: key_…, usr_…, cli:ada, lessor
    #[arg(long, value_name = "ID")]
    actor: Option<Line>,
    /// Only what was done before this event
    #[arg(long, value_name = "AUD_ID")]
    starting_after: Option<AuditEventPubId>,
    /// The most that are listed
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
}

/// Who did something, as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ActorView {
    r#type: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// An event as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    at: String,
    actor: ActorView,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    action: &'static str,
    subject: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    before: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    after: BTreeMap<String, String>,
}

impl From<&AuditEvent> for View {
    fn from(event: &AuditEvent) -> Self {
        let origin = &event.origin;
        Self {
            id: event.id.to_string(),
            at: time(event.at),
            actor: ActorView {
                r#type: origin.actor.kind().as_str(),
                id: origin.actor.id(),
                name: origin.actor.name().map(ToString::to_string),
            },
            request_id: origin.request_id.clone(),
            address: origin.address.map(|address| address.to_string()),
            action: event.action.as_str(),
            subject: event.subject.to_string(),
            before: event.change.before.entries().clone(),
            after: event.change.after.entries().clone(),
        }
    }
}

impl View {
    fn actor(&self) -> String {
        match &self.actor.name {
            Some(name) => format!("{} ({name})", self.actor.id),
            None => self.actor.id.clone(),
        }
    }

    /// The names of the members that differ.
    fn changed(&self) -> String {
        let names: BTreeSet<&str> = self
            .before
            .keys()
            .chain(self.after.keys())
            .map(String::as_str)
            .collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, args: AuditArgs) -> anyhow::Result<Reply> {
    let list = ListAudit {
        filter: AuditFilter {
            subject: args.subject,
            actor: args.actor.map(|actor| actor.to_string()),
        },
        page: Page {
            start: match args.starting_after {
                Some(event) => Start::After(event.as_uuid()),
                None => Start::Offset(0),
            },
            limit: args.limit,
        },
        is_long: false,
    };
    let mut view = session.read().await?;
    let organization = session::enter(view.as_mut(), args.org).await?;
    let access = operator_access(organization.id, organization.pub_id)?;
    let slice = list.run(view.as_mut(), &session.operator(&access)).await?;
    let views: Vec<View> = slice.items.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.id.clone(),
            view.at.clone(),
            view.actor(),
            view.address.clone().unwrap_or_default(),
            view.action.to_owned(),
            view.subject.clone(),
            view.changed(),
        ]
    });
    let headers = ["id", "at", "who", "from", "what", "to", "changed"];
    let reply = Reply::list(&views, headers, rows)?;
    Ok(match slice.total {
        Some(total) => {
            let shown = views.len();
            reply
                .with_member("total", total.into())
                .with_note(&format!("{shown} of {total}"))
        }
        None => reply,
    })
}
