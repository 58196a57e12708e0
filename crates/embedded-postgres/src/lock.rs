//! Two locks decide everything that processes have to agree on.
//!
//! `owner.lock` is held by the process that owns the server, and tells the others where the server is. `server.lock`
//! is inherited by the server and all of its processes, so that it is free only when the last of them is gone, whatever
//! became of the owner: no process number is trusted, which could be a zombie's or another program's by then.
//!
//! Both are `flock(2)` locks: they belong to the open file, are inherited with it, and end with its last copy.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::Error;
use crate::account::Account;
use crate::layout::{self, not_opened, open_private_file};
use crate::postmaster;

/// Why a process owns the server, which tells another what to do that wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// For as long as it is not stopped: use its server.
    Service,
    /// For one command: wait for its end.
    Command,
}

/// What the owner says about itself in the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    pub(crate) role: Role,
    /// Set once the server accepts connections.
    pub(crate) url: Option<String>,
}

impl Holder {
    fn parse(text: &str) -> Option<Self> {
        // Only complete lines count: the owner may be writing this very moment.
        let complete = &text[..text.rfind('\n')?];
        let mut lines = complete.lines();
        let pid = lines.next()?.parse().ok()?;
        let role = match lines.next()? {
            "service" => Role::Service,
            "command" => Role::Command,
            _ => return None,
        };
        let url = lines.next().map(str::to_owned);
        Some(Self { pid, role, url })
    }

    fn render(&self) -> String {
        let role = match self.role {
            Role::Service => "service",
            Role::Command => "command",
        };
        let url = self.url.as_deref().map(|url| format!("{url}\n"));
        format!("{}\n{role}\n{}", self.pid, url.unwrap_or_default())
    }
}

/// Whether the owner's lock could be taken.
pub(crate) enum Attempt {
    Taken(OwnerLock),
    /// By whom, where the holder has said so.
    Held(Option<Holder>),
}

/// Whether anybody holds a lock.
#[derive(Debug)]
pub(crate) enum Seen {
    Free,
    /// By whom, where the holder has said so.
    Held(Option<Holder>),
}

/// The owner's lock; held until dropped, or until this process dies in whatever way.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
    holder: Holder,
}

impl OwnerLock {
    /// Takes the lock if nobody holds it.
    pub(crate) fn attempt(
        path: &Path,
        role: Role,
        account: Option<&Account>,
    ) -> Result<Attempt, Error> {
        let file = open_private_file(path, account)?;
        if !try_lock(&file, path, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(Attempt::Held(settled_holder(path)?));
        }
        if !is_still(&file, path) {
            // Whoever held it before has removed the whole directory.
            return Ok(Attempt::Held(None));
        }
        let holder = Holder {
            pid: std::process::id(),
            role,
            url: None,
        };
        let mut lock = Self { file, holder };
        lock.write().map_err(Error::io("write", path))?;
        Ok(Attempt::Taken(lock))
    }

    /// Tells the others where the server is.
    pub(crate) fn publish(&mut self, url: &str, path: &Path) -> Result<(), Error> {
        self.holder.url = Some(url.to_owned());
        self.write().map_err(Error::io("write", path))
    }

    /// Tells the others that the server is about to go.
    pub(crate) fn withdraw(&mut self) {
        self.holder.url = None;
        if let Err(error) = self.write() {
            tracing::warn!(%error, "the lock file still names the server that is being stopped");
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(self.holder.render().as_bytes())
    }
}

/// Who holds a lock, without taking it for longer than the look.
pub(crate) fn look(path: &Path) -> Result<Seen, Error> {
    let file = match layout::options().read(true).open(path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Seen::Free),
        Err(source) => return Err(not_opened(path)(source)),
    };
    if try_lock(&file, path, FlockOperation::NonBlockingLockShared)? {
        return Ok(Seen::Free);
    }
    Ok(Seen::Held(settled_holder(path)?))
}

/// Reads who holds the lock. A name of a process that is no more is left from before, or comes from another container:
/// in the first case the new holder writes its own name in the next moment.
fn settled_holder(path: &Path) -> Result<Option<Holder>, Error> {
    let read = || -> Result<Option<Holder>, Error> {
        match layout::read_text(path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::io("read", path)(source)),
            Ok(text) => Ok(Holder::parse(&text)),
        }
    };
    match read()? {
        Some(holder) if !postmaster::exists(holder.pid) => {
            thread::sleep(Duration::from_millis(50));
            read()
        }
        found => Ok(found),
    }
}

/// The lock that the server and all of its processes inherit.
#[derive(Debug)]
pub(crate) struct ServerLock {
    pub(crate) file: File,
}

impl ServerLock {
    /// Takes the lock if no process of an earlier server is left.
    pub(crate) fn attempt(path: &Path, account: Option<&Account>) -> Result<Option<Self>, Error> {
        let file = open_private_file(path, account)?;
        Ok(
            try_lock(&file, path, FlockOperation::NonBlockingLockExclusive)?
                .then_some(Self { file }),
        )
    }
}

fn try_lock(file: &File, path: &Path, operation: FlockOperation) -> Result<bool, Error> {
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Error::io("lock", path)(errno.into())),
        }
    }
}

fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Holder, Role};

    #[test]
    fn a_holder_reads_back_what_it_wrote() {
        for url in [None, Some("postgres://lessor:pw@%2Frun/lessor".to_owned())] {
            for role in [Role::Service, Role::Command] {
                let holder = Holder {
                    pid: 4711,
                    role,
                    url: url.clone(),
                };
                assert_eq!(Holder::parse(&holder.render()), Some(holder));
            }
        }
    }

    #[test]
    fn half_a_line_is_not_believed() {
        let whole = Holder {
            pid: 4711,
            role: Role::Service,
            url: Some("postgres://x/y".to_owned()),
        };
        let text = whole.render();
        for end in 0..text.len() {
            let read = Holder::parse(&text[..end]);
            let expected = (end >= "4711\nservice\n".len()).then(|| Holder {
                url: None,
                ..whole.clone()
            });
            assert_eq!(read, expected, "{:?}", &text[..end]);
        }
    }
}
