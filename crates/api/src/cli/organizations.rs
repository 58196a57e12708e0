//! `lessor org`: the lessors of the installation.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use lessor_adapters::dialing::PublishedPlans;
use lessor_domain::access::Mode;
use lessor_domain::ids::{OftakePartnerId, OrganizationRef};
use lessor_domain::money::Currency;
use lessor_domain::organization::{Color, Face, Organization, ServiceArea};
use lessor_domain::percentage::Percentage;
use lessor_domain::services::agreements::set_terms;
use lessor_domain::services::organizations::{
    CreateOrganization, FaceChanges, UpdateOrganization, create_organization, update_organization,
};
use lessor_domain::services::{Error, Patch};
use lessor_domain::text::{AgreementText, Email, Line, Name, Url};
use serde::Serialize;
use serde_json::json;

use super::credit::CreditArgs;
use super::output::{Reply, time};
use super::processor_accounts::{self, ProcessorCommand};
use super::session::{self, Session};
use super::signers::SignerArgs;

/// Create, change and show organizations.
#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// Create an organization with lease terms of 12, 24 and 36 months
    #[command(after_help = "Examples:\n  lessor org create --name 'My shop'\n  \
        lessor org create --name 'My shop' --currency EUR --discount 5 --service-area DE,AT --json")]
    Create(CreateArgs),
    /// Change an organization; what is not mentioned stays
    #[command(after_help = "Examples:\n  lessor org update 1 --discount 7.5\n  \
        lessor org update org_06EAAA… --service-area 'US-CA,US:941*'\n  \
        lessor org update 1 --service-area ''        (everywhere again)\n  \
        lessor org update 1 --requires-review=false\n  \
        lessor org update 1 --display-name 'My Shop' --accent-color '#0b57a4' --support-email help@shop.example\n  \
        lessor org update 1 --logo-url ''            (none again)\n  \
        lessor org update 1 --sandbox-writes-catalog on\n  \
        lessor org update 1 --mode live --credit rules --credit-rules limits.json\n  \
        lessor org update 1 --mode live --credit http --credit-url https://decide.example.com/credit\n  \
        lessor org update 1 --mode live --signer http --signer-url https://sign.example.com/leases")]
    Update(Box<UpdateArgs>),
    /// List the organizations, oldest first
    #[command(after_help = "Example:\n  lessor org list --json")]
    List,
    /// Show an organization
    #[command(after_help = "Example:\n  lessor org show 1")]
    Show {
        /// Its number or public id
        #[arg(value_name = "ORG")]
        organization: OrganizationRef,
    },
    /// Set, show and remove organizations' own accounts at the payment processor
    #[command(subcommand)]
    Processor(ProcessorCommand),
}

impl OrgCommand {
    /// Whether it keeps secrets, for which the server's key is needed.
    pub(crate) fn seals(&self) -> bool {
        match self {
            Self::Update(args) => args.credit.seals() || args.signer.seals(),
            Self::Processor(command) => command.seals(),
            Self::Create(_) | Self::List | Self::Show { .. } => false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Its name, up to 255 characters
    #[arg(long)]
    name: Name,
    /// The one currency that it prices in, ISO 4217; it stays
    #[arg(long, default_value = "USD")]
    currency: Currency,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Its number or public id
    #[arg(value_name = "ORG")]
    organization: OrganizationRef,
    /// Its name, up to 255 characters
    #[arg(long)]
    name: Option<Name>,
    /// Whether sandbox keys write catalog and lease terms, in force within six seconds
    #[arg(long, value_name = "WHEN")]
    sandbox_writes_catalog: Option<SandboxWrites>,
    /// Its own terms in Markdown, for agreements that are made from now on
    #[arg(long, value_name = "FILE")]
    agreement_terms_file: Option<PathBuf>,
    #[command(flatten)]
    face: FaceArgs,
    /// The mode that --credit and --signer are for, live or sandbox
    #[arg(long)]
    mode: Option<Mode>,
    #[command(flatten)]
    credit: CreditArgs,
    #[command(flatten)]
    signer: SignerArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// How an organization shows itself to its customers; an empty value takes one away.
#[derive(Debug, Args)]
#[command(next_help_heading = "Face")]
struct FaceArgs {
    /// The name that customers know
    #[arg(long, value_name = "NAME")]
    display_name: Option<Cleared<Name>>,
    /// The logo on the checkout page, https
    #[arg(long, value_name = "URL")]
    logo_url: Option<Cleared<Url>>,
    /// What the checkout page's buttons are filled with, such as '#0b57a4'
    #[arg(long, value_name = "COLOR")]
    accent_color: Option<Cleared<Color>>,
    /// Where customers write to
    #[arg(long, value_name = "EMAIL")]
    support_email: Option<Cleared<Email>>,
    /// Where customers call, in international form
    #[arg(long, value_name = "PHONE")]
    support_phone: Option<Cleared<Line>>,
    /// The terms of business, https
    #[arg(long, value_name = "URL")]
    terms_url: Option<Cleared<Url>>,
    /// What is done with personal data, https
    #[arg(long, value_name = "URL")]
    privacy_url: Option<Cleared<Url>>,
    /// Where the organization itself is told what needs its attention
    #[arg(long, value_name = "EMAIL")]
    notify_email: Option<Cleared<Email>>,
}

/// A value, or nothing where the text is empty.
#[derive(Debug, Clone)]
struct Cleared<T>(Option<T>);

impl<T: FromStr> FromStr for Cleared<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        let text = Some(text.trim()).filter(|text| !text.is_empty());
        text.map(str::parse).transpose().map(Self)
    }
}

impl<T> Cleared<T> {
    fn patch(said: Option<Self>) -> Patch<T> {
        said.map(|Self(value)| value).into()
    }
}

impl FaceArgs {
    fn changes(self) -> Result<FaceChanges, Error> {
        let changes = FaceChanges {
            display_name: Cleared::patch(self.display_name),
            logo_url: Cleared::patch(self.logo_url),
            accent_color: Cleared::patch(self.accent_color),
            support_email: Cleared::patch(self.support_email),
            support_phone: Cleared::patch(self.support_phone),
            terms_url: Cleared::patch(self.terms_url),
            privacy_url: Cleared::patch(self.privacy_url),
            notify_email: Cleared::patch(self.notify_email),
        };
        changes.checked(&PublishedPlans)
    }
}

/// What the operator says of sandbox keys and the catalog.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SandboxWrites {
    /// They do, also when the organization has a live key
    On,
    /// They only read them
    Off,
    /// They do until the organization has its first live key
    Default,
}

impl SandboxWrites {
    const fn of(said: Option<bool>) -> Self {
        match said {
            Some(true) => Self::On,
            Some(false) => Self::Off,
            None => Self::Default,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Default => "default",
        }
    }
}

impl From<SandboxWrites> for Patch<bool> {
    fn from(said: SandboxWrites) -> Self {
        match said {
            SandboxWrites::On => Self::Set(true),
            SandboxWrites::Off => Self::Set(false),
            SandboxWrites::Default => Self::Clear,
        }
    }
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Discount in percent on products that have none of their own
    #[arg(long, value_name = "PERCENT")]
    discount: Option<Percentage>,
    /// Where it delivers: countries (US), states (US-CA) and zip prefixes (US:941*), separated by commas; empty means everywhere
    #[arg(long, value_name = "AREA")]
    service_area: Option<ServiceArea>,
    /// Products wait for `lessor product review` before they can be leased
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    requires_review: Option<bool>,
    /// The number of its financing partner, 1 if not given
    #[arg(long, value_name = "NUMBER")]
    offtake_partner: Option<OftakePartnerId>,
}

/// An organization as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: i64,
    public_id: String,
    name: String,
    currency: String,
    discount_percentage: String,
    service_area: String,
    requires_product_review: bool,
    offtake_partner_id: i64,
    /// What is in force.
    sandbox_writes_catalog: bool,
    /// What was said of it.
    sandbox_writes_catalog_setting: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_live_key_at: Option<String>,
    /// How it shows itself, in the names of the HTTP interface.
    #[serde(flatten)]
    face: Face,
    created_at: String,
    updated_at: String,
}

impl From<&Organization> for View {
    fn from(organization: &Organization) -> Self {
        let said = SandboxWrites::of(organization.sandbox_writes_catalog);
        Self {
            id: organization.id.get(),
            public_id: organization.pub_id.to_string(),
            name: organization.name.to_string(),
            currency: organization.currency.to_string(),
            discount_percentage: organization.discount.to_string(),
            service_area: organization.service_area.to_string(),
            requires_product_review: organization.requires_product_review,
            offtake_partner_id: organization.oftake_partner_id.get(),
            sandbox_writes_catalog: organization.lets_sandbox_write_catalog(),
            sandbox_writes_catalog_setting: said.as_str(),
            first_live_key_at: organization.first_live_key_at.map(time),
            face: organization.face.clone(),
            created_at: time(organization.created_at),
            updated_at: time(organization.updated_at),
        }
    }
}

fn shown<T: ToString>(value: Option<&T>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

impl View {
    fn area(&self) -> String {
        match self.service_area.as_str() {
            "" => "everywhere".to_owned(),
            area => area.to_owned(),
        }
    }

    fn reply(&self) -> anyhow::Result<Reply> {
        Reply::record(
            self,
            [
                ("id", self.id.to_string()),
                ("public id", self.public_id.clone()),
                ("name", self.name.clone()),
                ("currency", self.currency.clone()),
                ("discount", format!("{} %", self.discount_percentage)),
                ("service area", self.area()),
                ("requires review", self.requires_product_review.to_string()),
                ("offtake partner", self.offtake_partner_id.to_string()),
                (
                    "sandbox writes catalog",
                    format!(
                        "{} ({})",
                        self.sandbox_writes_catalog, self.sandbox_writes_catalog_setting
                    ),
                ),
                (
                    "first live key",
                    self.first_live_key_at.clone().unwrap_or_default(),
                ),
                ("display name", shown(self.face.display_name.as_ref())),
                ("logo", shown(self.face.logo_url.as_ref())),
                ("accent color", shown(self.face.accent_color.as_ref())),
                ("support e-mail", shown(self.face.support_email.as_ref())),
                ("support phone", shown(self.face.support_phone.as_ref())),
                ("terms", shown(self.face.terms_url.as_ref())),
                ("privacy", shown(self.face.privacy_url.as_ref())),
                ("notified at", shown(self.face.notify_email.as_ref())),
                ("created", self.created_at.clone()),
                ("updated", self.updated_at.clone()),
            ],
        )
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: OrgCommand) -> anyhow::Result<Reply> {
    match command {
        OrgCommand::Create(args) => create(&session, args).await,
        OrgCommand::Update(args) => update(&session, *args).await,
        OrgCommand::List => list(&session).await,
        OrgCommand::Processor(command) => processor_accounts::run(session, command).await,
        OrgCommand::Show { organization } => {
            let mut view = session.read().await?;
            let found = session::organization(view.as_mut(), organization).await?;
            View::from(&found).reply()
        }
    }
}

async fn create(session: &Session, args: CreateArgs) -> anyhow::Result<Reply> {
    let CommonArgs {
        discount,
        service_area,
        requires_review,
        offtake_partner,
    } = args.common;
    let input = CreateOrganization {
        name: args.name,
        currency: args.currency,
        discount: discount.unwrap_or(Percentage::ZERO),
        service_area: service_area.unwrap_or_default(),
        requires_product_review: requires_review.unwrap_or(false),
        oftake_partner_id: offtake_partner,
    };
    let mut uow = session.begin().await?;
    let created = create_organization(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        input,
    )
    .await?;
    uow.commit().await?;
    let view = View::from(&created);
    let next = format!(
        "Next, a key for it:\n  lessor key create --org {} --mode sandbox --permissions all",
        view.id
    );
    Ok(view.reply()?.with_note(&next))
}

async fn update(session: &Session, args: UpdateArgs) -> anyhow::Result<Reply> {
    let CommonArgs {
        discount,
        service_area,
        requires_review,
        offtake_partner,
    } = args.common;
    let update = UpdateOrganization {
        name: args.name,
        discount,
        service_area,
        requires_product_review: requires_review,
        oftake_partner_id: offtake_partner,
        sandbox_writes_catalog: args
            .sandbox_writes_catalog
            .map(Into::into)
            .unwrap_or_default(),
        face: args.face.changes()?,
    };
    let terms = args.agreement_terms_file.as_deref().map(terms_in);
    let terms = terms.transpose()?;
    let mut uow = session.begin().await?;
    let updated = update_organization(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        args.organization,
        update,
    )
    .await?;
    if let Some(text) = &terms {
        let (ids, now, origin) = (session.ids(), session.now(), session.origin());
        set_terms(uow.as_mut(), ids, now, origin, args.organization, text).await?;
    }
    let (mode, targets) = (args.mode, session.targets());
    let (credit, signer) = (args.credit, args.signer);
    let mut settings = credit
        .set(session, uow.as_mut(), &updated, mode, targets)
        .await?;
    let signer = signer.set(session, uow.as_mut(), &updated, mode, targets);
    settings.extend(signer.await?);
    if let Some(mode) = mode.filter(|_| !settings.is_empty()) {
        settings.insert(0, ("mode", json!(mode.as_str())));
    }
    uow.commit().await?;
    let mut reply = View::from(&updated).reply()?;
    for (name, value) in settings {
        if let Some(text) = value.as_str() {
            reply = reply.with_note(&format!("{name}: {text}"));
        }
        reply = reply.with_member(name, value);
    }
    Ok(reply)
}

/// The terms that the file holds.
fn terms_in(file: &Path) -> anyhow::Result<AgreementText> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    AgreementText::parse(&text)
        .map_err(|error| anyhow::anyhow!("--agreement-terms-file {}: {error}", file.display()))
}

async fn list(session: &Session) -> anyhow::Result<Reply> {
    let organizations = session.read().await?.organizations().list().await?;
    let views: Vec<View> = organizations.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.id.to_string(),
            view.public_id.clone(),
            view.name.clone(),
            view.currency.clone(),
            format!("{} %", view.discount_percentage),
            view.area(),
        ]
    });
    Reply::list(
        &views,
        [
            "id",
            "public id",
            "name",
            "currency",
            "discount",
            "service area",
        ],
        rows,
    )
}
