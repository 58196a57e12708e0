//! The files under the data directory, and how they are made.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, chownat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::Error;
use crate::account::Account;

/// Every path under one data directory.
///
/// ```text
/// <data-dir>/owner.lock      held by the owning process; says who it is, and the URL once the server is ready
///            server.lock     held by every process of the server
///            password        of the role, mode 0600
///            postgres.log    what the server says
///            data/           the cluster
///            data.init/      a cluster in the making, renamed to data/ when it is complete
///            run/            the socket, mode 0700
///            bundled-…/      the unpacked server, when the bundled one is used
/// ```
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    /// Creates the data directory when it is missing, and checks that it can be one.
    pub(crate) fn prepare(data_dir: &Path) -> Result<Self, Error> {
        create_passable_dir(data_dir).map_err(|source| Error::DataDir {
            path: data_dir.to_owned(),
            reason: match source.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    "is not a folder".to_owned()
                }
                _ => format!("cannot be created: {source}"),
            },
        })?;
        let layout = Self::existing(data_dir)?;
        if layout.root.join("PG_VERSION").exists() {
            return Err(Error::DataDir {
                path: layout.root,
                reason: "is itself the data directory of a PostgreSQL server: give Lessor a folder of its own"
                    .to_owned(),
            });
        }
        Ok(layout)
    }

    /// The layout of a data directory that exists. The path becomes absolute: the server runs in another folder.
    pub(crate) fn existing(data_dir: &Path) -> Result<Self, Error> {
        let root = fs::canonicalize(data_dir).map_err(|source| Error::DataDir {
            path: data_dir.to_owned(),
            reason: format!("cannot be reached: {source}"),
        })?;
        Ok(Self { root })
    }

    pub(crate) fn owner_lock(&self) -> PathBuf {
        self.root.join("owner.lock")
    }
    pub(crate) fn server_lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }
    pub(crate) fn password(&self) -> PathBuf {
        self.root.join("password")
    }
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("postgres.log")
    }
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }
    pub(crate) fn data_init(&self) -> PathBuf {
        self.root.join("data.init")
    }
    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }
    pub(crate) fn postmaster_pid(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    /// The longest path that a Unix socket address can hold, without its final NUL.
    const SOCKET_PATH_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

    /// Whether the server's socket fits into a socket address.
    pub(crate) fn socket_fits(&self) -> bool {
        let socket = self.run().join(".s.PGSQL.5432");
        socket.as_os_str().as_bytes().len() <= Self::SOCKET_PATH_MAX
    }
}

/// Makes a folder, and those above it that are missing, which root makes passable for the account that the server runs
/// under whatever its umask says. What is in them has modes of its own.
pub(crate) fn create_passable_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(path) {
        Ok(()) if geteuid().is_root() => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            create_passable_dir(parent.ok_or(error)?)?;
            create_passable_dir(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        outcome => outcome,
    }
}

/// Makes a folder, mode 0700, that belongs to the account the server runs under.
pub(crate) fn create_private_dir(path: &Path, account: Option<&Account>) -> Result<(), Error> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(Error::io("create", path))?;
    give(path, account)
}

/// How files of the data directory are opened: a link in the place of one is not followed. The account that the server
/// runs under may put links there, and must not have root read or write what they lead to.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Reads a file of the data directory.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    io::read_to_string(options().read(true).open(path)?)
}

/// Opens, and makes if needed, a file of mode 0600 that belongs to the account the server runs under: an owner that
/// is root today and an ordinary user tomorrow must not lock itself out.
pub(crate) fn open_private_file(path: &Path, account: Option<&Account>) -> Result<File, Error> {
    let file = options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(not_opened(path))?;
    give(path, account)?;
    Ok(file)
}

/// For `map_err`: that a file of the data directory could not be opened.
pub(crate) fn not_opened(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| match source.kind() {
        io::ErrorKind::PermissionDenied => Error::DataDir {
            path: path.to_owned(),
            reason: "permission denied: it belongs to another user than the one who runs Lessor"
                .to_owned(),
        },
        _ if source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Error::DataDir {
            path: path.to_owned(),
            reason: "it is a link, and links are not followed there".to_owned(),
        },
        _ => Error::io("open", path)(source),
    }
}

/// Gives a file or folder to the account; links are not followed.
pub(crate) fn give(path: &Path, account: Option<&Account>) -> Result<(), Error> {
    let Some(account) = account else {
        return Ok(());
    };
    chownat(
        CWD,
        path,
        Some(account.uid),
        Some(account.gid),
        AtFlags::SYMLINK_NOFOLLOW,
    )
    .map_err(|errno| Error::io("chown", path)(errno.into()))
}

/// Gives a folder and all below it to the account; links are not followed.
pub(crate) fn give_tree(path: &Path, account: &Account) -> Result<(), Error> {
    give(path, Some(account))?;
    let is_dir = fs::symlink_metadata(path)
        .map_err(Error::io("read", path))?
        .is_dir();
    if is_dir {
        for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
            let entry = entry.map_err(Error::io("read", path))?;
            give_tree(&entry.path(), account)?;
        }
    }
    Ok(())
}

/// Removes a file; one that does not exist is fine.
pub(crate) fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(source))
        }
        _ => Ok(()),
    }
}

/// Removes a folder and all below it; one that does not exist is fine.
pub(crate) fn remove_dir(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(source))
        }
        _ => Ok(()),
    }
}

/// Makes renames and removals in a folder durable.
pub(crate) fn sync_dir(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .map_err(Error::io("flush", path))
}
