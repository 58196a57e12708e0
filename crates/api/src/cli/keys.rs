//! `lessor key`: who may call the HTTP interface.

use std::time::Duration;

use chrono::TimeDelta;
use clap::{Args, Subcommand};
use lessor_adapters::ambient::SystemEntropy;
use lessor_domain::access::{KeyKind, Mode, Permission, Permissions};
use lessor_domain::ids::{ApiKeyPubId, OrganizationRef, UserPubId};
use lessor_domain::ports::KeyHolder;
use lessor_domain::services::Error;
use lessor_domain::services::keys::{
    CreateKey, KeyUser, RollKey, create_key, revoke_key, roll_key,
};
use lessor_domain::text::{Email, Name};
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::output::{Reply, time};
use super::session::{self, Session};
use crate::auth::keys::KeyText;
use crate::run::config::parse_duration;

/// The user of keys for which nobody names one. It receives no mail: the domain is reserved.
const DEFAULT_USER: &str = "api@lessor.invalid";
const SHOWN_ONCE: &str = "Keep the key now: only its hash is stored, and it is not shown again.";

/// Create, list, revoke and roll API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key, and show it for the only time
    #[command(after_help = "Examples:\n  \
        lessor key create --org 1 --mode sandbox --permissions all\n  \
        lessor key create --org 1 --mode live --permissions ProductRead,ProductVariantRead \\\n      \
        --expires-in 90d --user ada@example.com --name 'Price tags'\n  \
        lessor key create --org 1 --mode live --publishable --name 'Shop'\n\n\
        A publishable key may stand in the pages of a shop: it reads prices and single products and variants\n\
        that are active, and nothing else. It is shown once like every key: only its hash is stored.\n\n\
        From an organization's first live key on, sandbox keys only read its catalog and lease terms; see\n\
        `lessor org update --sandbox-writes-catalog`.\n\n\
        A person is another user in each mode: --user with a usr_ id of the other mode is the user of the\n\
        key's mode who has the same e-mail address, made when there is none.\n\n\
        Permissions: ProductRead, ProductWrite, ProductDelete, ProductVariantRead, ProductVariantWrite,\n\
        ProductVariantDelete, CustomerRead, CustomerWrite, CheckoutRead, CheckoutWrite,\n\
        CheckoutCreateWithCustomer, CheckoutCancel, CheckoutFulfill, LeaseTermRead, LeaseTermWrite,\n\
        CheckoutQualify, CheckoutSign, AuditRead, EventRead, WebhookWrite, CustomerErase, OrganizationRead, OrganizationWrite")]
    Create(CreateArgs),
    /// List keys, newest first
    #[command(after_help = "Examples:\n  lessor key list\n  lessor key list --org 1 --json")]
    List {
        /// Only this organization's: its number or public id
        #[arg(long, value_name = "ORG")]
        org: Option<OrganizationRef>,
    },
    /// Revoke a key; it opens nothing within five seconds
    #[command(after_help = "Example:\n  lessor key revoke key_06EAAA…")]
    Revoke {
        /// The key's id (not the key itself)
        #[arg(value_name = "KEY_ID")]
        id: ApiKeyPubId,
    },
    /// Replace a key by one that may do the same
    #[command(after_help = "Examples:\n  lessor key roll key_06EAAA…\n  \
        lessor key roll key_06EAAA… --overlap 0s     (the old key ends at once)")]
    Roll {
        /// The key's id (not the key itself)
        #[arg(value_name = "KEY_ID")]
        id: ApiKeyPubId,
        /// How long the old key still opens
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = overlap)]
        overlap: Duration,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The organization that it acts for: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// sandbox: simulated money and goods; live: real ones
    #[arg(long, value_name = "MODE")]
    mode: Mode,
    /// What it may do: all, or names separated by commas
    #[arg(long, value_name = "LIST", required_unless_present = "publishable")]
    permissions: Option<Permissions>,
    /// A key for the pages of a shop, which reads prices and nothing else
    #[arg(long, conflicts_with = "permissions")]
    publishable: bool,
    /// When it ends, from now: 30s, 15m, 12h or 90d; never if not given
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// Whose it is: a usr_ id of the organization, or an e-mail address (made when there is none)
    #[arg(long, value_name = "USER", value_parser = user)]
    user: Option<KeyUser>,
    /// A name for people
    #[arg(long)]
    name: Option<Name>,
}

fn user(text: &str) -> Result<KeyUser, String> {
    if text.contains('@') {
        text.parse::<Email>()
            .map(KeyUser::Email)
            .map_err(|error| error.to_string())
    } else {
        text.parse::<UserPubId>()
            .map(KeyUser::Id)
            .map_err(|error| format!("{error}, or an e-mail address"))
    }
}

/// A key as it is shown, without its secret.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    key_id: String,
    organization_id: i64,
    organization_public_id: String,
    user_id: i64,
    user_public_id: String,
    kind: &'static str,
    mode: &'static str,
    permissions: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The secret's last characters.
    hint: String,
    status: &'static str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
}

impl View {
    fn new(holder: &KeyHolder, now: Timestamp) -> Self {
        let key = &holder.key;
        let status = if key.revoked_at.is_some() {
            "revoked"
        } else if key.is_valid_at(now) {
            "valid"
        } else {
            "expired"
        };
        Self {
            id: key.id.to_string(),
            key_id: key.id.to_string(),
            organization_id: key.organization_id.get(),
            organization_public_id: holder.organization_pub_id.to_string(),
            user_id: key.user_id.get(),
            user_public_id: holder.user_pub_id.to_string(),
            kind: key.kind.as_str(),
            mode: key.mode.as_str(),
            permissions: key.permissions.iter().map(Permission::as_str).collect(),
            name: key.name.as_ref().map(ToString::to_string),
            hint: key.hint.clone(),
            status,
            created_at: time(key.created_at),
            expires_at: key.expires_at.map(time),
            revoked_at: key.revoked_at.map(time),
            last_used_at: key.last_used_at.map(time),
        }
    }

    fn permissions(&self) -> String {
        if self.permissions.len() == Permission::ALL.len() {
            "all".to_owned()
        } else {
            self.permissions.join(",")
        }
    }

    fn reply(&self, secret: Option<&str>) -> anyhow::Result<Reply> {
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        let reply = Reply::record(
            self,
            [
                ("key", secret.unwrap_or_default().to_owned()),
                ("key id", self.id.clone()),
                ("organization", self.organization_public_id.clone()),
                (
                    "user",
                    format!("{} ({})", self.user_public_id, self.user_id),
                ),
                ("kind", self.kind.to_owned()),
                ("mode", self.mode.to_owned()),
                ("permissions", self.permissions()),
                ("name", optional(&self.name)),
                ("status", self.status.to_owned()),
                ("created", self.created_at.clone()),
                ("expires", optional(&self.expires_at)),
                ("revoked", optional(&self.revoked_at)),
                ("last used", optional(&self.last_used_at)),
            ],
        )?;
        Ok(match secret {
            Some(secret) => reply
                .with_member("key", secret.into())
                .with_note(SHOWN_ONCE),
            None => reply,
        })
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: KeyCommand) -> anyhow::Result<Reply> {
    match command {
        KeyCommand::Create(args) => create(&session, args).await,
        KeyCommand::List { org } => list(&session, org).await,
        KeyCommand::Revoke { id } => {
            let now = session.now();
            let mut uow = session.begin().await?;
            let (ids, origin) = (session.ids(), session.origin());
            let holder = revoke_key(uow.as_mut(), ids, now, origin, id).await?;
            uow.commit().await?;
            View::new(&holder, now).reply(None)
        }
        KeyCommand::Roll { id, overlap } => roll(&session, id, overlap).await,
    }
}

/// A time such as `24h`, or none at all.
fn overlap(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        _ => parse_duration(text),
    }
}

async fn create(session: &Session, args: CreateArgs) -> anyhow::Result<Reply> {
    let now = session.now();
    let expires_at = match args.expires_in {
        Some(time) => Some(
            TimeDelta::from_std(time)
                .ok()
                .and_then(|time| now.checked_add_signed(time))
                .ok_or_else(|| Error::invalid("expires-in", "lies too far in the future"))?,
        ),
        None => None,
    };
    let user = match args.user {
        Some(user) => user,
        None => user_of(DEFAULT_USER)?,
    };
    let kind = if args.publishable {
        KeyKind::Publishable
    } else {
        KeyKind::Secret
    };
    let secret = KeyText::mint(&SystemEntropy, kind, args.mode);
    let input = CreateKey {
        organization: args.org,
        user,
        kind,
        mode: args.mode,
        permissions: args.permissions.unwrap_or_default(),
        name: args.name,
        expires_at,
        hash: secret.hash(),
        hint: secret.hint().to_owned(),
    };
    let mut uow = session.begin().await?;
    let (ids, origin) = (session.ids(), session.origin());
    let (holder, _) = create_key(uow.as_mut(), ids, now, origin, input).await?;
    uow.commit().await?;
    View::new(&holder, now).reply(Some(secret.reveal()))
}

fn user_of(email: &str) -> Result<KeyUser, Error> {
    user(email).map_err(|problem| Error::invalid("user", problem))
}

async fn list(session: &Session, org: Option<OrganizationRef>) -> anyhow::Result<Reply> {
    let now = session.now();
    let mut view = session.read().await?;
    let organization = match org {
        Some(org) => Some(session::organization(view.as_mut(), org).await?.id),
        None => None,
    };
    let holders = view.keys().list(organization).await?;
    let views: Vec<View> = holders
        .iter()
        .map(|holder| View::new(holder, now))
        .collect();
    let rows = views.iter().map(|view| {
        [
            view.id.clone(),
            view.organization_id.to_string(),
            view.kind.to_owned(),
            view.mode.to_owned(),
            view.status.to_owned(),
            format!("…{}", view.hint),
            view.name.clone().unwrap_or_default(),
            view.expires_at.clone().unwrap_or_default(),
            view.last_used_at.clone().unwrap_or_default(),
            view.permissions(),
        ]
    });
    Reply::list(
        &views,
        [
            "key id",
            "org",
            "kind",
            "mode",
            "status",
            "key",
            "name",
            "expires",
            "last used",
            "permissions",
        ],
        rows,
    )
}

async fn roll(session: &Session, id: ApiKeyPubId, overlap: Duration) -> anyhow::Result<Reply> {
    let now = session.now();
    let mut uow = session.begin().await?;
    let old = uow
        .keys()
        .get(id)
        .await?
        .ok_or(Error::not_found("API key"))?;
    let secret = KeyText::mint(&SystemEntropy, old.key.kind, old.key.mode);
    let input = RollKey {
        id,
        overlap,
        hash: secret.hash(),
        hint: secret.hint().to_owned(),
    };
    let (ids, origin) = (session.ids(), session.origin());
    let holder = roll_key(uow.as_mut(), ids, now, origin, input).await?;
    uow.commit().await?;
    View::new(&holder, now).reply(Some(secret.reveal()))
}
