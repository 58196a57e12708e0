//! Records to begin with.

use lessor_adapters::postgres::{PgDatabase, PgSettings};
use lessor_adapters::testing::{TestDatabase, secrets};
use lessor_domain::catalog::{Product, ProductVariant};
use lessor_domain::organization::Organization;
use lessor_domain::ports::{Database, Reach, StoreError, UnitOfWork};
use lessor_domain::testing::Fixtures;

/// Does work as a whole.
pub(crate) async fn run<T>(
    database: &PgDatabase,
    reach: impl Into<Reach>,
    work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut uow = database.begin(reach.into()).await?;
    let value = work(&mut *uow).await?;
    uow.commit().await?;
    Ok(value)
}

/// Whether the test has a cluster under it, where what it asks of one server is not there; says so.
#[expect(clippy::print_stdout, reason = "says what was not tested")]
pub(crate) fn skipped_on_a_cluster(why: &str) -> bool {
    let is_cluster = lessor_adapters::testing::is_cluster();
    if is_cluster {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        println!("SKIPPED {test}: {why}");
    }
    is_cluster
}

/// How often it is looked whether something has come about. Each look waits for an answer of the server's: on a busy machine it
/// takes longer, as does what is waited for.
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) const fn new() -> Self {
        Self(50_000)
    }

    /// It has not come about yet.
    ///
    /// # Panics
    /// When it was looked often enough.
    pub(crate) fn spend(&mut self, awaited: &str) {
        assert!(self.0 > 0, "{awaited}");
        self.0 -= 1;
    }
}

/// Waits until the server says so.
pub(crate) async fn until(test: &TestDatabase, condition: &str) {
    let mut patience = Patience::new();
    while test.query(&format!("SELECT {condition}")).await != ["t"] {
        patience.spend(condition);
    }
}

/// Waits until somebody waits for a lock: on a cluster, on any of its nodes.
pub(crate) async fn until_somebody_waits(test: &TestDatabase) {
    let waits = if lessor_adapters::testing::is_cluster() {
        "EXISTS (SELECT FROM citus_lock_waits)"
    } else {
        "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
         AND wait_event_type = 'Lock')"
    };
    until(test, waits).await;
}

/// Another pool on the test's database.
pub(crate) fn pool(test: &TestDatabase, change: impl FnOnce(&mut PgSettings)) -> PgDatabase {
    let mut settings = PgSettings::new(test.url());
    settings.secrets = secrets();
    change(&mut settings);
    PgDatabase::new(&settings).unwrap()
}

/// A database with an organization.
pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) make: Fixtures,
    pub(crate) organization: Organization,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::create().await;
        let make = Fixtures::default();
        let new = make.organization().new_record();
        let organization = run(test.database(), Reach::Server, async |uow| {
            uow.organizations().insert(&new).await
        })
        .await
        .unwrap();
        Self {
            test,
            make,
            organization,
        }
    }

    /// Another organization on the same database.
    pub(crate) async fn neighbour(&self) -> Organization {
        let new = self.make.organization().new_record();
        run(self.database(), Reach::Server, async |uow| {
            uow.organizations().insert(&new).await
        })
        .await
        .unwrap()
    }

    pub(crate) fn database(&self) -> &PgDatabase {
        self.test.database()
    }

    /// In whose name the shop works.
    pub(crate) fn reach(&self) -> Reach {
        self.organization.id.into()
    }

    pub(crate) async fn begin(&self) -> Box<dyn UnitOfWork> {
        self.database().begin(self.reach()).await.unwrap()
    }

    pub(crate) async fn view(&self) -> Box<dyn UnitOfWork> {
        self.database().read(self.reach()).await.unwrap()
    }

    /// Does work in the shop's name as a whole.
    pub(crate) async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        run(self.database(), self.reach(), work).await
    }

    pub(crate) async fn product(&self) -> Product {
        let product = self.make.product(&self.organization).build();
        self.run(async |uow| uow.products().insert(&product).await)
            .await
            .unwrap();
        product
    }

    pub(crate) async fn variant(&self, stock: u32) -> ProductVariant {
        let product = self.product().await;
        let variant = self.make.variant(&product).stock(stock).build();
        self.run(async |uow| uow.variants().insert(&variant).await)
            .await
            .unwrap();
        variant
    }
}
