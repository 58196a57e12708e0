//! What systemd, or who speaks as it does, and a process of its own have to tell each other: the sockets that the
//! process is started with, and how it is.

use std::io;
use std::net::TcpListener;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use listenfd::ListenFd;
use tokio::time::{MissedTickBehavior, interval};

/// How the socket of operators is named, by `FileDescriptorName=`. Any other name is of the one for requests.
const OPERATORS: &str = "operators";
/// Descriptors that are handed over begin here.
const FIRST: usize = 3;
/// How long a message may wait for room. Nothing else is kept waiting by somebody who does not read.
const ROOM: Duration = Duration::from_secs(1);

/// The sockets that the process was started with.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Where requests are taken.
    pub requests: Option<TcpListener>,
    /// Where operators are answered.
    pub operators: Option<TcpListener>,
}

impl Sockets {
    /// Those that were handed over to this process, which no child of it has then. Changes the environment: there are
    /// no threads yet.
    ///
    /// # Errors
    /// What was handed over cannot be used.
    pub fn inherited() -> anyhow::Result<Self> {
        let names = names(|name| std::env::var(name).ok(), std::process::id())?;
        let mut given = ListenFd::from_env();
        let mut sockets = Self::default();
        for (place, name) in names.iter().enumerate() {
            let described = || {
                let descriptor = FIRST.saturating_add(place);
                format!("the socket {name:?} that systemd handed over (descriptor {descriptor})")
            };
            let socket = given.take_tcp_listener(place).with_context(described)?;
            let socket = socket.with_context(described)?;
            let listens = rustix::net::sockopt::socket_acceptconn(&socket);
            anyhow::ensure!(
                listens.with_context(described)?,
                "{} does not listen: `Accept=no` is what hands over one that does",
                described()
            );
            let (wanted, of) = match name == OPERATORS {
                true => (&mut sockets.operators, "operators"),
                false => (&mut sockets.requests, "requests"),
            };
            anyhow::ensure!(
                wanted.replace(socket).is_none(),
                "systemd handed over two sockets for {of}, and one is taken: that of operators bears \
                 `FileDescriptorName={OPERATORS}`, the other any other name"
            );
        }
        Ok(sockets)
    }
}

/// What the sockets are called that were handed over to this process; none are where there are none, or they are
/// another process's.
fn names(lookup: impl Fn(&str) -> Option<String>, own: u32) -> anyhow::Result<Vec<String>> {
    let Some(process) = lookup("LISTEN_PID") else {
        return Ok(Vec::new());
    };
    let process: u32 = (process.parse()).with_context(|| format!("LISTEN_PID is {process:?}"))?;
    let Some(count) = lookup("LISTEN_FDS").filter(|_| process == own) else {
        return Ok(Vec::new());
    };
    let count: usize = (count.parse()).with_context(|| format!("LISTEN_FDS is {count:?}"))?;
    anyhow::ensure!(
        count <= 2,
        "systemd handed over {count} sockets: one for requests and one for operators are taken"
    );
    let names: Vec<String> = match lookup("LISTEN_FDNAMES") {
        Some(names) => names.split(':').map(str::to_owned).collect(),
        None => vec!["unknown".to_owned(); count],
    };
    let named = names.len();
    anyhow::ensure!(
        named == count || count == 0,
        "LISTEN_FDS says that there are {count} sockets, LISTEN_FDNAMES names {named}"
    );
    Ok(names.into_iter().take(count).collect())
}

/// Tells whoever started the process how it is. Who cannot be told is not: the process works as well without.
#[derive(Clone, Debug, Default)]
pub struct Notifier(Option<Arc<Line>>);

#[derive(Debug)]
struct Line {
    socket: UnixDatagram,
    to: SocketAddr,
    is_broken: AtomicBool,
    watched: Option<Duration>,
}

impl Notifier {
    /// To whom `NOTIFY_SOCKET` names; to nobody where it names none.
    #[must_use]
    pub fn from_environment() -> Self {
        let Some(name) = std::env::var("NOTIFY_SOCKET").ok() else {
            return Self::default();
        };
        let line = (|| {
            let socket = UnixDatagram::unbound()?;
            socket.set_write_timeout(Some(ROOM))?;
            let watched = watched(|name| std::env::var(name).ok(), std::process::id());
            io::Result::Ok(Line {
                socket,
                to: address(&name)?,
                is_broken: AtomicBool::new(false),
                watched,
            })
        })();
        match line {
            Ok(line) => Self(Some(Arc::new(line))),
            Err(error) => {
                tracing::warn!(%error, "NOTIFY_SOCKET is {name:?}, where nobody can be told");
                Self::default()
            }
        }
    }

    /// What the process is at.
    pub fn status(&self, what: &str) {
        self.tell(&status(what));
    }

    /// The process does its work from now on. Within a runtime, which is told to live on where anybody watches.
    pub fn ready(&self, what: &str) {
        self.tell(&format!("READY=1\n{}", status(what)));
        if let Some(watched) = self.0.as_ref().and_then(|line| line.watched) {
            tokio::spawn(self.clone().live(watched));
        }
    }

    /// The process ends.
    pub fn stopping(&self) {
        let what = status("stopping: requests and jobs under way are finished");
        self.tell(&format!("STOPPING=1\n{what}"));
    }

    /// Tells that the process lives, twice in each time after which it counts as dead. From a task among those of jobs
    /// and requests: where no task has its turn any more, nothing is told.
    async fn live(self, watched: Duration) {
        let mut turns = interval(watched / 2);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&self, what: &str) {
        let Some(line) = &self.0 else { return };
        let told = line.socket.send_to_addr(what.as_bytes(), &line.to);
        if let Err(error) = told
            && !line.is_broken.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "NOTIFY_SOCKET: who started the process cannot be told how it is");
        }
    }
}

/// One line.
fn status(what: &str) -> String {
    format!("STATUS={}", what.replace('\n', " "))
}

/// A socket of the file system, or with `@` an abstract one.
fn address(name: &str) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt as _;
        return SocketAddr::from_abstract_name(name);
    }
    if !name.starts_with('/') {
        let why = "neither a path from the root on nor `@` and a name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    SocketAddr::from_pathname(name)
}

/// After what time without a word this process counts as dead; none where nobody watches, or another process.
fn watched(lookup: impl Fn(&str) -> Option<String>, own: u32) -> Option<Duration> {
    let is_own = lookup("WATCHDOG_PID").is_none_or(|process| process.parse() == Ok(own));
    let time = lookup("WATCHDOG_USEC").filter(|_| is_own)?;
    match time.parse() {
        Ok(micros @ 1..) => Some(Duration::from_micros(micros)),
        _ => {
            tracing::warn!("WATCHDOG_USEC is {time:?}: nothing is told");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 77;

    fn given<'e>(set: &'e [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'e {
        |name| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn sockets_are_those_of_this_process() {
        let read = |set: &[(&str, &str)]| names(given(set), OWN).map_err(|it| it.to_string());
        let own = ("LISTEN_PID", "77");
        assert_eq!(read(&[]), Ok(vec![]));
        // As systemd's own library has it: without the process they are nobody's.
        assert_eq!(read(&[("LISTEN_FDS", "1")]), Ok(vec![]));
        assert_eq!(read(&[own]), Ok(vec![]));
        let others = [("LISTEN_PID", "78"), ("LISTEN_FDS", "many")];
        assert_eq!(read(&others), Ok(vec![]));
        assert_eq!(read(&[own, ("LISTEN_FDS", "0")]), Ok(vec![]));
        let empty = [own, ("LISTEN_FDS", "0"), ("LISTEN_FDNAMES", "")];
        assert_eq!(read(&empty), Ok(vec![]));
        let unnamed = [own, ("LISTEN_FDS", "2")];
        assert_eq!(
            read(&unnamed),
            Ok(vec!["unknown".to_owned(), "unknown".to_owned()])
        );
        let named = [
            own,
            ("LISTEN_FDS", "2"),
            ("LISTEN_FDNAMES", "lessor.socket:operators"),
        ];
        assert_eq!(
            read(&named),
            Ok(vec!["lessor.socket".to_owned(), "operators".to_owned()])
        );
        for (set, why) in [
            (vec![("LISTEN_PID", "me")], "LISTEN_PID"),
            (vec![own, ("LISTEN_FDS", "-1")], "LISTEN_FDS"),
            (vec![own, ("LISTEN_FDS", "")], "LISTEN_FDS"),
            (vec![own, ("LISTEN_FDS", "3")], "3 sockets"),
            (
                vec![own, ("LISTEN_FDS", "1"), ("LISTEN_FDNAMES", "a:b")],
                "LISTEN_FDNAMES names 2",
            ),
        ] {
            let said = read(&set).unwrap_err();
            assert!(said.contains(why), "{set:?}: {said}");
        }
    }

    #[test]
    fn a_process_is_watched_when_it_is_this_one() {
        let read = |set: &[(&str, &str)]| watched(given(set), OWN);
        let second = ("WATCHDOG_USEC", "1000000");
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[second]), Some(Duration::from_secs(1)));
        let own = [second, ("WATCHDOG_PID", "77")];
        assert_eq!(read(&own), Some(Duration::from_secs(1)));
        assert_eq!(read(&[second, ("WATCHDOG_PID", "78")]), None);
        for wrong in ["0", "-1", "soon", ""] {
            assert_eq!(read(&[("WATCHDOG_USEC", wrong)]), None, "{wrong:?}");
        }
    }

    #[test]
    fn who_is_told_has_an_address() {
        assert!(address("/run/systemd/notify").is_ok());
        for other in ["", "run/notify", "vsock:2:1234"] {
            assert!(address(other).is_err(), "{other:?}");
        }
        assert_eq!(status("one\ntwo"), "STATUS=one two");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_told_may_be_out_of_the_file_system() {
        use std::os::linux::net::SocketAddrExt as _;
        let address = address("@lessor").unwrap();
        assert_eq!(address.as_abstract_name(), Some(&b"lessor"[..]));
    }
}
