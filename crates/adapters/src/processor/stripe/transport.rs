//! The way of a request to the processor: over HTTP, unless somebody brings another.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::cause::Cause;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use reqwest::{Method, Url, redirect};

use super::settings::{API_VERSION, ProcessorSettings, SetupError, Timeouts, base};

/// The headers of an answer that somebody reads.
pub(super) const SHOULD_RETRY: &str = "stripe-should-retry";
pub(super) const REPLAYED: &str = "idempotent-replayed";
pub(super) const REQUEST_ID: &str = "request-id";

const READ: [HeaderName; 5] = [
    HeaderName::from_static(SHOULD_RETRY),
    HeaderName::from_static(REPLAYED),
    HeaderName::from_static(REQUEST_ID),
    RETRY_AFTER,
    DATE,
];

/// Carries requests to the processor, each once: whether one is made again is the client's to say.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Carries the request there and the answer back.
    ///
    /// # Errors
    /// Why no answer came. Whether the request had its effect is then unknown.
    async fn send(&self, request: Sent) -> Result<RawResponse, Cause>;
}

/// A request.
#[derive(Clone, PartialEq, Eq)]
pub struct Sent {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Path and query, from the root of the host.
    pub target: String,
    /// `Bearer …`.
    pub authorization: String,
    /// The header `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// The header `traceparent` of W3C Trace Context.
    pub traceparent: Option<String>,
    /// A form.
    pub body: Option<String>,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The target may carry an e-mail address, the body whatever the customer gave.
        f.debug_struct("Sent")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// Headers by their names in lower case; those that nobody reads may be left out.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl RawResponse {
    /// The header of this name, which is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// The way over HTTP.
///
/// # Errors
/// [`SetupError`] when the settings cannot be.
pub fn over_http(settings: &ProcessorSettings) -> Result<Arc<dyn Transport>, SetupError> {
    Ok(Arc::new(Http::new(base(settings)?, settings.timeouts)?))
}

#[derive(Debug)]
struct Http {
    http: reqwest::Client,
    base: Url,
}

impl Http {
    fn new(base: Url, timeouts: Timeouts) -> Result<Self, SetupError> {
        let mut headers = HeaderMap::new();
        headers.insert("Stripe-Version", HeaderValue::from_static(API_VERSION));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("lessor/", env!("CARGO_PKG_VERSION"))),
        );
        let mut builder = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(redirect::Policy::none())
            .connect_timeout(timeouts.connect)
            .timeout(timeouts.total);
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        Ok(Self {
            http: builder.build()?,
            base,
        })
    }
}

#[async_trait]
impl Transport for Http {
    async fn send(&self, request: Sent) -> Result<RawResponse, Cause> {
        let method = Method::from_bytes(request.method.as_bytes()).map_err(Cause::new)?;
        let url = self.base.join(&request.target).map_err(Cause::new)?;
        let mut secret = HeaderValue::from_str(&request.authorization).map_err(Cause::new)?;
        secret.set_sensitive(true);
        let mut builder = self.http.request(method, url).header(AUTHORIZATION, secret);
        if let Some(body) = request.body {
            builder = builder
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body);
        }
        if let Some(key) = request.idempotency_key {
            builder = builder.header("Idempotency-Key", key);
        }
        if let Some(trace) = request.traceparent {
            builder = builder.header("traceparent", trace);
        }
        let response = builder.send().await.map_err(lost)?;
        let headers = READ
            .iter()
            .filter_map(|name| {
                let value = response.headers().get(name)?.to_str().ok()?;
                Some((name.as_str().to_owned(), value.to_owned()))
            })
            .collect();
        Ok(RawResponse {
            status: response.status().as_u16(),
            headers,
            body: response.bytes().await.map_err(lost)?.to_vec(),
        })
    }
}

fn lost(error: reqwest::Error) -> Cause {
    // The URL is left out: it may carry an e-mail address.
    Cause::new(error.without_url())
}

fn is_loopback(url: &Url) -> bool {
    // IPv6 addresses come in brackets.
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
