//! A database for each test, in milliseconds: a copy of a template that was
//! migrated once, on a server that the test process owns.
//!
//! With `LESSOR_TEST_CITUS`, the address of a cluster's coordinator, it is a database of that cluster, whose
//! tables are spread over its nodes.
//!
//! ```no_run
//! # async fn example() {
//! use lessor_adapters::testing::TestDatabase;
//! use lessor_domain::ports::{Database, Reach};
//!
//! let test = TestDatabase::create().await;
//! let mut work = test.database().begin(Reach::Server).await.unwrap();
//! assert!(work.organizations().list().await.unwrap().is_empty());
//! # }
//! ```
#![expect(clippy::panic, reason = "tests have nothing to do without a database")]

mod cluster;
pub mod pooler;
mod replica;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lessor_embedded_postgres::{Instance, throwaway};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use self::cluster::Cluster;
use crate::postgres::{PgDatabase, PgSettings, SecretKeys};

pub use self::replica::ReplicaPair;

const TEMPLATE: &str = "lessor_template";
/// Tests run in parallel, and some of them use many connections.
const MAX_CONNECTIONS: u16 = 400;
/// How long work waits for a connection: on a busy machine one that is made anew is late, which is no defect.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the databases of tests seal secrets with.
#[must_use]
pub fn secrets() -> SecretKeys {
    SecretKeys::new([[7; SecretKeys::LENGTH]])
}

/// The server of this process. It is never dropped; the kernel ends it with the process.
static SERVER: OnceCell<Server> = OnceCell::const_new();

enum Server {
    /// One that this process owns.
    Own {
        instance: Instance,
        /// How databases are copied: by files, where the server is asked for it.
        strategy: &'static str,
    },
    /// Somebody's cluster.
    Cluster(Cluster),
}

impl Server {
    fn url_of(&self, database: &str) -> String {
        match self {
            Self::Own { instance, .. } => instance.url_of(database),
            Self::Cluster(cluster) => cluster.url_of(database),
        }
    }

    /// The name of the test's database of this number, which nobody else's has.
    fn name_of(&self, number: u32) -> String {
        match self {
            Self::Own { .. } => format!("test_{number}"),
            Self::Cluster(_) => format!("test_{}_{number}", std::process::id()),
        }
    }

    async fn copy(&self, template: &str, name: &str) {
        match self {
            Self::Own { instance, strategy } => {
                let sql = format!("CREATE DATABASE {name} TEMPLATE {template} {strategy}");
                administer(&instance.url_of("postgres"), &sql).await;
            }
            Self::Cluster(cluster) => cluster.copy(template, name).await,
        }
    }
}

/// Whether tests have a cluster under them: what they ask of one server's own catalog and plans is not there.
#[must_use]
pub fn is_cluster() -> bool {
    cluster::address().is_some()
}

/// A migrated database of its own, dropped with this value.
pub struct TestDatabase {
    name: String,
    url: String,
    database: PgDatabase,
}

impl TestDatabase {
    /// Creates a migrated database without any record.
    ///
    /// # Panics
    /// When no PostgreSQL can be started.
    pub async fn create() -> Self {
        Self::copy_of(TEMPLATE).await
    }

    /// Creates a database without any table.
    ///
    /// # Panics
    /// When no PostgreSQL can be started.
    pub async fn create_empty() -> Self {
        Self::copy_of("template0").await
    }

    async fn copy_of(template: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = SERVER.get_or_init(start).await;
        let name = server.name_of(NEXT.fetch_add(1, Ordering::Relaxed));
        server.copy(template, &name).await;
        let url = server.url_of(&name);
        let mut settings = PgSettings::new(&url);
        settings.secrets = secrets();
        settings.wait_timeout = PATIENCE;
        let database = must(PgDatabase::new(&settings), "connect");
        Self {
            name,
            url,
            database,
        }
    }

    /// Where the database is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The stores, with up to ten connections.
    #[must_use]
    pub const fn database(&self) -> &PgDatabase {
        &self.database
    }

    /// Runs statements beside the stores, such as those that make what stores never would.
    ///
    /// # Panics
    /// When a statement fails.
    pub async fn execute(&self, sql: &str) {
        administer(&self.url, sql).await;
    }

    /// What a query answers: the first column of each row, as text.
    ///
    /// # Panics
    /// When the query fails.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        administer(&self.url, sql).await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(server) = SERVER.get() else { return };
        let urls = match server {
            Server::Own { instance, .. } => vec![instance.url_of("postgres")],
            Server::Cluster(cluster) => cluster.nodes_of("postgres"),
        };
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // The runtime of the test may be ending, so this has one of its own. Nobody waits for it: the
        // server waits here for each of its sessions, and one of them may be about to hear from the
        // thread that would be waiting.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = must(runtime, "build a runtime");
            for url in urls {
                runtime.block_on(administer(&url, &sql));
            }
        });
    }
}

async fn start() -> Server {
    if let Some(coordinator) = cluster::address() {
        return Server::Cluster(Cluster::start(&coordinator).await);
    }
    let started = tokio::task::spawn_blocking(|| throwaway(MAX_CONNECTIONS, |_| {})).await;
    let instance = must(must(started, "start PostgreSQL"), "start PostgreSQL");
    let admin = instance.url_of("postgres");
    let version = administer(&admin, "SHOW server_version_num").await;
    let strategy = match version.first().map(String::as_str) {
        Some(number) if number >= "150000" => "STRATEGY file_copy",
        _ => "",
    };
    administer(&admin, &format!("CREATE DATABASE {TEMPLATE}")).await;
    let template = must(
        PgDatabase::new(&PgSettings::new(instance.url_of(TEMPLATE))),
        "connect",
    );
    must(template.migrate(|_| {}).await, "migrate");
    Server::Own { instance, strategy }
}

/// Runs statements on a connection of their own; answers the first column of the rows.
async fn administer(url: &str, sql: &str) -> Vec<String> {
    let (client, connection) = must(tokio_postgres::connect(url, NoTls).await, "connect");
    let driver = tokio::spawn(connection);
    let messages = must(client.simple_query(sql).await, sql);
    drop(client);
    // Over when the session was told to end, whatever becomes of the runtime.
    must(must(driver.await, "disconnect"), "disconnect");
    messages
        .iter()
        .filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => {
                Some(row.get(0).unwrap_or_default().to_owned())
            }
            _ => None,
        })
        .collect()
}

fn must<T, E: Debug>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("cannot {what}: {error:?}"))
}
