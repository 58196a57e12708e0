//! A database for each test, in milliseconds: a copy of a template that was
//! migrated once, on a server that the test process owns.
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

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};

use lessor_embedded_postgres::{Instance, throwaway};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use crate::postgres::{PgDatabase, PgSettings};

const TEMPLATE: &str = "lessor_template";
/// Tests run in parallel, and some of them use many connections.
const MAX_CONNECTIONS: u16 = 400;

/// The server of this process. It is never dropped; the kernel ends it with the process.
static SERVER: OnceCell<Server> = OnceCell::const_new();

struct Server {
    instance: Instance,
    /// How databases are copied: by files, where the server is asked for it.
    strategy: &'static str,
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
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let strategy = server.strategy;
        administer(
            &server.instance.url_of("postgres"),
            &format!("CREATE DATABASE {name} TEMPLATE {template} {strategy}"),
        )
        .await;
        let url = server.instance.url_of(&name);
        let database = must(PgDatabase::new(&PgSettings::new(&url)), "connect");
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
        let url = server.instance.url_of("postgres");
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // The runtime of the test may be ending, so this has one of its own. Nobody waits for it: the
        // server waits here for each of its sessions, and one of them may be about to hear from the
        // thread that would be waiting.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            must(runtime, "build a runtime").block_on(administer(&url, &sql));
        });
    }
}

async fn start() -> Server {
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
    Server { instance, strategy }
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
