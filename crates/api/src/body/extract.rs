//! Reading a body off the wire.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest, dev};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::json::Node;
use super::{NullRule, from_node};
use crate::error::ApiError;

/// How much of a body is read, and for how long. App data; the default holds where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// The largest body in bytes.
    pub max_bytes: usize,
    /// How long a whole body may take to arrive.
    pub timeout: Duration,
}

impl Default for BodyLimits {
    /// 1 MiB in 10 seconds.
    fn default() -> Self {
        Self {
            max_bytes: 1024 * 1024,
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
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let raw = read(&request, payload).await?;
            if raw.is_empty() {
                return Err(ApiError::invalid_request(
                    "a request body is required: a JSON object",
                ));
            }
            let value = parse(&raw, request.method())?;
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
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let raw = read(&request, payload).await?;
            let text: &[u8] = if raw.is_empty() { b"{}" } else { &raw };
            let value = parse(text, request.method())?;
            Ok(Self { value, raw })
        })
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8], method: &Method) -> Result<T, ApiError> {
    let nulls = if matches!(*method, Method::PUT | Method::PATCH) {
        NullRule::Update
    } else {
        NullRule::Create
    };
    let node = Node::parse(bytes).map_err(|error| ApiError::invalid_request(error.to_string()))?;
    Ok(from_node(&node, nulls)?)
}

/// The whole body. Empty without a content type is no body at all; anything else must be declared
/// as JSON.
async fn read(request: &HttpRequest, mut payload: dev::Payload) -> Result<Bytes, ApiError> {
    let limits = request
        .app_data::<BodyLimits>()
        .copied()
        .unwrap_or_default();
    let headers = request.headers();
    let declared = declares_json(headers)?;
    if content_length(headers).is_some_and(|length| length > limits.max_bytes as u64) {
        return Err(ApiError::payload_too_large(limits.max_bytes));
    }
    let whole = async {
        let mut body = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk =
                chunk.map_err(|_| ApiError::invalid_request("the request body broke off"))?;
            if !declared && !chunk.is_empty() {
                return Err(ApiError::unsupported_media_type());
            }
            if body.len() + chunk.len() > limits.max_bytes {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body.freeze()))
    };
    match tokio::time::timeout(limits.timeout, whole).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(ApiError::payload_too_large(limits.max_bytes)),
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

/// Whether the body is declared as uncompressed JSON in UTF-8. `false`: nothing is declared.
fn declares_json(headers: &HeaderMap) -> Result<bool, ApiError> {
    let encoded = headers
        .get_all(header::CONTENT_ENCODING)
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(ApiError::unsupported_media_type());
    }
    let mut types = headers.get_all(header::CONTENT_TYPE);
    match (types.next(), types.next()) {
        (None, _) => Ok(false),
        (Some(value), None) if value.to_str().is_ok_and(is_json) => Ok(true),
        _ => Err(ApiError::unsupported_media_type()),
    }
}

fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
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
