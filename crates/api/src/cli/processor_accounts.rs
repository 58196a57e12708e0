//! `lessor org processor`: organizations' own accounts at the payment processor.

use std::fs;
use std::io::{self, Read as _};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lessor_domain::access::Mode;
use lessor_domain::ids::{OrganizationId, OrganizationRef};
use lessor_domain::organization::Organization;
use lessor_domain::processor_account::{AccountRecord, read_key, read_webhook_secrets};
use lessor_domain::services::processor_accounts::{
    SetAccount, push_catalog, remove_account, set_account, show_accounts,
};
use serde::Serialize;
use serde_json::json;

use super::output::{Reply, time};
use super::session::Session;

/// The longest file that a key or secrets are read from, in bytes.
const LONGEST_FILE: u64 = 16 * 1024;
/// What stands for standard input.
const STDIN: &str = "-";

/// Give an organization an account of its own at the payment processor.
#[derive(Debug, Subcommand)]
pub(crate) enum ProcessorCommand {
    /// Set the key and the webhook secrets of an organization's own account
    #[command(
        after_help = "Examples:\n  lessor org processor set 1 --mode sandbox --key-file key.txt --webhook-secret-file whsec.txt\n  \
        pass show shop/live | lessor org processor set 1 --mode live --key-file - --webhook-secret-file whsec.txt\n\n\
        The secrets are sealed under the server's key (LESSOR_SERVER_SECRET, or server.key in the data directory) and\n\
        shown by nothing. In force within five seconds. At the processor, messages are to be sent to\n\
        <public URL>/webhooks/processor/<public id of the organization>. While the endpoint's secret is rolled, the\n\
        file has both, with a comma or a line end between them.\n\n\
        What was made at one account is unknown at every other. So the first account of a mode, and one with\n\
        --other-account, is refused while checkouts rest on what is at the account that the organization works with\n\
        now. With --force they are left behind: end their subscriptions and deposits there yourself."
    )]
    Set(SetArgs),
    /// Show which modes of an organization have an account of their own; never a secret
    #[command(after_help = "Example:\n  lessor org processor show 1")]
    Show {
        /// Its number or public id
        #[arg(value_name = "ORG")]
        organization: OrganizationRef,
    },
    /// Remove an organization's own account: it works with the process's again
    #[command(after_help = "Example:\n  lessor org processor remove 1 --mode sandbox")]
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The organization's number or public id
    #[arg(value_name = "ORG")]
    organization: OrganizationRef,
    /// Whose checkouts, live or sandbox
    #[arg(long)]
    mode: Mode,
    /// File of the secret or restricted key; - reads standard input
    #[arg(long, value_name = "FILE")]
    key_file: String,
    /// File of what the account signs its messages with; - reads standard input
    #[arg(long, value_name = "FILE")]
    webhook_secret_file: String,
    /// The key is another account's, and no new key of the one that is set
    #[arg(long)]
    other_account: bool,
    /// Also while checkouts rest on what is at the former account, which are left behind there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The organization's number or public id
    #[arg(value_name = "ORG")]
    organization: OrganizationRef,
    /// Which, live or sandbox
    #[arg(long)]
    mode: Mode,
    /// Also while checkouts rest on what is at the account, which are left behind there
    #[arg(long)]
    force: bool,
}

impl ProcessorCommand {
    /// Whether it keeps secrets, for which the server's key is needed.
    pub(crate) const fn seals(&self) -> bool {
        match self {
            Self::Set(_) => true,
            Self::Show { .. } | Self::Remove(_) => false,
        }
    }
}

/// An account as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    mode: &'static str,
    /// The key's last four characters.
    key_hint: String,
    since: String,
    updated_at: String,
}

impl From<&AccountRecord> for View {
    fn from(account: &AccountRecord) -> Self {
        Self {
            mode: account.mode.as_str(),
            key_hint: account.key_hint.clone(),
            since: time(account.created_at),
            updated_at: time(account.updated_at),
        }
    }
}

/// Where the account's messages are sent to, below the public address.
fn webhook_path(organization: &Organization) -> String {
    format!("/webhooks/processor/{}", organization.pub_id)
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: ProcessorCommand) -> anyhow::Result<Reply> {
    match command {
        ProcessorCommand::Set(args) => set(&session, &args).await,
        ProcessorCommand::Show { organization } => show(&session, organization).await,
        ProcessorCommand::Remove(args) => remove(&session, &args).await,
    }
}

/// The text of a file, or of standard input.
fn text_of(file: &str, flag: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if file == STDIN {
        io::stdin().take(LONGEST_FILE).read_to_string(&mut text)
    } else {
        fs::File::open(file).and_then(|opened| opened.take(LONGEST_FILE).read_to_string(&mut text))
    };
    read.with_context(|| format!("{flag}: cannot read {file}"))?;
    Ok(text)
}

async fn set(session: &Session, args: &SetArgs) -> anyhow::Result<Reply> {
    anyhow::ensure!(
        args.key_file != STDIN || args.webhook_secret_file != STDIN,
        "--key-file and --webhook-secret-file cannot both be -: standard input holds one of them"
    );
    let key = text_of(&args.key_file, "--key-file")?;
    let key = read_key(args.mode, &key).context("--key-file")?;
    let secrets = text_of(&args.webhook_secret_file, "--webhook-secret-file")?;
    let webhook_secrets = read_webhook_secrets(&secrets).context("--webhook-secret-file")?;
    let mut uow = session.begin().await?;
    let done = set_account(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        SetAccount {
            organization: args.organization,
            mode: args.mode,
            key,
            webhook_secrets,
            is_other_account: args.other_account,
            force: args.force,
        },
    )
    .await?;
    uow.commit().await?;
    if done.moved {
        tell_catalog(session, done.organization.id).await?;
    }
    let view = View::from(&done.account);
    let path = webhook_path(&done.organization);
    let mut value = serde_json::to_value(&view)?;
    if let Some(members) = value.as_object_mut() {
        members.insert(
            "organizationId".to_owned(),
            json!(done.organization.pub_id.to_string()),
        );
        members.insert("webhookPath".to_owned(), json!(path));
        members.insert("newAccount".to_owned(), json!(done.moved));
        members.insert("leftBehind".to_owned(), json!(done.left_behind));
    }
    let mut note = format!(
        "In force within five seconds. Have the account send its messages to\n  <public URL>{path}"
    );
    if done.left_behind > 0 {
        note.push_str(&format!(
            "\n{} checkouts are left behind at the former account: end their subscriptions and deposits there",
            done.left_behind
        ));
    }
    let reply = Reply::record(
        &value,
        [
            ("organization", done.organization.pub_id.to_string()),
            ("mode", view.mode.to_owned()),
            ("key", format!("…{}", view.key_hint)),
            ("since", view.since.clone()),
            ("updated", view.updated_at.clone()),
        ],
    )?;
    Ok(reply.with_note(&note))
}

/// Has the account told of the whole catalog, a batch at a time.
async fn tell_catalog(session: &Session, organization: OrganizationId) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let mut uow = session.begin().await?;
        uow.enter(organization).await?;
        let now = session.now();
        let last = push_catalog(uow.as_mut(), session.ids(), now, organization, after);
        after = last
            .await
            .context("the account is set, but not told of the whole catalog: set it once more with --other-account")?;
        uow.commit().await?;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn show(session: &Session, organization: OrganizationRef) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let (organization, accounts) = show_accounts(view.as_mut(), organization).await?;
    let views: Vec<View> = accounts.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.mode.to_owned(),
            format!("…{}", view.key_hint),
            view.since.clone(),
            view.updated_at.clone(),
        ]
    });
    let reply = Reply::list(&views, ["mode", "key", "since", "updated"], rows)?;
    Ok(reply.with_note(&format!(
        "Messages of these accounts are sent to <public URL>{}. A mode that is not here works with the process's \
         settings.",
        webhook_path(&organization)
    )))
}

async fn remove(session: &Session, args: &RemoveArgs) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let (organization, left_behind) = remove_account(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        (args.organization, args.mode),
        args.force,
    )
    .await?;
    uow.commit().await?;
    let value = json!({
        "organizationId": organization.pub_id.to_string(),
        "mode": args.mode.as_str(),
        "removed": true,
        "leftBehind": left_behind,
    });
    let mut text = format!(
        "the account of {} in {} mode is removed; messages to {} of that mode are refused\n",
        organization.pub_id,
        args.mode,
        webhook_path(&organization)
    );
    if left_behind > 0 {
        text.push_str(&format!(
            "{left_behind} checkouts are left behind there: end their subscriptions and deposits there\n"
        ));
    }
    Ok(Reply::text(value, text))
}
