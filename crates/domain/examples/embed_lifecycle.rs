//! A lease without a server: `cargo run -p lessor-domain --example embed_lifecycle --features testing`
//!
//! Drives one checkout from the first click to the running lease through the use
//! cases, on stores in memory and with providers that say yes. In an application of
//! your own the [`Database`] is yours, and so are the providers.

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::error::Error;
use std::sync::Arc;

use chrono::TimeDelta;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::agreement::Signature;
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{Checkout, Lifecycle, Redirects};
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId};
use lessor_domain::ports::{
    Clock, Database, InsertedCustomer, JobSubject, Reach, StoreError, UnitOfWork,
};
use lessor_domain::services::checkouts::{CreateCheckout, CustomerInput, VariantRef};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::services::shipments::Fulfillment;
use lessor_domain::services::{Context, UseCase as _, shipments};
use lessor_domain::shipments::{CarrierReport, EventOrigin, TrackingNumber, TrackingStatus};
use lessor_domain::testing::{
    FakeCarrierDetector, FakeDialingPlan, FakeProviders, FixedEntropy, Fixtures, ManualClock,
    MemoryDatabase, NeverTimer, SequenceIds,
};
use lessor_domain::workers::Engine;

/// What the application is made of.
struct Shop {
    database: MemoryDatabase,
    clock: Arc<ManualClock>,
    ids: Arc<SequenceIds>,
    engine: Engine,
    access: Access,
    /// Who the audit says it was.
    origin: Origin,
    variant: VariantRef,
}

impl Shop {
    /// An organization with a catalog of one bike, and somebody who may act for it.
    async fn open() -> Result<Self, Box<dyn Error>> {
        let database = MemoryDatabase::new();
        let clock = Arc::new(ManualClock::default());
        let ids = Arc::new(SequenceIds::seeded(1));
        let make = Fixtures::seeded(2);

        let mut uow = database.begin(Reach::Server).await?;
        let input = CreateOrganization {
            name: "Northwind Cycles".parse()?,
            currency: "USD".parse()?,
            discount: "5".parse()?,
            service_area: "US,CA".parse()?,
            requires_product_review: false,
            oftake_partner_id: None,
        };
        let (now, operator) = (clock.now(), Origin::cli("operator"));
        let organization =
            create_organization(uow.as_mut(), ids.as_ref(), now, &operator, input).await?;
        let clerk = make.customer(&organization).email("clerk@example.com");
        let clerk = match uow.customers().insert(&clerk.new_record()).await? {
            InsertedCustomer::New(clerk) | InsertedCustomer::Existing(clerk) => clerk,
        };
        let product = make.product(&organization).name("Road bike").build();
        let variant = make.variant(&product).price("1299.00").stock(3).build();
        uow.products().insert(&product).await?;
        uow.variants().insert(&variant).await?;
        uow.commit().await?;

        let access = Access {
            key_id: make.id::<ApiKeyPubId>(),
            key_name: Some("Shop".parse()?),
            organization_id: organization.id,
            organization_pub_id: organization.pub_id,
            user_id: clerk.user_id,
            user_pub_id: clerk.id,
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            sandbox_writes_catalog: true,
        };
        let engine = Engine::new(
            Arc::new(database.clone()),
            Arc::<ManualClock>::clone(&clock),
            Arc::<SequenceIds>::clone(&ids),
            Arc::new(FixedEntropy::seeded(3)),
            Arc::new(NeverTimer),
            FakeProviders::default().set(),
        );
        Ok(Self {
            database,
            clock,
            ids,
            engine,
            origin: Origin::of_key(&access),
            access,
            variant: VariantRef::Id(variant.id),
        })
    }

    fn context(&self) -> Context<'_> {
        Context {
            access: &self.access,
            origin: &self.origin,
            now: self.clock.now(),
            ids: self.ids.as_ref(),
            entropy: self.engine.entropy.as_ref(),
            carriers: &FakeCarrierDetector,
            phones: &FakeDialingPlan,
        }
    }

    /// One step: in a unit of work of its own, then whatever providers have to do.
    async fn step(
        &self,
        id: CheckoutPubId,
        work: impl AsyncFnOnce(
            &mut dyn UnitOfWork,
            Journey<'_>,
            &mut Checkout,
        ) -> Result<(), lessor_domain::services::Error>,
    ) -> Result<Checkout, Box<dyn Error>> {
        self.clock.advance(TimeDelta::minutes(1));
        let mut uow = self
            .database
            .begin(self.access.organization_id.into())
            .await?;
        let missing = StoreError::Missing("checkout");
        let mut checkout = uow.checkouts().lock(id).await?.ok_or(missing)?;
        let before = checkout.lifecycle();
        let customer = Origin::customer(checkout.customer_id);
        let journey = Journey::new(self.clock.now(), self.ids.as_ref(), &customer);
        work(uow.as_mut(), journey, &mut checkout).await?;
        uow.commit().await?;
        let organization = self.access.organization_id;
        let jobs = self.engine.jobs();
        jobs.drain(organization, JobSubject::Checkout(id)).await?;
        let checkout = self.now(id).await?;
        println!(
            "{:>3} %  {before} -> {}",
            checkout.progress().percentage,
            checkout.lifecycle()
        );
        Ok(checkout)
    }

    async fn now(&self, id: CheckoutPubId) -> Result<Checkout, Box<dyn Error>> {
        let mut view = self
            .database
            .read(self.access.organization_id.into())
            .await?;
        let checkout = view.checkouts().get(id).await?;
        Ok(checkout.ok_or(StoreError::Missing("checkout"))?)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let shop = Shop::open().await?;
    let make = Fixtures::default();

    let organization = shop.access.organization_id;
    let mut uow = shop.database.begin(organization.into()).await?;
    let ada = make.customer(&make.organization().build()).build();
    let input = CreateCheckout {
        variant: shop.variant.clone(),
        quantity: lessor_domain::quantity::Quantity::ONE,
        term: Some("12".parse()?),
        customer: Some(CustomerInput {
            email: "ada@example.com".parse()?,
            profile: ada.profile,
        }),
        billing_address: None,
        shipping_address: Some(make.address()),
        purchase_items: Vec::new(),
        external_order_id: Some("order-1".parse()?),
        redirects: Redirects::default(),
        metadata: lessor_domain::metadata::Metadata::default(),
        page: None,
    };
    let (checkout, is_new) = input.run(uow.as_mut(), &shop.context()).await?;
    uow.commit().await?;
    println!(
        "{} {}",
        checkout.id,
        if is_new { "is new" } else { "was there" }
    );
    let id = checkout.id;

    // The customer, on the checkout page. Name and address came with the order: the
    // steps that ask for them are passed through.
    shop.step(id, async |uow, journey, it| {
        journey.open(uow, it).await.map(drop)
    })
    .await?;
    shop.step(id, async |uow, journey, it| {
        journey.request_identity(uow, it).await.map(drop)
    })
    .await?;
    shop.step(id, async |uow, journey, it| {
        journey.submit_identity(uow, it).await.map(drop)
    })
    .await?;
    shop.step(id, async |uow, journey, it| {
        journey.accept_lease(uow, it).await.map(drop)
    })
    .await?;
    let checkout = shop
        .step(id, async |uow, journey, it| {
            journey.submit_deposit(uow, it, None).await.map(drop)
        })
        .await?;
    if let (Lifecycle::RecurringPaymentMethodPending, Some(method)) =
        (checkout.lifecycle(), checkout.recurring.method.clone())
    {
        shop.step(id, async |uow, journey, it| {
            journey.save_payment_method(uow, it, method).await.map(drop)
        })
        .await?;
    }
    shop.step(id, async |uow, journey, it| {
        let customer = uow.customers().get(it.customer_id).await?;
        // What the customer typed, and the box that they ticked.
        let signature = customer.map(|customer| Signature::of(&customer.profile));
        let signature = signature.unwrap_or_default();
        journey.sign_documents(uow, it, &signature).await.map(drop)
    })
    .await?;

    // The organization ships, the carrier delivers.
    let number = TrackingNumber::parse("1Z 410E7W 03 9275 1591")?;
    shop.step(id, async |uow, _, _| {
        let input = Fulfillment {
            tracking_number: Some(number),
            ..Fulfillment::default()
        };
        shipments::FulfillCheckout {
            id,
            fulfillment: input,
        }
        .run(uow, &shop.context())
        .await
        .map(drop)
    })
    .await?;
    let leased = shop
        .step(id, async |uow, _, _| {
            let now = shop.clock.now();
            let delivered = CarrierReport {
                at: now,
                status: TrackingStatus::Delivered,
                description: None,
                location: None,
                signed_by: "A. Lovelace".parse().ok(),
                estimated_delivery: None,
            };
            shipments::report(
                uow,
                shop.ids.as_ref(),
                now,
                id,
                delivered,
                EventOrigin::Webhook,
            )
            .await
            .map(drop)
        })
        .await?;

    let quote = leased.quote.ok_or("the quote is frozen with the deposit")?;
    println!(
        "leased from {} to {} for {} a month, deposit {}",
        leased.lease.start.ok_or("the lease has a first day")?,
        leased.lease.end.ok_or("the lease has a last day")?,
        quote.total_monthly_payment,
        quote.deposit,
    );
    let mut view = shop.database.read(organization.into()).await?;
    for stamped in view.checkouts().history(id).await? {
        let it = stamped.transition;
        println!(
            "{:>3}. {} {:<10} {} -> {}",
            stamped.sequence,
            it.at.format("%H:%M"),
            it.actor,
            it.from,
            it.to
        );
    }
    if leased.lifecycle() == Lifecycle::LeaseActive {
        Ok(())
    } else {
        Err(format!("the lease is {}", leased.lifecycle()).into())
    }
}
