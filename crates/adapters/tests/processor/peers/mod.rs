//! Peers that others wrote: they judge our requests, our signatures, our client and
//! our double. `tests/install peers` installs them; without them these tests say that
//! they were skipped, or fail when `LESSOR_REQUIRE_PEERS` is 1.

mod localstripe;
mod requests;
mod signatures;
mod stateful_mock;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the peers are.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers")
}

/// A file of a peer; none when the peer is not installed, which is said.
fn installed(file: &str, what: &str) -> Option<PathBuf> {
    let path = folder().join(file);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("LESSOR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{what} is not there: {}", path.display());
    // Not by a macro, whose output is captured when a test passes.
    let said = format!(
        "SKIPPED {what}: {} is not installed (tests/install peers)\n",
        path.display()
    );
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    None
}

/// A program that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self(child)
    }

    /// The first line that it prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until somebody listens there.
async fn listening(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on {port}");
        tokio::task::yield_now().await;
    }
}
