//! A running server, owned by this process or by another.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::ROLE;
use crate::layout::{Layout, remove_dir};
use crate::lock::{self, OwnerLock, Seen};
use crate::process::Server;
use crate::{Durability, Error, Settings, start};

/// Where the server listens.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    /// A Unix socket in this folder.
    Socket(PathBuf),
    /// A port of 127.0.0.1, where the path of a socket would be too long.
    Loopback(u16),
}

impl Address {
    /// Tells the server to listen here and nowhere else.
    pub(crate) fn listen(&self, command: &mut Command) {
        match self {
            Self::Socket(folder) => {
                command.args(["-c", "listen_addresses="]);
                // A list: quoted, or a comma in the path would make two of it.
                let mut value = b"unix_socket_directories=\"".to_vec();
                for &byte in folder.as_os_str().as_bytes() {
                    if byte == b'"' {
                        value.push(byte);
                    }
                    value.push(byte);
                }
                value.push(b'"');
                command.arg("-c").arg(OsString::from_vec(value));
            }
            Self::Loopback(port) => {
                command.args([
                    "-c",
                    "unix_socket_directories=",
                    "-c",
                    "listen_addresses=127.0.0.1",
                ]);
                command.arg("-c").arg(format!("port={port}"));
            }
        }
    }

    pub(crate) fn url(&self, role: &str, password: &str, database: &str) -> String {
        match self {
            Self::Socket(folder) => {
                let host = percent_encode(folder.as_os_str().as_bytes());
                format!("postgres://{role}:{password}@{host}/{database}")
            }
            Self::Loopback(port) => {
                format!("postgres://{role}:{password}@127.0.0.1:{port}/{database}")
            }
        }
    }
}

/// All but the characters that mean themselves everywhere in a URL.
fn percent_encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// The signal of the kernel and of [`Instance::stop`]: an orderly stop that writes a checkpoint, or, where nothing is
/// to be kept, one at once.
pub(crate) fn shutdown_signal(durability: Durability) -> Signal {
    match durability {
        Durability::Durable => Signal::INT,
        Durability::Throwaway => Signal::QUIT,
    }
}

/// Stops the server: in order, after 8 s at once (its next start replays the log), after 4 s more by force.
pub(crate) fn stop_server(server: &Server, durability: Durability) {
    let steps = [
        (shutdown_signal(durability), 8),
        (Signal::QUIT, 4),
        (Signal::KILL, 4),
    ];
    for (signal, seconds) in steps {
        server.signal(signal);
        if let Some(status) = server.wait(Duration::from_secs(seconds)) {
            tracing::info!(status, "embedded PostgreSQL has stopped");
            return;
        }
        tracing::warn!(?signal, seconds, "embedded PostgreSQL does not stop");
    }
}

/// A server that this process owns. It stops with [`stop`](Self::stop), when this is dropped, and when this process
/// ends in whatever way.
#[derive(Debug)]
pub struct Instance {
    url: String,
    password: String,
    address: Address,
    layout: Layout,
    settings: Settings,
    /// Another one after each revival.
    server: Mutex<Server>,
    /// Locked by whoever revives the server.
    owner: Mutex<OwnerLock>,
    /// Whether the data directory goes with the server.
    temporary: bool,
}

impl Instance {
    pub(crate) fn new(
        layout: Layout,
        owner: OwnerLock,
        server: Server,
        settings: &Settings,
        address: Address,
        password: String,
    ) -> Self {
        Self {
            url: address.url(ROLE, &password, &settings.database),
            password,
            address,
            layout,
            settings: settings.clone(),
            server: Mutex::new(server),
            owner: Mutex::new(owner),
            temporary: false,
        }
    }

    pub(crate) fn remove_on_drop(&mut self) {
        self.temporary = true;
    }

    /// The URL of the database, password included: `postgres://lessor:…@%2F…%2Frun/lessor` for a Unix socket,
    /// `postgres://lessor:…@127.0.0.1:…/lessor` where the data directory's path is too long for one.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of another database of this server. `database` must need no percent-encoding.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        self.address.url(ROLE, &self.password, database)
    }

    /// The data directory, as an absolute path.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.layout.root
    }

    /// The process number of the server, which is another one after a revival.
    #[must_use]
    pub fn server_pid(&self) -> u32 {
        self.server().pid()
    }

    /// Whether the server still runs. It survives the crash of a session; after its own end it is to be
    /// [revived](Self::revive).
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.server().wait(Duration::ZERO).is_none()
    }

    /// Starts the server again that has ended by itself, on the same data, at the same address and with the same
    /// password, so that [`url`](Self::url) stays true. Who looks for it meanwhile waits, as for a start. Where it runs
    /// nothing is done.
    ///
    /// Blocks until the server accepts connections: first until the last process of the one before is gone, which is
    /// given 40 s, then until its log is replayed, at most 300 s. After an error it may be tried again.
    ///
    /// # Errors
    ///
    /// [`Error::Orphan`] when a process of the one before does not go; [`Error::NotStarted`] when the new one ends, as
    /// where another program has taken its port; the others as [`start`](crate::start).
    pub fn revive(&self) -> Result<(), Error> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_running() {
            return Ok(());
        }
        owner.withdraw();
        let server = start::again(&self.settings, &self.layout, &self.address)?;
        if let Err(error) = owner.publish(&self.url, &self.layout.owner_lock()) {
            stop_server(&server, self.settings.durability);
            return Err(error);
        }
        *self.lock_server() = server;
        Ok(())
    }

    fn lock_server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the server, for a look that must not keep a revival waiting.
    fn server(&self) -> Server {
        self.lock_server().clone()
    }

    /// Stops the server and waits for its end, at most 16 s. Sessions that are open are closed.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let owner = self.owner.get_mut();
        owner.unwrap_or_else(PoisonError::into_inner).withdraw();
        stop_server(&self.server(), self.settings.durability);
        if self.temporary
            && let Err(error) = remove_dir(&self.layout.root)
        {
            tracing::warn!(%error, "the temporary database is left behind");
        }
    }
}

/// A server that another process owns, and stops when it likes.
#[derive(Debug, Clone)]
pub struct ForeignServer {
    pub(crate) url: String,
    pub(crate) owner_pid: u32,
    pub(crate) owner_lock: PathBuf,
}

impl ForeignServer {
    /// The URL of the owner's database, password included.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process that owns the server.
    #[must_use]
    pub fn owner_pid(&self) -> u32 {
        self.owner_pid
    }

    /// False once its owner has ended. Blocks for a moment.
    #[must_use]
    pub fn is_running(&self) -> bool {
        match lock::look(&self.owner_lock) {
            Ok(Seen::Held(holder)) => holder.is_none_or(|holder| holder.pid == self.owner_pid),
            Ok(Seen::Free) | Err(_) => false,
        }
    }
}

/// What [`open`](crate::open) gives: a server, whoever owns it.
#[derive(Debug)]
pub enum Database {
    /// Started by this process, and stopped when this is dropped.
    Owned(Box<Instance>),
    /// Of another process, which goes on running it.
    Attached(ForeignServer),
}

impl Database {
    /// The URL of the database, password included.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Owned(instance) => instance.url(),
            Self::Attached(attached) => attached.url(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::Address;

    #[test]
    fn every_path_makes_one_host() {
        let socket = Address::Socket(PathBuf::from("/a b/c,d/ü?#%\"/run"));
        assert_eq!(
            socket.url("lessor", "pw", "db"),
            "postgres://lessor:pw@%2Fa%20b%2Fc%2Cd%2F%C3%BC%3F%23%25%22%2Frun/db"
        );
    }
}
