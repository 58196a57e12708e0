//! The double over HTTP.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming as Body};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use crate::error::ApiError;
use crate::events::Event;
use crate::fault::{Fault, When};
use crate::state::{Incoming, Prepared, Reply, Shared, State};
use crate::store::merge;
use crate::{control, hosted, webhooks};

type Answered = Response<BoxBody<Bytes, io::Error>>;

/// What becomes of a request.
enum Fate {
    /// It is answered.
    Answered(Answered),
    /// Nothing is ever said.
    Silence,
    /// The connection is reset.
    Reset,
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let number = shared.lock().new_connection();
        tokio::spawn(connection(stream, number, Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, number: u64, shared: Arc<Shared>) {
    let stream = Arc::new(stream);
    let wire = TokioIo::new(Wire(Arc::clone(&stream)));
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        let stream = Arc::clone(&stream);
        async move {
            // A task of its own: a caller who leaves takes nothing back.
            let fate = tokio::spawn(handle(request, number, shared)).await;
            match fate {
                Ok(Fate::Answered(answered)) => Ok(answered),
                Ok(Fate::Silence) => std::future::pending().await,
                Ok(Fate::Reset) | Err(_) => {
                    let _set = stream.set_zero_linger();
                    Err(io::Error::from(io::ErrorKind::ConnectionReset))
                }
            }
        }
    });
    // How a connection ends is the caller's affair.
    let _ended = hyper::server::conn::http1::Builder::new()
        .serve_connection(wire, service)
        .await;
}

async fn handle(request: Request<Body>, connection: u64, shared: Arc<Shared>) -> Fate {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Fate::Reset;
    };
    let body = body.to_bytes();
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default();
    if let Some(command) = path.strip_prefix("/_double/") {
        let (status, body) = control::run(&shared, parts.method.as_str(), command, query, &body);
        return Fate::Answered(respond(status, &body.to_string(), HeaderMap::new()));
    }
    for (prefix, serve) in [
        ("/pay/", hosted::serve as Page),
        ("/verify/", hosted::verify),
    ] {
        if let Some(session) = path.strip_prefix(prefix) {
            return page(&shared, serve, parts.method.as_str(), session, &body).await;
        }
    }
    let raw = match parts.method.as_str() {
        "POST" => String::from_utf8_lossy(&body).into_owned(),
        _ => query.to_owned(),
    };
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        value.to_str().ok().map(ToOwned::to_owned)
    };
    let incoming = Incoming {
        method: parts.method.as_str().to_owned(),
        path,
        raw,
        authorization: header("authorization"),
        version: header("stripe-version"),
        key: header("idempotency-key"),
        agent: header("user-agent"),
        traceparent: header("traceparent"),
        connection,
    };
    if shared.lock().down {
        return Fate::Reset;
    }
    let (id, fault) = shared.lock().arrive(&incoming);
    through(&shared, &incoming, &id, fault).await
}

/// What shows a page, or does what was chosen on it.
type Page = fn(&mut State, &str, &str, &[u8]) -> hosted::Shown;

/// A page for a customer.
async fn page(shared: &Arc<Shared>, serve: Page, method: &str, session: &str, body: &[u8]) -> Fate {
    if shared.lock().down {
        return Fate::Reset;
    }
    let (shown, told) = {
        let mut state = shared.lock();
        let shown = serve(&mut state, method, session, body);
        (shown, state.told_first())
    };
    webhooks::tell(shared, &told).await;
    let mut headers = HeaderMap::new();
    put(
        &mut headers,
        "content-type",
        Some("text/html; charset=utf-8"),
    );
    put(&mut headers, "location", shown.location.as_deref());
    Fate::Answered(respond(shown.status, &shown.body, headers))
}

/// The request's way through what goes wrong.
async fn through(
    shared: &Arc<Shared>,
    incoming: &Incoming,
    id: &str,
    fault: Option<Fault>,
) -> Fate {
    let finish = |reply: Reply, headers: HeaderMap| {
        shared.lock().ended(id, &reply);
        Fate::Answered(answer(incoming, id, &reply, headers))
    };
    match &fault {
        Some(Fault::Hang { when: When::Before }) => return Fate::Silence,
        Some(Fault::Reset { when: When::Before }) => return Fate::Reset,
        Some(Fault::RateLimited { retry_after }) => {
            let mut headers = HeaderMap::new();
            put(&mut headers, RETRY_AFTER.as_str(), retry_after.as_deref());
            return finish(ApiError::rate_limited().into(), headers);
        }
        Some(Fault::Answer {
            status,
            headers,
            body,
        }) => {
            let mut sent = HeaderMap::new();
            for (name, value) in headers {
                put(&mut sent, name, Some(value));
            }
            return Fate::Answered(respond(*status, body, sent));
        }
        Some(Fault::Status {
            status,
            when: When::Before,
            stored: false,
            should_retry,
        }) => return finish(ApiError::own(*status).into(), advice(*should_retry)),
        _ => {}
    }
    // The lock must not be held across what follows.
    let prepared = shared.lock().prepare(incoming);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(reply) => {
            let headers = advice((reply.answer.status == 409).then_some(true));
            return finish(reply, headers);
        }
    };
    match &fault {
        Some(Fault::Status {
            status,
            when: When::Before,
            should_retry,
            ..
        }) => {
            let reply = ApiError::own(*status).into();
            shared.lock().keep(&prepared, &reply);
            return finish(reply, advice(*should_retry));
        }
        Some(Fault::Slow { millis }) => {
            tokio::time::sleep(Duration::from_millis(*millis)).await;
        }
        Some(Fault::Hold) => shared.release.notified().await,
        _ => {}
    }
    let mut told = Vec::new();
    let fate = perform(shared, incoming, id, fault, &prepared, &mut told);
    webhooks::tell(shared, &told).await;
    fate
}

fn perform(
    shared: &Shared,
    incoming: &Incoming,
    id: &str,
    fault: Option<Fault>,
    prepared: &Prepared,
    told: &mut Vec<Event>,
) -> Fate {
    let mut locked = shared.lock();
    if locked.down {
        // It went down while the request waited.
        locked.let_go(prepared);
        return Fate::Reset;
    }
    let mut reply = locked.perform(id, prepared);
    *told = locked.told_first();
    let mut headers = HeaderMap::new();
    match fault {
        Some(Fault::Hang { .. }) => return Fate::Silence,
        Some(Fault::Reset { .. }) => return Fate::Reset,
        Some(Fault::Status {
            status,
            stored,
            should_retry,
            ..
        }) => {
            reply = ApiError::own(status).into();
            if stored {
                locked.keep(prepared, &reply);
            }
            headers = advice(should_retry);
        }
        Some(Fault::Merge { members }) => merge(&mut reply.answer.body, members),
        Some(Fault::Cut) => {
            locked.ended(id, &reply);
            return Fate::Answered(cut(&reply));
        }
        _ => {}
    }
    locked.ended(id, &reply);
    Fate::Answered(answer(incoming, id, &reply, headers))
}

fn answer(incoming: &Incoming, id: &str, reply: &Reply, mut headers: HeaderMap) -> Answered {
    put(&mut headers, "request-id", Some(id));
    put(&mut headers, "stripe-version", incoming.version.as_deref());
    put(&mut headers, "idempotency-key", incoming.key.as_deref());
    if reply.replayed {
        put(&mut headers, "idempotent-replayed", Some("true"));
    }
    respond(
        reply.answer.status,
        &format!("{:#}", reply.answer.body),
        headers,
    )
}

fn advice(should_retry: Option<bool>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let advice = should_retry.map(|retry| retry.to_string());
    put(&mut headers, "stripe-should-retry", advice.as_deref());
    headers
}

fn put(headers: &mut HeaderMap, name: &str, value: Option<&str>) {
    let name = HeaderName::try_from(name).ok();
    let value = value.and_then(|value| HeaderValue::from_str(value).ok());
    if let (Some(name), Some(value)) = (name, value) {
        headers.insert(name, value);
    }
}

fn respond(status: u16, body: &str, headers: HeaderMap) -> Answered {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()))
        .map_err(|never: Infallible| match never {})
        .boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response.headers_mut().extend(headers);
    response
}

/// Half of the answer.
fn cut(reply: &Reply) -> Answered {
    let body = reply.answer.body.to_string().into_bytes();
    let half = Bytes::copy_from_slice(&body[..body.len() / 2]);
    let frames = stream::once(async { Ok(Frame::data(half)) }).chain(stream::once(async {
        // What is there goes out when the next part keeps it waiting.
        tokio::task::yield_now().await;
        Err(io::Error::from(io::ErrorKind::ConnectionAborted))
    }));
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(Box::pin(frames))));
    *response.status_mut() = StatusCode::from_u16(reply.answer.status).unwrap_or_default();
    response
}

/// A connection that can be reset while it is served.
struct Wire(Arc<TcpStream>);

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection ends when the last that holds it lets go.
        Poll::Ready(Ok(()))
    }
}
