//! A server for tests, in a temporary folder that goes with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::layout::{Layout, remove_dir};
use crate::lock::{self, Role, Seen};
use crate::{Durability, Error, Instance, Progress, Settings, postmaster, start};

const PREFIX: &str = "lessor-throwaway-";

/// Starts a server that keeps nothing, in a new folder under the system's temporary folder. The folder is removed when
/// the instance is dropped; a process that ends without dropping it leaves the folder to the next one that comes here.
///
/// [`Instance::url`] is that of database `postgres`; [`Instance::url_of`] gives those of the databases that tests make.
/// The binaries are looked for in `LESSOR_PG_BIN_DIR` when it is set.
///
/// # Errors
///
/// As [`start`](crate::start).
pub fn throwaway(
    max_connections: u16,
    mut on_progress: impl FnMut(Progress),
) -> Result<Instance, Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let parent = std::env::temp_dir();
    sweep(&parent);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let data_dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
    // Of a process that had this number before.
    remove_dir(&data_dir)?;
    let settings = Settings {
        durability: Durability::Throwaway,
        bin_dir: std::env::var_os("LESSOR_PG_BIN_DIR").map(PathBuf::from),
        max_connections,
        // It is there already: tests make databases of their own.
        database: "postgres".to_owned(),
        ..Settings::new(&data_dir)
    };
    match start::start(&settings, Role::Service, &mut on_progress) {
        Ok(mut instance) => {
            instance.remove_on_drop();
            Ok(instance)
        }
        Err(error) => {
            if let Err(left) = remove_dir(&data_dir) {
                tracing::warn!(error = %left, "the temporary database is left behind");
            }
            Err(error)
        }
    }
}

/// Removes the folders of processes that ended without dropping their instance.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse().ok())
        else {
            continue;
        };
        if !postmaster::exists(pid) && is_abandoned(&entry.path()) {
            // Another process may sweep at the same moment, or the folder may be another user's.
            if let Err(error) = remove_dir(&entry.path()) {
                tracing::debug!(%error, "not removed");
            }
        }
    }
}

/// Whether neither an owner nor a server is left.
fn is_abandoned(data_dir: &Path) -> bool {
    Layout::existing(data_dir).is_ok_and(|layout| {
        let free = |path: &Path| matches!(lock::look(path), Ok(Seen::Free));
        free(&layout.owner_lock()) && free(&layout.server_lock())
    })
}
