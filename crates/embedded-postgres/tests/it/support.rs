//! Folders, SQL and waiting.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

/// A folder that every user can pass, removed with all it holds.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lessor-pg-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A data directory in it that does not exist yet.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.0.join("db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A session.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        Self::try_open(url).unwrap()
    }

    pub(crate) fn try_open(url: &str) -> Result<Self, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (client, connection) = runtime.block_on(tokio_postgres::connect(url, NoTls))?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.try_execute(sql).unwrap();
    }

    pub(crate) fn try_execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// The one value that a query gives, which must be a text.
    pub(crate) fn text(&self, sql: &str) -> String {
        self.runtime
            .block_on(self.client.query_one(sql, &[]))
            .unwrap()
            .get(0)
    }

    /// The one value that a query gives, which must be a bigint.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.runtime
            .block_on(self.client.query_one(sql, &[]))
            .unwrap()
            .get(0)
    }
}

/// Waits for a condition that another process brings about.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "not within a minute: {what}"
        );
        std::thread::yield_now();
    }
}

/// Whether a process lives: a zombie does not.
pub(crate) fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        !after_name.starts_with('Z')
    })
}

/// A live process whose working directory is the cluster: a server keeps it there.
pub(crate) fn server_on(data_dir: &Path) -> Option<u32> {
    let cluster = data_dir.join("data");
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .find(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == cluster))
}

/// Runs a server on the cluster as its owner would at a terminal.
pub(crate) fn server_by_hand(program: &Path, data_dir: &Path) -> Child {
    let owner = fs::metadata(data_dir.join("data")).unwrap();
    let mut command = Command::new(program);
    command
        .arg("-D")
        .arg(data_dir.join("data"))
        .args(["-c", "listen_addresses=", "-c"])
        .arg(format!(
            "unix_socket_directories={}",
            data_dir.join("run").display()
        ))
        .current_dir("/")
        .stderr(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    command.spawn().unwrap()
}
