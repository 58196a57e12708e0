//! The binary that is besieged.

use std::path::{Path, PathBuf};
use std::process::Command;

use lessor_tests::refuse;

/// The path of the binary beside this program, built as this program was where cargo runs it.
///
/// # Panics
/// When it is not there.
pub(crate) fn built() -> String {
    let own = std::env::current_exe().unwrap_or_else(|error| refuse(&error.to_string()));
    let folder = own.parent().unwrap_or_else(|| refuse("no folder"));
    // Cargo says where it is to whatever it runs.
    if let Some(cargo) = std::env::var_os("CARGO") {
        // With this package beside it, so that it is made of what is there already.
        let mut build = Command::new(cargo);
        build.args(["build", "-p", "lessor", "-p", env!("CARGO_PKG_NAME")]);
        build.args(["--bin", "lessor", "--profile", profile(folder)]);
        // What cargo says of this package to what it runs has build scripts of others begin anew.
        for (name, _) in std::env::vars_os() {
            let is_of_package = |prefix| name.to_str().is_some_and(|it| it.starts_with(prefix));
            if ["CARGO_MANIFEST_", "CARGO_PKG_"]
                .into_iter()
                .any(is_of_package)
            {
                build.env_remove(name);
            }
        }
        let built = build.status();
        assert!(
            built.as_ref().is_ok_and(std::process::ExitStatus::success),
            "{build:?}: {built:?}"
        );
    }
    let binary: PathBuf = folder.join("lessor");
    assert!(
        binary.is_file(),
        "{binary:?} is not there: cargo build -p lessor"
    );
    binary.to_string_lossy().into_owned()
}

/// The profile whose programs are in this folder.
fn profile(folder: &Path) -> &str {
    match folder.file_name().and_then(std::ffi::OsStr::to_str) {
        None | Some("debug") => "dev",
        Some(name) => name,
    }
}
