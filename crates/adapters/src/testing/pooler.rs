//! PgBouncer in front of a test's database, where the machine has one: `LESSOR_TEST_PGBOUNCER`, else that of Debian's
//! package.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::sleep;

use super::{TestDatabase, is_cluster, must};

/// The settings with which sessions that are handed on know statements that were prepared before.
pub const KNOWS_STATEMENTS: &str = "max_prepared_statements = 200";
/// How long after each other it is looked whether the pooler takes connections.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The program.
#[derive(Clone, Debug)]
pub struct PgBouncer {
    path: PathBuf,
    /// Whether it can be told to know statements that were prepared before, as it can from 1.21 on.
    pub knows_statements: bool,
}

impl PgBouncer {
    /// The program of this machine; none, which is said, where there is none, or a cluster that it cannot stand in front
    /// of.
    ///
    /// # Panics
    /// When it does not say its version.
    #[must_use]
    #[expect(clippy::print_stdout, reason = "says what was not tested")]
    pub fn find() -> Option<Self> {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        if is_cluster() {
            println!("SKIPPED {test}: the pooler stands in front of one server");
            return None;
        }
        let path = std::env::var_os("LESSOR_TEST_PGBOUNCER")
            .map_or_else(|| PathBuf::from("/usr/sbin/pgbouncer"), PathBuf::from);
        let Ok(said) = Command::new(&path).arg("--version").output() else {
            println!("SKIPPED {test}: there is no {}", path.display());
            return None;
        };
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let mut numbers = said
            .trim_start_matches("PgBouncer ")
            .split(['.', '\n'])
            .map_while(|number| number.parse::<u32>().ok());
        let version = must(numbers.next().zip(numbers.next()).ok_or(said), "read it");
        Some(Self {
            path,
            knows_statements: version >= (1, 21),
        })
    }

    /// Like [`find`](Self::find), for what needs one that knows statements; says where there is none.
    ///
    /// # Panics
    /// As [`find`](Self::find).
    #[must_use]
    #[expect(clippy::print_stdout, reason = "says what was not tested")]
    pub fn find_for_transactions() -> Option<Self> {
        let found = Self::find()?;
        if !found.knows_statements {
            let test = std::thread::current().name().unwrap_or_default().to_owned();
            println!("SKIPPED {test}: PgBouncer is older than 1.21");
            return None;
        }
        Some(found)
    }

    /// Starts it in front of a database, in a mode, with more settings.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn before(&self, test: &TestDatabase, mode: &str, more: &str) -> Pooler {
        let address = test.url().trim_start_matches("postgres://");
        let (login, place) = must(address.rsplit_once('@').ok_or(address), "find the login");
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, format!("password={password}")),
            None => (login, String::new()),
        };
        let (socket, name) = must(place.split_once('/').ok_or(place), "find the name");
        let socket = socket.replace("%2F", "/").replace("%2f", "/");
        let owner_of = |path: &str| must(fs::metadata(path), path).uid();
        // Whoever may use the socket is its owner.
        let number = owner_of(&socket);
        let owner = Command::new("id")
            .args(["-un", &number.to_string()])
            .output();
        let owner = String::from_utf8_lossy(&must(owner, "ask id").stdout).into_owned();
        let folder =
            std::env::temp_dir().join(format!("lessor-pooler-{}-{name}-{mode}", process::id()));
        must(fs::create_dir_all(&folder), "make a folder");
        let mode_of_folder = fs::Permissions::from_mode(0o777);
        must(fs::set_permissions(&folder, mode_of_folder), "open it");
        let place = folder.display();
        let settings = format!(
            "[databases]\n* = host={socket} port=5432 user={user} {password}\n\
             [pgbouncer]\nlisten_addr =\nlisten_port = 5432\nunix_socket_dir = {place}\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = {SESSIONS}\n{more}\n"
        );
        let file = folder.join("pgbouncer.ini");
        must(fs::write(&file, settings), "write its settings");
        let mut command = Command::new(&self.path);
        if number != owner_of("/proc/self") {
            command.args(["-u", owner.trim()]);
        }
        let child = command
            .args([Path::new("-q"), &file])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let encoded = place.to_string().replace('/', "%2F");
        let mut pooler = Pooler {
            child: must(child, "start PgBouncer"),
            url: format!("postgres://{user}@{encoded}/{name}?sslmode=disable"),
            folder,
        };
        while UnixStream::connect(pooler.folder.join(".s.PGSQL.5432"))
            .await
            .is_err()
        {
            let ended = must(pooler.child.try_wait(), "look after PgBouncer");
            assert_eq!(ended, None, "the pooler has ended");
            sleep(BETWEEN_LOOKS).await;
        }
        pooler
    }
}

/// How many sessions of the database a pooler has for all its clients.
pub const SESSIONS: usize = 8;

/// A pooler in front of a database, which ends with this.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    folder: PathBuf,
    url: String,
}

impl Pooler {
    /// Where the database is, through it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What each of its sessions answers a query of somebody else who is its client: the first column of the first row,
    /// as text.
    ///
    /// # Panics
    /// When a query fails.
    pub async fn ask_each(&self, sql: &str) -> Vec<String> {
        // A transaction that is open keeps its session from the next client.
        let mut clients = Vec::new();
        for _ in 0..SESSIONS {
            let connected = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await;
            let (client, connection) = must(connected, "connect");
            tokio::spawn(connection);
            must(client.batch_execute("BEGIN").await, "begin");
            clients.push(client);
        }
        let mut answers = Vec::new();
        for client in clients {
            let messages = must(client.simple_query(sql).await, sql);
            must(client.batch_execute("ROLLBACK").await, "roll back");
            answers.extend(messages.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => {
                    Some(row.get(0).unwrap_or_default().to_owned())
                }
                _ => None,
            }));
        }
        answers
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
        // What is left is the temporary folder's.
        drop(fs::remove_dir_all(&self.folder));
    }
}
