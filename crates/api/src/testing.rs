//! What unit tests of the edge work on: an organization in memory, a key, a clock to set.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::ambient::{SystemEntropy, SystemTimer};
use lessor_adapters::postgres::LastCommit;
use lessor_domain::access::{KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::ids::{ApiKeyPubId, IdRef, OrganizationId, OrganizationRef};
use lessor_domain::money::Currency;
use lessor_domain::organization::ServiceArea;
use lessor_domain::percentage::Percentage;
use lessor_domain::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, Clock as _, CreditPolicyStore,
    CursorStore, CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore,
    InboxStore, JobStore, KeyStore, LeaseTermStore, LedgerStore, MailStore, OrganizationStore,
    PersonalDataStore, PickupLocationStore, ProcessorAccountStore, ProductStore,
    QualificationStore, Reach, ShipmentStore, StoreError, UnitOfWork, VariantStore,
    WebhookEndpointStore,
};
use lessor_domain::services::keys::{self, CreateKey, KeyUser};
use lessor_domain::services::organizations::{self, CreateOrganization};
use lessor_domain::testing::{FakeProviders, ManualClock, MemoryDatabase, SequenceIds};
use lessor_domain::text::{Email, Name};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::Engine;
use tokio::runtime::Handle;

use crate::auth::addresses::{AddressLimits, TrustedProxies};
use crate::auth::cache::RateLimits;
use crate::auth::keys::KeyText;
use crate::http::budget::MemoryBudget;
use crate::http::draining::Draining;
use crate::http::mutation::Mutations;
use crate::http::public_url::PublicUrl;
use crate::middleware::{Cors, Deadline};
use crate::request::BodyLimits;
use crate::routes::health::Readiness;
use crate::run::app::{AppParts, Said};
use crate::state::{AppState, StateSettings};

/// How a commit fails.
type Failure = fn() -> StoreError;

/// A database that counts what is asked of it, and whose commits fail when they are told to.
#[derive(Clone, Default)]
pub(crate) struct CountingDatabase {
    inner: MemoryDatabase,
    counts: Arc<Counts>,
    noted: Option<LastCommit>,
}

#[derive(Default)]
struct Counts {
    reads: AtomicUsize,
    commits: AtomicUsize,
    failures: Mutex<Vec<Failure>>,
}

impl CountingDatabase {
    /// Lets the next commits fail.
    pub(crate) fn fail_commits(&self, times: usize, failure: Failure) {
        self.counts
            .failures
            .lock()
            .unwrap()
            .extend(vec![failure; times]);
    }

    /// The same stores, which note their commits: the number of each is its position.
    pub(crate) fn noting(&self, last_commit: LastCommit) -> Self {
        Self {
            noted: Some(last_commit),
            ..self.clone()
        }
    }

    /// How many views were opened.
    pub(crate) fn reads(&self) -> usize {
        self.counts.reads.load(Ordering::SeqCst)
    }

    /// How many commits were made.
    pub(crate) fn commits(&self) -> usize {
        self.counts.commits.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Database for CountingDatabase {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(Work {
            inner: self.inner.begin(reach).await?,
            counts: Arc::clone(&self.counts),
            noted: self.noted.clone(),
        }))
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.counts.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(reach).await
    }
}

struct Work {
    inner: Box<dyn UnitOfWork>,
    counts: Arc<Counts>,
    noted: Option<LastCommit>,
}

macro_rules! stores {
    ($($name:ident: $store:ident),* $(,)?) => {
        #[async_trait]
        impl UnitOfWork for Work {
            $(fn $name(&mut self) -> &mut dyn $store {
                self.inner.$name()
            })*

            async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
                self.inner.enter(organization).await
            }

            async fn commit(self: Box<Self>) -> Result<(), StoreError> {
                let failure = self.counts.failures.lock().unwrap().pop();
                if let Some(failure) = failure {
                    return Err(failure());
                }
                let number = self.counts.commits.fetch_add(1, Ordering::SeqCst) + 1;
                self.inner.commit().await?;
                if let Some(noted) = &self.noted {
                    noted.note(format!("{number:016x}").parse().unwrap());
                }
                Ok(())
            }

            async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
                self.inner.roll_back().await
            }
        }
    };
}

lessor_domain::for_each_store!(stores);

/// An organization in memory, with a key.
pub(crate) struct Bench {
    pub(crate) state: AppState,
    pub(crate) database: CountingDatabase,
    pub(crate) clock: Arc<ManualClock>,
    organization: OrganizationRef,
    key: KeyText,
    key_id: ApiKeyPubId,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let memory = MemoryDatabase::new();
        let database = CountingDatabase {
            inner: memory.clone(),
            counts: Arc::default(),
            noted: None,
        };
        let clock = Arc::new(ManualClock::default());
        let engine = Engine::new(
            Arc::new(database.clone()),
            Arc::<ManualClock>::clone(&clock),
            Arc::new(SequenceIds::default()),
            Arc::new(SystemEntropy),
            Arc::new(SystemTimer),
            FakeProviders::default().set(),
        );
        let mut work = memory.begin(Reach::Server).await.unwrap();
        let origin = Origin::SYSTEM;
        let created = organizations::create_organization(
            &mut *work,
            &*engine.ids,
            clock.now(),
            &origin,
            CreateOrganization {
                name: Name::parse("Northwind Cycles").unwrap(),
                currency: Currency::USD,
                discount: Percentage::ZERO,
                service_area: ServiceArea::default(),
                requires_product_review: false,
                oftake_partner_id: None,
            },
        );
        let organization = IdRef::Number(created.await.unwrap().id);
        work.commit().await.unwrap();
        let state = AppState::new(
            engine,
            Mutations::new(Handle::current()),
            StateSettings::new(
                PublicUrl::new("https://lease.example"),
                "the key of every server in memory".parse().unwrap(),
            ),
        );
        let mut bench = Self {
            state,
            database,
            clock,
            organization,
            key: KeyText::mint(&SystemEntropy, KeyKind::Secret, Mode::Sandbox),
            key_id: ApiKeyPubId::from_uuid(uuid::Uuid::nil()),
        };
        bench.key_id = bench.keep(&bench.key, "all", None).await;
        bench
    }

    async fn keep(
        &self,
        key: &KeyText,
        permissions: &str,
        expires_at: Option<Timestamp>,
    ) -> ApiKeyPubId {
        let mut work = self.database.inner.begin(Reach::Server).await.unwrap();
        let input = CreateKey {
            organization: self.organization,
            user: KeyUser::Email(Email::parse("ops@example.com").unwrap()),
            kind: key.kind(),
            mode: key.mode(),
            permissions: match key.kind() {
                KeyKind::Secret => permissions.parse::<Permissions>().unwrap(),
                KeyKind::Publishable => Permissions::default(),
            },
            name: None,
            expires_at,
            hash: key.hash(),
            hint: key.hint().to_owned(),
        };
        let ids = &*self.state.engine.ids;
        let now = self.clock.now();
        let created = keys::create_key(&mut *work, ids, now, &Origin::SYSTEM, input).await;
        let (holder, _) = created.unwrap();
        work.commit().await.unwrap();
        holder.key.id
    }

    /// What an app of the state is built from.
    pub(crate) fn parts(&self) -> AppParts {
        AppParts {
            public_url: self.state.settings.public_url.clone(),
            body_limits: BodyLimits::default(),
            memory: MemoryBudget::default(),
            cors: Cors::default(),
            deadline: Deadline::default(),
            mutations: self.state.mutations.clone(),
            readiness: Readiness::new(|| async { Ok(()) }),
            metrics: None,
            draining: Draining::default(),
            said: Said::default(),
        }
    }

    /// The text of the key that may do everything.
    pub(crate) fn key(&self) -> &str {
        self.key.reveal()
    }

    /// A key that nobody keeps.
    pub(crate) fn mint(&self) -> KeyText {
        KeyText::mint(&SystemEntropy, KeyKind::Secret, Mode::Sandbox)
    }

    /// The text of a publishable key of the organization.
    pub(crate) async fn publishable_key(&self) -> String {
        let key = KeyText::mint(&SystemEntropy, KeyKind::Publishable, Mode::Sandbox);
        self.keep(&key, "", None).await;
        key.reveal().to_owned()
    }

    /// The text of another key of the organization.
    pub(crate) async fn another_key(&self, permissions: &str) -> String {
        let key = self.mint();
        self.keep(&key, permissions, None).await;
        key.reveal().to_owned()
    }

    /// The text of a key that ends.
    pub(crate) async fn ending_key(&self, after: TimeDelta) -> String {
        let key = self.mint();
        self.keep(&key, "all", Some(self.clock.now() + after)).await;
        key.reveal().to_owned()
    }

    pub(crate) async fn revoke(&self) {
        let mut work = self.database.inner.begin(Reach::Server).await.unwrap();
        let (ids, now) = (&*self.state.engine.ids, self.clock.now());
        let revoked = keys::revoke_key(&mut *work, ids, now, &Origin::SYSTEM, self.key_id).await;
        revoked.unwrap();
        work.commit().await.unwrap();
    }

    pub(crate) async fn last_used(&self) -> Option<Timestamp> {
        let mut work = self.database.inner.read(Reach::Server).await.unwrap();
        let holder = work.keys().get(self.key_id).await.unwrap().unwrap();
        holder.key.last_used_at
    }

    pub(crate) fn limit_address_rate(&mut self, per_second: u32) {
        let limits = |requests| AddressLimits::per_second(requests, TrustedProxies::default());
        self.state.own().address_limits = NonZeroU32::new(per_second).map(limits);
    }

    pub(crate) fn limit_rate(&mut self, per_second: u32) {
        self.state.own().limits = NonZeroU32::new(per_second).map(RateLimits::per_second);
    }
}
