//! A client's connection, below HTTP.
//!
//! What cannot be read as a request reaches no handler: actix answers it itself, with an empty body.
//! Such an answer is put into the shape that every error has here, with an id, on its way out. And
//! the time that a head has is kept here: actix gives one to the first head of a connection alone, and
//! looks at the clock before it looks at what has come, so that a busy machine would be its client's fault.
//! To answers that nobody reads it gives all the time there is; their [pace](super::pace) is kept here too.
//! So it does to the rest of a body in chunks whose request was answered before.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use actix_web::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::http::admission::Admission;
use crate::http::error::ApiError;
use crate::http::head::MAX_HEAD;
use crate::http::pace::{Pace, Taking};
use crate::http::request_id::RequestId;

/// How every answer begins.
const BEGIN: &[u8] = b"HTTP/1.1 ";
/// How a head ends.
const END: &[u8] = b"\r\n\r\n";
/// How much of what a refused client still sends is read before the connection is closed, in bytes, and
/// for how long. A connection that is closed with something unread is reset, and the answer with it:
/// <https://www.rfc-editor.org/rfc/rfc9112#section-9.6>.
const LINGER_BYTES: usize = 1024 * 1024;
const LINGER: Duration = Duration::from_secs(1);
/// What the head of an answer with an empty body says.
const EMPTY: &str = "content-length: 0\r\n";

/// How many requests of a connection are worked on, and how many there were. Connection data.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    now: AtomicUsize,
    ever: AtomicUsize,
}

impl UnderWay {
    /// Counts a request until what is returned is dropped.
    pub(crate) fn enter(&self) -> RequestGuard {
        self.0.now.fetch_add(1, Ordering::Relaxed);
        self.0.ever.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    fn is_any(&self) -> bool {
        self.0.now.load(Ordering::Relaxed) > 0
    }

    fn ever(&self) -> usize {
        self.0.ever.load(Ordering::Relaxed)
    }
}

/// A request that is worked on.
pub(crate) struct RequestGuard(UnderWay);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How the connections of a server are treated.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// Where clients reach the service.
    pub(crate) public_url: Arc<str>,
    /// How long a head may take to arrive.
    pub(crate) head_timeout: Duration,
    /// How long a client for whom nothing is done may say nothing: longer than actix waits for the next
    /// request.
    pub(crate) silence: Duration,
    /// How slowly answers may be taken.
    pub(crate) pace: Pace,
    /// Whether the server stops: what it cuts off is nobody's fault.
    pub(crate) is_stopping: Arc<AtomicBool>,
}

/// A connection.
pub(crate) struct Connection<S: AsyncWrite + Unpin> {
    stream: S,
    manner: Manner,
    taking: Taking,
    /// Counted as long as it is open.
    _admission: Admission,
    /// Whether something came after what was written last.
    is_unanswered: bool,
    /// The requests that there were when something was written last; none before anything was.
    written_at: Option<usize>,
    /// Whether the client has said that nothing more comes.
    is_over: bool,
    under_way: UnderWay,
    /// The requests that there were when it was last looked.
    seen: usize,
    /// Whether it was told that what came is no request.
    is_refused: bool,
    /// Until when the first head, or the one that has begun, has to be there.
    head: Option<Instant>,
    /// Until when something has to come, where nothing is done.
    silence: Option<Instant>,
    /// Goes off at the one or the other. One for all requests of the connection: to put off what is set takes no lock, as setting
    /// and taking back another for each does.
    alarm: Pin<Box<Sleep>>,
    /// What is still to be written in the place of what was taken for written.
    out: Vec<u8>,
    /// Until when a refused client is listened to, and how much of what it sends.
    linger: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S, admission: Admission, manner: Manner) -> Self {
        let head = Instant::now() + manner.head_timeout;
        Self {
            stream,
            taking: Taking::new(manner.pace),
            manner,
            _admission: admission,
            is_unanswered: false,
            written_at: None,
            is_over: false,
            under_way: UnderWay::default(),
            seen: 0,
            is_refused: false,
            head: Some(head),
            silence: None,
            alarm: Box::pin(sleep_until(head)),
            out: Vec::new(),
            linger: None,
        }
    }

    /// What counts its requests.
    pub(crate) fn under_way(&self) -> UnderWay {
        self.under_way.clone()
    }

    /// The answer in the place of one without a body, of which the head is kept.
    fn answer(&self, status: StatusCode, head: &str) -> Vec<u8> {
        let error = match status {
            StatusCode::BAD_REQUEST => {
                ApiError::invalid_request("the request is not one of HTTP/1.1")
            }
            StatusCode::REQUEST_TIMEOUT => ApiError::head_timeout(),
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ApiError::head_too_large(MAX_HEAD),
            _ => ApiError::of_status(status),
        };
        let id = RequestId::generate();
        tracing::debug!(
            request_id = id.as_str(),
            status = status.as_u16(),
            "what came is no request"
        );
        metrics::counter!(
            "http_requests_total",
            "method" => "other", "route" => "unreadable", "status" => status.as_u16().to_string(),
        )
        .increment(1);
        let body = error.body(&self.manner.public_url, Some(id.as_str()));
        let said = format!(
            "content-length: {}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
             request-id: {}\r\n",
            body.len(),
            id.as_str()
        );
        let mut answer = head.replacen(EMPTY, &said, 1);
        if !answer.contains("connection: close\r\n") {
            answer = answer.replacen(&said, &format!("connection: close\r\n{said}"), 1);
        }
        let mut answer = answer.into_bytes();
        answer.extend(body);
        answer
    }
}

/// Where in the bytes an answer without a body and without an id begins that ends with them; its
/// status and its head. Our own answers all have an id.
fn bare(bytes: &[u8]) -> Option<(usize, StatusCode, &str)> {
    if !bytes.ends_with(END) {
        return None;
    }
    let start = bytes
        .windows(BEGIN.len())
        .rposition(|window| window == BEGIN)?;
    let head = std::str::from_utf8(bytes.get(start..)?).ok()?;
    let status = StatusCode::from_bytes(head.as_bytes().get(BEGIN.len()..BEGIN.len() + 3)?).ok()?;
    let is_refusal = status.is_client_error() || status.is_server_error();
    let is_whole = head.find("\r\n\r\n") == Some(head.len() - END.len());
    let is_bare =
        is_refusal && is_whole && head.contains(EMPTY) && !head.contains("\r\nrequest-id:");
    is_bare.then_some((start, status, head))
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    /// Sees whether the head that was begun is there.
    fn look(&mut self) {
        let ever = self.under_way.ever();
        if self.seen != ever {
            self.seen = ever;
            self.head = None;
        }
    }

    /// Whether it is so late; if not, the connection is looked at again then.
    fn poll_alarm(&mut self, cx: &mut Context<'_>, until: Instant) -> Poll<()> {
        if self.alarm.deadline() != until {
            self.alarm.as_mut().reset(until);
        }
        self.alarm.as_mut().poll(cx)
    }

    /// Writes what is still to be written.
    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.out);
            let written = ready!(self.taking.poll_judged(cx, written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes of these bytes what the client takes.
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.taking.poll_judged(cx, written)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Reads what a refused client still sends, until it has heard that it is.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (until, left) = self.linger.get_or_insert_with(|| {
            let until = Box::pin(sleep_until(Instant::now() + LINGER));
            (until, LINGER_BYTES)
        });
        let mut bytes = [0; 4096];
        while *left > 0 && until.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            let count = buffer.filled().len();
            if read.is_err() || count == 0 {
                break;
            }
            *left = left.saturating_sub(count);
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            let has_come = buffer.filled().len() > before;
            self.is_unanswered |= has_come;
            self.is_over |= !has_come;
        }
        self.look();
        // What comes while an answer is on its way waits for that; to be told no now would be within it.
        let is_busy = self.under_way.is_any() || self.taking.is_paused();
        let is_idle = !is_busy && !self.is_refused;
        if !is_idle {
            self.head = None;
        } else if self.head.is_none() && buffer.filled().len() > before {
            self.head = Some(Instant::now() + self.manner.head_timeout);
        }
        // Where something has come there is more to read, or the head is there.
        let is_late = match self.head.filter(|_| read.is_pending()) {
            Some(until) => self.poll_alarm(cx, until).is_ready(),
            None => false,
        };
        if is_late {
            let head = format!("HTTP/1.1 408 Request Timeout\r\n{EMPTY}\r\n");
            self.head = None;
            self.is_refused = true;
            self.out = self.answer(StatusCode::REQUEST_TIMEOUT, &head);
            // Nothing else is being written, so that the whole of it finds room.
            let _ = self.poll_out(cx);
            return Poll::Ready(Ok(()));
        }
        if !is_idle || read.is_ready() {
            self.silence = None;
        }
        let is_forgotten = match self.silence {
            Some(until) => self.poll_alarm(cx, until).is_ready(),
            None => false,
        };
        if is_forgotten {
            // As if the client had ended it.
            self.is_over = true;
            return Poll::Ready(Ok(()));
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_out(cx))?;
        self.is_unanswered = false;
        self.written_at = Some(self.under_way.ever());
        match bare(bytes) {
            None => self.poll_send(cx, bytes),
            Some((0, status, head)) => {
                self.is_refused = true;
                self.out = self.answer(status, head);
                // What finds no room now is written before anything else.
                if let Poll::Ready(Err(error)) = self.poll_out(cx) {
                    return Poll::Ready(Err(error));
                }
                Poll::Ready(Ok(bytes.len()))
            }
            Some((start, _, _)) => {
                let before = bytes.get(..start).unwrap_or_default();
                self.poll_send(cx, before)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_out(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.look();
        // actix drops the connection after this, without shutting it down.
        if self.is_refused {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            ready!(self.poll_linger(cx));
        } else if !self.under_way.is_any() && self.head.is_none() {
            let until = Instant::now() + self.manner.silence;
            self.silence = Some(until);
            // Nothing else may have the connection looked at again.
            let _ = self.poll_alarm(cx, until);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_out(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// actix takes chunks that are none for a client that is gone, and drops the connection without a word.
/// The word is said here, as far as it finds room, and only where it cannot land within an answer: nothing
/// was written yet, or a request was begun since, which is not before the answer to the one before is out.
impl<S: AsyncWrite + Unpin> Drop for Connection<S> {
    fn drop(&mut self) {
        let is_cut_off = self.manner.is_stopping.load(Ordering::Relaxed);
        let begun = self.under_way.ever();
        let is_between = self.written_at.is_none_or(|written| begun > written);
        if !self.is_unanswered || !is_between || self.is_over || self.is_refused || is_cut_off {
            return;
        }
        let head = format!("HTTP/1.1 400 Bad Request\r\n{EMPTY}\r\n");
        let answer = self.answer(StatusCode::BAD_REQUEST, &head);
        let mut nobody = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut self.stream).poll_write(&mut nobody, &answer);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;
    use crate::http::admission::{Connected, ConnectionLimits};

    fn connection<S: AsyncWrite + Unpin>(stream: S, manner: Manner) -> Connection<S> {
        let connected = Connected::new(ConnectionLimits::default());
        Connection::new(stream, connected.admit(None).unwrap(), manner)
    }

    fn manner() -> Manner {
        Manner {
            public_url: Arc::from("http://localhost"),
            head_timeout: Duration::from_secs(600),
            silence: Duration::from_secs(600),
            pace: Pace::default(),
            is_stopping: Arc::default(),
        }
    }

    /// What of the bytes is taken at once.
    fn write<S: AsyncRead + AsyncWrite + Unpin>(
        connection: &mut Connection<S>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut nobody = Context::from_waker(Waker::noop());
        Pin::new(connection).poll_write(&mut nobody, bytes)
    }

    /// Whoever is slow to look finds the time over, and the head there all the same.
    #[tokio::test]
    async fn what_has_come_is_not_late() {
        let (mut client, stream) = duplex(1_024);
        let head_timeout = Duration::ZERO;
        let mut connection = connection(
            stream,
            Manner {
                head_timeout,
                ..manner()
            },
        );
        client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let mut bytes = [0; 64];
        let count = connection.read(&mut bytes).await.unwrap();
        assert_eq!(&bytes[..count], b"GET / HTTP/1.1\r\n");
        assert_eq!(connection.read(&mut bytes).await.unwrap(), 0, "the rest is");
        client.read_exact(&mut bytes[..12]).await.unwrap();
        assert_eq!(&bytes[..12], b"HTTP/1.1 408");
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_ends_the_connection() {
        let (_client, stream) = duplex(16);
        let pace = Pace {
            pause: Duration::ZERO,
            ..Pace::default()
        };
        let mut connection = connection(stream, Manner { pace, ..manner() });
        connection.write_all(&[b'x'; 16]).await.unwrap();
        let refused = connection.write_all(b"x").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }

    /// The next request may be on its way while an answer still is.
    #[tokio::test]
    async fn a_head_is_not_late_before_the_answer_to_the_one_before_is_taken() {
        let (mut client, stream) = duplex(16);
        let head_timeout = Duration::ZERO;
        let mut connection = connection(
            stream,
            Manner {
                head_timeout,
                ..manner()
            },
        );
        let answer = [b'x'; 32];
        assert!(matches!(
            write(&mut connection, &answer),
            Poll::Ready(Ok(16))
        ));
        assert!(write(&mut connection, &answer[16..]).is_pending());
        client.write_all(b"GET / HT").await.unwrap();
        let mut bytes = [0; 64];
        assert_eq!(connection.read(&mut bytes).await.unwrap(), 8);
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let mut buffer = ReadBuf::new(&mut bytes);
            let mut cx = Context::from_waker(Waker::noop());
            let read = Pin::new(&mut connection).poll_read(&mut cx, &mut buffer);
            assert!(read.is_pending());
        }
        client.read_exact(&mut bytes[..16]).await.unwrap();
        assert!(matches!(
            write(&mut connection, &answer[16..]),
            Poll::Ready(Ok(16))
        ));
        client.read_exact(&mut bytes[..16]).await.unwrap();
        assert_eq!(bytes[..16], answer[..16]);
    }

    #[tokio::test]
    async fn who_says_nothing_any_more_is_not_waited_for() {
        let (mut client, stream) = duplex(1_024);
        let silence = Duration::from_millis(1);
        let mut connection = connection(
            stream,
            Manner {
                silence,
                ..manner()
            },
        );
        client.write_all(b"GET / HT").await.unwrap();
        let mut bytes = [0; 64];
        assert_eq!(connection.read(&mut bytes).await.unwrap(), 8);
        drop(connection.under_way().enter());
        connection.flush().await.unwrap();
        assert_eq!(connection.read(&mut bytes).await.unwrap(), 0);
        drop(connection);
        assert_eq!(client.read(&mut bytes).await.unwrap(), 0, "nor answered");
    }

    #[test]
    fn only_answers_of_nobody_are_bare() {
        let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        assert_eq!(
            bare(refusal.as_bytes()),
            Some((0, StatusCode::BAD_REQUEST, refusal))
        );
        let first = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nrequest-id: a\r\n\r\n{}";
        let both = format!("{first}{refusal}");
        let found = bare(both.as_bytes()).map(|(start, status, _)| (start, status));
        assert_eq!(found, Some((first.len(), StatusCode::BAD_REQUEST)));
        for other in [
            first,
            "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nrequest-id: a\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 10\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\nx\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "",
        ] {
            assert_eq!(bare(other.as_bytes()), None, "{other}");
        }
    }
}
