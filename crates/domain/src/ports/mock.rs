//! Mocks of the two ports that the stores are reached through.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use async_trait::async_trait;

use super::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxStore,
    JobStore, KeyStore, LeaseTermStore, LedgerStore, MailStore, MockAgreementStore, MockAuditStore,
    MockCategoryStore, MockCheckoutStore, MockCreditPolicyStore, MockCursorStore,
    MockCustomerStore, MockDeliveryStore, MockDoors, MockEventStore, MockIdempotencyStore,
    MockInboxStore, MockJobStore, MockKeyStore, MockLeaseTermStore, MockLedgerStore, MockMailStore,
    MockOrganizationStore, MockPersonalDataStore, MockPickupLocationStore,
    MockProcessorAccountStore, MockProductStore, MockQualificationStore, MockShipmentStore,
    MockVariantStore, MockWebhookEndpointStore, OrganizationStore, PersonalDataStore,
    PickupLocationStore, ProcessorAccountStore, ProductStore, QualificationStore, Reach,
    ShipmentStore, StoreError, UnitOfWork, VariantStore, WebhookEndpointStore,
};
use crate::ids::OrganizationId;

/// Fails the test.
#[expect(clippy::panic, reason = "a mock that is used otherwise fails the test")]
fn fail(message: &str) -> ! {
    panic!("{message}")
}

/// Fails the test in a destructor, unless it is failing already: a second panic would hide the
/// first.
fn fail_on_drop(message: &str) {
    if !thread::panicking() {
        fail(message);
    }
}

/// What is to become of a unit of work.
#[derive(Default)]
enum Fate {
    #[default]
    NotCommitted,
    Committed(Result<(), StoreError>),
}

macro_rules! mock_unit_of_work {
    ($($(#[$doc:meta])+ $store:ident: $mock:ident as dyn $port:ident,)+) => {
        /// A unit of work whose stores are mocks.
        ///
        /// A test sets its expectations on the stores, and with
        /// [`expect_commit`](Self::expect_commit) whether the work is to be done. What is not
        /// expected fails the test: a call to a store by the message of its mock, a commit, and
        /// the drop of a unit whose commit was expected. As a `&mut dyn UnitOfWork` it goes
        /// straight to a use case; code that begins its own work gets it of a [`MockDatabase`].
        ///
        /// ```
        /// use lessor_domain::audit::Origin;
        /// use lessor_domain::ids::ApiKeyPubId;
        /// use lessor_domain::ports::MockUnitOfWork;
        /// use lessor_domain::services::{Error, keys::revoke_key};
        /// use lessor_domain::testing::SequenceIds;
        /// use lessor_domain::time::Timestamp;
        /// use uuid::Uuid;
        ///
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() {
        /// let mut unit = MockUnitOfWork::new();
        /// unit.keys.expect_get().returning(|_| Ok(None));
        /// let id = ApiKeyPubId::from_uuid(Uuid::nil());
        /// let (ids, now, origin) = (SequenceIds::default(), Timestamp::UNIX_EPOCH, Origin::cli("ada"));
        /// let revoked = revoke_key(&mut unit, &ids, now, &origin, id).await;
        /// assert!(matches!(revoked, Err(Error::NotFound { .. })));
        /// # }
        /// ```
        #[derive(Default)]
        pub struct MockUnitOfWork {
            $($(#[$doc])+ pub $store: $mock,)+
            fate: Fate,
            /// Whose it has become, each time that it was [entered](UnitOfWork::enter).
            pub entered: Vec<OrganizationId>,
            commits: Option<Arc<AtomicUsize>>,
        }

        #[async_trait]
        impl UnitOfWork for MockUnitOfWork {
            $(fn $store(&mut self) -> &mut dyn $port {
                &mut self.$store
            })+

            async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
                self.entered.push(organization);
                Ok(())
            }

            async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
                match std::mem::take(&mut self.fate) {
                    Fate::NotCommitted => {
                        fail("MockUnitOfWork::commit: not expected: say so with expect_commit")
                    }
                    Fate::Committed(answer) => {
                        if let (Ok(()), Some(commits)) = (&answer, &self.commits) {
                            commits.fetch_add(1, Ordering::Relaxed);
                        }
                        answer
                    }
                }
            }
        }
    };
}

mock_unit_of_work! {
    /// Organizations.
    organizations: MockOrganizationStore as dyn OrganizationStore,
    /// Pickup locations.
    pickup_locations: MockPickupLocationStore as dyn PickupLocationStore,
    /// API keys.
    keys: MockKeyStore as dyn KeyStore,
    /// Customers.
    customers: MockCustomerStore as dyn CustomerStore,
    /// Lease terms.
    lease_terms: MockLeaseTermStore as dyn LeaseTermStore,
    /// Product categories.
    categories: MockCategoryStore as dyn CategoryStore,
    /// Products.
    products: MockProductStore as dyn ProductStore,
    /// Variants and their stock.
    variants: MockVariantStore as dyn VariantStore,
    /// Checkouts.
    checkouts: MockCheckoutStore as dyn CheckoutStore,
    /// Agreements and the organizations' own terms.
    agreements: MockAgreementStore as dyn AgreementStore,
    /// Tracking events.
    shipments: MockShipmentStore as dyn ShipmentStore,
    /// Work for providers.
    jobs: MockJobStore as dyn JobStore,
    /// Messages of providers.
    inbox: MockInboxStore as dyn InboxStore,
    /// What was made at the payment processor.
    ledger: MockLedgerStore as dyn LedgerStore,
    /// Organizations' own accounts at the payment processor.
    processor_accounts: MockProcessorAccountStore as dyn ProcessorAccountStore,
    /// How far long walks have come.
    cursors: MockCursorStore as dyn CursorStore,
    /// Answers to requests that may be repeated.
    idempotency: MockIdempotencyStore as dyn IdempotencyStore,
    /// How organizations decide about credit.
    credit_policies: MockCreditPolicyStore as dyn CreditPolicyStore,
    /// What was decided about customers' credit.
    qualifications: MockQualificationStore as dyn QualificationStore,
    /// Who did what.
    audit: MockAuditStore as dyn AuditStore,
    /// What happened to records.
    events: MockEventStore as dyn EventStore,
    /// Who is told of it.
    webhook_endpoints: MockWebhookEndpointStore as dyn WebhookEndpointStore,
    /// What they are told, and how far that is.
    deliveries: MockDeliveryStore as dyn DeliveryStore,
    /// Mails, and the addresses that nothing is sent to.
    mails: MockMailStore as dyn MailStore,
    /// What is known of persons, to be taken away.
    personal_data: MockPersonalDataStore as dyn PersonalDataStore,
    /// What is asked across organizations.
    doors: MockDoors as dyn Doors,
}

impl MockUnitOfWork {
    /// A unit of work that expects nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The work has to be committed, and the commit answers this. Dropped without, it fails the
    /// test.
    pub fn expect_commit(&mut self, answer: Result<(), StoreError>) {
        self.fate = Fate::Committed(answer);
    }
}

impl Drop for MockUnitOfWork {
    fn drop(&mut self) {
        if matches!(self.fate, Fate::Committed(_)) {
            fail_on_drop("MockUnitOfWork: dropped without the commit that was expected");
        }
    }
}

/// What a database answers, in this order.
type Answers = Mutex<VecDeque<Result<MockUnitOfWork, StoreError>>>;

/// A database that hands out the units of work that a test has prepared, in their order. To begin
/// or read one that is not prepared fails the test, and so does one that nobody asked for.
///
/// ```
/// use lessor_domain::ports::{Database, MockDatabase, MockUnitOfWork, Reach, StoreError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut unit = MockUnitOfWork::new();
/// unit.expect_commit(Ok(()));
/// let mut database = MockDatabase::new();
/// database.expect_begin(Ok(unit));
/// database.expect_begin(Err(StoreError::Contended));
///
/// assert!(database.begin(Reach::Server).await.unwrap().commit().await.is_ok());
/// assert!(database.begin(Reach::Server).await.is_err());
/// assert_eq!(database.commits(), 1);
/// # }
/// ```
#[derive(Default)]
pub struct MockDatabase {
    begins: Answers,
    reads: Answers,
    commits: Arc<AtomicUsize>,
}

impl MockDatabase {
    /// A database that is not expected to be asked for anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next [`begin`](Database::begin) that has no answer yet gets this one.
    pub fn expect_begin(&mut self, answer: Result<MockUnitOfWork, StoreError>) {
        self.prepare(&self.begins, answer);
    }

    /// The next [`read`](Database::read) that has no answer yet gets this one.
    pub fn expect_read(&mut self, answer: Result<MockUnitOfWork, StoreError>) {
        self.prepare(&self.reads, answer);
    }

    /// How many of its units of work were committed. Also a test whose work runs in a task of its
    /// own, where the panic of a mock may go unseen, can tell by it.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.commits.load(Ordering::Relaxed)
    }

    fn prepare(&self, answers: &Answers, answer: Result<MockUnitOfWork, StoreError>) {
        let answer = answer.map(|mut unit| {
            unit.commits = Some(Arc::clone(&self.commits));
            unit
        });
        lock(answers).push_back(answer);
    }
}

/// The answers, also after a panic in another thread: the test has failed by then.
fn lock(answers: &Answers) -> MutexGuard<'_, VecDeque<Result<MockUnitOfWork, StoreError>>> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next(answers: &Answers, missing: &str) -> Result<Box<dyn UnitOfWork>, StoreError> {
    // The lock is given back before a mock fails, lest the others fail for that.
    let answer = lock(answers).pop_front();
    match answer {
        Some(answer) => answer.map(|unit| Box::new(unit) as Box<dyn UnitOfWork>),
        None => fail(missing),
    }
}

#[async_trait]
impl Database for MockDatabase {
    async fn begin(&self, _: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        next(
            &self.begins,
            "MockDatabase::begin: not expected: prepare a unit of work with expect_begin",
        )
    }

    async fn read(&self, _: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        next(
            &self.reads,
            "MockDatabase::read: not expected: prepare a unit of work with expect_read",
        )
    }
}

impl Drop for MockDatabase {
    fn drop(&mut self) {
        for (answers, message) in [
            (
                &self.begins,
                "MockDatabase: a unit of work that expect_begin prepared was never begun",
            ),
            (
                &self.reads,
                "MockDatabase: a unit of work that expect_read prepared was never read",
            ),
        ] {
            if !lock(answers).is_empty() {
                fail_on_drop(message);
            }
        }
    }
}
