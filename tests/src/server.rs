//! A server on a database of its own.

use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lessor_adapters::testing::pooler::Pooler;
use lessor_adapters::testing::{ReplicaPair, TestDatabase};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::client::Client;
use crate::contract::Contract;
use crate::process::{Folder, answer, bare, lessor, postmaster, run};
use crate::running::Running;
use crate::tap::Tap;
use crate::{refuse, text};

/// An upper bound for what a test waits for; nothing waits this long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What carriers' messages are signed with at every server here.
pub const TRACKING_SECRET: &str = "whsec_bGVzc29yLXRlc3RzLXRyYWNraW5nLXNlY3JldC0xMjM=";

/// What the processor's messages of live mode are signed with at every server here.
pub const PROCESSOR_SECRET: &str = "whsec_of_the_tests";

/// What the processor's messages of sandbox mode are signed with at every server here.
pub const PROCESSOR_SANDBOX_SECRET: &str = "whsec_of_the_tests_of_sandbox_mode";

/// The key of every server here that is on a copy of the template. One with the embedded database makes its own.
pub const SERVER_KEY: &str = "the key of the servers of the tests";

/// Where a server's data are.
enum Data {
    /// A database of its own on the server of this test process, which keeps nothing.
    Copy(TestDatabase),
    /// The same, with a tap on the line to it.
    Tapped(TestDatabase, Tap),
    /// The same, behind a pooler that hands sessions on with each transaction.
    Pooled(TestDatabase, Pooler),
    /// A database with a replica, and a tap on the line to that.
    Pair(Box<ReplicaPair>, Tap),
    /// A folder, with the durable database that the binary runs itself.
    Embedded(Folder),
    /// The database at this address, which another server here brought.
    Beside(String),
}

/// The binary, serving.
pub struct Server {
    binary: &'static str,
    process: Running,
    data: Data,
    contract: Arc<Contract>,
    /// Where it is reached.
    pub url: String,
    /// Where operators reach it, where they have a listener of their own.
    pub operators: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// The server that the tests of a binary share. Each has an organization of its own there.
    pub async fn shared(binary: &'static str) -> &'static Self {
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(binary, &[])).await
    }

    /// A server of the caller's own, with these flags.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(binary: &'static str, flags: &[&str]) -> Self {
        Self::serve(binary, Data::Copy(TestDatabase::create().await), flags).await
    }

    /// A server of the caller's own, with these flags, and the tap on its line to the database.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn tapped(binary: &'static str, flags: &[&str]) -> (Self, Tap) {
        let database = TestDatabase::create().await;
        let tap = Tap::on(database.url()).await;
        let data = Data::Tapped(database, tap.clone());
        (Self::serve(binary, data, flags).await, tap)
    }

    /// A server of the caller's own with a replica for lists, and the tap on its line to that; none
    /// where there can be no replica, which is said.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn replicated(binary: &'static str) -> Option<(Self, Tap)> {
        let servers = ReplicaPair::start().await?;
        let tap = Tap::on(servers.replica_url()).await;
        let data = Data::Pair(Box::new(servers), tap.clone());
        Some((Self::serve(binary, data, &[]).await, tap))
    }

    /// A server of the caller's own, behind a pooler that hands sessions on with each transaction.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn pooled(binary: &'static str, database: TestDatabase, pooler: Pooler) -> Self {
        Self::serve(binary, Data::Pooled(database, pooler), &[]).await
    }

    /// A server of the caller's own, with the embedded, durable database.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn embedded(binary: &'static str, name: &str) -> Self {
        Self::serve(binary, Data::Embedded(Folder::new(name)), &[]).await
    }

    /// Another server on the same database, with these flags. It ends before this one is dropped, or its database
    /// is gone.
    ///
    /// # Panics
    /// When it does not start, or the database is this process's own.
    pub async fn beside(&self, flags: &[&str]) -> Self {
        let url = match &self.data {
            Data::Copy(database) => database.url().to_owned(),
            Data::Tapped(_, tap) => tap.url.clone(),
            Data::Pooled(_, pooler) => pooler.url().to_owned(),
            Data::Pair(servers, _) => servers.url().to_owned(),
            Data::Beside(url) => url.clone(),
            Data::Embedded(_) => refuse("the embedded database is the server's own"),
        };
        Self::serve(self.binary, Data::Beside(url), flags).await
    }

    async fn serve(binary: &'static str, data: Data, flags: &[&str]) -> Self {
        let mut command = Self::command_on(binary, &data);
        command
            .env("LESSOR_TRACKING_WEBHOOK_SECRETS", TRACKING_SECRET)
            .env("LESSOR_MAIL_WEBHOOK_SECRET", TRACKING_SECRET)
            // Requests that wait for each other on a busy machine are not what most tests are about.
            .env("LESSOR_DATABASE_WAIT", "30s")
            .env("LESSOR_REQUEST_DEADLINE", "60s")
            // All tests come from one address, and some ask without end. A test of limits sets them by flags.
            .env("LESSOR_RATE_LIMIT", "off")
            .env("LESSOR_ADDRESS_RATE_LIMIT", "off")
            .env("LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", PROCESSOR_SECRET)
            .env(
                "LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS",
                PROCESSOR_SANDBOX_SECRET,
            )
            .args(["--json", "serve", "--listen", "127.0.0.1:0"])
            .args(flags);
        let process = Running::start(&mut command);
        let url = process.url.clone();
        assert!(!url.is_empty(), "the server said {}", process.said);
        let contract = Contract::of(&url).await;
        Self {
            binary,
            operators: process.operators.clone(),
            process,
            data,
            contract,
            url,
        }
    }

    fn command_on(binary: &str, data: &Data) -> Command {
        match data {
            Data::Copy(database) => {
                let mut command = bare(binary);
                command
                    .env("DATABASE_URL", database.url())
                    .env("LESSOR_SERVER_SECRET", SERVER_KEY);
                command
            }
            Data::Tapped(_, tap) => {
                let mut command = bare(binary);
                command
                    .env("DATABASE_URL", &tap.url)
                    .env("LESSOR_SERVER_SECRET", SERVER_KEY);
                command
            }
            Data::Pair(servers, tap) => {
                let mut command = bare(binary);
                command
                    .env("DATABASE_URL", servers.url())
                    .env("LESSOR_REPLICA_URL", &tap.url)
                    .env("LESSOR_SERVER_SECRET", SERVER_KEY);
                command
            }
            Data::Pooled(_, pooler) => {
                let mut command = bare(binary);
                command
                    .env("DATABASE_URL", pooler.url())
                    .env("LESSOR_DATABASE_POOLING", "transaction")
                    .env("LESSOR_SERVER_SECRET", SERVER_KEY);
                command
            }
            Data::Embedded(folder) => lessor(binary, folder),
            Data::Beside(url) => {
                let mut command = bare(binary);
                command
                    .env("DATABASE_URL", url)
                    .env("LESSOR_SERVER_SECRET", SERVER_KEY);
                command
            }
        }
    }

    /// The binary beside the running server, on the same data.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Self::command_on(self.binary, &self.data);
        command.args(arguments);
        command
    }

    /// A worker beside the running server, which works when this returns.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn worker(&self) -> Running {
        let arguments = ["--json", "worker", "--ops-listen", "127.0.0.1:0"];
        let worker = Running::start(&mut self.command(&arguments));
        assert_eq!(worker.said["status"], "working", "{}", worker.said);
        worker
    }

    /// What a command beside the running server answers with `--json`.
    pub fn cli(&self, arguments: &[&str]) -> Value {
        answer(&mut self.command(arguments))
    }

    /// A command that must be refused: its status and what it says on standard error.
    ///
    /// # Panics
    /// When it succeeds, or says anything on standard output.
    pub fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = run(&mut self.command(arguments));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?} was taken");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.is_empty(), "{arguments:?}: {printed}");
        (output.status.code().unwrap_or(-1), said)
    }

    /// What the answers of the server are to be like.
    #[must_use]
    pub fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    /// An organization of its own with a sandbox key for everything. The names of the user are those
    /// of a customer who needs no profile to be asked for.
    pub async fn client(&self) -> Client {
        self.client_of(&["--name", "Road Bikes"]).await
    }

    /// Like [`Server::client`], with these flags of `org create`.
    pub async fn client_of(&self, flags: &[&str]) -> Client {
        let mut arguments = vec!["org", "create"];
        arguments.extend_from_slice(flags);
        let organization = self.cli(&arguments);
        let public_id = text(&organization["publicId"]);
        let key = self.key(&public_id, "sandbox", "all");
        Client::new(
            self.url.clone(),
            Arc::clone(&self.contract),
            public_id,
            organization["id"].as_i64().unwrap_or_default(),
            key,
        )
    }

    /// A new key of an organization.
    #[must_use]
    pub fn key(&self, organization: &str, mode: &str, permissions: &str) -> String {
        text(&self.key_record(organization, mode, permissions, &[])["key"])
    }

    /// A new key of an organization, as `key create` shows it.
    #[must_use]
    pub fn key_record(
        &self,
        organization: &str,
        mode: &str,
        permissions: &str,
        flags: &[&str],
    ) -> Value {
        let mut arguments = vec![
            "key",
            "create",
            "--org",
            organization,
            "--mode",
            mode,
            "--permissions",
            permissions,
            "--user",
            "staff@example.com",
        ];
        arguments.extend_from_slice(flags);
        self.cli(&arguments)
    }

    /// What a query of its database answers: the first column of each row.
    ///
    /// # Panics
    /// When the database is the embedded one, or the query fails.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        match &self.data {
            Data::Copy(database) | Data::Tapped(database, _) | Data::Pooled(database, _) => {
                database.query(sql).await
            }
            Data::Pair(servers, _) => servers.query(sql).await,
            Data::Embedded(_) => refuse("the embedded database is the server's own"),
            Data::Beside(_) => refuse("the database is another server's"),
        }
    }

    /// The process of the embedded database, once that takes connections.
    ///
    /// # Panics
    /// When the database is another one.
    #[must_use]
    pub fn postmaster(&self) -> Option<Pid> {
        let Data::Embedded(folder) = &self.data else {
            refuse("the database is not the embedded one");
        };
        postmaster(folder)
    }

    /// The pooler in front of its database.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn pooler(&self) -> &Pooler {
        match &self.data {
            Data::Pooled(_, pooler) => pooler,
            _ => refuse("there is no pooler in front of the database"),
        }
    }

    /// The database and its replica.
    ///
    /// # Panics
    /// When there is no replica.
    pub fn servers(&mut self) -> &mut ReplicaPair {
        match &mut self.data {
            Data::Pair(servers, _) => servers,
            _ => refuse("the database has no replica"),
        }
    }

    /// What the database holds, as one hash for each table, but for what a mere look changes and for the numbers
    /// that events are given some time after they were written.
    pub async fn contents(&self) -> Vec<String> {
        let mut contents = Vec::new();
        for table in self.tables().await {
            let rows = match table.as_str() {
                "api_key_uses" | "event_feeds" | "unnumbered_events" => continue,
                "events" => {
                    "SELECT to_jsonb(t) - 'sequence' AS row FROM events t \
                     UNION ALL SELECT to_jsonb(t) - 'written' FROM unnumbered_events t"
                }
                other => &format!("SELECT to_jsonb(t) AS row FROM {other} t"),
            };
            let sql = format!(
                "SELECT count(*) || ' ' || coalesce(md5(string_agg(row::text, ',' ORDER BY row::text)), '') \
                 FROM ({rows}) AS rows"
            );
            let hash = self.query(&sql).await.join("");
            contents.push(format!("{table} {hash}"));
        }
        contents
    }

    /// The tables of its database in which something is kept that contains a text.
    pub async fn tables_with(&self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for table in self.tables().await {
            let sql = format!(
                "SELECT DISTINCT '{table}' FROM {table} t, unnest(ARRAY['{text}', encode('{text}'::bytea, 'hex')]) \
                 AS form WHERE strpos(to_jsonb(t)::text, form) > 0"
            );
            found.extend(self.query(&sql).await);
        }
        found
    }

    async fn tables(&self) -> Vec<String> {
        let tables =
            "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY 1";
        self.query(tables).await
    }

    /// Tells the process something.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// The most memory that the process had since this was asked last, in KiB.
    ///
    /// # Panics
    /// When it is gone, or the system does not tell.
    pub fn peak_memory(&self) -> u64 {
        self.process.peak_memory()
    }

    /// Waits until the process has ended; answers its status.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.wait()
    }

    /// Kills the process and starts it again on the same data.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn kill_and_restart(self) -> Self {
        self.kill_and_restart_with(&[]).await
    }

    /// [`kill_and_restart`](Self::kill_and_restart), with these flags.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn kill_and_restart_with(self, flags: &[&str]) -> Self {
        let Self {
            binary,
            process,
            data,
            ..
        } = self;
        drop(process);
        Self::serve(binary, data, flags).await
    }
}
