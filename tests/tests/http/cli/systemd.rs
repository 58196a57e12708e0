//! Under systemd, which is played here: it holds the sockets, is told how the process is, and tells it to stop.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::process::bare;
use lessor_tests::server::{PATIENCE, SERVER_KEY};
use lessor_tests::{Folder, lessor, raw, text};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::BINARY;

/// What a shell does first: the number of the process is known to itself alone, and sockets come to it in the place of
/// its input and its errors.
const ONE_SOCKET: &str = "export LISTEN_PID=${LISTEN_PID:-$$}; exec \"$0\" \"$@\" 3<&0 0</dev/null";
const TWO_SOCKETS: &str =
    "export LISTEN_PID=$$; exec \"$0\" \"$@\" 3<&0 4<&2 0</dev/null 2>/dev/null";

/// Who starts the process and is told how it is.
struct Manager {
    folder: Folder,
    told: UnixDatagram,
}

impl Manager {
    fn new() -> Self {
        let folder = Folder::new("systemd");
        let told = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { folder, told }
    }

    /// The command, to be started with the sockets and told where to say how it is.
    fn unit(&self, command: &Command, script: &str, sockets: usize) -> Command {
        let mut unit = handing_over(command, script);
        unit.env("NOTIFY_SOCKET", self.folder.path().join("notify"))
            .env("LISTEN_FDS", sockets.to_string())
            .stderr(Stdio::null());
        unit
    }

    /// The lines of the next message.
    fn next(&self) -> Vec<String> {
        next_at(&self.told)
    }

    /// The lines of the next message with this one; what was told before.
    fn until(&self, line: &str) -> (Vec<String>, Vec<String>) {
        until_at(&self.told, line)
    }
}

fn next_at(told: &UnixDatagram) -> Vec<String> {
    let mut message = [0; 4096];
    let length = told.recv(&mut message).unwrap();
    let message = String::from_utf8(message[..length].to_vec()).unwrap();
    message.lines().map(str::to_owned).collect()
}

fn until_at(told: &UnixDatagram, line: &str) -> (Vec<String>, Vec<String>) {
    let mut before = Vec::new();
    loop {
        let message = next_at(told);
        if message.iter().any(|it| it == line) {
            return (message, before);
        }
        before.extend(message);
    }
}

/// The shell that becomes the command.
fn handing_over(command: &Command, script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// A command on the database.
fn on(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = bare(BINARY);
    command
        .env("DATABASE_URL", database.url())
        .env("LESSOR_SERVER_SECRET", SERVER_KEY)
        .args(["--json"])
        .args(arguments);
    command
}

/// A process that is not left behind.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// What it says of itself, which it has said already.
    fn greeting(&mut self) -> Value {
        let stdout = self.0.stdout.take().unwrap();
        assert!(has_said(&stdout), "it is ready before it says so");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// The end, which comes.
    fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return status.code(),
                None => assert!(Instant::now() < deadline, "it does not end"),
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn has_said(stdout: &ChildStdout) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut polled = [PollFd::new(stdout, PollFlags::IN)];
    poll(&mut polled, Some(&at_once)).unwrap() == 1
}

fn socket() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// The socket as a child has it.
fn handed(socket: &TcpListener) -> Stdio {
    OwnedFd::from(socket.try_clone().unwrap()).into()
}

fn url(socket: &TcpListener) -> String {
    format!("http://{}", socket.local_addr().unwrap())
}

/// Ready once it serves, on the sockets that it was given; told to stop it says so while it still answers; who comes in
/// between is answered by the next process, whose socket is the same.
#[tokio::test(flavor = "multi_thread")]
async fn who_holds_the_sockets_restarts_a_server_and_nobody_is_refused() {
    let (manager, database) = (Manager::new(), TestDatabase::create().await);
    let (requests, operators) = (socket(), socket());
    // Where nobody can listen: the sockets go before.
    let serve = [
        "serve",
        "--listen",
        "192.0.2.1:1",
        "--ops-listen",
        "192.0.2.1:2",
    ];
    let mut unit = manager.unit(&on(&database, &serve), TWO_SOCKETS, 2);
    unit.env("LISTEN_FDNAMES", "lessor.socket:operators");
    let mut start = || {
        unit.stdin(handed(&requests)).stderr(handed(&operators));
        Running::start(&mut unit)
    };
    let health = "GET /healthz HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    let mut waiting = raw::connect(&url(&requests)).await;
    for _ in 0..2 {
        waiting.write_all(health.as_bytes()).await.unwrap();
        let mut server = start();
        let (ready, before) = manager.until("READY=1");
        assert!(
            before.iter().all(|it| it.starts_with("STATUS=")),
            "{before:?}"
        );
        let status = format!("STATUS=serves {}, DATABASE_URL, ", url(&requests));
        assert!(ready.iter().any(|it| it.starts_with(&status)), "{ready:?}");
        let greeting = server.greeting();
        assert_eq!(greeting["url"], url(&requests), "{greeting}");
        assert_eq!(greeting["operatorsUrl"], url(&operators), "{greeting}");
        let answer = raw::rest(&mut waiting).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let metrics = reqwest::get(format!("{}/metrics", url(&operators))).await;
        assert_eq!(metrics.unwrap().status(), 200);
        // A request is under way: its body lacks the end.
        let body = "{}";
        let post = raw::request("POST", "/webhooks/tracking", "", body);
        let (first, rest) = post.split_at(post.len() - 1);
        let mut under_way = raw::connect(&url(&requests)).await;
        under_way.write_all(first.as_bytes()).await.unwrap();
        // Its head has arrived when another that was sent later is answered.
        let later = reqwest::get(format!("{}/healthz", url(&requests))).await;
        assert_eq!(later.unwrap().status(), 200);
        server.signal(Signal::TERM);
        let (stopping, before) = manager.until("STOPPING=1");
        assert_eq!(before, Vec::<String>::new());
        assert!(
            stopping.iter().any(|it| it.starts_with("STATUS=")),
            "{stopping:?}"
        );
        under_way.write_all(rest.as_bytes()).await.unwrap();
        let answer = raw::rest(&mut under_way).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
        assert_eq!(server.end(), Some(0));
        waiting = raw::connect(&url(&requests)).await;
    }
}

/// That it stops is told before the time that a proxy has to notice it.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_told_of_the_end_before_that_begins() {
    let (manager, database) = (Manager::new(), TestDatabase::create().await);
    let requests = socket();
    let serve = on(&database, &["serve", "--drain-delay", "5m"]);
    let mut unit = manager.unit(&serve, ONE_SOCKET, 1);
    let server = Running::start(unit.stdin(handed(&requests)));
    manager.until("READY=1");
    server.signal(Signal::TERM);
    manager.until("STOPPING=1");
    let deadline = Instant::now() + PATIENCE;
    let ask = async |path: &str| {
        reqwest::get(format!("{}{path}", url(&requests)))
            .await
            .unwrap()
    };
    while ask("/readyz").await.status() != 503 {
        assert!(Instant::now() < deadline, "it is ready for ever");
    }
    assert_eq!(ask("/healthz").await.headers()["connection"], "close");
}

/// A worker has one socket at the most, and tells the same. Who is told may be outside of the file system.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_tells_how_it_is() {
    let database = TestDatabase::create().await;
    let operators = socket();
    let mut unit = handing_over(&on(&database, &["worker"]), ONE_SOCKET);
    let told;
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("lessor-tests-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        told = UnixDatagram::bind_addr(&address).unwrap();
        unit.env("NOTIFY_SOCKET", format!("@{name}"));
    }
    #[cfg(not(target_os = "linux"))]
    let folder = Folder::new("worker");
    #[cfg(not(target_os = "linux"))]
    {
        told = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        unit.env("NOTIFY_SOCKET", folder.path().join("notify"));
    }
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    unit.env("LISTEN_FDS", "1")
        .env("LISTEN_FDNAMES", "operators")
        .stderr(Stdio::null());
    let mut worker = Running::start(unit.stdin(handed(&operators)));
    let (ready, _) = until_at(&told, "READY=1");
    assert!(
        ready.iter().any(|it| it.starts_with("STATUS=works, ")),
        "{ready:?}"
    );
    let greeting = worker.greeting();
    assert_eq!(greeting["operatorsUrl"], url(&operators), "{greeting}");
    let asked = reqwest::get(format!("{}/readyz", url(&operators))).await;
    assert_eq!(asked.unwrap().status(), 200);
    worker.signal(Signal::TERM);
    until_at(&told, "STOPPING=1");
    assert_eq!(worker.end(), Some(0));
}

/// It tells that it lives as long as it does, and only where it is the one that is watched.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_watched_tells_that_it_lives() {
    let database = TestDatabase::create().await;
    for (watched, time) in [(None, "200000"), (Some("1"), "1000")] {
        let manager = Manager::new();
        let mut unit = manager.unit(&on(&database, &["worker"]), ONE_SOCKET, 0);
        unit.env("WATCHDOG_USEC", time);
        if let Some(process) = watched {
            unit.env("WATCHDOG_PID", process);
        }
        let mut worker = Running::start(&mut unit);
        manager.until("READY=1");
        for _ in 0..5 {
            if watched.is_none() {
                assert_eq!(manager.next(), ["WATCHDOG=1"]);
            }
        }
        worker.signal(Signal::TERM);
        let (_, before) = manager.until("STOPPING=1");
        if watched.is_some() {
            assert_eq!(before, Vec::<String>::new());
        }
        assert_eq!(worker.end(), Some(0));
    }
}

/// The database that comes along gets neither the sockets nor the variables.
#[cfg(target_os = "linux")]
#[test]
fn the_embedded_database_inherits_nothing_of_it() {
    let manager = Manager::new();
    let requests = socket();
    let mut serve = lessor(BINARY, &manager.folder);
    serve.args(["--json", "serve"]);
    let mut unit = manager.unit(&serve, ONE_SOCKET, 1);
    unit.env("WATCHDOG_USEC", "60000000");
    let mut server = Running::start(unit.stdin(handed(&requests)));
    let (_, before) = manager.until("READY=1");
    // What takes longer is told.
    assert!(
        before.iter().any(|it| it.starts_with("STATUS=")),
        "{before:?}"
    );
    let file = manager.folder.path().join("data/data/postmaster.pid");
    let process = std::fs::read_to_string(file).unwrap();
    let process = format!("/proc/{}", process.lines().next().unwrap());
    let environment = std::fs::read(format!("{process}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("LC_ALL=C"), "{environment}");
    for name in ["LISTEN_", "NOTIFY_", "WATCHDOG_"] {
        assert!(!environment.contains(name), "{environment}");
    }
    let sockets = |of: &str| -> Vec<_> {
        let descriptors = std::fs::read_dir(format!("{of}/fd")).unwrap();
        descriptors
            .filter_map(|it| std::fs::read_link(it.ok()?.path()).ok())
            .collect()
    };
    let own = std::fs::read_link(format!("/proc/self/fd/{}", requests.as_raw_fd())).unwrap();
    let of_server = format!("/proc/{}", server.0.id());
    assert!(sockets(&of_server).contains(&own), "{own:?}");
    assert!(!sockets(&process).contains(&own), "{own:?}");
    server.signal(Signal::TERM);
    assert_eq!(server.end(), Some(0));
}

/// What is another process's is left alone, and where nobody can be told nobody is, which the log says.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_for_it_or_not_there_is_left_alone() {
    let database = TestDatabase::create().await;
    for place in ["/nowhere/notify", "vsock:2:1", ""] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];
        let mut unit = handing_over(&on(&database, &serve), ONE_SOCKET);
        unit.env("LISTEN_PID", "1")
            .env("LISTEN_FDS", "seven")
            .env("NOTIFY_SOCKET", place)
            .stderr(Stdio::piped());
        let mut server = Running::start(&mut unit);
        let mut line = String::new();
        let stdout = server.0.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let greeting: Value = serde_json::from_str(&line).unwrap_or_default();
        let health = format!("{}/healthz", text(&greeting["url"]));
        assert_eq!(reqwest::get(health).await.unwrap().status(), 200, "{line}");
        server.signal(Signal::TERM);
        assert_eq!(server.end(), Some(0));
        let mut log = String::new();
        let mut stderr = server.0.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        let said = log.matches("NOTIFY_SOCKET").count();
        // Once, however much there is to tell.
        assert_eq!(said, 1, "{place:?}: {log}");
    }
}

/// What cannot be used ends the process with a line, before it asks for a database.
#[test]
fn sockets_that_cannot_be_used_are_refused() {
    let listening = socket();
    let connected = TcpStream::connect(listening.local_addr().unwrap()).unwrap();
    let folder = Folder::new("unfit");
    let of_files = UnixListener::bind(folder.path().join("socket")).unwrap();
    let serve: &[&str] = &["serve"];
    let tcp = |socket: &TcpListener| socket.as_fd().try_clone_to_owned().unwrap();
    for (command, count, names, given, why) in [
        (serve, "1", None, None, "(descriptor 3)"),
        (serve, "1", Some("http"), None, "\"http\""),
        (
            serve,
            "1",
            None,
            Some(OwnedFd::from(connected)),
            "does not listen",
        ),
        (serve, "1", None, Some(of_files.into()), "tcp socket"),
        (serve, "2", None, Some(tcp(&listening)), "(descriptor 4)"),
        (serve, "3", None, Some(tcp(&listening)), "3 sockets"),
        (serve, "one", None, Some(tcp(&listening)), "LISTEN_FDS"),
        (
            serve,
            "1",
            Some("a:b"),
            Some(tcp(&listening)),
            "LISTEN_FDNAMES",
        ),
        (
            &["worker"],
            "1",
            None,
            Some(tcp(&listening)),
            "FileDescriptorName=operators",
        ),
    ] {
        let mut program = lessor(BINARY, &folder);
        program.args(command);
        let mut unit = handing_over(&program, ONE_SOCKET);
        unit.env("LISTEN_FDS", count)
            .stdin(given.map_or_else(Stdio::null, Stdio::from));
        if let Some(names) = names {
            unit.env("LISTEN_FDNAMES", names);
        }
        let ended = unit.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
    }
    assert!(!folder.path().join("data").exists());
}

/// Both are for requests, and one is taken.
#[test]
fn two_sockets_for_the_same_are_refused() {
    let folder = Folder::new("same");
    for (names, of) in [("a:b", "requests"), ("operators:operators", "operators")] {
        let mut program = lessor(BINARY, &folder);
        program.args(["--json", "serve"]);
        // The other is where a child's output would go.
        let script = "export LISTEN_PID=$$; exec \"$0\" \"$@\" 3<&0 4<&1 0</dev/null 1>/dev/null";
        let mut unit = handing_over(&program, script);
        let ended = unit
            .env("LISTEN_FDS", "2")
            .env("LISTEN_FDNAMES", names)
            .stdin(handed(&socket()))
            .stdout(handed(&socket()))
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("two sockets for {of}")), "{said}");
    }
}
