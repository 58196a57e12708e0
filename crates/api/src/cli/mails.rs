//! `lessor mail`: what is mailed, and to whom nothing is.

use clap::Subcommand;
use lessor_domain::ids::{MailPubId, OrganizationId, OrganizationRef};
use lessor_domain::mail::{Mail, MailKind, MailState, MailSubject};
use lessor_domain::ports::MailFilter;
use lessor_domain::services::Error;
use lessor_domain::text::Email;
use serde::Serialize;
use serde_json::json;

use super::output::{Output, Reply, time};
use super::session::{self, Session};
use crate::mails;
use crate::run::config::Config;

/// Show, repeat and preview mails, and end that an address is sent none.
#[derive(Debug, Subcommand)]
pub(crate) enum MailCommand {
    /// List mails, newest first
    #[command(
        after_help = "Examples:\n  lessor mail list\n  lessor mail list --state dead --json\n\n\
        A mail is pending until the mail server took it. One that is dead was given up: mend what its reason\n\
        says and use `lessor mail retry`. Suppressed ones were not sent, since their address bounced or\n\
        complained before."
    )]
    List {
        /// Of this organization alone
        #[arg(long, value_name = "ORG")]
        org: Option<OrganizationRef>,
        /// Only those that are pending, sent, suppressed, skipped, bounced, complained or dead
        #[arg(long)]
        state: Option<MailState>,
        /// The most that are listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
    /// Make waiting and dead mails due now
    #[command(
        after_help = "Examples:\n  lessor mail retry                                 (all of them)\n  \
        lessor mail retry mail_0345Nd8jqBSVLs1aoT6tLA"
    )]
    Retry {
        /// Only this mail
        #[arg(value_name = "ID")]
        id: Option<MailPubId>,
    },
    /// Print a mail with made-up contents, for a look at its templates
    #[command(
        after_help = "Examples:\n  lessor mail preview shipped --language es\n  \
        lessor --json mail preview refused\n  LESSOR_MAIL_TEMPLATES=./mails lessor mail preview shipped --html > shipped.html"
    )]
    Preview {
        /// Which mail
        #[arg(value_name = "KIND")]
        kind: MailKind,
        /// Its language
        #[arg(long, default_value = "en", value_parser = mails::LANGUAGES)]
        language: String,
        /// As HTML
        #[arg(long, conflicts_with = "text")]
        html: bool,
        /// As text, which it is when nothing is said
        #[arg(long)]
        text: bool,
    },
    /// Send an address mails again that bounced or complained
    #[command(after_help = "Example:\n  lessor mail unsuppress --org 1 ada@example.com")]
    Unsuppress {
        /// Whose mails
        #[arg(long, value_name = "ORG")]
        org: OrganizationRef,
        /// The address
        #[arg(value_name = "ADDRESS")]
        address: Email,
    },
}

/// A mail as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    kind: &'static str,
    subject: String,
    organization_id: i64,
    mode: &'static str,
    state: &'static str,
    attempts: u32,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<&Mail> for View {
    fn from(mail: &Mail) -> Self {
        Self {
            id: mail.new.id.to_string(),
            kind: mail.new.kind.as_str(),
            subject: match mail.new.subject {
                MailSubject::Checkout(id) => id.to_string(),
                MailSubject::Endpoint(id) => id.to_string(),
            },
            organization_id: mail.new.organization_id.get(),
            mode: mail.new.mode.as_str(),
            state: mail.state.as_str(),
            attempts: mail.attempts,
            created_at: time(mail.new.created_at),
            next_attempt_at: mail.next_attempt_at.map(time),
            reason: mail.reason.clone(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, command: MailCommand) -> anyhow::Result<()> {
    match command {
        MailCommand::List { org, state, limit } => {
            session::run(config, output, |session| list(session, org, state, limit))
        }
        MailCommand::Retry { id } => session::run(config, output, |session| retry(session, id)),
        MailCommand::Preview {
            kind,
            language,
            html,
            text: _,
        } => output.reply(&preview(config, kind, &language, html)?),
        MailCommand::Unsuppress { org, address } => {
            session::run_sealing(config, output, |session| unsuppress(session, org, address))
        }
    }
}

async fn list(
    session: Session,
    org: Option<OrganizationRef>,
    state: Option<MailState>,
    limit: u32,
) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let filter = MailFilter {
        state,
        checkout: None,
    };
    let mut found = Vec::new();
    for organization in session::candidates(view.as_mut(), org).await? {
        view.enter(organization.id).await?;
        found.extend(view.mails().list(&filter, limit).await?);
    }
    found.sort_by_key(|mail| std::cmp::Reverse(mail.new.id));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let views: Vec<View> = found.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.id.clone(),
            view.kind.to_owned(),
            view.subject.clone(),
            view.mode.to_owned(),
            view.state.to_owned(),
            view.attempts.to_string(),
            view.next_attempt_at.clone().unwrap_or_default(),
            view.reason.clone().unwrap_or_default(),
        ]
    });
    Reply::list(
        &views,
        [
            "id", "kind", "subject", "mode", "state", "attempts", "due", "reason",
        ],
        rows,
    )
}

async fn retry(session: Session, id: Option<MailPubId>) -> anyhow::Result<Reply> {
    let now = session.now();
    let mut uow = session.begin().await?;
    let owners: Vec<OrganizationId> = match id {
        Some(id) => uow.doors().owner_of_mail(id).await?.into_iter().collect(),
        None => {
            let organizations = session::candidates(uow.as_mut(), None).await?;
            organizations.iter().map(|owner| owner.id).collect()
        }
    };
    let mut requeued = 0_u64;
    for owner in owners {
        uow.enter(owner).await?;
        requeued = requeued.saturating_add(uow.mails().requeue(id, now).await?);
    }
    uow.commit().await?;
    if id.is_some() && requeued == 0 {
        return Err(Error::not_found("pending or dead mail").into());
    }
    let mails = if requeued == 1 {
        "mail is"
    } else {
        "mails are"
    };
    Ok(Reply::text(
        json!({ "requeued": requeued }),
        format!("{requeued} {mails} due now\n"),
    ))
}

fn preview(
    config: &Config,
    kind: MailKind,
    language: &str,
    is_html: bool,
) -> anyhow::Result<Reply> {
    let templates = config.mail.mail_templates.as_deref();
    let mail = mails::preview(templates, kind, language)?;
    let told = json!({ "subject": mail.subject, "text": mail.text, "html": mail.html });
    let shown = if is_html {
        mail.html
    } else {
        format!("Subject: {}\n\n{}", mail.subject, mail.text)
    };
    Ok(Reply::text(told, shown))
}

async fn unsuppress(
    session: Session,
    org: OrganizationRef,
    address: Email,
) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    session::enter(uow.as_mut(), org).await?;
    if !uow.mails().unsuppress(&address).await? {
        return Err(Error::not_found("suppressed address").into());
    }
    uow.commit().await?;
    Ok(Reply::text(
        json!({ "unsuppressed": address.as_str() }),
        format!("{address} is sent mails again\n"),
    ))
}
