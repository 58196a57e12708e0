//! A transaction as a value, and where it comes from.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use deadpool::managed::PoolError;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use lessor_domain::checkout::Checkout;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, OrganizationId};
use lessor_domain::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, Database, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxStore,
    JobStore, KeyStore, LeaseTermStore, LedgerStore, MailStore, OrganizationStore,
    PersonalDataStore, PickupLocationStore, ProcessorAccountStore, ProductStore,
    QualificationStore, Reach, ShipmentStore, StoreError, UnitOfWork, VariantStore,
    WebhookEndpointStore,
};

use super::error::store_error;
use super::line::Session;
use super::notes::Notes;
use super::pool::{Connection, PgPool, PgSettings, PoolStatus, no_connection};
use super::position::LastCommit;
use super::seal::SealingKey;
use super::search::Sought;
use super::secrets::SecretKeys;
use super::url::InvalidUrl;

/// COMMIT of a transaction in which a statement failed says nothing and rolls back. The empty
/// statement before it fails then.
const COMMIT: &str = "SELECT; COMMIT";

/// A standby that was not promoted answers, and can be written to by nobody.
const CAN_WRITE: &str = "DO $$ BEGIN IF current_setting('transaction_read_only')::boolean \
                         THEN RAISE read_only_sql_transaction; END IF; END $$";

/// The stores on Postgres. Cloning it shares its connections.
#[derive(Clone)]
pub struct PgDatabase {
    pub(super) pool: PgPool,
    /// How long migrating waits for others who migrate.
    pub(super) migration_wait: Duration,
    /// Where it is noted how far the log has come with each commit, where somebody wants to know.
    last_commit: Option<LastCommit>,
    /// What organizations' secrets are sealed with.
    pub(super) secrets: SecretKeys,
}

impl PgDatabase {
    /// A database at this address. Connects when the first work comes.
    ///
    /// The tasks that drive connections belong to the runtime on which work first
    /// needed them: give each runtime a database of its own.
    ///
    /// # Errors
    /// [`InvalidUrl`] when the address cannot be used.
    pub fn new(settings: &PgSettings) -> Result<Self, InvalidUrl> {
        Ok(Self {
            pool: PgPool::new(settings)?,
            migration_wait: settings.migration_wait,
            last_commit: None,
            secrets: settings.secrets.clone(),
        })
    }

    /// The same stores over the same connections, which note here how far the database's log has come
    /// with each commit: whoever is told that can be answered by a replica that has come as far. It is
    /// asked for with the commit, in the same round trip; a commit after which it was not told is
    /// [`StoreError::Unavailable`], as one that was not heard of.
    #[must_use]
    pub fn noting(&self, last_commit: LastCommit) -> Self {
        Self {
            last_commit: Some(last_commit),
            ..self.clone()
        }
    }

    /// The same stores over the same connections, with these keys for what organizations keep secret: a
    /// server has them once it knows which key the database is under.
    #[must_use]
    pub fn sealing_with(&self, secrets: SecretKeys) -> Self {
        Self {
            secrets,
            ..self.clone()
        }
    }

    /// Whether the database answers, and can be written to.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it does not, or cannot.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut connection = self.pool.get(Reach::Server).await?;
        connection
            .connection()
            .batch_execute(CAN_WRITE)
            .await
            .map_err(store_error)
    }

    /// Closes the connections that nobody uses.
    pub(super) fn forget_idle(&self) {
        self.pool.forget_idle();
    }

    /// Connections in use and at hand.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }

    pub(crate) async fn begin_work(&self, reach: Reach) -> Result<PgUnitOfWork, StoreError> {
        let begun = match self.pool.take(reach).await {
            Ok(connection) => self.begin_on(connection, reach).await,
            // Whoever asks has waited as long as it may.
            Err(late @ PoolError::Timeout(_)) => return Err(no_connection(late)),
            Err(error) => Err(no_connection(error)),
        };
        match begun {
            Err(StoreError::Unavailable(_)) => {
                // The connection was closed since it was last used, and the others
                // that lie about most likely too. Nothing has begun: try a new one.
                self.pool.forget_idle();
                let connection = self.pool.get(reach).await?;
                self.begin_on(connection, reach).await
            }
            begun => begun,
        }
    }

    async fn begin_on(
        &self,
        connection: Connection,
        reach: Reach,
    ) -> Result<PgUnitOfWork, StoreError> {
        let mut opening = self.pool.opening("BEGIN", reach, &connection);
        let mut work = PgUnitOfWork::new(connection, reach, Kind::Work);
        work.last_commit.clone_from(&self.last_commit);
        work.secrets = self.secrets.clone();
        let last = opening.pop().unwrap_or_default();
        for ahead in opening {
            work.session()?.send_ahead(&ahead);
        }
        work.execute(&last).await?;
        Ok(work)
    }
}

/// Says for whom the transaction works: row security shows it no other organization's rows. It ends
/// with the transaction, so that nobody works on in the name of whoever had the connection before.
pub(super) fn in_the_name_of(organization: OrganizationId) -> String {
    format!("SET LOCAL lessor.organization = '{organization}'")
}

/// Where a session shows somebody's rows by itself, a transaction in nobody's name says so.
pub(super) const IN_NOBODYS_NAME: &str = "SET LOCAL lessor.organization = ''";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It changes something, and is done when it is committed.
    Work,
    /// It only reads: nothing of it is to be kept, or to be waited for.
    View,
    /// It only reads, each statement by itself, in a session that shows the organization's rows.
    Glances,
}

/// A unit of work on Postgres, which is every store as well: a transaction that
/// reads what is committed.
pub struct PgUnitOfWork {
    /// None once the work is over.
    connection: Option<Connection>,
    kind: Kind,
    /// In whose name it began.
    began: Reach,
    /// In whose name it goes on.
    reach: Reach,
    /// Where its commit is noted.
    last_commit: Option<LastCommit>,
    /// What its stores seal secrets with.
    pub(super) secrets: SecretKeys,
    /// Those that it has locked in that name, as they are stored.
    pub(super) checkouts: HashMap<CheckoutPubId, Checkout>,
    /// What its stores have learned of customers' keys in that name; none of who has none any more.
    pub(super) sealing: HashMap<CustomerPubId, Option<SealingKey>>,
    /// Customers whom it has made in that name.
    pub(super) born: HashSet<CustomerPubId>,
    /// What it writes down in that name at its end.
    pub(super) notes: Notes,
    /// The term that it looked for last.
    pub(super) sought: Option<Sought>,
}

impl PgUnitOfWork {
    fn new(connection: Connection, reach: Reach, kind: Kind) -> Self {
        Self {
            connection: Some(connection),
            kind,
            began: reach,
            reach,
            last_commit: None,
            secrets: SecretKeys::none(),
            checkouts: HashMap::new(),
            sealing: HashMap::new(),
            born: HashSet::new(),
            notes: Notes::default(),
            sought: None,
        }
    }

    /// A view, whose transaction begins with its first statement's round trip.
    pub(super) fn view(mut connection: Connection, opening: &[String], reach: Reach) -> Self {
        for ahead in opening {
            connection.send_ahead(ahead);
        }
        Self::new(connection, reach, Kind::View)
    }

    /// The session, for what is sent ahead.
    pub(super) fn session(&mut self) -> Result<&mut Session, StoreError> {
        self.connection
            .as_deref_mut()
            .ok_or_else(|| StoreError::internal("the unit of work is over"))
    }

    /// The connection, for the stores.
    pub(crate) fn connection(&mut self) -> Result<&mut AsyncPgConnection, StoreError> {
        self.session().map(Session::connection)
    }

    /// The number of whose work it is; that of nobody where it is the server's.
    ///
    /// Row security alone would do. But of a table with a door it asks for the organization or the
    /// door, which no index answers: so statements name the organization too.
    pub(crate) const fn owner(&self) -> i64 {
        match self.reach {
            Reach::Organization(organization) => organization.get(),
            Reach::Server => 0,
        }
    }

    /// Whether what it has locked stays as it is until its end.
    pub(super) fn can_lock(&self) -> bool {
        self.kind == Kind::Work
    }

    async fn execute(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection()?
            .batch_execute(sql)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn finish(mut self) -> Result<(), StoreError> {
        if self.kind == Kind::Work {
            self.write_down().await?;
            match self.last_commit.take() {
                Some(last_commit) => self.commit_noted(&last_commit).await?,
                None => self.execute(COMMIT).await?,
            }
            self.connection = None;
        }
        Ok(())
    }

    /// Commits, and notes how far the log has come then.
    async fn commit_noted(&mut self, last_commit: &LastCommit) -> Result<(), StoreError> {
        let (committed, told) = self.session()?.execute_and_locate(COMMIT).await;
        committed.map_err(store_error)?;
        // The work is done, whatever was said then. But whoever does not know how far the log has come
        // would not be shown it, so that it is as if nobody had heard of it.
        let position = told.map_err(StoreError::unavailable)?;
        last_commit.note(position.into());
        Ok(())
    }
}

impl Drop for PgUnitOfWork {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        match self.kind {
            Kind::View if !connection.is_under_way() => {
                // Whoever has the connection next need not wait for it either.
                connection.send_ahead("COMMIT");
                return;
            }
            Kind::Glances if !connection.is_under_way() => return,
            Kind::View | Kind::Glances | Kind::Work => {}
        }
        // The pool takes a connection back as it is: with the transaction open, and
        // with every lock that it holds, until somebody happens to take it again. A
        // closed one the server rolls back at once. This is also what becomes of a
        // request that was cancelled.
        connection.close();
    }
}

#[async_trait]
impl Database for PgDatabase {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(self.begin_work(reach).await?))
    }

    /// The transaction of a view begins with its first statement's round trip, and its end is
    /// nobody's to wait for: it costs no more of them than reading without one. Where nothing is ever written, a session that is asked
    /// for the same organization again needs none.
    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let mut connection = self.pool.get(reach).await?;
        let needs_none = match reach {
            Reach::Organization(organization) if self.pool.reads_alone() => {
                connection.shows(organization).await.map_err(store_error)?
            }
            Reach::Organization(_) | Reach::Server => false,
        };
        let mut view = if needs_none {
            PgUnitOfWork::new(connection, reach, Kind::Glances)
        } else {
            let opening = self.pool.opening("BEGIN READ ONLY", reach, &connection);
            PgUnitOfWork::view(connection, &opening, reach)
        };
        view.secrets = self.secrets.clone();
        Ok(Box::new(view))
    }
}

#[async_trait]
impl UnitOfWork for PgUnitOfWork {
    fn organizations(&mut self) -> &mut dyn OrganizationStore {
        self
    }

    fn pickup_locations(&mut self) -> &mut dyn PickupLocationStore {
        self
    }

    fn keys(&mut self) -> &mut dyn KeyStore {
        self
    }

    fn customers(&mut self) -> &mut dyn CustomerStore {
        self
    }

    fn lease_terms(&mut self) -> &mut dyn LeaseTermStore {
        self
    }

    fn categories(&mut self) -> &mut dyn CategoryStore {
        self
    }

    fn products(&mut self) -> &mut dyn ProductStore {
        self
    }

    fn variants(&mut self) -> &mut dyn VariantStore {
        self
    }

    fn checkouts(&mut self) -> &mut dyn CheckoutStore {
        self
    }

    fn agreements(&mut self) -> &mut dyn AgreementStore {
        self
    }

    fn shipments(&mut self) -> &mut dyn ShipmentStore {
        self
    }

    fn jobs(&mut self) -> &mut dyn JobStore {
        self
    }

    fn inbox(&mut self) -> &mut dyn InboxStore {
        self
    }

    fn ledger(&mut self) -> &mut dyn LedgerStore {
        self
    }

    fn processor_accounts(&mut self) -> &mut dyn ProcessorAccountStore {
        self
    }

    fn cursors(&mut self) -> &mut dyn CursorStore {
        self
    }

    fn idempotency(&mut self) -> &mut dyn IdempotencyStore {
        self
    }

    fn credit_policies(&mut self) -> &mut dyn CreditPolicyStore {
        self
    }

    fn qualifications(&mut self) -> &mut dyn QualificationStore {
        self
    }

    fn audit(&mut self) -> &mut dyn AuditStore {
        self
    }

    fn events(&mut self) -> &mut dyn EventStore {
        self
    }

    fn webhook_endpoints(&mut self) -> &mut dyn WebhookEndpointStore {
        self
    }

    fn deliveries(&mut self) -> &mut dyn DeliveryStore {
        self
    }

    fn mails(&mut self) -> &mut dyn MailStore {
        self
    }

    fn personal_data(&mut self) -> &mut dyn PersonalDataStore {
        self
    }

    fn doors(&mut self) -> &mut dyn Doors {
        self
    }

    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
        let entered = Reach::Organization(organization);
        if self.began != Reach::Server && self.began != entered {
            return Err(StoreError::internal(
                "work that began in one organization's name does not go on in another's",
            ));
        }
        if self.reach != entered {
            self.write_down().await?;
            self.session()?.send_ahead(&in_the_name_of(organization));
            self.reach = entered;
            self.checkouts.clear();
            self.sealing.clear();
            self.born.clear();
        }
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        (*self).finish().await
    }

    async fn roll_back(mut self: Box<Self>) -> Result<(), StoreError> {
        if self.kind == Kind::Work {
            self.notes = Notes::default();
            self.execute("ROLLBACK").await?;
            self.connection = None;
        }
        Ok(())
    }
}
