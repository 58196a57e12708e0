//! What can go wrong, in words for the person who runs Lessor.

use std::path::PathBuf;
use std::process::ExitStatus;

/// Why the embedded database could not be started, reached or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable PostgreSQL on this machine, and no bundled one that runs here.
    #[error(
        "no PostgreSQL server to embed: {searched}; {bundle}. Install one (`apt-get install postgresql`, \
         `brew install postgresql@17`), name its folder in LESSOR_PG_BIN_DIR, or set DATABASE_URL"
    )]
    NoServer {
        /// Where installed binaries were looked for, and why what was found there does not do.
        searched: String,
        /// Why the bundled server does not serve either.
        bundle: String,
    },
    /// The folder given for the binaries does not hold a usable server.
    #[error("LESSOR_PG_BIN_DIR {}: {reason}", dir.display())]
    BinDir {
        /// The folder as given.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The data was written by another major version of PostgreSQL than any at hand.
    #[error(
        "the data in {} belongs to PostgreSQL {wanted}, and only {found} is at hand: install PostgreSQL {wanted}, \
         or dump and restore into another --data-dir",
        data.display()
    )]
    ForeignVersion {
        /// The cluster.
        data: PathBuf,
        /// The major version that wrote it.
        wanted: u32,
        /// The versions at hand.
        found: String,
    },
    /// The data directory cannot be used.
    #[error("--data-dir {}: {reason}", path.display())]
    DataDir {
        /// The folder in question: the data directory, or a parent of it.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// Nobody has made a database in the data directory yet.
    #[error(
        "no database in {}: `lessor serve` and `lessor migrate` make one, --data-dir and DATABASE_URL name another",
        data_dir.display()
    )]
    NoDatabase {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// Another process owns the database.
    #[error("--data-dir {} is in use by {holder}", data_dir.display())]
    InUse {
        /// The data directory.
        data_dir: PathBuf,
        /// The process that holds it.
        holder: String,
    },
    /// Not a name that [`Settings::database`](crate::Settings::database) may have.
    #[error(
        "database name {0:?}: a letter or underscore, then up to 62 letters, digits and underscores, all lower case"
    )]
    DatabaseName(String),
    /// A program of the PostgreSQL distribution failed.
    #[error("{program} failed ({status}): {output}")]
    Program {
        /// The program, and what it was to do.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote.
        output: String,
    },
    /// The server ended, or did not become ready, while it was starting.
    #[error("PostgreSQL did not start ({reason}): {log}")]
    NotStarted {
        /// How it ended, or that it took too long.
        reason: String,
        /// The end of its log.
        log: String,
    },
    /// A server of an owner that died does not let go of the data directory.
    #[error("the PostgreSQL server that an earlier process left on --data-dir {} does not stop{pid}", data_dir.display())]
    Orphan {
        /// The data directory.
        data_dir: PathBuf,
        /// Its process, where known.
        pid: String,
    },
    /// The bundled server could not be unpacked.
    #[error("the bundled PostgreSQL: {0}")]
    Bundle(String),
    /// An operation on a file or a process failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file or program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err`: an operating system error with what was attempted on what.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
