//! An organization with a product, and everything to lease it.

use std::sync::Arc;
use std::time::Duration;

use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::catalog::{Inventory, Product, ProductSource, ProductType, ProductVariant};
use lessor_domain::checkout::{Checkout, Effect, Lifecycle};
use lessor_domain::customer::Profile;
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId, IdRef};
use lessor_domain::ledger::{Entry, HoldState};
use lessor_domain::metadata::Metadata;
use lessor_domain::organization::Organization;
use lessor_domain::ports::{
    Clock, Database, IdGenerator, InsertedCustomer, JobFilter, JobSubject, NewCustomer, NewJob,
    Reach, Timer, UnitOfWork,
};
use lessor_domain::services::checkouts::{CreateCheckout, CustomerInput, VariantRef};
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::services::{Context, Error, UseCase as _, products, variants};
use lessor_domain::testing::{
    FakeCarrierDetector, FakeDialingPlan, FakeProviders, FixedEntropy, Fixtures, ManualClock,
    MemoryDatabase, NeverTimer, SequenceIds,
};
use lessor_domain::workers::Engine;
use lessor_domain::workers::housekeeping::{Housekeeper, Policy};
use lessor_domain::workers::jobs::JobRunner;
use lessor_domain::workers::sandbox::Sandbox;

struct NoTimer;

#[async_trait::async_trait]
impl Timer for NoTimer {
    async fn sleep(&self, _: Duration) {}
}

/// The operator of the installation.
fn operator() -> Origin {
    Origin::cli("ada")
}

pub(crate) struct World {
    pub(crate) database: Arc<MemoryDatabase>,
    /// The same, or whatever is around it.
    pub(crate) stores: Arc<dyn Database>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ids: Arc<SequenceIds>,
    pub(crate) entropy: Arc<FixedEntropy>,
    pub(crate) providers: FakeProviders,
    pub(crate) fixtures: Fixtures,
    pub(crate) organization: Organization,
    pub(crate) access: Access,
    /// What the audit says of the holder of the key.
    pub(crate) origin: Origin,
    pub(crate) product: Product,
    pub(crate) variant: ProductVariant,
}

impl World {
    /// An organization that leases one bicycle model without counting its stock.
    pub(crate) async fn new() -> Self {
        let database = Arc::new(MemoryDatabase::default());
        let clock = Arc::new(ManualClock::default());
        let ids = Arc::new(SequenceIds::seeded(7));
        let fixtures = Fixtures::seeded(8);
        let now = clock.now();
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let organization = create_organization(
            uow.as_mut(),
            ids.as_ref(),
            now,
            &operator(),
            CreateOrganization {
                name: "Bikes".parse().unwrap(),
                currency: "USD".parse().unwrap(),
                discount: "0".parse().unwrap(),
                service_area: "US".parse().unwrap(),
                requires_product_review: false,
                oftake_partner_id: None,
            },
        )
        .await
        .unwrap();
        let staff = NewCustomer {
            id: fixtures.id(),
            organization_id: organization.id,
            mode: Mode::Sandbox,
            email: "staff@example.com".parse().unwrap(),
            profile: Profile::default(),
            created_at: now,
        };
        let InsertedCustomer::New(staff) = uow.customers().insert(&staff).await.unwrap() else {
            panic!("a new user")
        };
        let access = Access {
            key_id: fixtures.id::<ApiKeyPubId>(),
            key_name: "Clerk".parse().ok(),
            organization_id: organization.id,
            organization_pub_id: organization.pub_id,
            user_id: staff.user_id,
            user_pub_id: staff.id,
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            sandbox_writes_catalog: true,
        };
        let entropy = Arc::new(FixedEntropy::seeded(9));
        let origin = Origin::of_key(&access);
        let ctx = Context {
            access: &access,
            origin: &origin,
            now,
            ids: ids.as_ref(),
            entropy: entropy.as_ref(),
            carriers: &FakeCarrierDetector,
            phones: &FakeDialingPlan,
        };
        let product = products::CreateProduct {
            organization: IdRef::Public(organization.pub_id),
            name: "Road bike".parse().unwrap(),
            description: "A bicycle.".parse().unwrap(),
            options: Vec::new(),
            price: "1299".parse().unwrap(),
            source: ProductSource::Manual,
            product_type: ProductType::Leasable,
            discount: None,
            external_id: None,
            category: None,
            sku: None,
            metadata: Metadata::default(),
        }
        .run(uow.as_mut(), &ctx)
        .await
        .unwrap();
        let variant = variants::CreateVariant::new(
            product.id,
            "Road bike".parse().unwrap(),
            "A bicycle.".parse().unwrap(),
            "1299".parse().unwrap(),
            "BIKE".parse().unwrap(),
        )
        .run(uow.as_mut(), &ctx)
        .await
        .unwrap();
        uow.commit().await.unwrap();
        Self {
            stores: database.clone(),
            database,
            clock,
            ids,
            entropy,
            providers: FakeProviders::default(),
            fixtures,
            organization,
            access,
            origin,
            product,
            variant,
        }
    }

    pub(crate) fn ctx(&self) -> Context<'_> {
        Context {
            access: &self.access,
            origin: &self.origin,
            now: self.clock.now(),
            ids: self.ids.as_ref(),
            entropy: self.entropy.as_ref(),
            carriers: &FakeCarrierDetector,
            phones: &FakeDialingPlan,
        }
    }

    /// Who makes keys and settings.
    pub(crate) fn operator(&self) -> Origin {
        operator()
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(
            self.stores.clone(),
            self.clock.clone(),
            self.ids.clone(),
            self.entropy.clone(),
            Arc::new(NeverTimer),
            self.providers.set(),
        )
    }

    pub(crate) fn runner(&self) -> JobRunner {
        self.engine().jobs()
    }

    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox {
            timer: Arc::new(NoTimer),
            ..self.engine().sandbox()
        }
    }

    pub(crate) fn housekeeper(&self) -> Housekeeper {
        self.engine().housekeeper(Policy::default())
    }

    /// Carries out what is due until nothing is.
    pub(crate) async fn work(&self) {
        while self.runner().run_due(10).await.unwrap() > 0 {}
    }

    /// Work in the organization's name.
    pub(crate) async fn begin(&self) -> Box<dyn UnitOfWork> {
        self.stores
            .begin(self.organization.id.into())
            .await
            .unwrap()
    }

    /// Work in nobody's name.
    pub(crate) async fn begin_for_server(&self) -> Box<dyn UnitOfWork> {
        self.stores.begin(Reach::Server).await.unwrap()
    }

    /// A look of who has a link.
    pub(crate) async fn view_for_server(&self) -> Box<dyn UnitOfWork> {
        self.database.read(Reach::Server).await.unwrap()
    }

    /// What the organization has.
    pub(crate) async fn view(&self) -> Box<dyn UnitOfWork> {
        self.database
            .read(self.organization.id.into())
            .await
            .unwrap()
    }

    /// A checkout of a customer of this address in the key's mode, for a year.
    pub(crate) async fn order(&self, email: &str) -> Checkout {
        self.try_order(email, |_| {}).await.unwrap().0
    }

    pub(crate) async fn try_order(
        &self,
        email: &str,
        change: impl FnOnce(&mut CreateCheckout),
    ) -> Result<(Checkout, bool), Error> {
        self.clock.advance(chrono::TimeDelta::seconds(1));
        let mut input = CreateCheckout {
            variant: VariantRef::Id(self.variant.id),
            quantity: lessor_domain::quantity::Quantity::ONE,
            term: Some("12".parse().unwrap()),
            customer: Some(CustomerInput {
                email: email.parse().unwrap(),
                profile: Profile::default(),
            }),
            billing_address: None,
            shipping_address: None,
            purchase_items: Vec::new(),
            external_order_id: None,
            redirects: lessor_domain::checkout::Redirects::default(),
            metadata: Metadata::default(),
            page: None,
        };
        change(&mut input);
        let mut uow = self.begin().await;
        let created = input.run(uow.as_mut(), &self.ctx()).await?;
        uow.commit().await?;
        Ok(created)
    }

    pub(crate) async fn advance(&self, checkout: &Checkout, to: Lifecycle) -> Checkout {
        self.sandbox()
            .advance(&self.ctx(), checkout.id, to)
            .await
            .unwrap()
    }

    pub(crate) async fn read(&self, id: CheckoutPubId) -> Checkout {
        self.view()
            .await
            .checkouts()
            .get(id)
            .await
            .unwrap()
            .unwrap()
    }

    /// What was made at the processor for the checkout.
    pub(crate) async fn rows(&self, id: CheckoutPubId) -> Vec<Entry> {
        let mut view = self.view().await;
        view.ledger().of(id).await.unwrap()
    }

    /// How far the checkout's authorizations are.
    pub(crate) async fn holds(&self, id: CheckoutPubId) -> Vec<HoldState> {
        let rows = self.rows(id).await;
        rows.iter().filter_map(Entry::hold_state).collect()
    }

    /// Somebody asks for the work.
    pub(crate) async fn ask(&self, id: CheckoutPubId, effect: Effect) {
        let now = self.clock.now();
        let job = NewJob {
            id: self.ids.next(),
            effect,
            subject: JobSubject::Checkout(id),
            organization_id: self.organization.id,
            mode: Mode::Sandbox,
            created_at: now,
            available_at: now,
            is_held: false,
            units: None,
        };
        let mut uow = self.begin().await;
        uow.jobs().push(&[job]).await.unwrap();
        uow.commit().await.unwrap();
    }

    /// Sets the stock of the key's mode.
    pub(crate) async fn set_stock(&self, quantity: i64) {
        let mut uow = self.begin().await;
        let update = variants::VariantChanges {
            inventory: Some(Inventory::from_quantity(Some(quantity)).unwrap()),
            ..variants::VariantChanges::default()
        };
        variants::UpdateVariant {
            id: self.variant.id,
            changes: update,
        }
        .run(uow.as_mut(), &self.ctx())
        .await
        .unwrap();
        uow.commit().await.unwrap();
    }

    /// The stock of the key's mode.
    pub(crate) async fn stock(&self) -> Option<u32> {
        let mut view = self.view().await;
        view.variants()
            .get(self.organization.id, self.variant.id)
            .await
            .unwrap()
            .unwrap()
            .stock
            .of(self.access.mode)
            .quantity()
    }

    /// How often the processor was asked for this.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.providers
            .processor
            .calls()
            .iter()
            .filter(|call| call.method == method)
            .count()
    }

    /// No job is left that is due or dead.
    pub(crate) async fn assert_idle(&self) {
        self.work().await;
        let mut view = self.view().await;
        let left = view.jobs().list(&JobFilter::default(), 100).await.unwrap();
        assert!(left.is_empty(), "jobs are left: {left:?}");
    }
}
