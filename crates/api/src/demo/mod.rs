//! `lessor demo`: a whole lease, from the product to the first payment, over real HTTP.

mod client;
mod journey;
#[cfg(feature = "live-double")]
pub mod live;
#[cfg(not(feature = "live-double"))]
#[path = "without_double.rs"]
pub mod live;
#[cfg(feature = "live-double")]
mod pages;
mod story;

use anyhow::{Context as _, ensure};
use lessor_domain::access::{KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::ids::{CheckoutPubId, OrganizationId, OrganizationPubId};
use lessor_domain::organization::{Organization, ServiceArea};
use lessor_domain::percentage::Percentage;
use lessor_domain::ports::{ProcessorCustomer, Reach};
use lessor_domain::services::keys::{CreateKey, KeyUser, create_key};
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::workers::Engine;
use serde::Serialize;

use crate::auth::keys::KeyText;
use client::Client;
pub use story::{Call, Listener, Step};

/// The organization of the demo, found again by its name.
const ORGANIZATION: &str = "Lessor demo";
/// How long its keys open.
const KEY_DAYS: i64 = 30;

/// What came of the demo.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The organization's public id.
    pub organization_id: String,
    /// A key that may do everything, in sandbox mode.
    pub sandbox_key: String,
    /// A key for the pages of a shop, in sandbox mode.
    pub publishable_key: String,
    /// The SKU of a variant that such a page can show the price of.
    pub sku: String,
    /// The page of a checkout that nobody has begun to go through.
    pub checkout_url: String,
    /// The leases.
    pub leases: Vec<Lease>,
    /// Every step, with the requests that it made.
    pub steps: Vec<Step>,
}

/// What came of the demo of a live lease.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveReport {
    /// The organization's public id.
    pub organization_id: String,
    /// A key that may do everything, in live mode.
    pub live_key: String,
    /// Where the processor's double is.
    pub processor_url: String,
    /// The checkout.
    pub checkout_id: String,
    /// Its page.
    pub checkout_url: String,
    /// What became of it, when its page was walked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Every step, with the requests that it made.
    pub steps: Vec<Step>,
}

/// One lease of the demo.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The checkout.
    pub checkout_id: String,
    /// Its state at the end.
    pub lifecycle: String,
    /// How many subscriptions the processor has for it.
    pub subscriptions: usize,
}

impl Lease {
    /// Whether it is active and billed by exactly one subscription.
    fn is_complete(&self) -> bool {
        self.lifecycle == "leaseActive" && self.subscriptions == 1
    }
}

impl Report {
    /// Whether every lease is active and billed by exactly one subscription.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.leases.is_empty() && self.leases.iter().all(Lease::is_complete)
    }
}

/// Makes the whole journey against the service at `url`, whose ports these are. What is set up for it
/// beforehand is done in the name of `origin`.
///
/// # Errors
/// A request was refused; a lease did not become active.
pub async fn run(
    url: &str,
    engine: &Engine,
    origin: &Origin,
    listener: &dyn Listener,
) -> anyhow::Result<Report> {
    let organization = organization(engine, origin, ORGANIZATION).await?;
    let sandbox = Mode::Sandbox;
    let key_of = async |kind| key(engine, origin, organization.pub_id, kind, sandbox).await;
    let key = key_of(KeyKind::Secret).await?;
    let publishable = key_of(KeyKind::Publishable).await?;
    let client = Client::new(url, key.reveal(), listener)?;
    let told = journey::make(&client, organization.pub_id, &suffix(engine)).await?;

    let mut leases = Vec::new();
    for id in told.checkouts {
        leases.push(lease(&client, engine, organization.id, id).await?);
    }
    let report = Report {
        organization_id: organization.pub_id.to_string(),
        sandbox_key: key.reveal().to_owned(),
        publishable_key: publishable.reveal().to_owned(),
        sku: told.sku,
        checkout_url: told.checkout_url,
        leases,
        steps: client.into_steps(),
    };
    ensure!(
        report.is_complete(),
        "the leases are not as they should be: {}",
        serde_json::to_string(&report.leases)?
    );
    Ok(report)
}

/// What keeps the names of this run apart from those of others.
fn suffix(engine: &Engine) -> String {
    let run = engine.ids.next().simple().to_string();
    run.get(run.len().saturating_sub(8)..)
        .unwrap_or(&run)
        .to_owned()
}

/// What became of the checkout.
async fn lease(
    client: &Client<'_>,
    engine: &Engine,
    organization: OrganizationId,
    id: String,
) -> anyhow::Result<Lease> {
    let lifecycle = client.lifecycle(&id).await?;
    let checkout: CheckoutPubId = id.parse().context("the checkout's id")?;
    Ok(Lease {
        checkout_id: id,
        lifecycle,
        subscriptions: subscriptions(engine, organization, checkout).await?,
    })
}

/// How many subscriptions the processor has for the checkout of the organization.
async fn subscriptions(
    engine: &Engine,
    organization: OrganizationId,
    id: CheckoutPubId,
) -> anyhow::Result<usize> {
    let mut view = engine.database.read(organization.into()).await?;
    let checkout = view.checkouts().get(id).await?.context("the checkout")?;
    let customer = view.customers().get(checkout.customer_id).await?;
    let customer = customer.context("the checkout's customer")?;
    drop(view);
    let customer = ProcessorCustomer {
        id: customer.id,
        email: customer.email.to_string(),
        name: None,
        phone: None,
        processor_id: customer.screening.processor_id,
    };
    let processor = &engine.providers.of(checkout.mode).processor;
    let found = processor.subscriptions_of((&checkout).into(), &customer, id);
    Ok(found.await?.len())
}

/// The demo's organization of this name, made when there is none.
async fn organization(
    engine: &Engine,
    origin: &Origin,
    name: &str,
) -> anyhow::Result<Organization> {
    let mut uow = engine.database.begin(Reach::Server).await?;
    let organizations = uow.organizations().list().await?;
    let found = organizations
        .into_iter()
        .find(|organization| organization.name.as_str() == name);
    if let Some(organization) = found {
        return Ok(organization);
    }
    let input = CreateOrganization {
        name: name.parse()?,
        currency: "USD".parse()?,
        discount: Percentage::ZERO,
        service_area: ServiceArea::default(),
        requires_product_review: false,
        oftake_partner_id: None,
    };
    let (ids, now) = (engine.ids.as_ref(), engine.clock.now());
    let organization = create_organization(uow.as_mut(), ids, now, origin, input).await?;
    uow.commit().await?;
    Ok(organization)
}

async fn key(
    engine: &Engine,
    origin: &Origin,
    organization: OrganizationPubId,
    kind: KeyKind,
    mode: Mode,
) -> anyhow::Result<KeyText> {
    let now = engine.clock.now();
    let secret = KeyText::mint(engine.entropy.as_ref(), kind, mode);
    let input = CreateKey {
        organization: lessor_domain::ids::IdRef::Public(organization),
        user: KeyUser::Email("demo@lessor.invalid".parse()?),
        kind,
        mode,
        permissions: match kind {
            KeyKind::Secret => Permissions::all(),
            KeyKind::Publishable => Permissions::default(),
        },
        name: Some("demo".parse()?),
        expires_at: now.checked_add_signed(chrono::TimeDelta::days(KEY_DAYS)),
        hash: secret.hash(),
        hint: secret.hint().to_owned(),
    };
    let mut uow = engine.database.begin(Reach::Server).await?;
    create_key(uow.as_mut(), engine.ids.as_ref(), now, origin, input).await?;
    uow.commit().await?;
    Ok(secret)
}
