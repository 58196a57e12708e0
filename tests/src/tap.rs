//! A tap on the line between the server and its database: writes down what is carried out there, and
//! can be turned off.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::refuse;

/// The code of a request for TLS, which has no type byte and comes before the startup message.
const TLS_REQUEST: [u8; 4] = [4, 210, 22, 47];

/// A tap. It ends with the runtime that it was made in.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The database's address through the tap.
    pub url: String,
    /// Where new connections lead.
    to: Arc<Mutex<String>>,
    carried_out: Statements,
    flow: Arc<watch::Sender<Flow>>,
}

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Everything.
    Open,
    /// Everything, until a transaction is to be committed that wrote to the table: that passes, and no
    /// answer after it.
    UntilCommit(&'static str),
    /// What is asked, and no answer.
    Questions,
    /// Nothing. Connections stay open, and new ones are taken.
    Nothing,
    /// Nothing: connections end, and new ones do too.
    Away,
}

/// A statement as it went over the line.
#[derive(Clone, Debug)]
pub struct Carried {
    /// What was asked.
    pub sql: String,
    /// The round trip that it was part of: those that went behind each other, without waiting for an answer in between,
    /// are of one.
    pub trip: u64,
    /// Whether it was to be read and planned first, which is a round trip of its own.
    pub is_new: bool,
}

/// The statements in the order in which they were carried out.
#[derive(Clone, Debug, Default)]
struct Statements {
    noted: Arc<Mutex<Vec<Carried>>>,
    trips: Arc<AtomicU64>,
}

impl Statements {
    fn note(&self, carried: Carried) {
        let mut statements = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        statements.push(carried);
    }

    fn next_trip(&self) -> u64 {
        self.trips.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a line's questions wait for.
#[derive(Debug, Default)]
struct Unanswered {
    questions: AtomicUsize,
    /// Whether the next byte says if there will be TLS, and belongs to no message.
    byte: AtomicBool,
}

impl Unanswered {
    fn is_any(&self) -> bool {
        self.questions.load(Ordering::Relaxed) > 0
    }

    /// Another question is asked.
    fn ask(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// One is answered.
    fn answer(&self) {
        self.questions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Finds the ends of answers in what the database says: the server is ready for the next question.
#[derive(Debug, Default)]
struct Answers {
    head: Vec<u8>,
    /// How much of a message is still to come.
    rest: usize,
}

impl Answers {
    const HEAD: usize = 5;

    /// How many answers end in these bytes.
    fn ends(&mut self, mut bytes: &[u8]) -> usize {
        let mut ends = 0;
        while !bytes.is_empty() {
            if self.rest > 0 {
                let part = self.rest.min(bytes.len());
                self.rest -= part;
                bytes = bytes.get(part..).unwrap_or_default();
                continue;
            }
            let part = (Self::HEAD - self.head.len()).min(bytes.len());
            let (head, after) = bytes.split_at(part);
            self.head.extend_from_slice(head);
            bytes = after;
            if let [kind, length @ ..] = self.head.as_slice()
                && let Ok(length) = <[u8; 4]>::try_from(length)
            {
                ends += usize::from(*kind == b'Z');
                self.rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
                self.head.clear();
            }
        }
        ends
    }
}

impl Tap {
    /// A tap on the line to the database at this address.
    ///
    /// # Panics
    /// When no port is free, or the address is none.
    pub async fn on(database: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.unwrap_or_else(|error| refuse(&error.to_string()));
        let address = listener
            .local_addr()
            .map(|address| address.to_string())
            .unwrap_or_default();
        let Some((login, place)) = database.rsplit_once('@') else {
            refuse("a database without a login")
        };
        let Some((_, name)) = place.rsplit_once('/') else {
            refuse("a database without a name")
        };
        let carried_out = Statements::default();
        let tap = Self {
            url: format!("{login}@{address}/{name}"),
            to: Arc::new(Mutex::new(host_of(database))),
            carried_out: carried_out.clone(),
            flow: Arc::new(watch::channel(Flow::Open).0),
        };
        let (to, flow) = (Arc::clone(&tap.to), Arc::clone(&tap.flow));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let host = to.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let carried_out = carried_out.clone();
                let flow = Arc::clone(&flow);
                tokio::spawn(async move {
                    // A line that breaks is noticed at its ends.
                    drop(join(client, &host, &carried_out, &flow).await);
                });
            }
        });
        tap
    }

    /// New connections lead to the database at this address, which has the same login and name.
    ///
    /// # Panics
    /// When the address is none.
    pub fn lead_to(&self, database: &str) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = host_of(database);
    }

    /// From now on nothing passes, and no connection ends.
    pub fn freeze(&self) {
        self.flow.send_replace(Flow::Nothing);
    }

    /// From now on the database is away: connections end, and none that is made lasts.
    pub fn away(&self) {
        self.flow.send_replace(Flow::Away);
    }

    /// The next transaction that inserts into the table and is committed is the last of which anything
    /// is heard: that it was, is not.
    pub fn freeze_at_commit(&self, table: &'static str) {
        self.flow.send_replace(Flow::UntilCommit(table));
    }

    /// Everything passes again, what was held back first; new connections, where the database was away.
    pub fn thaw(&self) {
        self.flow.send_replace(Flow::Open);
    }

    /// The statements that were carried out since they were last asked for, but for those that begin
    /// and end a transaction and say whom it reaches.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        let carried = self.take_carried().into_iter();
        carried.map(|carried| carried.sql).collect()
    }

    /// Like [`take`](Self::take), with what is known of how they went over the line.
    #[must_use]
    pub fn take_carried(&self) -> Vec<Carried> {
        let mut statements = (self.carried_out.noted)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *statements);
        taken.retain(|carried| {
            !["BEGIN", "COMMIT", "ROLLBACK", "SET LOCAL lessor."]
                .iter()
                .any(|word| carried.sql.starts_with(word))
        });
        taken
    }
}

/// The part of an address that says where its database listens.
fn host_of(database: &str) -> String {
    let place = database.rsplit_once('@').map(|(_, place)| place);
    match place.and_then(|place| place.rsplit_once('/')) {
        Some((host, _)) => decoded(host),
        None => refuse("a database without a name"),
    }
}

/// Undoes percent-encoding of a path.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(part.len().min(2));
        decoded.extend(u8::from_str_radix(code, 16).map(char::from));
        decoded.push_str(rest);
    }
    decoded
}

async fn join(
    client: TcpStream,
    host: &str,
    carried_out: &Statements,
    flow: &watch::Sender<Flow>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (from, to) = client.into_split();
    if host.starts_with('/') {
        let server = UnixStream::connect(format!("{host}/.s.PGSQL.5432")).await?;
        let (answers, asked) = server.into_split();
        both(from, to, answers, asked, carried_out, flow).await
    } else {
        let server = TcpStream::connect(host).await?;
        server.set_nodelay(true)?;
        let (answers, asked) = server.into_split();
        both(from, to, answers, asked, carried_out, flow).await
    }
}

async fn both(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut answers: impl AsyncRead + Unpin,
    asked: impl AsyncWrite + Unpin,
    carried_out: &Statements,
    flow: &watch::Sender<Flow>,
) -> io::Result<()> {
    let unanswered = Unanswered::default();
    let answering = async {
        let mut ends = Answers::default();
        let mut chunk = [0; 4096];
        loop {
            let length = answers.read(&mut chunk).await?;
            if length == 0 {
                return Ok(());
            }
            let first = usize::from(unanswered.byte.swap(false, Ordering::Relaxed));
            for _ in 0..ends.ends(chunk.get(first..length).unwrap_or_default()) {
                unanswered.answer();
            }
            until(flow, |now| matches!(now, Flow::Open | Flow::UntilCommit(_))).await;
            to.write_all(chunk.get(..length).unwrap_or_default())
                .await?;
        }
    };
    tokio::select! {
        ended = count(from, asked, carried_out, &unanswered, flow) => ended,
        ended = answering => ended,
        () = until(flow, |now| now == Flow::Away) => Ok(()),
    }
}

/// Waits until what passes is like this.
async fn until(flow: &watch::Sender<Flow>, is_so: impl Fn(Flow) -> bool) {
    // The sender is here, so that there is always something to wait for.
    drop(flow.subscribe().wait_for(|now| is_so(*now)).await);
}

/// Passes on what the client says, message by message.
async fn count(
    mut from: impl AsyncRead + Unpin,
    mut asked: impl AsyncWrite + Unpin,
    carried_out: &Statements,
    unanswered: &Unanswered,
    flow: &watch::Sender<Flow>,
) -> io::Result<()> {
    let mut prepared: HashMap<String, String> = HashMap::new();
    let mut fresh: HashSet<String> = HashSet::new();
    let mut trip = carried_out.next_trip();
    let mut inserts = String::new();
    let mut started = false;
    loop {
        let mut kind = None;
        if started {
            let byte = from.read_u8().await?;
            until(flow, |now| now != Flow::Nothing).await;
            asked.write_u8(byte).await?;
            kind = Some(byte);
        }
        let length = from.read_u32().await?;
        let mut message = vec![0; (length as usize).saturating_sub(4)];
        from.read_exact(&mut message).await?;
        let mut words = message
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned());
        match kind {
            // Parse: a name and its statement.
            Some(b'P') => {
                let name = words.next().unwrap_or_default();
                fresh.insert(name.clone());
                prepared.insert(name, words.next().unwrap_or_default());
            }
            // Sync: it is answered.
            Some(b'S') => unanswered.ask(),
            None if message == TLS_REQUEST => unanswered.byte.store(true, Ordering::Relaxed),
            // The startup.
            None => unanswered.ask(),
            // Bind: a portal, and the name of the statement that is carried out there.
            Some(b'B') => {
                let name = words.nth(1).unwrap_or_default();
                let is_new = fresh.remove(&name);
                let sql = prepared.get(&name).cloned().unwrap_or(name);
                if sql.starts_with("INSERT") {
                    inserts.push_str(&sql);
                }
                if !unanswered.is_any() {
                    trip = carried_out.next_trip();
                }
                carried_out.note(Carried { sql, trip, is_new });
            }
            // Query of the simple protocol.
            Some(b'Q') => {
                let sql = words.next().unwrap_or_default();
                if sql.ends_with("ROLLBACK") {
                    inserts.clear();
                }
                if sql.ends_with("COMMIT") {
                    let inserts = std::mem::take(&mut inserts);
                    flow.send_if_modified(|now| {
                        let is_last = matches!(*now, Flow::UntilCommit(table)
                            if inserts.contains(&format!("INTO \"{table}\"")));
                        if is_last {
                            *now = Flow::Questions;
                        }
                        is_last
                    });
                }
                if !unanswered.is_any() {
                    trip = carried_out.next_trip();
                }
                unanswered.ask();
                let is_new = false;
                carried_out.note(Carried { sql, trip, is_new });
            }
            _ => {}
        }
        asked.write_u32(length).await?;
        asked.write_all(&message).await?;
        asked.flush().await?;
        started |= message != TLS_REQUEST;
    }
}
