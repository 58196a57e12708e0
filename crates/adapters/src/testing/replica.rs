//! A server and a streaming replica of it, for one test.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lessor_embedded_postgres::{Instance, Settings, start};
use tokio::time::sleep;

use super::{administer, must};
use crate::postgres::{PgDatabase, PgSettings};

/// What PostgreSQL streams changes with; a distribution may leave it out.
const RECEIVER: &str = "libpqwalreceiver";
/// How often it is looked whether the replica does what is waited for, and how long after each other.
const LOOKS: u32 = 600;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A primary with a migrated database, and a streaming replica of it. Both end with this value.
pub struct ReplicaPair {
    // In the order in which they end.
    replica: Option<Instance>,
    primary: Instance,
    replica_url: String,
    database: PgDatabase,
    _folder: Folder,
}

impl ReplicaPair {
    /// Starts both; none where this machine's PostgreSQL cannot stream, which is said.
    ///
    /// # Panics
    /// When no PostgreSQL can be started, or the replica does not follow.
    pub async fn start() -> Option<Self> {
        let started = tokio::task::spawn_blocking(Servers::start).await;
        let Servers {
            primary,
            replica,
            folder,
        } = must(started, "start PostgreSQL");
        let mut settings = PgSettings::new(primary.url());
        settings.secrets = super::secrets();
        let pair = Self {
            replica_url: replica.url().to_owned(),
            replica: Some(replica),
            database: must(PgDatabase::new(&settings), "connect"),
            primary,
            _folder: folder,
        };
        if !pair.streams().await {
            return None;
        }
        must(pair.database.migrate(|_| {}).await, "migrate");
        pair.caught_up().await;
        Some(pair)
    }

    /// The primary's stores.
    #[must_use]
    pub const fn database(&self) -> &PgDatabase {
        &self.database
    }

    /// Where the primary is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.primary.url()
    }

    /// Where the replica is, or was.
    #[must_use]
    pub fn replica_url(&self) -> &str {
        &self.replica_url
    }

    /// What a query answers on the primary: the first column of each row, as text.
    ///
    /// # Panics
    /// When the query fails.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        administer(self.url(), sql).await
    }

    /// Has the replica replay nothing until it is told to. What it has is read there as before.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn pause(&self) {
        administer(&self.replica_url, "SELECT pg_wal_replay_pause()").await;
        // It is asked to pause, and does at its next record.
        let paused = "SELECT 't' WHERE pg_get_wal_replay_pause_state() = 'paused'";
        self.until(&self.replica_url, paused).await;
    }

    /// Has it go on.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn resume(&self) {
        administer(&self.replica_url, "SELECT pg_wal_replay_resume()").await;
    }

    /// Waits until the replica shows what the primary has by now.
    ///
    /// # Panics
    /// When it does not come there.
    pub async fn caught_up(&self) {
        // A record of its own in the log, behind all that there is.
        let now = administer(self.url(), "SELECT pg_create_restore_point('now')").await;
        let now = now.first().map_or("", String::as_str);
        let there = format!("SELECT 't' WHERE pg_last_wal_replay_lsn() >= '{now}'");
        self.until(&self.replica_url, &there).await;
    }

    /// Has the primary acknowledge nothing that the replica does not have.
    ///
    /// # Panics
    /// When the replica does not follow any more.
    pub async fn synchronous(&self) {
        let wanted = "ALTER SYSTEM SET synchronous_standby_names = '*'";
        administer(self.url(), wanted).await;
        administer(self.url(), "SELECT pg_reload_conf()").await;
        let is_so = "SELECT 't' FROM pg_stat_replication WHERE sync_state = 'sync'";
        self.until(self.url(), is_so).await;
    }

    /// The primary's process.
    #[must_use]
    pub fn primary_pid(&self) -> u32 {
        self.primary.server_pid()
    }

    /// Makes the replica a primary, and waits until it is one.
    ///
    /// # Panics
    /// When it does not become one.
    pub async fn promote(&self) {
        let promoted = administer(&self.replica_url, "SELECT pg_promote()").await;
        assert_eq!(promoted, ["t"], "{}", self.said());
    }

    /// Ends the replica.
    pub fn end_replica(&mut self) {
        drop(self.replica.take());
    }

    /// Whether the replica follows. Says so where it cannot.
    #[expect(clippy::print_stdout, reason = "says what was not tested")]
    async fn streams(&self) -> bool {
        let streaming = "SELECT 't' FROM pg_stat_replication WHERE state = 'streaming'";
        for _ in 0..LOOKS {
            if !administer(self.url(), streaming).await.is_empty() {
                return true;
            }
            if self.said().contains(RECEIVER) {
                println!("SKIPPED: PostgreSQL has no {RECEIVER} here");
                return false;
            }
            sleep(BETWEEN_LOOKS).await;
        }
        panic!("the replica does not follow: {}", self.said())
    }

    /// The replica's log.
    fn said(&self) -> String {
        let folder = self.replica.as_ref().map(Instance::data_dir);
        let log = folder.map(|folder| fs::read_to_string(folder.join("postgres.log")));
        log.and_then(Result::ok).unwrap_or_default()
    }

    async fn until(&self, url: &str, condition: &str) {
        for _ in 0..LOOKS {
            if !administer(url, condition).await.is_empty() {
                return;
            }
            sleep(BETWEEN_LOOKS).await;
        }
        panic!("{condition} answers nothing: {}", self.said())
    }
}

/// Two servers, the second a replica of the first.
struct Servers {
    primary: Instance,
    replica: Instance,
    folder: Folder,
}

impl Servers {
    fn start() -> Self {
        let folder = must(Folder::new(), "make a folder");
        let mut settings = Settings::new(folder.0.join("primary"));
        settings.bin_dir = std::env::var_os("LESSOR_PG_BIN_DIR").map(PathBuf::from);
        // A replica begins as a copy of its primary that was stopped in order: no tool is needed.
        let primary = must(start(&settings, |_| {}), "start the primary");
        let (original, copy) = (primary.data_dir().to_owned(), folder.0.join("replica"));
        primary.stop();
        must(make(&copy), "make the replica's folder");
        for name in ["data", "password"] {
            must(copied(&original.join(name), &copy.join(name)), "copy");
        }
        let primary = must(start(&settings, |_| {}), "start the primary again");
        must(follow(&copy.join("data"), primary.url()), "follow");
        settings.data_dir = copy;
        let replica = must(start(&settings, |_| {}), "start the replica");
        Self {
            primary,
            replica,
            folder,
        }
    }
}

/// Makes a copy of a cluster a replica of the server at this address.
fn follow(cluster: &Path, primary: &str) -> io::Result<()> {
    fs::write(cluster.join("standby.signal"), "")?;
    let path = cluster.join("postgresql.auto.conf");
    let settings = fs::read_to_string(&path)?;
    fs::write(&path, format!("{settings}primary_conninfo = '{primary}'\n"))
}

/// Copies a file, or a folder with all that is in it.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copied(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Makes a folder that the server's user can pass, whoever that is.
fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lessor-replica-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        make(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is the temporary folder's.
        drop(fs::remove_dir_all(&self.0));
    }
}
