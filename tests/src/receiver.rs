//! A system of an organization, on this machine: what it was sent, and what it answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex as Waiting;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::refuse;
use crate::server::PATIENCE;

/// What the receiver was sent.
#[derive(Debug, Clone)]
pub struct Received {
    head: String,
    /// As it came.
    pub body: Vec<u8>,
}

impl Received {
    /// The header of this name, written in lower case; empty when there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }

    /// `webhook-id`: the same whenever the same is asked again.
    #[must_use]
    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }

    /// The body.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Whether whoever has the secret signed it: Base64 of HMAC-SHA256 over id, timestamp and body, by the
    /// bytes that stand behind `whsec_` (<https://www.standardwebhooks.com>).
    #[must_use]
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.trim_start_matches("whsec_"));
        let (Ok(key), timestamp) = (key, self.header("webhook-timestamp")) else {
            return false;
        };
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else {
            return false;
        };
        mac.update(format!("{}.{timestamp}.", self.id()).as_bytes());
        mac.update(&self.body);
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let mut signatures = self.header("webhook-signature").split(' ');
        signatures.any(|signature| signature == expected)
    }
}

/// An answer that is given.
#[derive(Debug, Clone)]
pub enum Answer {
    /// 200 with this JSON.
    Json(Value),
    /// This status, with these headers, each on a line of its own, and this body.
    Raw(u16, &'static str, &'static str),
    /// None: the line is held until the other side gives up.
    Never,
}

/// A server for requests of one kind. It answers in turn what it was told to, and then always the last.
#[derive(Debug)]
pub struct Receiver {
    /// Where it is asked.
    pub url: String,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    got: Waiting<UnboundedReceiver<Received>>,
}

impl Receiver {
    /// One that gives these answers.
    ///
    /// # Panics
    /// When it cannot listen.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = match TcpListener::bind("127.0.0.1:0").await {
            Ok(listener) => listener,
            Err(error) => refuse(&error.to_string()),
        };
        let Ok(address) = listener.local_addr() else {
            refuse("the receiver has no address")
        };
        let answers = Arc::new(Mutex::new(answers.into_iter().collect()));
        let (put, got) = unbounded_channel();
        tokio::spawn(serve(listener, Arc::clone(&answers), put));
        Self {
            url: format!("http://{address}/lessor"),
            answers,
            got: Waiting::new(got),
        }
    }

    /// What is answered from now on.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        let mut known = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *known = answers.into_iter().collect();
    }

    /// The next that it is sent.
    ///
    /// # Panics
    /// When nothing comes.
    pub async fn next(&self) -> Received {
        let mut got = self.got.lock().await;
        match tokio::time::timeout(PATIENCE, got.recv()).await {
            Ok(Some(received)) => received,
            _ => refuse("nothing was sent"),
        }
    }

    /// What it was sent and nobody has looked at yet.
    pub async fn left(&self) -> Vec<Received> {
        let mut got = self.got.lock().await;
        let mut left = Vec::new();
        while let Ok(received) = got.try_recv() {
            left.push(received);
        }
        left
    }
}

async fn serve(
    listener: TcpListener,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    put: UnboundedSender<Received>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(take(stream, Arc::clone(&answers), put.clone()));
    }
}

async fn take(
    mut stream: TcpStream,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    put: UnboundedSender<Received>,
) {
    let Some(received) = read(&mut stream).await else {
        return;
    };
    let answer = {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        }
    };
    // Whoever counts what came has let go of the receiver.
    drop(put.send(received));
    let text = match answer {
        Some(Answer::Json(body)) => {
            let body = body.to_string();
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        }
        Some(Answer::Raw(status, headers, body)) => {
            let length = body.len();
            format!("HTTP/1.1 {status} Said\r\n{headers}content-length: {length}\r\n\r\n{body}")
        }
        Some(Answer::Never) | None => {
            let mut rest = [0; 64];
            while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
            return;
        }
    };
    drop(stream.write_all(text.as_bytes()).await);
    drop(stream.shutdown().await);
}

async fn read(stream: &mut TcpStream) -> Option<Received> {
    const END: &[u8] = b"\r\n\r\n";
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(END.len()).position(|part| part == END);
        if let Some(head) = head {
            let received = Received {
                head: String::from_utf8_lossy(bytes.get(..head)?).into_owned(),
                body: bytes.get(head + END.len()..)?.to_vec(),
            };
            if received.body.len() >= received.header("content-length").parse().ok()? {
                return Some(received);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
