//! The binary as a process: commands, folders, their end.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Pid;
use serde_json::Value;

use crate::refuse;

/// A folder that goes with the value. Readable for the embedded database's user.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder.
    ///
    /// # Panics
    /// When there can be none.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lessor-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::fs::create_dir_all(&path)
            .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)));
        assert!(made.is_ok(), "{path:?}: {made:?}");
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it with this text; its path, as a command takes it.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        let written = std::fs::write(&path, text);
        assert!(written.is_ok(), "{path:?}: {written:?}");
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is the temporary folder's.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The binary without anything of the environment that it reads, but for the folder of PostgreSQL.
#[must_use]
pub fn bare(binary: &str) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LESSOR_")) {
        if name != "LESSOR_PG_BIN_DIR" {
            command.env_remove(name);
        }
    }
    command.env_remove("DATABASE_URL");
    command
}

/// The binary with its data in the folder.
#[must_use]
pub fn lessor(binary: &str, data: &Folder) -> Command {
    let mut command = bare(binary);
    command.arg("--data-dir").arg(data.path().join("data"));
    command
}

/// The process of the embedded database in the folder, once that takes connections.
#[must_use]
pub fn postmaster(data: &Folder) -> Option<Pid> {
    let file = data.path().join("data/data/postmaster.pid");
    let said = std::fs::read_to_string(file).ok()?;
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    match lines.as_slice() {
        [pid, .., "ready"] => pid.parse().ok().and_then(Pid::from_raw),
        _ => None,
    }
}

/// What a command of the binary answers with `--json`.
///
/// # Panics
/// When it fails, or answers no JSON.
pub fn answer(command: &mut Command) -> Value {
    let Output {
        status,
        stdout,
        stderr,
    } = run(command.arg("--json"));
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).unwrap_or_else(|error| refuse(&format!("{error}: {stdout:?}")))
}

/// Runs the command to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| refuse(&format!("{command:?}: {error}")))
}
