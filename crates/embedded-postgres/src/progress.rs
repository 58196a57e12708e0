//! What a person who waits for the database may want to know.

use std::fmt;

/// One step of a start that can take a moment. [`Display`](fmt::Display) gives one line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process uses the data directory for a short while; its end is awaited.
    WaitingForOwner {
        /// That process.
        pid: u32,
    },
    /// Installed server binaries are looked for.
    LookingForBinaries,
    /// The bundled server is unpacked and verified; only once for each data directory.
    Unpacking { version: &'static str },
    /// A server that outlived its owner is asked to stop.
    StoppingOrphan {
        /// Its process, where known.
        pid: Option<u32>,
    },
    /// A new cluster is made; only once for each data directory.
    Initializing {
        /// The version of PostgreSQL that makes it.
        version: String,
    },
    /// The database is created in the cluster; only once.
    CreatingDatabase { name: String },
    /// The server starts.
    Starting { version: String },
    /// The server was not stopped in order the last time, and replays its write-ahead log.
    Recovering,
    /// The server accepts connections.
    Ready,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForOwner { pid } => {
                write!(f, "waiting for process {pid} to release the database")
            }
            Self::LookingForBinaries => write!(f, "looking for PostgreSQL"),
            Self::Unpacking { version } => write!(f, "unpacking PostgreSQL {version}"),
            Self::StoppingOrphan { pid: Some(pid) } => {
                write!(
                    f,
                    "stopping the PostgreSQL that an earlier process left behind (process {pid})"
                )
            }
            Self::StoppingOrphan { pid: None } => {
                write!(
                    f,
                    "waiting for the PostgreSQL that an earlier process left behind"
                )
            }
            Self::Initializing { version } => {
                write!(f, "creating a PostgreSQL {version} cluster")
            }
            Self::CreatingDatabase { name } => write!(f, "creating database {name}"),
            Self::Starting { version } => write!(f, "starting PostgreSQL {version}"),
            Self::Recovering => write!(f, "recovering what was committed before the last stop"),
            Self::Ready => write!(f, "PostgreSQL is ready"),
        }
    }
}
