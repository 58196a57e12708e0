//! What everything is measured on: a durable database of its own, the binary on it, an organization with a key.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use lessor_embedded_postgres::{Instance, Settings, start};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::http::{Connection, Request};
use crate::processor_time::Counted;
use crate::spec::Spec;

/// Connections that the database takes: those of two servers, four workers and the limits.
const MAX_CONNECTIONS: u16 = 300;
/// What secrets of a server that is measured are sealed with.
const SERVER_KEY: &str = "the key of the servers that are measured";

/// A folder that goes with the value. The database's user may walk through it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn under(parent: &Path) -> anyhow::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("lessor-bench-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is the folder's for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A process that ends with the value.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// What serves limits ends with it.
    input: Option<ChildStdin>,
    /// Where it is reached.
    pub(crate) address: String,
    /// From its start until it said that it is ready.
    pub(crate) started_in: Duration,
}

impl Running {
    fn start(command: &mut Command, address: impl Fn(&str) -> String) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let started_in = begun.elapsed();
        let address = address(said.trim());
        let input = child.stdin.take();
        let running = Self {
            child,
            input,
            address,
            started_in,
        };
        ensure!(!running.address.is_empty(), "{command:?} said {said:?}");
        Ok(running)
    }

    /// The process, for whoever counts.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it takes of the processor.
    pub(crate) fn counted(&self) -> Counted {
        Counted::Alone(self.pid())
    }
}

impl Drop for Running {
    /// As whoever operates it would end it: one that was built to count what it does writes it down then.
    fn drop(&mut self) {
        drop(self.input.take());
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        if pid.map(|pid| kill_process(pid, Signal::TERM)) != Some(Ok(())) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

/// The stage.
#[derive(Debug)]
pub(crate) struct Stage {
    binary: PathBuf,
    /// A connection that stands above row security.
    pub(crate) sql: Client,
    /// The binary, serving.
    pub(crate) server: Running,
    /// A sandbox key for everything.
    pub(crate) key: String,
    /// The organization's number.
    pub(crate) organization: i64,
    instance: Instance,
    folder: Folder,
}

impl Stage {
    /// # Errors
    /// There is no database, or the binary does not serve.
    pub(crate) async fn open(binary: PathBuf, parent: &Path) -> anyhow::Result<Self> {
        let folder = Folder::under(parent)?;
        let mut settings = Settings::new(folder.0.join("d"));
        settings.max_connections = MAX_CONNECTIONS;
        settings.bin_dir = std::env::var_os("LESSOR_PG_BIN_DIR").map(PathBuf::from);
        let instance = start(&settings, |_| {})?;
        let (sql, connection) = tokio_postgres::connect(instance.url(), NoTls).await?;
        tokio::spawn(connection);
        let server = Self::serve_on(&binary, instance.url(), &[])?;
        let cli = |arguments: &[&str]| {
            let mut command = Self::command_on(&binary, instance.url());
            answer(command.args(arguments))
        };
        let made = cli(&["org", "create", "--name", "Bench"])?;
        let public = made["publicId"].as_str().unwrap_or_default();
        let made_key = cli(&[
            "key",
            "create",
            "--org",
            public,
            "--mode",
            "sandbox",
            "--permissions",
            "all",
            "--user",
            "bench@example.com",
        ])?;
        Ok(Self {
            sql,
            server,
            key: made_key["key"].as_str().context("no key")?.to_owned(),
            organization: made["id"].as_i64().context("no organization")?,
            binary,
            instance,
            folder,
        })
    }

    /// Where the database is.
    pub(crate) fn database(&self) -> &str {
        self.instance.url()
    }

    /// What the database takes of the processor.
    ///
    /// # Errors
    /// It does not run.
    pub(crate) fn database_counted(&self) -> anyhow::Result<Counted> {
        let text = fs::read_to_string(self.folder.0.join("d/data/postmaster.pid"))?;
        let pid = text.lines().next().context("no process")?;
        Ok(Counted::Family(pid.trim().parse()?))
    }

    /// The binary that is measured.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    fn command_on(binary: &Path, database: &str) -> Command {
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LESSOR_")) {
            command.env_remove(name);
        }
        command
            .env("DATABASE_URL", database)
            .env("LESSOR_SERVER_SECRET", SERVER_KEY)
            .arg("--json");
        command
    }

    fn serve_on(binary: &Path, database: &str, flags: &[&str]) -> anyhow::Result<Running> {
        let mut command = Self::command_on(binary, database);
        command
            .args(["serve", "--no-worker", "--listen", "127.0.0.1:0"])
            .args(["--rate-limit", "off", "--address-rate-limit", "off"])
            .args(flags);
        Running::start(&mut command, |said| {
            let said: Value = serde_json::from_str(said).unwrap_or_default();
            let url = said["url"].as_str().unwrap_or_default();
            url.trim_start_matches("http://").to_owned()
        })
    }

    /// Another server, on the database at this address.
    ///
    /// # Errors
    /// It does not serve.
    pub(crate) fn serve(&self, database: &str) -> anyhow::Result<Running> {
        Self::serve_on(&self.binary, database, &[])
    }

    /// A worker, with these settings in its environment.
    ///
    /// # Errors
    /// It does not work.
    pub(crate) fn work(&self, settings: &[(&str, String)]) -> anyhow::Result<Running> {
        let mut command = Self::command_on(&self.binary, self.database());
        command
            .args(["worker", "--ops-listen", "127.0.0.1:0"])
            .envs(settings.iter().map(|(name, value)| (name, value)));
        Running::start(&mut command, |said| {
            let said: Value = serde_json::from_str(said).unwrap_or_default();
            said["status"].as_str().unwrap_or_default().to_owned()
        })
    }

    /// The limits, served.
    ///
    /// # Errors
    /// They are not.
    pub(crate) fn limits(&self, spec: &Spec) -> anyhow::Result<Running> {
        let file = self.folder.0.join("limits.json");
        fs::write(&file, serde_json::to_vec(spec)?)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("limit").arg(&file);
        Running::start(&mut command, str::to_owned)
    }

    /// A request of the server, which must be answered with success.
    pub(crate) fn get(&self, path: &str) -> Request {
        Request::get(path, Some(&self.key))
    }

    /// A request with a body.
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> Request {
        Request::json(method, path, Some(&self.key), &body.to_string())
    }

    /// What the server answers to a request of the preparation.
    ///
    /// # Errors
    /// It is not a success.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let request = if method == "GET" {
            self.get(path)
        } else {
            self.send(method, path, body)
        };
        let mut connection = Connection::open(&self.server.address).await?;
        let answer = connection.ask(&request).await?;
        if !(200..300).contains(&answer.status) {
            let said = String::from_utf8_lossy(answer.body);
            bail!("{method} {path}: {} {said}", answer.status);
        }
        Ok(serde_json::from_slice(answer.body)?)
    }
}

fn answer(command: &mut Command) -> anyhow::Result<Value> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|_| json!({})))
}
