//! How the binary is linked.
//!
//! A program that may lie anywhere has a list of all its addresses, which is read whole at each start and stays in memory: a
//! twelfth of what a server had at rest. Linkers pack it to an eightieth, for whoever reads that.

use std::env;
use std::process::Command;

/// The first version of the GNU C library that reads packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_for_this_gnu_linux() && c_library().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bin=lessor=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether what is built runs where it is built, so that the C library of this machine says what it understands.
fn is_for_this_gnu_linux() -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("HOST") == variable("TARGET")
}

/// The version of the C library: `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let said = String::from_utf8(said.ok()?.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
