//! Clients that ask as slowly as they may, or read nothing.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

/// How often a slow client sends a byte.
const DRIP: Duration = Duration::from_secs(2);
/// What an answer that nobody reads is asked for: the largest that anybody gets without a key.
const LARGE: &str = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
/// How often on one connection.
const PIPELINED: usize = 8;
/// What of it the system takes for a client that does not read.
const WINDOW: u32 = 4 * 1024;
/// The addresses of an attack that has many: those of one are below what an address may ask for.
const MANY: usize = 200;

/// What the connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SlowFirstHead,
    SlowLaterHead,
    SlowBody,
    UnreadAnswers,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [
        Self::SlowFirstHead,
        Self::SlowLaterHead,
        Self::SlowBody,
        Self::UnreadAnswers,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::SlowFirstHead => "slow first heads",
            Self::SlowLaterHead => "slow later heads",
            Self::SlowBody => "slow bodies",
            Self::UnreadAnswers => "unread answers",
        }
    }

    /// Whether answers are read.
    pub(super) fn is_read(self) -> bool {
        self != Self::UnreadAnswers
    }

    /// From how many addresses it comes; from one as well where the server counts what an address asks for.
    pub(super) const fn addresses(self) -> &'static [usize] {
        match self {
            Self::SlowBody => &[MANY, 1],
            Self::SlowFirstHead | Self::SlowLaterHead | Self::UnreadAnswers => &[MANY],
        }
    }

    /// What is sent at once.
    fn begin(self) -> String {
        const BEGUN: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\nx: ";
        const WHOLE: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        match self {
            Self::SlowFirstHead => BEGUN.to_owned(),
            Self::SlowLaterHead => format!("{WHOLE}{BEGUN}"),
            // Whether it is well signed is known at its end.
            Self::SlowBody => format!(
                "POST /webhooks/tracking HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                 webhook-id: msg_1\r\nwebhook-timestamp: {}\r\nwebhook-signature: v1,{}=\r\n\
                 content-length: 200000\r\n\r\n{{",
                lessor_tests::now().timestamp(),
                "A".repeat(43)
            ),
            Self::UnreadAnswers => LARGE.repeat(PIPELINED),
        }
    }
}

/// Connections that are made again whenever the server ends them.
#[derive(Debug)]
pub(super) struct Attack {
    clients: JoinSet<()>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    held: AtomicUsize,
    most: AtomicUsize,
    ended: AtomicUsize,
}

impl Attack {
    /// Begins with so many connections, spread over so many addresses of the loopback.
    pub(super) fn begin(
        kind: Kind,
        target: SocketAddr,
        connections: usize,
        addresses: usize,
    ) -> Self {
        let counts = Arc::<Counts>::default();
        let mut clients = JoinSet::new();
        for number in 0..connections {
            let last = u8::try_from(number % addresses + 1).unwrap_or(u8::MAX);
            let from = Ipv4Addr::new(127, 0, 1, last);
            clients.spawn(attack(kind, target, from, Arc::clone(&counts)));
        }
        Self { clients, counts }
    }

    /// Lets go of all; how many there were at most at a time, and how many the server has ended.
    pub(super) async fn end(mut self) -> (usize, usize) {
        self.clients.shutdown().await;
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (count(&self.counts.most), count(&self.counts.ended))
    }
}

async fn attack(kind: Kind, target: SocketAddr, from: Ipv4Addr, counts: Arc<Counts>) {
    loop {
        let Some(stream) = connect(kind, target, from).await else {
            // The server takes no more at the moment.
            sleep(DRIP).await;
            continue;
        };
        let held = counts.held.fetch_add(1, Ordering::Relaxed) + 1;
        counts.most.fetch_max(held, Ordering::Relaxed);
        hold(kind, stream).await;
        counts.held.fetch_sub(1, Ordering::Relaxed);
        counts.ended.fetch_add(1, Ordering::Relaxed);
    }
}

async fn connect(kind: Kind, target: SocketAddr, from: Ipv4Addr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    if !kind.is_read() {
        socket.set_recv_buffer_size(WINDOW).ok()?;
    }
    socket.bind((from, 0).into()).ok()?;
    socket.connect(target).await.ok()
}

/// Holds the connection until the server ends it.
async fn hold(kind: Kind, mut stream: TcpStream) {
    if stream.write_all(kind.begin().as_bytes()).await.is_err() {
        return;
    }
    let mut drip = interval(DRIP);
    loop {
        // Who reads nothing notices that it was ended by writing.
        let goes_on = tokio::select! {
            readable = stream.readable(), if kind.is_read() => readable.is_ok() && !is_ended(&stream),
            _ = drip.tick() => !is_gone(&stream),
        };
        if !goes_on {
            return;
        }
    }
}

/// Reads what there is; whether that was the end.
fn is_ended(stream: &TcpStream) -> bool {
    match stream.try_read(&mut [0; 1024]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Writes a byte more; whether the server has ended the connection.
fn is_gone(stream: &TcpStream) -> bool {
    let written = stream.try_write(b"a");
    written.is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
}
