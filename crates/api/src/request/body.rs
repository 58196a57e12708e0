//! Reading a body off the wire.

use std::time::Duration;

use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest, dev};
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;

use super::de::from_node;
use super::json::Node;
use super::query::pairs;
use crate::http::budget::{MemoryBudget, Share};
use crate::http::error::ApiError;

/// How much of a body is read, and for how long. App data; the default holds where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// The largest body in bytes.
    pub max_bytes: usize,
    /// The largest signed message in bytes: whoever sends one has no key.
    pub max_signed_bytes: usize,
    /// The largest form of a page in bytes.
    pub max_form_bytes: usize,
    /// How long a whole body may take to arrive.
    pub timeout: Duration,
}

impl Default for BodyLimits {
    /// 1 MiB in 10 seconds; 256 KiB of a signed message, 64 KiB of a form.
    fn default() -> Self {
        Self {
            max_bytes: 1024 * 1024,
            max_signed_bytes: 256 * 1024,
            max_form_bytes: 64 * 1024,
            timeout: Duration::from_secs(10),
        }
    }
}

/// A JSON body, read into `T`.
#[derive(Debug)]
pub struct Body<T> {
    /// The request.
    pub value: T,
    /// The body as it was sent.
    pub raw: Bytes,
}

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let body = json(request.clone(), payload.take());
        Box::pin(async move {
            let raw = body.await?;
            if raw.is_empty() {
                let message = "a request body is required: a JSON object";
                return Err(ApiError::invalid_request(message));
            }
            let value = parse(&raw)?;
            Ok(Self { value, raw })
        })
    }
}

/// A JSON body that may be left out, which is the same as `{}`.
#[derive(Debug)]
pub struct OptionalBody<T> {
    /// The request.
    pub value: T,
    /// The body as it was sent; empty when there was none.
    pub raw: Bytes,
}

impl<T: DeserializeOwned + 'static> FromRequest for OptionalBody<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let body = json(request.clone(), payload.take());
        Box::pin(async move {
            let raw = body.await?;
            let value = parse(if raw.is_empty() { b"{}" } else { &raw })?;
            Ok(Self { value, raw })
        })
    }
}

/// A JSON body as it was sent; empty where none was. Of one type whatever is read of it: how it arrives is compiled once,
/// not for each operation.
fn json(
    request: HttpRequest,
    payload: dev::Payload,
) -> LocalBoxFuture<'static, Result<Bytes, ApiError>> {
    Box::pin(async move { read(&request, payload, Media::Json).await })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let node = Node::parse(bytes).map_err(|error| ApiError::invalid_request(error.to_string()))?;
    Ok(from_node(&node)?)
}

/// How a message is signed, as its headers say it.
pub trait Signature: Sized + 'static {
    /// Reads it off the headers.
    ///
    /// # Errors
    /// 401: there is none, or none that any body could have.
    fn of(headers: &HeaderMap) -> Result<Self, ApiError>;
}

/// A signed message as it was sent, whatever it is declared as: the signature is over its bytes. Nothing is
/// read of a message that has none. Whether it is good is still to be seen.
#[derive(Clone, Debug)]
pub struct SignedBody<S> {
    /// What the headers say.
    pub signature: S,
    /// The body.
    pub raw: Bytes,
}

impl<S: Signature> FromRequest for SignedBody<S> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let signature = S::of(request.headers())?;
            let raw = read(&request, payload, Media::Signed).await?;
            Ok(Self { signature, raw })
        })
    }
}

impl<S> SignedBody<S> {
    /// Reads the body as JSON.
    ///
    /// # Errors
    /// 400 naming what is wrong.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        parse(&self.raw)
    }
}

/// The fields of a form that a browser sent, in their order.
#[derive(Clone, Debug)]
pub struct FormBody(pub Vec<(String, String)>);

impl FromRequest for FormBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let raw = read(&request, payload, Media::Form).await?;
            let text = std::str::from_utf8(&raw)
                .map_err(|_| ApiError::invalid_request("the form is not valid UTF-8"))?;
            pairs(text).collect::<Result<_, _>>().map(Self)
        })
    }
}

/// What a body must be declared as.
#[derive(Clone, Copy)]
enum Media {
    Json,
    Form,
    /// Anything.
    Signed,
}

impl Media {
    /// The largest body in bytes.
    const fn largest(self, limits: &BodyLimits) -> usize {
        match self {
            Self::Json => limits.max_bytes,
            Self::Form => limits.max_form_bytes,
            Self::Signed => limits.max_signed_bytes,
        }
    }

    /// What of the budget is for whoever sends it: others have shown a key.
    fn part_of(self, budget: &MemoryBudget) -> MemoryBudget {
        match self {
            Self::Json => budget.clone(),
            Self::Form | Self::Signed => budget.half(),
        }
    }
}

/// A body that takes of the budget until nobody has it any more.
struct Held {
    bytes: BytesMut,
    share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The whole body. Empty without a content type is no body at all; anything else must be declared
/// as what is wanted.
async fn read(
    request: &HttpRequest,
    mut payload: dev::Payload,
    wanted: Media,
) -> Result<Bytes, ApiError> {
    let limits = request
        .app_data::<BodyLimits>()
        .copied()
        .unwrap_or_default();
    let headers = request.headers();
    let declared = match wanted {
        Media::Json => declares(headers, is_json)?,
        Media::Form => declares(headers, is_form)?,
        Media::Signed => true,
    };
    let largest = wanted.largest(&limits);
    if content_length(headers).is_some_and(|length| length > largest as u64) {
        return Err(ApiError::payload_too_large(largest));
    }
    let budget = request.app_data::<MemoryBudget>();
    let budget = budget.cloned().unwrap_or_default();
    let whole = async {
        // What has come is counted, not what is promised: a promise costs nothing, and would keep others out.
        let mut body = Held {
            bytes: BytesMut::new(),
            share: wanted.part_of(&budget).share(),
        };
        while let Some(chunk) = payload.next().await {
            let chunk =
                chunk.map_err(|_| ApiError::invalid_request("the request body broke off"))?;
            if !declared && !chunk.is_empty() {
                return Err(ApiError::unsupported_media_type());
            }
            let length = body.bytes.len().saturating_add(chunk.len());
            if length > largest {
                return Ok(None);
            }
            if !body.share.hold(length) {
                return Err(ApiError::crowded());
            }
            body.bytes.extend_from_slice(&chunk);
        }
        Ok(Some(Bytes::from_owner(body)))
    };
    match tokio::time::timeout(limits.timeout, whole).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(ApiError::payload_too_large(largest)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(ApiError::request_timeout()),
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Whether the body is declared as what is wanted, uncompressed. `false`: nothing is declared.
fn declares(headers: &HeaderMap, is_wanted: fn(&str) -> bool) -> Result<bool, ApiError> {
    let encoded = headers
        .get_all(header::CONTENT_ENCODING)
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(ApiError::unsupported_media_type());
    }
    let mut types = headers.get_all(header::CONTENT_TYPE);
    match (types.next(), types.next()) {
        (None, _) => Ok(false),
        (Some(value), None) if value.to_str().is_ok_and(is_wanted) => Ok(true),
        _ => Err(ApiError::unsupported_media_type()),
    }
}

fn is_json(content_type: &str) -> bool {
    is_utf_8(content_type, "application/json")
}

fn is_form(content_type: &str) -> bool {
    is_utf_8(content_type, "application/x-www-form-urlencoded")
}

/// Whether a content type is this one, in UTF-8.
fn is_utf_8(content_type: &str, wanted: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case(wanted))
        && parts
            .filter(|parameter| !parameter.is_empty())
            .all(|parameter| {
                parameter.split_once('=').is_some_and(|(name, value)| {
                    name.eq_ignore_ascii_case("charset")
                        && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
                })
            })
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn only_json_in_utf_8_is_json() {
        for good in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json;",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonp",
            "application/json, text/plain",
            "application/json; charset=latin1",
            "application/json; boundary=x",
            "application/merge-patch+json",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }
}
