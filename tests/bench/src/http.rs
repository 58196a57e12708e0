//! HTTP/1.1 on one connection, as cheap as it gets: whoever measures shares the processor with what is measured.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Headers of an answer at the most.
const HEADERS: usize = 48;

/// A request, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// A request without a body, with this key where there is one.
    pub(crate) fn get(path: &str, key: Option<&str>) -> Self {
        Self(head("GET", path, key, "").into_bytes())
    }

    /// A request with JSON.
    pub(crate) fn json(method: &str, path: &str, key: Option<&str>, body: &str) -> Self {
        let length = format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        Self((head(method, path, key, &length) + body).into_bytes())
    }

    /// The same, which no answer will do for that is remembered.
    pub(crate) fn anew(self) -> Self {
        const HOST: &[u8] = b"host: bench\r\n";
        let Self(mut bytes) = self;
        let host = bytes.windows(HOST.len()).position(|it| it == HOST);
        let at = host.unwrap_or_default();
        bytes.splice(at..at, *b"cache-control: no-cache\r\n");
        Self(bytes)
    }
}

fn head(method: &str, path: &str, key: Option<&str>, more: &str) -> String {
    let key = key.map_or_else(String::new, |key| {
        format!("authorization: Bearer {key}\r\n")
    });
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\n{key}{more}\r\n")
}

/// A connection that is kept.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// Its status.
    pub(crate) status: u16,
    /// Its body, as it stands on the line.
    pub(crate) body: &'a [u8],
    /// Its type.
    pub(crate) content_type: String,
}

/// Where an answer ends, once all of it is there.
struct Whole {
    status: u16,
    body: Range<usize>,
    content_type: String,
}

impl Connection {
    /// # Errors
    /// Nobody listens there.
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(64 * 1024),
        })
    }

    /// Sends a request and waits for all of its answer.
    ///
    /// # Errors
    /// The connection broke, or what came is no HTTP.
    pub(crate) async fn ask(&mut self, request: &Request) -> io::Result<Answer<'_>> {
        self.stream.write_all(&request.0).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(whole) = whole(&self.buffer)? {
                return Ok(Answer {
                    status: whole.status,
                    body: self.buffer.get(whole.body).unwrap_or_default(),
                    content_type: whole.content_type,
                });
            }
        }
    }
}

fn whole(bytes: &[u8]) -> io::Result<Option<Whole>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = answer.parse(bytes).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let header = |name: &str| {
        let found = answer
            .headers
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case(name));
        found.and_then(|it| std::str::from_utf8(it.value).ok())
    };
    let length: usize = match header("content-length") {
        Some(length) => length.parse().map_err(io::Error::other)?,
        None if header("transfer-encoding").is_some() => {
            return Err(io::Error::other(
                "an answer in chunks has no length to measure by",
            ));
        }
        None => 0,
    };
    let end = head + length;
    Ok((bytes.len() >= end).then(|| Whole {
        status: answer.code.unwrap_or_default(),
        body: head..end,
        content_type: header("content-type").unwrap_or_default().to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-type: text/plain\r\n\r\nok";
        for length in 0..answer.len() {
            assert!(whole(&answer[..length]).unwrap().is_none(), "{length}");
        }
        let whole = whole(answer).unwrap().unwrap();
        assert_eq!((whole.status, &answer[whole.body]), (200, &b"ok"[..]));
        assert_eq!(whole.content_type, "text/plain");
    }
}
