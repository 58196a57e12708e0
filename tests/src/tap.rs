//! A tap on the line between the server and its database: writes down what is carried out there.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::refuse;

/// The code of a request for TLS, which has no type byte and comes before the startup message.
const TLS_REQUEST: [u8; 4] = [4, 210, 22, 47];

/// A tap. It ends with the runtime that it was made in.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The database's address through the tap.
    pub url: String,
    carried_out: Statements,
}

/// The statements in the order in which they were carried out.
#[derive(Clone, Debug, Default)]
struct Statements(Arc<Mutex<Vec<String>>>);

impl Statements {
    fn note(&self, sql: String) {
        let mut statements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        statements.push(sql);
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
        let Some((host, name)) = place.rsplit_once('/') else {
            refuse("a database without a name")
        };
        let carried_out = Statements::default();
        let tap = Self {
            url: format!("{login}@{address}/{name}"),
            carried_out: carried_out.clone(),
        };
        let host = decoded(host);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (host, carried_out) = (host.clone(), carried_out.clone());
                tokio::spawn(async move {
                    // A line that breaks is noticed at its ends.
                    drop(join(client, &host, &carried_out).await);
                });
            }
        });
        tap
    }

    /// The statements that were carried out since they were last asked for, but for those that begin
    /// and end a transaction.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        let mut statements = (self.carried_out.0)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *statements);
        taken.retain(|sql| {
            !["BEGIN", "COMMIT", "ROLLBACK"]
                .iter()
                .any(|word| sql.starts_with(word))
        });
        taken
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

async fn join(client: TcpStream, host: &str, carried_out: &Statements) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (from, to) = client.into_split();
    if host.starts_with('/') {
        let server = UnixStream::connect(format!("{host}/.s.PGSQL.5432")).await?;
        let (answers, asked) = server.into_split();
        both(from, to, answers, asked, carried_out).await
    } else {
        let server = TcpStream::connect(host).await?;
        server.set_nodelay(true)?;
        let (answers, asked) = server.into_split();
        both(from, to, answers, asked, carried_out).await
    }
}

async fn both(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut answers: impl AsyncRead + Unpin,
    asked: impl AsyncWrite + Unpin,
    carried_out: &Statements,
) -> io::Result<()> {
    tokio::select! {
        ended = count(from, asked, carried_out) => ended,
        ended = tokio::io::copy(&mut answers, &mut to) => ended.map(|_| ()),
    }
}

/// Passes on what the client says, message by message.
async fn count(
    mut from: impl AsyncRead + Unpin,
    mut asked: impl AsyncWrite + Unpin,
    carried_out: &Statements,
) -> io::Result<()> {
    let mut prepared = HashMap::new();
    let mut started = false;
    loop {
        let mut kind = None;
        if started {
            let byte = from.read_u8().await?;
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
                prepared.insert(name, words.next().unwrap_or_default());
            }
            // Bind: a portal, and the name of the statement that is carried out there.
            Some(b'B') => {
                let name = words.nth(1).unwrap_or_default();
                carried_out.note(prepared.get(&name).cloned().unwrap_or(name));
            }
            // Query of the simple protocol.
            Some(b'Q') => carried_out.note(words.next().unwrap_or_default()),
            _ => {}
        }
        asked.write_u32(length).await?;
        asked.write_all(&message).await?;
        asked.flush().await?;
        started |= message != TLS_REQUEST;
    }
}
