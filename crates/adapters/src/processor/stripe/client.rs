//! One client for every call: keys, retries, errors.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use lessor_domain::access::Mode;
use lessor_domain::cause::{Cause, chain};
use reqwest::Url;
use reqwest::header::{DATE, HeaderValue, RETRY_AFTER};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::error::{ApiError, CallError};
use super::form;
use super::retry::{Pacing, RetryHints, RetryPolicy};
use super::settings::{ApiSecret, ProcessorSettings, SetupError, base};
use super::transport::{REPLAYED, REQUEST_ID, RawResponse, SHOULD_RETRY, Sent, Transport};

/// The longest idempotency key that the processor takes.
const LONGEST_KEY: usize = 255;

/// The client. Clones share its connections.
#[derive(Clone)]
pub(super) struct Client {
    transport: Arc<dyn Transport>,
    base: Url,
    live: Option<String>,
    sandbox: Option<String>,
    retry: RetryPolicy,
    pacing: Arc<dyn Pacing>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

struct Request<'a> {
    mode: Mode,
    method: &'static str,
    url: Url,
    body: Option<String>,
    key: Option<&'a str>,
}

struct Reply {
    hints: RetryHints,
    status: u16,
    request_id: Option<String>,
    body: Vec<u8>,
}

impl Client {
    /// Sets the client up.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub(super) fn new(
        transport: Arc<dyn Transport>,
        settings: &ProcessorSettings,
        pacing: Arc<dyn Pacing>,
    ) -> Result<Self, SetupError> {
        Ok(Self {
            transport,
            base: base(settings)?,
            live: bearer(settings.live_key.as_ref(), Mode::Live)?,
            sandbox: bearer(settings.sandbox_key.as_ref(), Mode::Sandbox)?,
            retry: settings.retry,
            pacing,
        })
    }

    /// The same client with this key of the mode, and none of the other.
    ///
    /// # Errors
    /// [`SetupError::Key`] when no header can carry the key.
    pub(super) fn with_key(&self, mode: Mode, key: &ApiSecret) -> Result<Self, SetupError> {
        let bearer = bearer(Some(key), mode)?;
        let (live, sandbox) = match mode {
            Mode::Live => (bearer, None),
            Mode::Sandbox => (None, bearer),
        };
        Ok(Self {
            live,
            sandbox,
            ..self.clone()
        })
    }

    /// Reads an object or a list.
    pub(super) async fn get<T, Q>(
        &self,
        mode: Mode,
        path: &[&str],
        query: &Q,
    ) -> Result<T, CallError>
    where
        T: DeserializeOwned,
        Q: Serialize + Sync + ?Sized,
    {
        let mut url = self.url(path)?;
        let query = form::encode(query).map_err(unmade)?;
        url.set_query((!query.is_empty()).then_some(query.as_str()));
        self.send(Request {
            mode,
            method: "GET",
            url,
            body: None,
            key: None,
        })
        .await
    }

    /// Creates or changes an object under an idempotency key.
    pub(super) async fn post<T, P>(
        &self,
        mode: Mode,
        path: &[&str],
        params: &P,
        key: &str,
    ) -> Result<T, CallError>
    where
        T: DeserializeOwned,
        P: Serialize + Sync + ?Sized,
    {
        let body = form::encode(params).map_err(unmade)?;
        self.send(Request {
            mode,
            method: "POST",
            url: self.url(path)?,
            body: Some(body),
            key: Some(key),
        })
        .await
    }

    /// Ends an object. Doing so twice is doing so once, so there is no key.
    pub(super) async fn delete<T, P>(
        &self,
        mode: Mode,
        path: &[&str],
        params: &P,
    ) -> Result<T, CallError>
    where
        T: DeserializeOwned,
        P: Serialize + Sync + ?Sized,
    {
        let mut url = self.url(path)?;
        let query = form::encode(params).map_err(unmade)?;
        url.set_query((!query.is_empty()).then_some(query.as_str()));
        self.send(Request {
            mode,
            method: "DELETE",
            url,
            body: None,
            key: None,
        })
        .await
    }

    fn url(&self, path: &[&str]) -> Result<Url, CallError> {
        // Ids are parts of paths: one that is none would name another resource.
        if let Some(part) = path.iter().find(|part| !is_path_part(part)) {
            return Err(unmade(format!(
                "`{}` is no id of the processor's",
                part.escape_debug()
            )));
        }
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| unmade("the base URL has no path"))?
            .pop_if_empty()
            .push("v1")
            .extend(path);
        Ok(url)
    }

    async fn send<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<T, CallError> {
        let mut made = 0;
        let result = loop {
            let result = self.once(&request).await;
            made += 1;
            let hints = match &result {
                Ok(reply) if reply.is_success() => break result,
                Ok(reply) => reply.hints,
                Err(CallError::Transport(_)) => RetryHints::default(),
                Err(_) => break result,
            };
            let Some(pause) = self.retry.pause_after(made, &hints, self.pacing.fraction()) else {
                break result;
            };
            tracing::debug!(
                method = %request.method, path = request.url.path(), made,
                status = hints.status, ?pause, "the processor is asked again"
            );
            self.pacing.pause(pause).await;
        };
        let reply = result.inspect_err(|error| {
            tracing::warn!(
                method = %request.method, path = request.url.path(), made,
                error = %chain(error), "the processor cannot be asked"
            );
        })?;
        if reply.is_success() {
            return reply.decode();
        }
        let error = ApiError::read(
            reply.status,
            reply.request_id,
            reply.hints.replayed,
            &reply.body,
        );
        tracing::info!(
            method = %request.method, path = request.url.path(), made, %error,
            "the processor answered an error"
        );
        Err(CallError::Api(Box::new(error)))
    }

    async fn once(&self, request: &Request<'_>) -> Result<Reply, CallError> {
        let secret = match request.mode {
            Mode::Live => &self.live,
            Mode::Sandbox => &self.sandbox,
        };
        let secret = secret.as_ref().ok_or(CallError::NoKey(request.mode))?;
        let sent = Sent {
            method: request.method,
            target: match request.url.query() {
                Some(query) => format!("{}?{query}", request.url.path()),
                None => request.url.path().to_owned(),
            },
            authorization: secret.clone(),
            idempotency_key: request.key.map(header_key),
            traceparent: None,
            body: request.body.clone(),
        };
        let received = self
            .transport
            .send(sent)
            .await
            .map_err(CallError::Transport)?;
        Ok(Reply {
            hints: RetryHints {
                status: Some(received.status),
                should_retry: flag(&received, SHOULD_RETRY),
                retry_after: retry_after(&received),
                replayed: flag(&received, REPLAYED) == Some(true),
            },
            status: received.status,
            request_id: received.header(REQUEST_ID).map(ToOwned::to_owned),
            body: received.body,
        })
    }
}

impl Reply {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn decode<T: DeserializeOwned>(self) -> Result<T, CallError> {
        let mut json = serde_json::Deserializer::from_slice(&self.body);
        serde_path_to_error::deserialize(&mut json).map_err(|error| CallError::Decode {
            path: error.path().to_string(),
            source: error.into_inner(),
            request_id: self.request_id,
        })
    }
}

fn bearer(secret: Option<&ApiSecret>, mode: Mode) -> Result<Option<String>, SetupError> {
    secret
        .map(|secret| {
            let key = secret.expose();
            let other = match mode {
                Mode::Live => "_test_",
                Mode::Sandbox => "_live_",
            };
            if key.contains(other) {
                tracing::warn!(%mode, "the processor's key looks like one of the other mode");
            }
            let value = format!("Bearer {key}");
            match HeaderValue::from_str(&value) {
                Ok(_) => Ok(value),
                Err(_) => Err(SetupError::Key(mode)),
            }
        })
        .transpose()
}

fn is_path_part(part: &str) -> bool {
    (1..=255).contains(&part.len())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The key as a header can carry it: one that is too long or of other characters
/// is stood for by its hash.
fn header_key(key: &str) -> String {
    let fits =
        (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        key.to_owned()
    } else {
        hex::encode(Sha256::digest(key))
    }
}

fn flag(received: &RawResponse, name: &str) -> Option<bool> {
    received.header(name).and_then(|value| value.parse().ok())
}

/// Seconds, or a date, which counts from the answer's own.
fn retry_after(received: &RawResponse) -> Option<Duration> {
    let value = received.header(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(value).ok()?;
    let sent = DateTime::parse_from_rfc2822(received.header(DATE.as_str())?).ok()?;
    Some((until - sent).to_std().unwrap_or(Duration::ZERO))
}

fn unmade(error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
    CallError::Request(Cause::new(error))
}
