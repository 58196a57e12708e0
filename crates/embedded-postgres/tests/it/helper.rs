//! A second process: this test program again, made to run one ignored test that takes its orders from the environment.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lessor_embedded_postgres::{Error, Settings, attach, open, start};

use crate::support::Session;

const ORDER: &str = "LESSOR_TEST_ORDER";
const DATA_DIR: &str = "LESSOR_TEST_DATA_DIR";
/// Before every line that is for the test, among those of the test program.
const MARK: &str = "helper: ";

/// A helper process and what it says. It is killed when dropped.
pub(crate) struct Helper {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// What makes this test program the second process.
const ARGUMENTS: [&str; 4] = [
    "helper::second_process",
    "--exact",
    "--ignored",
    "--nocapture",
];

impl Helper {
    pub(crate) fn spawn(order: &str, data_dir: &Path) -> Self {
        Self::run(
            Command::new(this_program()).args(ARGUMENTS),
            order,
            data_dir,
        )
    }

    /// As another user, from a copy of this program that this user can reach.
    pub(crate) fn spawn_as(order: &str, data_dir: &Path, program: &Path, uid: u32) -> Self {
        let mut command = Command::new(program);
        Self::run(command.args(ARGUMENTS).uid(uid).gid(uid), order, data_dir)
    }

    /// With a folder before the others of its path.
    pub(crate) fn spawn_with_path(order: &str, data_dir: &Path, first: &Path) -> Self {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(first.to_owned()).chain(std::env::split_paths(&before));
        let path = std::env::join_paths(folders).unwrap();
        let mut command = Command::new(this_program());
        Self::run(command.args(ARGUMENTS).env("PATH", path), order, data_dir)
    }

    /// With another umask.
    pub(crate) fn spawn_with_umask(order: &str, data_dir: &Path, umask: &str) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell
            .arg("-c")
            .arg(format!("umask {umask}; exec \"$0\" \"$@\""));
        Self::run(shell.arg(this_program()).args(ARGUMENTS), order, data_dir)
    }

    fn run(command: &mut Command, order: &str, data_dir: &Path) -> Self {
        let mut child = command
            .env(ORDER, order)
            .env(DATA_DIR, data_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            stdin,
            lines,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that is for the test; `None` when the helper has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            // The test program's own line may stand before it.
            if let Some((_, said)) = line.split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    /// The rest of the first line that begins so; the helper must not end before.
    pub(crate) fn wait_for(&mut self, beginning: &str) -> String {
        loop {
            let line = self
                .line()
                .unwrap_or_else(|| panic!("the helper ended without {beginning:?}"));
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end, and returns the lines that were not read.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(line) = self.line() {
            rest.push(line);
        }
        self.child.wait().unwrap();
        rest
    }

    /// Ends the helper in order: it stops when nothing more comes.
    pub(crate) fn finish(mut self) {
        drop(self.stdin.take());
        self.rest();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{MARK}{line}").unwrap();
    stdout.flush().unwrap();
}

fn wait_for_end_of_input() {
    let mut nothing = String::new();
    while std::io::stdin().read_line(&mut nothing).unwrap() > 0 {}
}

#[test]
#[ignore = "the second process of other tests"]
fn second_process() {
    let order = std::env::var(ORDER).expect("only other tests run this");
    let data_dir = PathBuf::from(std::env::var_os(DATA_DIR).unwrap());
    let settings = Settings::new(&data_dir);
    match order.as_str() {
        "own" => {
            let instance = start(&settings, |step| say(&format!("step {step:?}"))).unwrap();
            say(&format!("server {}", instance.server_pid()));
            say(&format!("url {}", instance.url()));
            wait_for_end_of_input();
            instance.stop();
        }
        // The server is started from a thread that has ended by the time it is used.
        "own-from-short-thread" => {
            let owned = std::thread::spawn(move || start(&settings, |_| ()).unwrap())
                .join()
                .unwrap();
            say(&format!("url {}", owned.url()));
            wait_for_end_of_input();
        }
        // Commits one row after the other, and says which were acknowledged.
        "commit" => {
            let instance = start(&settings, |_| ()).unwrap();
            say(&format!("server {}", instance.server_pid()));
            let session = Session::open(instance.url());
            session.execute("CREATE TABLE IF NOT EXISTS acknowledged (id bigint PRIMARY KEY)");
            let first = session.number("SELECT coalesce(max(id), 0) + 1 FROM acknowledged");
            for id in first.. {
                session.execute(&format!("INSERT INTO acknowledged VALUES ({id})"));
                say(&format!("committed {id}"));
            }
        }
        "attach" => match attach(&data_dir) {
            Ok(Some(attached)) => {
                let session = Session::open(attached.url());
                say(&format!("owner {}", attached.owner_pid()));
                say(&format!(
                    "backend {}",
                    session.number("SELECT pg_backend_pid()::bigint")
                ));
                wait_for_end_of_input();
            }
            Ok(None) => say("nobody"),
            Err(error) => say(&format!("error {error}")),
        },
        "open" => {
            let database = open(&settings, |_| ()).unwrap();
            let session = Session::open(database.url());
            session.execute(
                "CREATE TABLE IF NOT EXISTS visits (at timestamptz NOT NULL DEFAULT now())",
            );
            session.execute("INSERT INTO visits DEFAULT VALUES");
            say("visited");
        }
        "start" => match start(&settings, |_| ()) {
            Ok(instance) => say(&format!("url {}", instance.url())),
            Err(Error::InUse { holder, .. }) => say(&format!("in use by {holder}")),
            Err(error) => say(&format!("error {error}")),
        },
        other => panic!("no such order: {other}"),
    }
}
