//! The binary as a process that was begun, and may never get anywhere; what it logs is kept.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::process::{Folder, lessor};
use crate::refuse;
use crate::server::{PATIENCE, SERVER_KEY};

/// The pause between two looks at a process that is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process that was begun. It ends with this value.
#[derive(Debug)]
pub struct Begun {
    child: Child,
    log: PathBuf,
}

impl Begun {
    /// Begins with these arguments on the database at this address. Its log lies in the folder, under the name.
    ///
    /// # Panics
    /// When it cannot be begun.
    #[must_use]
    pub fn on(binary: &str, url: &str, folder: &Folder, name: &str, arguments: &[&str]) -> Self {
        let mut command = lessor(binary, folder);
        command
            .env("DATABASE_URL", url)
            .env("LESSOR_SERVER_SECRET", SERVER_KEY);
        Self::begin(&mut command, folder, name, arguments)
    }

    /// Like [`on`](Self::on), on the embedded database in the folder.
    ///
    /// # Panics
    /// When it cannot be begun.
    #[must_use]
    pub fn embedded(binary: &str, folder: &Folder, name: &str, arguments: &[&str]) -> Self {
        Self::begin(&mut lessor(binary, folder), folder, name, arguments)
    }

    fn begin(command: &mut Command, folder: &Folder, name: &str, arguments: &[&str]) -> Self {
        let log = folder.path().join(format!("{name}.log"));
        let file = File::create(&log).unwrap_or_else(|error| refuse(&error.to_string()));
        let child = command
            .arg("--json")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn();
        let child = child.unwrap_or_else(|error| refuse(&error.to_string()));
        Self { child, log }
    }

    /// What it says first; nothing when it ended.
    pub fn said(&mut self) -> Value {
        let mut line = String::new();
        if let Some(stdout) = self.child.stdout.take() {
            drop(BufReader::new(stdout).read_line(&mut line));
        }
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// What it has logged.
    ///
    /// # Panics
    /// When that cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_else(|error| refuse(&error.to_string()))
    }

    /// Tells it to stop.
    ///
    /// # Panics
    /// When it is gone.
    pub fn stop(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let told = pid.map(|pid| kill_process(pid, Signal::TERM));
        assert_eq!(told, Some(Ok(())), "{}", self.log());
    }

    /// Its status once it has ended, and what it logged.
    ///
    /// # Panics
    /// When it does not end.
    pub fn ended(&mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return (status.code(), self.log()),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                state => refuse(&format!(
                    "{:?} does not end: {state:?}: {}",
                    self.log,
                    self.log()
                )),
            }
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
