//! `lessor demo --live-double`: a live lease, whose processor is the double in this same process.
//!
//! The organization has an account of its own there, as with `lessor org processor set`, and a live key:
//! whatever is refused or forgotten in live mode is seen here without anybody's money.

use std::sync::{Arc, OnceLock};

use anyhow::ensure;
use lessor_adapters::ambient::{SystemClock, UuidV7Generator};
use lessor_domain::access::{KeyKind, Mode};
use lessor_domain::audit::Origin;
use lessor_domain::credit::CreditPolicy;
use lessor_domain::ids::{IdRef, OrganizationPubId};
use lessor_domain::organization::Organization;
use lessor_domain::ports::{Clock as _, Database, Reach};
use lessor_domain::processor_account::{read_key, read_webhook_secrets};
use lessor_domain::services::credit::set_policy;
use lessor_domain::services::processor_accounts::{SetAccount, remove_account, set_account};
use lessor_domain::workers::Engine;
use lessor_processor_double::{Double, Webhooks};
use serde_json::{Value, json};

use super::client::{Client, inner, text};
use super::journey::{
    address, create_product, create_variants, customer as person, progress, read_pricing,
};
use super::pages::Customer;
use super::{Listener, LiveReport};

/// What organizations of live demos are called: each run has one of its own, since what rests at the double of
/// an earlier one is gone.
const ORGANIZATION: &str = "Lessor live demo";
/// Its key at the double, which takes any of this form.
const ACCOUNT_KEY: &str = "sk_live_of_the_demo_0123456789";
/// The customer, as they sign.
const NAME: (&str, &str) = ("Ada", "Lovelace");

/// The processor's double, and who has an account there.
pub struct Stage {
    double: Double,
    /// Whose account there is open.
    opened: OnceLock<OrganizationPubId>,
}

impl Stage {
    /// Starts the double.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn set() -> anyhow::Result<Self> {
        let double = Double::start()?;
        Ok(Self {
            double,
            opened: OnceLock::new(),
        })
    }

    /// Where the double is: its API and its pages.
    #[must_use]
    pub fn url(&self) -> String {
        self.double.url()
    }

    /// Plays a live lease against the service at `url`, which asks the double: up to a page that waits for
    /// its customer or, when it `walks` that as well, to a lease that is active.
    ///
    /// # Errors
    /// A request was refused; the lease did not become active.
    pub async fn play(
        &self,
        url: &str,
        engine: &Engine,
        origin: &Origin,
        listener: &dyn Listener,
        walks: bool,
    ) -> anyhow::Result<LiveReport> {
        let suffix = super::suffix(engine);
        let name = format!("{ORGANIZATION} {suffix}");
        let organization = super::organization(engine, origin, &name).await?;
        self.open_account(url, engine, origin, &organization)
            .await?;
        let (secret, live) = (KeyKind::Secret, Mode::Live);
        let key = super::key(engine, origin, organization.pub_id, secret, live).await?;
        let client = Client::new(url, key.reveal(), listener)?;
        client.step(
            "Give the organization an account at the processor's double, and a live key",
            vec![
                format!("{}  {}", organization.pub_id, organization.name),
                "credit: none, so that nobody's is checked".to_owned(),
            ],
        );
        let checkout = begin(&client, organization.pub_id, &suffix).await?;
        let (id, page) = (text(&checkout, "id")?, text(&checkout, "checkoutUrl")?);
        let lease = if walks {
            walk(&client, &checkout, &suffix).await?;
            let lease = super::lease(&client, engine, organization.id, id).await?;
            ensure!(
                lease.is_complete(),
                "the lease is not as it should be: {}",
                serde_json::to_string(&lease)?
            );
            Some(lease)
        } else {
            None
        };
        Ok(LiveReport {
            organization_id: organization.pub_id.to_string(),
            live_key: key.reveal().to_owned(),
            processor_url: self.url(),
            checkout_id: text(&checkout, "id")?,
            checkout_url: page,
            lease,
            steps: client.into_steps(),
        })
    }

    /// What `lessor org processor set` and `lessor org update --credit none` do, and that the double tells
    /// the service what becomes of payments.
    async fn open_account(
        &self,
        url: &str,
        engine: &Engine,
        origin: &Origin,
        organization: &Organization,
    ) -> anyhow::Result<()> {
        let named = IdRef::Public(organization.pub_id);
        let (ids, now) = (engine.ids.as_ref(), engine.clock.now());
        let secret = format!("whsec_{}", engine.ids.next().simple());
        let account = SetAccount {
            organization: named,
            mode: Mode::Live,
            key: read_key(Mode::Live, ACCOUNT_KEY)?,
            webhook_secrets: read_webhook_secrets(&secret)?,
            is_other_account: false,
            force: false,
        };
        let mut uow = engine.database.begin(Reach::Server).await?;
        set_account(uow.as_mut(), ids, now, origin, account).await?;
        let (live, none) = (Mode::Live, CreditPolicy::None);
        set_policy(uow.as_mut(), ids, now, origin, named, live, none).await?;
        uow.commit().await?;
        // There is one at most: a stage is played on once.
        let _ = self.opened.set(organization.pub_id);
        let endpoint = format!("{url}/webhooks/processor/{}", organization.pub_id);
        self.double.send_to(Webhooks::to(&endpoint, &secret));
        Ok(())
    }

    /// Takes the account away: the double ends with this process, and its key opens nothing elsewhere.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn strike(&self, database: Arc<dyn Database>, origin: &Origin) -> anyhow::Result<()> {
        self.double.send_nothing();
        let Some(organization) = self.opened.get() else {
            return Ok(());
        };
        let account = (IdRef::Public(*organization), Mode::Live);
        let (ids, now) = (&UuidV7Generator, SystemClock.now());
        let mut uow = database.begin(Reach::Server).await?;
        remove_account(uow.as_mut(), ids, now, origin, account, true).await?;
        uow.commit().await?;
        Ok(())
    }
}

/// The catalog, and a checkout of a customer of whom everything is known.
async fn begin(
    client: &Client<'_>,
    organization: OrganizationPubId,
    suffix: &str,
) -> anyhow::Result<Value> {
    let product = create_product(client, organization, suffix).await?;
    let variants = create_variants(client, &product, suffix).await?;
    let Some(variant) = variants.first() else {
        anyhow::bail!("the product has no variants");
    };
    read_pricing(client, &product, variant).await?;
    let (first, last) = NAME;
    let checkout = client
        .post(
            "/v1/checkouts",
            json!({
                "sku": variant.sku,
                "selectedTermInMonths": 24,
                "customer": person("ada", first, last, suffix),
                "shippingAddress": address(first, last),
                "externalOrderId": format!("live-order-{suffix}"),
            }),
        )
        .await?;
    client.step(
        "Create a live checkout",
        vec![
            format!("{}  {}", text(&checkout, "id")?, progress(&checkout)),
            text(&checkout, "checkoutUrl")?,
        ],
    );
    Ok(checkout)
}

/// The customer goes through the pages, and the organization hands the goods over.
async fn walk(client: &Client<'_>, checkout: &Value, suffix: &str) -> anyhow::Result<()> {
    let id = text(checkout, "id")?;
    let customer = Customer::at(&text(checkout, "checkoutUrl")?, client)?;
    let name = format!("{} {}", NAME.0, NAME.1);
    let stands = async |state, title: &str| {
        let now = client.until(&id, state).await?;
        client.step(title, vec![progress(&now)]);
        anyhow::Ok(())
    };
    let known = person("ada", NAME.0, NAME.1, suffix);
    let known = known.as_object().into_iter().flatten();
    let form: Vec<(&str, &str)> = known
        .filter_map(|(field, value)| Some((field.as_str(), value.as_str()?)))
        .filter(|(field, _)| *field != "email")
        .collect();
    customer.press("profile", &form).await?;
    stands("identityRequired", "Confirm the name and address").await?;
    customer.press_there("identity", "verify").await?;
    stands(
        "leaseReviewPending",
        "Verify the identity on the double's page",
    )
    .await?;
    customer.press("accept", &[]).await?;
    stands("depositPending", "Accept the lease").await?;
    customer.press_there("deposit", "authenticate").await?;
    stands(
        "recurringPaymentMethodPending",
        "Pay the deposit on the double's page, with 3-D Secure",
    )
    .await?;
    customer.press("payment-method", &[]).await?;
    stands("documentsPending", "Keep the card for the monthly payments").await?;
    let signature = [("consent", "yes"), ("name", name.as_str())];
    customer.press("sign", &signature).await?;
    stands(
        "orderConfirmed",
        "Sign the lease, which captures the deposit",
    )
    .await?;
    let item = inner(checkout, "/items/0/id");
    let goods = json!({ "serialNumbers": { (item): format!("SN-{suffix}-1") } });
    client
        .post(&format!("/v1/checkouts/{id}/fulfill"), goods)
        .await?;
    stands("leaseActive", "Hand the goods over: billing begins").await?;
    Ok(())
}
