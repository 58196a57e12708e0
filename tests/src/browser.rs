//! The browser that tests show pages in, and what drives it.

use std::path::{Path, PathBuf};

use crate::peers;

/// The system's: first the one that has no windows, which takes half as much of the processor to show the same page.
const PROGRAMS: [&str; 2] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/// A browser that can be driven.
#[derive(Debug)]
pub struct Browser {
    /// Its program.
    pub program: &'static str,
    /// The folder of the scripts that drive it, with the packages that they take.
    pub peers: PathBuf,
}

impl Browser {
    /// That of the system, for scripts that take these packages. None where something is not there: it is said that
    /// `what` is skipped.
    ///
    /// # Panics
    /// When something is not there and `LESSOR_REQUIRE_PEERS` is 1.
    #[must_use]
    pub fn find(what: &str, packages: &[&str]) -> Option<Self> {
        let peers = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers");
        let [without_windows, usual] = PROGRAMS;
        let program = if Path::new(without_windows).exists() {
            without_windows
        } else {
            usual
        };
        let packages = packages
            .iter()
            .map(|it| peers.join("node_modules").join(it));
        let mut needed = packages.chain([program.into()]);
        let Some(missing) = needed.find(|needed| !needed.exists()) else {
            return Some(Self { program, peers });
        };
        peers::missing(what, &format!("{} is not there", missing.display()));
        None
    }
}
