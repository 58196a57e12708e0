//! A mail server that keeps what it is sent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::refuse;

/// A mail that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Whom it was for.
    pub to: String,
    /// Head and body, as they came.
    pub data: String,
}

impl Received {
    /// What the head says of it; empty when it says nothing.
    #[must_use]
    pub fn header(&self, name: &str) -> String {
        let head = self.data.split("\r\n\r\n").next().unwrap_or_default();
        let prefix = format!("{name}: ");
        let line = head.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_default().to_owned()
    }
}

/// A mail server on this machine. It goes on until the process ends.
#[derive(Debug, Clone)]
pub struct Mailbox {
    /// As a setting says it.
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Mailbox {
    /// One that takes everything, each mail after this time.
    ///
    /// # Panics
    /// When there is no port.
    #[must_use]
    pub fn open(takes: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0");
        let listener = listener.unwrap_or_else(|error| refuse(&error.to_string()));
        let port = listener.local_addr().map_or(0, |address| address.port());
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                // Whoever hangs up has nothing to be told.
                thread::spawn(move || drop(serve(&stream, &kept, takes)));
            }
        });
        Self {
            url: format!("smtp://127.0.0.1:{port}"),
            received,
        }
    }

    /// All that came, in the order in which it did.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        let received = self.received.lock();
        received.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    mut stream: &TcpStream,
    kept: &Mutex<Vec<Received>>,
    takes: Duration,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?);
    stream.write_all(b"220 mailbox\r\n")?;
    let mut to = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let command = line.trim_end();
        if let Some(rest) = command.strip_prefix("RCPT TO:<") {
            rest.split('>')
                .next()
                .unwrap_or_default()
                .clone_into(&mut to);
        }
        if command == "DATA" {
            stream.write_all(b"354 go on\r\n")?;
            let mut data = String::new();
            while !data.ends_with("\r\n.\r\n") {
                if lines.read_line(&mut data)? == 0 {
                    return Ok(());
                }
            }
            let mail = Received {
                to: to.clone(),
                data,
            };
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(mail);
            thread::sleep(takes);
        }
        stream.write_all(b"250 mailbox\r\n")?;
        if command == "QUIT" {
            return Ok(());
        }
    }
}
