//! The outermost layer: every request gets an id, a span and an answer in the documented shape.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpResponse, ResponseError as _};
use foldhash::fast::RandomState;
use futures_util::FutureExt as _;
use metrics::SharedString;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::checkout_page::{self, PageRequest};
use crate::http::budget::MemoryBudget;
use crate::http::connection::UnderWay;
use crate::http::draining::Draining;
use crate::http::error::ApiError;
use crate::http::head;
use crate::http::public_url::PublicUrl;
use crate::http::request_id::RequestId;
use crate::http::slices::sliced;
use crate::middleware::cors::{Cors, Grant};
use crate::middleware::fallback::Matched;
use crate::state::AppState;
use crate::telemetry::{Tally, outage, traces};

/// When a client is told to come again after its request took too long.
const COME_BACK: Duration = Duration::from_secs(1);

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// What is asked of a process by whoever watches it.
const WATCHED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Where requests may ask to be held until there is something to answer, by `wait` in seconds.
const HELD: &str = "/v1/events";
/// The longest that they are held.
const HELD_AT_MOST: Duration = Duration::from_secs(30);

/// How long a request may take from its head to its answer, its body included. App data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Duration);

impl Default for Deadline {
    fn default() -> Self {
        Self(Duration::from_secs(15))
    }
}

/// Said of a request, in its extensions, for whose answer only the head is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadOnly;

/// The middleware (for `actix_web::middleware::from_fn`), to be the outermost of the app.
///
/// - `Request-Id` on every answer, and in the span of everything that is logged on the way, with the
///   trace that the caller names
/// - a head that is too long is refused
/// - what is set of [`Cors`] is said, and browsers that ask first are answered
/// - HEAD is routed as GET; the connection leaves the body out
/// - a panic is a 500, an error of actix is in our shape
/// - what takes longer than the [`Deadline`] is answered 503; work that changes something goes on; what is
///   held until there is something to answer may take that longer
/// - a large body is handed out as it is read, and is 503 where the [`MemoryBudget`] has no room for it
/// - `Cache-Control: no-store` unless the answer says otherwise
/// - `Connection: close` while the process is [`Draining`]
/// - one log line and the request metrics
///
/// # Errors
/// A layer's error whose request is gone comes back as an error, rendered in full.
pub async fn context(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Instant::now();
    let entered = request.conn_data::<UnderWay>().map(UnderWay::enter);
    let (id, trace) = RequestId::of(request.headers());
    let public_url = request.app_data::<PublicUrl>().map(PublicUrl::shared);
    let envelope = Envelope {
        id: id.clone(),
        public_url: public_url.unwrap_or_default(),
        page: PageRequest::of(request.head()),
        cors: request
            .app_data::<Cors>()
            .and_then(|cors| cors.of(request.head())),
        is_last: request
            .app_data::<Draining>()
            .is_some_and(Draining::has_begun),
    };
    let Deadline(deadline) = request.app_data::<Deadline>().copied().unwrap_or_default();
    let deadline = deadline.saturating_add(held(request.path(), request.query_string()));
    let method = request.method().clone();
    let route = Matched::of(&request).route();
    let client = client(&request).map(written);
    let span = tracing::info_span!(
        "request",
        request_id = id.as_str(),
        otel.kind = tracing::field::Empty,
        trace_id = tracing::field::Empty,
        parent_id = tracing::field::Empty,
        method = method.as_str(),
        route = &*route,
        client = client.as_deref(),
        organization = tracing::field::Empty,
        key = tracing::field::Empty,
    );
    let begun = traces::begin_request(&span, &method, &route, trace.as_ref());
    if let Some(trace) = &trace {
        span.record("trace_id", &trace.id);
        span.record("parent_id", &trace.parent);
    } else if let Some(id) = begun {
        span.record("trace_id", id);
    }
    request.extensions_mut().insert(id);
    if method == Method::HEAD {
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(HeadOnly);
    }

    let in_flight = InFlight::enter();
    let answer = async {
        let refused = head::check(request.head()).err();
        let preflight = envelope.cors.as_ref().and_then(Grant::preflight);
        let answering = AssertUnwindSafe(async {
            match (refused, preflight) {
                (Some(error), _) => Ok(request.error_response(error)),
                (None, Some(answer)) => Ok(request.into_response(answer)),
                (None, None) => {
                    let answered = next.call(request).await;
                    answered.map(ServiceResponse::map_into_boxed_body)
                }
            }
        })
        .catch_unwind();
        let result = match timeout(deadline, answering).await {
            Ok(Ok(Ok(response))) => Ok(envelope.finish(response)),
            Ok(Ok(Err(error))) => Err(envelope.rendered(&error)),
            Ok(Err(panic)) => Err(envelope.rendered(&ApiError::panicked(&*panic).into())),
            Err(late) => Err(envelope.rendered(&ApiError::unavailable(COME_BACK, late).into())),
        };
        let status = match &result {
            Ok(response) => response.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        let took = started.elapsed();
        log(&route, status, took);
        traces::end_request(status.as_u16());
        record(&method, &route, status, took);
        result
    }
    .instrument(span)
    .await;
    drop(in_flight);
    drop(entered);
    answer
}

/// For how long the request asks to be held: it does not count against its deadline. What else it asks
/// for is refused when it is read.
fn held(path: &str, query: &str) -> Duration {
    if path != HELD {
        return Duration::ZERO;
    }
    let wait = query.split('&').find_map(|pair| pair.strip_prefix("wait="));
    let seconds = wait.and_then(|wait| wait.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0)).min(HELD_AT_MOST)
}

/// Who asks, as far as the proxies in front are believed.
fn client(request: &ServiceRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let state = request.app_data::<AppState>();
    Some(state.map_or(peer, |state| {
        let proxies = &state.settings.trusted_proxies;
        proxies.client(peer, request.headers())
    }))
}

/// The address as it is written. Most who ask ask again, over one connection or as one proxy.
fn written(address: IpAddr) -> Arc<str> {
    thread_local! {
        static LAST: RefCell<Option<(IpAddr, Arc<str>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, text)) if *known == address => Arc::clone(text),
        _ => {
            let text: Arc<str> = address.to_string().into();
            *last = Some((address, Arc::clone(&text)));
            text
        }
    })
}

/// One line for each request. Whoever watches the process asks all the time, and is answered in silence.
fn log(route: &str, status: StatusCode, took: Duration) {
    let elapsed_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let status = status.as_u16();
    if WATCHED.contains(&route) {
        tracing::debug!(status, elapsed_ms, "answered");
    } else {
        tracing::info!(status, elapsed_ms, "answered");
        if status < 500 {
            outage::answered();
        }
    }
}

/// Counters of answers of one kind, found by their names once for each thread.
struct Counters {
    answered: Tally,
    took: metrics::Histogram,
}

impl Counters {
    fn new(method: &'static str, route: &Arc<str>, status: u16) -> Self {
        let route = SharedString::from(Arc::clone(route));
        Self {
            answered: Tally::of_counter(metrics::counter!(
                "http_requests_total",
                "method" => method,
                "route" => route.clone(),
                "status" => status.to_string(),
            )),
            took: metrics::histogram!(
                "http_request_duration_seconds", "method" => method, "route" => route
            ),
        }
    }
}

/// Method, route and status.
type Answer = (&'static str, Arc<str>, u16);

thread_local! {
    static COUNTERS: RefCell<HashMap<Answer, Counters, RandomState>> = RefCell::default();
}

fn record(method: &Method, route: &Arc<str>, status: StatusCode, took: Duration) {
    // A method is the client's to invent; the label's values must stay few.
    let method = match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    };
    let status = status.as_u16();
    COUNTERS.with_borrow_mut(|known| {
        let counters = known
            .entry((method, Arc::clone(route), status))
            .or_insert_with(|| Counters::new(method, route, status));
        counters.answered.add();
        counters.took.record(took);
    });
}

/// Counts the requests under way; one whose client is gone ends by being dropped.
struct InFlight;

thread_local! {
    static UNDER_WAY: Tally = Tally::of_gauge(metrics::gauge!("http_requests_in_flight"));
}

impl InFlight {
    fn enter() -> Self {
        UNDER_WAY.with(Tally::add);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // Of a thread that ends, with what it counted, nobody asks any more.
        let _ = UNDER_WAY.try_with(Tally::subtract);
    }
}

/// What only the request knows about its answer.
struct Envelope {
    id: RequestId,
    public_url: Arc<str>,
    /// Said where people read what is wrong.
    page: Option<PageRequest>,
    cors: Option<Grant>,
    /// Whether nothing more is to be asked by the connection.
    is_last: bool,
}

impl Envelope {
    fn finish(&self, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
        let (request, answer) = response.into_parts();
        let (head, body) = answer.into_parts();
        let mut response = match sliced(body, request.app_data::<MemoryBudget>()) {
            Some(body) => ServiceResponse::new(request, head.set_body(body)),
            None => ServiceResponse::from_err(ApiError::crowded(), request),
        };
        if let Some(error) = failure(response.response()) {
            let headers = response.headers_mut();
            headers.remove(header::CONTENT_ENCODING);
            let body = self.body(&error, headers);
            response = response.map_body(|_, _| body);
        }
        self.finish_head(response.response_mut());
        response
    }

    /// What is read of an error: our shape, or on a page what people can read.
    fn body(&self, error: &ApiError, headers: &mut HeaderMap) -> BoxBody {
        let id = self.id.as_str();
        match &self.page {
            Some(asked) => BoxBody::new(checkout_page::failure(
                error,
                asked,
                &self.public_url,
                id,
                headers,
            )),
            None => {
                headers.insert(
                    header::CONTENT_TYPE,
                    HeaderValue::from_static("application/json"),
                );
                BoxBody::new(error.body(&self.public_url, Some(id)))
            }
        }
    }

    fn finish_head(&self, response: &mut HttpResponse) {
        if self.is_last {
            let head = response.head_mut();
            head.set_connection_type(ConnectionType::Close);
        }
        let headers = response.headers_mut();
        // The id is printable.
        if let Ok(id) = HeaderValue::from_str(self.id.as_str()) {
            headers.insert(REQUEST_ID, id);
        }
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(grant) = &self.cors {
            grant.dress(headers);
        }
    }

    /// An error without a request, as one that renders itself in full.
    fn rendered(&self, error: &Error) -> Error {
        let api = match error.as_error::<ApiError>() {
            Some(error) => error.clone(),
            None => foreign(error.as_response_error().status_code(), error),
        };
        Rendered {
            status: api.status(),
            response: RefCell::new(Some({
                let mut response = api.error_response();
                let body = self.body(&api, response.headers_mut());
                self.finish_head(&mut response);
                response.set_body(body)
            })),
        }
        .into()
    }
}

/// The error that an answer stands for, when it has to be written in our shape. `None` for answers
/// that are no errors, and for those that are in it already.
fn failure(response: &HttpResponse) -> Option<ApiError> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    if let Some(error) = response.error() {
        return Some(match error.as_error::<ApiError>() {
            Some(error) => error.clone(),
            None => foreign(status, error),
        });
    }
    let content_type = response.headers().get(header::CONTENT_TYPE);
    // A page that says to a person what is wrong is meant; the framework's own are plain text.
    let is_meant = content_type.is_some_and(|value| {
        let value = value.as_bytes();
        value.starts_with(b"application/json") || value.starts_with(b"text/html")
    });
    (!is_meant).then(|| ApiError::of_status(status))
}

fn foreign(status: StatusCode, error: &Error) -> ApiError {
    if status.is_server_error() {
        tracing::error!(cause = %error, "request failed");
    }
    ApiError::of_status(status)
}

/// A finished answer that travels as an error, because the request that it belongs to is gone.
#[derive(Debug)]
struct Rendered {
    status: StatusCode,
    response: RefCell<Option<HttpResponse>>,
}

impl std::fmt::Display for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "answered with {}", self.status)
    }
}

impl actix_web::ResponseError for Rendered {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let response = self.response.borrow_mut().take();
        response.unwrap_or_else(|| HttpResponse::new(self.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_held_as_long_as_it_asks_for_where_it_may_be() {
        for (path, query, seconds) in [
            ("/v1/events", "wait=20", 20),
            ("/v1/events", "limit=1&wait=30", 30),
            ("/v1/events", "wait=3000", 30),
            ("/v1/events", "wait=-1", 0),
            ("/v1/events", "", 0),
            ("/v1/checkouts", "wait=20", 0),
        ] {
            assert_eq!(held(path, query).as_secs(), seconds, "{path}?{query}");
        }
    }
}
