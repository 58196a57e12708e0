//! A line between a server and its database on which what is carried out is written down, with all that is bound.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::runtime;
use tokio_postgres::config::Host;

use crate::spec::Said;

/// The code of a request for TLS, which has no type byte and comes before the startup message.
const TLS_REQUEST: [u8; 4] = [4, 210, 22, 47];

/// A statement, and where on the line it was said.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// The number of the connection.
    pub(crate) connection: u64,
    /// Grows with each answer of the database: what has the same number was sent without waiting.
    pub(crate) flight: u64,
    pub(crate) said: Said,
}

/// A line. It is there until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The database's address at the other end.
    pub(crate) url: String,
    noted: Arc<Mutex<Vec<Noted>>>,
}

impl Line {
    /// A line to the database at this address, which is that of a socket.
    ///
    /// # Errors
    /// No port is free, or the address is another one.
    pub(crate) fn to(database: &str) -> anyhow::Result<Self> {
        let config: tokio_postgres::Config = database.parse()?;
        let Some(Host::Unix(folder)) = config.get_hosts().first() else {
            anyhow::bail!("the database listens on no socket");
        };
        let socket = folder.join(".s.PGSQL.5432");
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (login, place) = database.rsplit_once('@').context("no login")?;
        let (_, name) = place.rsplit_once('/').context("no database")?;
        let line = Self {
            url: format!("{login}@{address}/{name}?sslmode=disable"),
            noted: Arc::default(),
        };
        let noted = Arc::clone(&line.noted);
        // A thread of its own: whoever measures waits for the server, which waits for this.
        std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
            runtime.block_on(take(listener, &socket, &noted))
        });
        Ok(line)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Noted>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much was noted so far.
    pub(crate) fn length(&self) -> usize {
        self.lock().len()
    }

    /// What was noted from there on.
    pub(crate) fn since(&self, start: usize) -> Vec<Noted> {
        self.lock().get(start..).unwrap_or_default().to_vec()
    }
}

/// Joins whoever comes with the database.
async fn take(
    listener: std::net::TcpListener,
    socket: &Path,
    noted: &Arc<Mutex<Vec<Noted>>>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut connection = 0;
    loop {
        let (client, _) = listener.accept().await?;
        connection += 1;
        let (socket, noted) = (socket.to_owned(), Arc::clone(noted));
        tokio::spawn(async move {
            let server = UnixStream::connect(socket).await?;
            client.set_nodelay(true)?;
            let ends = (client.into_split(), server.into_split());
            let ((from, to), (answers, asked)) = ends;
            let flight = AtomicU64::new(0);
            tokio::select! {
                ended = note(from, asked, connection, &flight, &noted) => ended,
                ended = answer(answers, to, &flight) => ended,
            }
        });
    }
}

async fn answer(
    mut answers: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    flight: &AtomicU64,
) -> io::Result<()> {
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let length = answers.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        flight.fetch_add(1, Ordering::Relaxed);
        to.write_all(chunk.get(..length).unwrap_or_default())
            .await?;
    }
}

/// Passes on what the client says, message by message.
async fn note(
    mut from: impl AsyncRead + Unpin,
    mut asked: impl AsyncWrite + Unpin,
    connection: u64,
    flight: &AtomicU64,
    noted: &Mutex<Vec<Noted>>,
) -> io::Result<()> {
    let mut prepared: HashMap<String, (String, Vec<u32>)> = HashMap::new();
    let mut started = false;
    loop {
        let kind = if started {
            Some(from.read_u8().await?)
        } else {
            None
        };
        let length = from.read_u32().await?;
        let mut message = vec![0; (length as usize).saturating_sub(4)];
        from.read_exact(&mut message).await?;
        let mut words = Words(&message);
        let said = match kind {
            // Parse: a name, its statement and the types of what is bound.
            Some(b'P') => {
                let (name, sql) = (words.text(), words.text());
                let types = (0..words.short()).map(|_| words.long()).collect();
                prepared.insert(name, (sql, types));
                None
            }
            // Bind: a portal, the name of the statement, formats, values.
            Some(b'B') => {
                words.text();
                let known = prepared.get(&words.text()).cloned();
                for _ in 0..words.short() {
                    words.short();
                }
                let values = (0..words.short()).map(|_| words.value()).collect();
                known.map(|(sql, types)| Said::Bound { sql, types, values })
            }
            // Query of the simple protocol.
            Some(b'Q') => Some(Said::Simple(words.text())),
            _ => None,
        };
        if let Some(said) = said {
            let flight = flight.load(Ordering::Relaxed);
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.push(Noted {
                connection,
                flight,
                said,
            });
        }
        if let Some(kind) = kind {
            asked.write_u8(kind).await?;
        }
        asked.write_u32(length).await?;
        asked.write_all(&message).await?;
        started |= message != TLS_REQUEST;
    }
}

/// The parts of a message; beyond its end they are empty.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn text(&mut self) -> String {
        let length = self.0.iter().position(|byte| *byte == 0);
        let text = self.take(length.unwrap_or(self.0.len()));
        let text = String::from_utf8_lossy(text).into_owned();
        self.take(1);
        text
    }

    fn short(&mut self) -> u16 {
        let bytes = self.take(2);
        bytes.try_into().map(u16::from_be_bytes).unwrap_or_default()
    }

    fn long(&mut self) -> u32 {
        let bytes = self.take(4);
        bytes.try_into().map(u32::from_be_bytes).unwrap_or_default()
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        // -1 is null.
        let length = usize::try_from(self.long().cast_signed()).ok()?;
        Some(self.take(length).to_vec())
    }
}
