//! The binary as a process that goes on: a server, a worker.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::server::PATIENCE;
use crate::{refuse, text};

/// The pause between two looks at a process that is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Ends a process with this one, should nobody end it before: a static is never dropped.
#[derive(Debug)]
struct Keeper {
    child: Child,
    /// Closed by the kernel when this process ends.
    _line: Option<ChildStdin>,
}

impl Keeper {
    fn of(pid: u32) -> Self {
        let mut child = Command::new("sh")
            .args([
                "-c",
                "read line; kill -9 \"$0\" 2>/dev/null",
                &pid.to_string(),
            ])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| refuse(&format!("sh: {error}")));
        let line = child.stdin.take();
        Self { child, _line: line }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The binary, once it said that it serves or works. It ends with this value.
#[derive(Debug)]
pub struct Running {
    child: Child,
    _keeper: Keeper,
    /// What it said.
    pub said: Value,
    /// Where it is reached; empty where it is not.
    pub url: String,
    /// Where operators reach it, where they have a listener of their own.
    pub operators: String,
}

impl Running {
    /// Starts the command, which says with `--json` in one line that it is there.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap_or_else(|error| refuse(&error.to_string()));
        let keeper = Keeper::of(child.id());
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            drop(BufReader::new(stdout).read_line(&mut line));
        }
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        assert!(said.is_object(), "{command:?} said {line:?}");
        Self {
            child,
            _keeper: keeper,
            url: text(&said["url"]),
            operators: text(&said["operatorsUrl"]),
            said,
        }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells the process something.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        let told = pid.map(|pid| kill_process(pid, signal));
        assert_eq!(told, Some(Ok(())), "signal {signal:?}");
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Waits until the process has ended; answers its status.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                state => refuse(&format!("the server does not end: {state:?}")),
            }
        }
    }

    /// The memory that the process has, in KiB.
    ///
    /// # Panics
    /// When it is gone, or the system does not tell.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.told("VmRSS:")
    }

    /// The most memory that the process had since this was asked last, in KiB.
    ///
    /// # Panics
    /// When it is gone, or the system does not tell.
    pub fn peak_memory(&self) -> u64 {
        let peak = self.told("VmHWM:");
        let file = format!("/proc/{}/clear_refs", self.id());
        // proc(5): the peak begins anew.
        if let Err(error) = std::fs::write(&file, "5") {
            refuse(&format!("{file}: {error}"));
        }
        peak
    }

    /// What the system tells of its memory, in KiB.
    fn told(&self, what: &str) -> u64 {
        let file = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(&file).unwrap_or_default();
        let told = status.lines().find_map(|line| line.strip_prefix(what));
        told.and_then(|told| told.trim().strip_suffix(" kB")?.parse().ok())
            .unwrap_or_else(|| refuse(&format!("{file} does not tell {what} {status}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its database ends with it: nothing of either is needed any more.
        self.kill();
    }
}
