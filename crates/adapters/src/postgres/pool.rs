//! Connections: how they are made, checked and kept.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult, TimeoutType,
    Timeouts,
};
use diesel::ConnectionError;
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use lessor_domain::cause::tried;
use lessor_domain::ports::{Reach, StoreError};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::connect::ConnectOptions;
use super::line::{Session, Silence};
use super::pooling::Pooling;
use super::secrets::SecretKeys;
use super::turns::{Late, Turn, Turns};
use super::unit_of_work::{IN_NOBODYS_NAME, in_the_name_of};
use super::url::InvalidUrl;

/// A connection that was idle for longer is asked whether it lives before it is
/// used; one that was just used is taken for alive, which saves a round trip. Longer than a worker
/// that has nothing to do pauses between two looks, each of which would ask first.
const TRUSTED_FOR: Duration = Duration::from_secs(3);
/// How long it may take to say that it lives.
const PROBE: Duration = Duration::from_secs(2);

/// Where the database is and how it is used.
#[derive(Clone)]
pub struct PgSettings {
    /// `postgres://user:password@host/database?sslmode=…`.
    pub url: String,
    /// The most connections of this pool, at least 1.
    pub max_connections: usize,
    /// How long work waits for a connection before it is turned away.
    pub wait_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a statement may run. The database keeps it; where it does not answer a second later
    /// either, the connection is given up.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock.
    pub lock_timeout: Duration,
    /// How long a transaction may lie idle before the server ends its connection.
    pub idle_in_transaction_timeout: Duration,
    /// How long migrating waits for others who migrate before it is given up.
    pub migration_wait: Duration,
    /// For how long a session of the database is ours.
    pub pooling: Pooling,
    /// What organizations' secrets are sealed with.
    pub secrets: SecretKeys,
    /// Whether nothing is ever written. A view is then no transaction where its session shows the organization's rows
    /// already, and the sessions refuse to write.
    pub reads_alone: bool,
}

impl PgSettings {
    /// Ten connections; 3 s to get one, 5 s to connect, 5 s for a lock, 30 s for a
    /// statement and for an idle transaction, 5 min for others who migrate; sessions of its own;
    /// no key for secrets; for reads and writes.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_connections: 10,
            wait_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(5),
            idle_in_transaction_timeout: Duration::from_secs(30),
            migration_wait: Duration::from_secs(300),
            pooling: Pooling::Session,
            secrets: SecretKeys::none(),
            reads_alone: false,
        }
    }

    /// What is set for as long as a session is ours.
    ///
    /// English messages, since errors are told apart by them, and a server that notices a closed
    /// connection while a statement waits. Both are asked for and not insisted on: the first needs a
    /// right, the second an operating system, that may be missing.
    ///
    /// Whoever stands above row security, which keeps organizations apart, acts as somebody who does
    /// not; where that is forbidden there is no session. Before the first migration there is nobody to
    /// act as, and no row.
    ///
    /// Plans are made once for each statement of a session, whatever is bound: to plan a list anew costs more
    /// than to answer it. What a partial index is chosen by is therefore written out, not bound. A cluster's
    /// coordinator is left to choose: of statements that name no organization it has no plan for every value.
    ///
    /// Nothing is compiled for a plan: what a row security's condition lets through the planner cannot know, and takes for
    /// dear what takes a millisecond. To compile that took 90. Nor is it shared out among processes, which take longer to
    /// begin than a page takes to be read, and take processors from others.
    ///
    /// A page here and there is taken for hardly dearer than the next one: what is read often lies in memory, and few disks seek. By the
    /// database's own measure, of disks that do, a list of twenty leases read all of a thousand, with their items and decisions.
    ///
    /// On a cluster every node is told for whom a transaction works; elsewhere nobody reads that setting.
    fn opening_sql(&self, shows: Shows) -> String {
        let (set, is_local) = match self.pooling {
            Pooling::Session => ("SET", false),
            Pooling::Transaction => ("SET LOCAL", true),
        };
        let if_there = match shows {
            Shows::Tables => "AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'lessor_app')",
            Shows::Replay => "",
        };
        let wish = |name: &str, value: &str| {
            format!(
                "BEGIN PERFORM set_config('{name}', '{value}', {is_local}); EXCEPTION WHEN OTHERS THEN NULL; END;"
            )
        };
        // Where it is off, it is for whoever runs the database to say.
        let read_only = if self.reads_alone {
            format!("{set} default_transaction_read_only = on; ")
        } else {
            String::new()
        };
        format!(
            "{read_only}{set} statement_timeout = {}; {set} lock_timeout = {}; \
             {set} idle_in_transaction_session_timeout = {}; {set} jit = off; \
             {set} max_parallel_workers_per_gather = 0; {set} random_page_cost = 1.1; \
             DO $$ BEGIN {} {} \
             IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') \
             THEN {set} plan_cache_mode = force_generic_plan; END IF; \
             IF EXISTS (SELECT FROM pg_roles WHERE rolname = session_user AND (rolsuper OR rolbypassrls)) \
             {} THEN {set} ROLE lessor_app; END IF; END $$; \
             {set} citus.propagate_set_commands = 'local'",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            self.idle_in_transaction_timeout.as_millis(),
            wish("lc_messages", "C"),
            wish("client_connection_check_interval", "1s"),
            if_there,
        )
    }
}

impl fmt::Debug for PgSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL holds a password.
        f.debug_struct("PgSettings")
            .field("max_connections", &self.max_connections)
            .field("wait_timeout", &self.wait_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field(
                "idle_in_transaction_timeout",
                &self.idle_in_transaction_timeout,
            )
            .field("migration_wait", &self.migration_wait)
            .field("pooling", &self.pooling)
            .field("secrets", &self.secrets)
            .field("reads_alone", &self.reads_alone)
            .finish_non_exhaustive()
    }
}

/// What a server shows from the beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// What its own migrations have made.
    Tables,
    /// Whatever another server does, whenever it comes to that: a session from before the first
    /// migration would stand above row security ever after.
    Replay,
}

/// For migrations, which may take and wait as long as they need, and are the tables' owner's to do.
const PATIENT_SESSION_SQL: &str = "RESET ROLE; SET statement_timeout = 0; SET lock_timeout = 0; \
    SET idle_in_transaction_session_timeout = 0; SET citus.multi_shard_modify_mode = 'sequential'";

/// A connection of the pool, for a turn.
pub(super) struct Connection {
    session: Object<PgManager>,
    /// Given back after the session, which whoever is next has then.
    _turn: Turn,
}

impl Connection {
    /// Closes it: the pool makes another when one is needed.
    pub(super) fn close(self) {
        drop(Object::take(self.session));
    }
}

impl Deref for Connection {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

/// Makes connections for the pool and checks them.
pub(super) struct PgManager {
    options: ConnectOptions,
    pooling: Pooling,
    reads_alone: bool,
    opening_sql: String,
    statement_timeout: Duration,
    silence: Arc<Silence>,
}

impl PgManager {
    async fn connect(&self) -> Result<Session, ConnectionError> {
        self.options
            .connect(self.statement_timeout, &self.silence)
            .await
    }
}

impl Manager for PgManager {
    /// Moved with each use, several times: what there is of it stays where it is.
    type Type = Box<Session>;
    type Error = ConnectionError;

    async fn create(&self) -> Result<Box<Session>, ConnectionError> {
        // Aside: whoever takes a session that there is makes no room for making one.
        let mut session = Box::new(Box::pin(self.connect()).await?);
        if self.pooling == Pooling::Session {
            let opening = session.connection().batch_execute(&self.opening_sql);
            Box::pin(opening)
                .await
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
        }
        Ok(session)
    }

    async fn recycle(
        &self,
        session: &mut Box<Session>,
        metrics: &Metrics,
    ) -> RecycleResult<ConnectionError> {
        if session.is_over() || session.connection().is_broken() {
            return Err(RecycleError::message("closed"));
        }
        if session.is_under_way() {
            // Of a request that was cut off. What comes next would wait for it.
            return Err(RecycleError::message("a statement is under way"));
        }
        if session.keeps_too_many() {
            return Err(RecycleError::message(
                "it keeps too many statements prepared",
            ));
        }
        let unused = metrics.last_used();
        if self.silence.covers(unused) {
            return Err(RecycleError::message("silent, as another was"));
        }
        if unused > TRUSTED_FOR {
            let asked = Box::pin(session.connection().batch_execute("SELECT"));
            let asked = timeout(PROBE, asked).await;
            let answered = asked.map_err(|_| {
                self.silence.note();
                RecycleError::message("silent")
            })?;
            answered.map_err(|error| RecycleError::message(error.to_string()))?;
        }
        Ok(())
    }
}

/// Connections in use and at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStatus {
    /// The most there may be.
    pub max: usize,
    /// Those there are.
    pub open: usize,
    /// Those nobody uses.
    pub idle: usize,
    /// Tasks that wait for one.
    pub waiting: usize,
}

/// That there is no connection, as the domain's error.
pub(super) fn no_connection(error: PoolError<ConnectionError>) -> StoreError {
    StoreError::unavailable(match error {
        PoolError::Timeout(_) => tried("no connection to the database is free", error),
        PoolError::Backend(error) => tried("cannot connect to the database", error),
        other => other.into(),
    })
}

/// A pool of connections to one database.
#[derive(Clone)]
pub(super) struct PgPool {
    pool: Pool<PgManager>,
    turns: Turns,
}

impl PgPool {
    pub(super) fn new(settings: &PgSettings) -> Result<Self, InvalidUrl> {
        Self::showing(settings, Shows::Tables)
    }

    /// Connections to a replica, to read rows there.
    pub(super) fn of_replica(settings: &PgSettings) -> Result<Self, InvalidUrl> {
        Self::showing(settings, Shows::Replay)
    }

    fn showing(settings: &PgSettings, shows: Shows) -> Result<Self, InvalidUrl> {
        let manager = PgManager {
            options: ConnectOptions::parse(&settings.url, settings.connect_timeout)?,
            pooling: settings.pooling,
            reads_alone: settings.reads_alone,
            opening_sql: settings.opening_sql(shows),
            statement_timeout: settings.statement_timeout,
            silence: Arc::default(),
        };
        let most = settings.max_connections.max(1);
        let pool = Pool::builder(manager)
            .max_size(most)
            // Taken in turn, none would have been used just now where there is little to do.
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts {
                wait: Some(settings.wait_timeout),
                create: Some(settings.connect_timeout),
                recycle: Some(settings.connect_timeout),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| InvalidUrl::new(error.to_string()))?;
        Ok(Self {
            pool,
            turns: Turns::new(most, settings.wait_timeout),
        })
    }

    /// A connection that was alive a moment ago, for work in this name, when it is its turn.
    pub(super) async fn get(&self, reach: Reach) -> Result<Connection, StoreError> {
        self.take(reach).await.map_err(no_connection)
    }

    /// Like [`PgPool::get`], with what the pool itself says where there is none.
    pub(super) async fn take(
        &self,
        reach: Reach,
    ) -> Result<Connection, PoolError<ConnectionError>> {
        let turn = self.turns.take(reach).await;
        Ok(Connection {
            _turn: turn.map_err(|Late| PoolError::Timeout(TimeoutType::Wait))?,
            session: self.pool.get().await?,
        })
    }

    /// Closes the connections that nobody uses.
    pub(super) fn forget_idle(&self) {
        let _ = self.pool.retain(|_, _| false);
    }

    /// For how long a session is ours.
    pub(super) fn pooling(&self) -> Pooling {
        self.pool.manager().pooling
    }

    /// Whether views may do without a transaction.
    pub(super) fn reads_alone(&self) -> bool {
        let manager = self.pool.manager();
        manager.reads_alone && manager.pooling == Pooling::Session
    }

    /// How a transaction begins: messages that follow each other on the line, in one round trip.
    ///
    /// For whom it works is said by a message of its own: a cluster hands each node on which the
    /// transaction goes on the whole message that a setting came with.
    pub(super) fn opening(&self, begin: &str, reach: Reach, session: &Session) -> Vec<String> {
        let manager = self.pool.manager();
        let mut opening = vec![format!("{begin} ISOLATION LEVEL READ COMMITTED")];
        if manager.pooling == Pooling::Transaction {
            opening.push(manager.opening_sql.clone());
        }
        match reach {
            Reach::Organization(organization) => opening.push(in_the_name_of(organization)),
            Reach::Server if session.may_show_any() => opening.push(IN_NOBODYS_NAME.to_owned()),
            Reach::Server => {}
        }
        opening
    }

    /// A connection outside the pool in which nothing is set.
    pub(super) async fn connect_bare(&self) -> Result<Session, ConnectionError> {
        self.pool.manager().connect().await
    }

    /// A connection of its own by which tables are copied, in which nothing is set.
    pub(super) async fn client(&self) -> Result<Client, tokio_postgres::Error> {
        self.pool.manager().options.client().await
    }

    /// Listens to channels, by a connection of its own, until that ends, and tells by one of them.
    pub(super) async fn listen(
        &self,
        channels: &[&str],
        tell: Option<(&str, &Notify)>,
        heard: impl FnMut(Option<(&str, &str)>) + Send,
    ) -> Result<(), tokio_postgres::Error> {
        let options = &self.pool.manager().options;
        options.listen(channels, tell, heard).await
    }

    /// A connection outside the pool that waits for locks as long as it takes, where its session is its
    /// own.
    pub(super) async fn connect_patiently(&self) -> Result<AsyncPgConnection, ConnectionError> {
        let mut connection = self.pool.manager().create().await?.into_patient();
        if self.pooling() == Pooling::Session {
            connection
                .batch_execute(PATIENT_SESSION_SQL)
                .await
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
        }
        Ok(connection)
    }

    pub(super) fn status(&self) -> PoolStatus {
        let status = self.pool.status();
        PoolStatus {
            max: status.max_size,
            open: status.size,
            idle: status.available,
            waiting: self.turns.waiting(),
        }
    }
}
