//! A private, durable PostgreSQL that one process owns: found or bundled, started, guarded and stopped.
//!
//! It is a real PostgreSQL server on a data directory of its own. [`start`] looks for installed binaries, then for the
//! bundled ones (cargo feature `bundled`), makes the cluster at the first time, and runs the server until the
//! [`Instance`] is dropped or its process ends, be it by SIGKILL. [`attach`] finds the running server of another
//! process on the same data directory; [`open`] does whichever of the two is right for one command, and
//! [`open_existing`] does so where there is a cluster already; [`throwaway`] is the same server for tests, without
//! durability.
//!
//! ```no_run
//! use lessor_embedded_postgres::{Settings, start};
//!
//! let instance = start(&Settings::new("./lessor-data"), |step| eprintln!("{step}"))?;
//! println!("{}", instance.url()); // postgres://lessor:…@%2F…%2Frun/lessor
//! instance.stop();
//! # Ok::<(), lessor_embedded_postgres::Error>(())
//! ```
//!
//! # What holds
//!
//! - **One owner.** The owner holds a lock on a file of the data directory. A second [`start`] is refused, or waits
//!   while the owner runs but one command.
//! - **No orphan.** On Linux the kernel stops the server when its owner dies. Elsewhere, and where that fails, the next
//!   start does: every process of the server holds a second lock, and nothing is touched before that is free.
//! - **Nothing acknowledged is lost** with [`Durability::Durable`]: the server flushes before it acknowledges, a start
//!   after a kill replays its log, and a cluster counts as made only once `initdb` is through.
//! - **The server's end need not be its owner's.** One that was killed is started again under the same URL by
//!   [`Instance::revive`].
//! - **Nobody else gets in.** The server listens on a Unix socket in a folder of mode 0700 (or on 127.0.0.1 where the
//!   path is too long for a socket) and asks for a password of 192 random bits, kept in a file of mode 0600.
//!
//! # Root
//!
//! PostgreSQL refuses to run as root. A root process runs it as the owner of the existing cluster, else as `postgres`,
//! else as `nobody`; that user must be able to walk to the data directory, which the home of root usually forbids.
//! There is no fallback to a user namespace: where neither user exists, run as an ordinary user or bring a database.
//!
//! An ordinary user has to have a name where a cluster or a database is made, since `initdb` looks for one and takes no
//! other for it. An existing cluster runs without.
//!
//! # Limits
//!
//! Unix only. No upgrade across major versions of PostgreSQL: an existing cluster decides which one is run.

#[cfg(not(unix))]
compile_error!(
    "the embedded PostgreSQL needs a Unix system: locks, signals and sockets of another kind are not written"
);

mod account;
mod binaries;
mod bundle;
mod cluster;
mod error;
mod instance;
mod layout;
mod lock;
mod postmaster;
mod process;
mod progress;
mod settings;
mod start;
mod throwaway;

use std::path::Path;
use std::thread;
use std::time::Instant;

pub use error::Error;
pub use instance::{Database, ForeignServer, Instance};
pub use progress::Progress;
pub use settings::{Durability, Settings};
pub use throwaway::throwaway;

use layout::Layout;
use lock::{Holder, Role, Seen};

/// Starts the server of a data directory, for a process that serves until it is stopped.
///
/// Blocks until the server accepts connections: 2–4 s the first time, 0.1–0.3 s later, longer after a crash. May be
/// called on any thread, one that ends early included.
///
/// # Errors
///
/// [`Error::InUse`] when another process serves from this data directory: [`attach`] to that. The other variants say
/// what is missing or wrong, and what to do.
pub fn start(
    settings: &Settings,
    mut on_progress: impl FnMut(Progress),
) -> Result<Instance, Error> {
    start::start(settings, Role::Service, &mut on_progress)
}

/// The running server of another process on this data directory, if there is one. Starts nothing, and changes nothing.
///
/// While its owner starts the server, this waits until it is ready; while its owner runs but one command, until that
/// has ended.
///
/// # Errors
///
/// [`Error::InUse`] when the owner is not ready after five minutes; [`Error::Io`] when the files that tell about it
/// cannot be read, which are its owner's alone.
pub fn attach(data_dir: &Path) -> Result<Option<ForeignServer>, Error> {
    attach_reporting(data_dir, &mut |_| {})
}

fn attach_reporting(
    data_dir: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<ForeignServer>, Error> {
    if !data_dir.exists() {
        return Ok(None);
    }
    let layout = Layout::existing(data_dir)?;
    let begun = Instant::now();
    let mut announced = None;
    loop {
        let holder = match lock::look(&layout.owner_lock())? {
            Seen::Free => return Ok(None),
            Seen::Held(holder) => holder,
        };
        let owner = match holder.clone() {
            Some(Holder {
                pid,
                role: Role::Service,
                url: Some(url),
            }) => {
                return Ok(Some(ForeignServer {
                    url,
                    owner_pid: pid,
                    owner_lock: layout.owner_lock(),
                }));
            }
            unready => unready.map(|holder| holder.pid),
        };
        if begun.elapsed() >= start::START_DEADLINE {
            return Err(start::in_use(&layout, holder.as_ref()));
        }
        if let Some(pid) = owner.filter(|_| announced != owner) {
            announced = owner;
            progress(Progress::WaitingForOwner { pid });
        }
        thread::sleep(start::LOOK_AGAIN);
    }
}

/// The database for one command: that of the process that serves from this data directory, else one that is started
/// and, when dropped, stopped. Commands that come at the same time take turns.
///
/// # Errors
///
/// As [`start`] and [`attach`].
pub fn open(settings: &Settings, mut on_progress: impl FnMut(Progress)) -> Result<Database, Error> {
    open_where(settings, || Ok(()), &mut on_progress)
}

/// Like [`open`], for a command that makes no database: where there is none, nothing is made.
///
/// # Errors
///
/// [`Error::NoDatabase`]; as [`open`].
pub fn open_existing(
    settings: &Settings,
    mut on_progress: impl FnMut(Progress),
) -> Result<Database, Error> {
    let may_start = || expect_cluster(&settings.data_dir);
    open_where(settings, may_start, &mut on_progress)
}

fn open_where(
    settings: &Settings,
    may_start: impl Fn() -> Result<(), Error>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Database, Error> {
    loop {
        if let Some(attached) = attach_reporting(&settings.data_dir, progress)? {
            return Ok(Database::Attached(attached));
        }
        may_start()?;
        match start::start(settings, Role::Command, progress) {
            Ok(instance) => return Ok(Database::Owned(Box::new(instance))),
            // A service came first.
            Err(Error::InUse { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Refuses a data directory in which no cluster was made.
fn expect_cluster(data_dir: &Path) -> Result<(), Error> {
    let is_made =
        data_dir.exists() && cluster::existing_major(&Layout::existing(data_dir)?)?.is_some();
    if is_made {
        return Ok(());
    }
    Err(Error::NoDatabase {
        data_dir: data_dir.to_owned(),
    })
}
