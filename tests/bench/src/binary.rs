//! The binary that is measured.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// The binary beside this program, built anew where Cargo runs this: what is measured is what is there.
///
/// # Errors
/// It cannot be built, or is not there.
pub(crate) fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let own = env::current_exe()?;
    let folder = own.parent().context("no folder")?;
    if let Some(cargo) = env::var_os("CARGO") {
        let mut command = Command::new(cargo);
        command.args(["build", "--package", "lessor", "--bin", "lessor"]);
        command.args(["--profile", profile(folder)]);
        ensure!(command.status()?.success(), "the binary cannot be built");
    }
    let binary = folder.join("lessor");
    ensure!(
        binary.exists(),
        "{} is not there: cargo build --release --package lessor",
        binary.display()
    );
    Ok(binary)
}

/// The profile whose programs are in this folder.
fn profile(folder: &Path) -> &str {
    match folder.file_name().and_then(OsStr::to_str) {
        None | Some("debug") => "dev",
        Some(name) => name,
    }
}
