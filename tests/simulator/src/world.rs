//! What a life is lived with: stores, the processor's double, a clock, and the parts that every
//! process is made of.
#![expect(
    clippy::expect_used,
    reason = "a shop that cannot be opened is the simulator's own defect"
)]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Polled, Poll, Waker};

use chrono::TimeDelta;
use lessor_adapters::carriers::FormatDetector;
use lessor_adapters::dialing::PublishedPlans;
use lessor_adapters::processor::{
    ApiSecret, EventReader, HttpProcessor, ProcessorSettings, RetryPolicy,
};
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::ids::{ApiKeyPubId, OrganizationId, ProductVariantPubId};
use lessor_domain::ports::{Clock as _, Database, InsertedCustomer, ProviderSet, Reach};
use lessor_domain::services::Context;
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::testing::{
    FakeProviders, FixedEntropy, Fixtures, ManualClock, MemoryDatabase, NeverTimer, SequenceIds,
};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::Engine;
use lessor_domain::workers::housekeeping::{Housekeeper, Policy};
use lessor_domain::workers::inbox::Inbox;
use lessor_domain::workers::jobs::{JOB_LEASE, JobRunner};
use lessor_domain::workers::reconcile::Reconciler;
use lessor_processor_double::Double;

use crate::network::{Moments, Network};
use crate::stage::Stage;
use crate::stores::Stores;
use crate::version::{Before, Version};

/// The key of the test mode, at the double.
const KEY: &str = "sk_test_simulator";
/// Months of the terms that the shop offers; the second asks for no deposit.
pub(crate) const TERMS: [u16; 3] = [3, 2, 1];
/// How many customers there are; the first two were screened before.
pub(crate) const CUSTOMERS: [&str; 4] = [
    "ada@example.com",
    "grace@example.com",
    "mary@example.com",
    "joan@example.com",
];

/// Runs what has nothing to wait for.
///
/// # Panics
/// When it waits.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut polled = Polled::from_waker(Waker::noop());
    match pin!(future).poll(&mut polled) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("it was to be done at once"),
    }
}

/// A shop as every life finds it: opened once for each thread, and forked for each life.
pub(crate) struct Shop {
    memory: MemoryDatabase,
    access: Access,
    /// One unit, two units, as many as are wanted.
    variants: [ProductVariantPubId; 3],
}

impl Shop {
    /// Opens it.
    pub(crate) fn open() -> Self {
        at_once(Self::opened())
    }

    async fn opened() -> Self {
        let memory = MemoryDatabase::new();
        let make = Fixtures::seeded(1);
        let ids = SequenceIds::seeded(2);
        let now = ManualClock::default().now();
        let mut uow = memory.begin(Reach::Server).await.expect("memory begins");
        let input = CreateOrganization {
            name: "Northwind Cycles".parse().expect("a name"),
            currency: "USD".parse().expect("a currency"),
            discount: "0".parse().expect("a percentage"),
            service_area: "US".parse().expect("an area"),
            requires_product_review: false,
            oftake_partner_id: None,
        };
        let operator = Origin::cli("operator");
        let organization = create_organization(uow.as_mut(), &ids, now, &operator, input)
            .await
            .expect("an organization");
        for months in TERMS {
            let term = make.lease_term(&organization).months(months);
            let mut term = term.new_record();
            if months == TERMS[1] {
                term.card.deposit = "0".parse().expect("a percentage");
            }
            uow.lease_terms().insert(&term).await.expect("a term");
        }
        let mut staff = None;
        for (number, email) in (0..).zip(CUSTOMERS) {
            let new = make.customer(&organization).email(email).new_record();
            let kept = uow.customers().insert(&new).await.expect("a customer");
            let (InsertedCustomer::New(mut customer) | InsertedCustomer::Existing(mut customer)) =
                kept;
            if number < 2 {
                let built = make.customer(&organization).screened().build();
                customer.screening = built.screening;
                uow.customers()
                    .update(&mut customer)
                    .await
                    .expect("a customer");
            }
            staff = Some(customer);
        }
        let product = make.product(&organization).name("Road bike").build();
        uow.products().insert(&product).await.expect("a product");
        let [one, two, any] = [("S", Some(1)), ("M", Some(2)), ("L", None)].map(|(size, stock)| {
            let variant = make.variant(&product).price("1299.00");
            let variant = variant.choose("Size", size);
            match stock {
                Some(units) => variant.stock(units),
                None => variant,
            }
            .build()
        });
        for variant in [&one, &two, &any] {
            uow.variants().insert(variant).await.expect("a variant");
        }
        uow.commit().await.expect("memory commits");
        let staff = staff.expect("there are customers");
        Self {
            memory,
            access: Access {
                key_id: make.id::<ApiKeyPubId>(),
                key_name: None,
                organization_id: organization.id,
                organization_pub_id: organization.pub_id,
                user_id: staff.user_id,
                user_pub_id: staff.id,
                kind: KeyKind::Secret,
                mode: Mode::Sandbox,
                permissions: Permissions::all(),
                sandbox_writes_catalog: true,
            },
            variants: [one.id, two.id, any.id],
        }
    }
}

/// What a process is made of. All of them are alike but for their version: what is theirs alone is
/// what they are at.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) stage: Arc<Stage>,
    pub(crate) memory: MemoryDatabase,
    pub(crate) double: Arc<Double>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ids: Arc<SequenceIds>,
    pub(crate) access: Access,
    origin: Origin,
    pub(crate) variants: [ProductVariantPubId; 3],
    /// The version that it runs, where that is not the newest.
    pub(crate) version: Option<Version>,
    entropy: Arc<FixedEntropy>,
    providers: ProviderSet,
}

impl Crew {
    /// Everything new, but for the shop.
    pub(crate) fn new(shop: &Shop, stage: Arc<Stage>) -> Self {
        let clock = Arc::new(ManualClock::default());
        let double = Arc::new(Double::offline(clock.now(), "sim"));
        let network = Network {
            double: Arc::clone(&double),
            stage: Arc::clone(&stage),
            clock: Arc::clone(&clock),
        };
        let settings = ProcessorSettings {
            sandbox_key: ApiSecret::new(KEY),
            retry: RetryPolicy {
                attempts: 2,
                ..RetryPolicy::default()
            },
            ..ProcessorSettings::default()
        };
        let moments = Arc::new(Moments(Arc::clone(&stage)));
        let processor = HttpProcessor::over(Arc::new(network), &settings, moments)
            .expect("settings that can be");
        let processor = Arc::new(processor);
        let mut providers = FakeProviders::default().set();
        providers.sandbox.identity = processor.clone();
        providers.sandbox.processor = processor;
        providers.messages = Arc::new(EventReader);
        Self {
            stage,
            memory: shop.memory.fork(),
            double,
            clock,
            ids: Arc::new(SequenceIds::seeded(3)),
            access: shop.access.clone(),
            origin: Origin::of_key(&shop.access),
            variants: shop.variants,
            version: None,
            entropy: Arc::new(FixedEntropy::seeded(4)),
            providers,
        }
    }

    /// The same, of this version where that is not the newest.
    pub(crate) fn of_version(&self, version: Option<Version>) -> Self {
        Self {
            version,
            ..self.clone()
        }
    }

    /// Whose everything is.
    pub(crate) const fn organization(&self) -> OrganizationId {
        self.access.organization_id
    }

    pub(crate) fn database(&self) -> Arc<dyn Database> {
        Arc::new(Stores {
            memory: self.memory.clone(),
            stage: Arc::clone(&self.stage),
        })
    }

    pub(crate) fn ctx(&self) -> Context<'_> {
        Context {
            access: &self.access,
            origin: &self.origin,
            now: self.clock.now(),
            ids: self.ids.as_ref(),
            entropy: self.entropy.as_ref(),
            carriers: &FormatDetector,
            phones: &PublishedPlans,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Time passes, here and at the processor, where what is due happens.
    pub(crate) fn wait(&self, time: TimeDelta) {
        self.clock.advance(time);
        self.double.set_time(self.clock.now());
    }

    fn engine(&self) -> Engine {
        let mut providers = self.providers.clone();
        if let Some(version) = self.version {
            providers.messages = Arc::new(Before {
                reader: providers.messages,
                version,
            });
        }
        let engine = Engine::new(
            self.database(),
            self.clock.clone(),
            self.ids.clone(),
            self.entropy.clone(),
            Arc::new(NeverTimer),
            providers,
        );
        Engine {
            job_lease: self.version.map_or(JOB_LEASE, |version| version.lease),
            ..engine
        }
    }

    pub(crate) fn runner(&self) -> JobRunner {
        self.engine().jobs()
    }

    pub(crate) fn inbox(&self) -> Inbox {
        self.engine().inbox()
    }

    pub(crate) fn housekeeper(&self) -> Housekeeper {
        Housekeeper {
            tracker: None,
            ..self.engine().housekeeper(Policy::default())
        }
    }

    pub(crate) fn reconciler(&self) -> Reconciler {
        self.engine().reconciler()
    }
}
