//! Requests that no HTTP client would send, on sockets.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::refuse;

/// A connection to the server at an address such as `http://127.0.0.1:8080`.
///
/// # Panics
/// When there is none.
pub async fn connect(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://");
    match TcpStream::connect(address).await {
        Ok(stream) => stream,
        Err(error) => refuse(&format!("{address}: {error}")),
    }
}

/// A request as it goes over the wire, with its length.
#[must_use]
pub fn request(method: &str, path: &str, key: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Sends the bytes and reads until the server closes.
///
/// # Panics
/// When it does not answer in time.
pub async fn exchange(url: &str, bytes: &[u8]) -> String {
    let mut stream = connect(url).await;
    // The server may close while there is still something to send.
    drop(stream.write_all(bytes).await);
    rest(&mut stream).await
}

/// What the server sends until it closes.
///
/// # Panics
/// When it does not answer in time.
pub async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = async {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            answer.extend_from_slice(&chunk[..length]);
        }
    };
    if tokio::time::timeout(Duration::from_secs(30), read)
        .await
        .is_err()
    {
        refuse(&format!(
            "no end after {:?}",
            String::from_utf8_lossy(&answer)
        ));
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Closes with a reset instead of the usual end.
///
/// # Panics
/// When the socket has no such option.
pub fn reset(stream: TcpStream) {
    let set = stream.set_zero_linger();
    assert!(set.is_ok(), "{set:?}");
    drop(stream);
}
