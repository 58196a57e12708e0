//! Which pages of other origins may read answers (CORS).
//!
//! Part of the outermost layer and no layer of its own: an answer to a request that was cut off
//! comes through no inner one, and a page has to be able to read it like any other.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::dev::RequestHead;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use url::Url;

/// The paths that pages of other origins call.
const PATHS: &str = "/v1";
/// What a page may do there.
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE";
/// The headers that a request may bear.
const REQUEST_HEADERS: &str =
    "Authorization, Content-Type, Idempotency-Key, Lessor-Position, X-Request-Id, traceparent";
/// The headers of an answer that a page may read, beside those that every page may.
const ANSWER_HEADERS: &str = "Request-Id, Link, X-Total-Count, Idempotent-Replayed, \
     Existing-Checkout, Lessor-Position, ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, \
     RateLimit-Reset";
/// How long a browser keeps what it was told, in seconds.
const MAX_AGE: &str = "600";

/// An origin as browsers write it: scheme, host, and port where it is not the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(HeaderValue);

impl WebOrigin {
    /// Reads an origin.
    ///
    /// # Errors
    /// What is allowed, when the text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('*') {
            return Err(
                "must name each origin: a page of any origin could use whatever key it comes by"
                    .to_owned(),
            );
        }
        let refused = || {
            "must be origins as browsers send them, such as https://shop.example.com or \
             http://localhost:3000: in lower case, without a path and without the scheme's own port"
                .to_owned()
        };
        let url = Url::parse(text).map_err(|_| refused())?;
        let is_web = matches!(url.scheme(), "http" | "https");
        // A host may have a star in it, but whoever writes one means many.
        let is_one = !text.contains('*') && url.origin().ascii_serialization() == text;
        if !is_web || !is_one {
            return Err(refused());
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| refused())
    }

    /// The origin, as a browser writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// The origins whose pages may read answers. App data; none: no answer says anything about origins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors(Arc<[WebOrigin]>);

impl Cors {
    /// These origins.
    #[must_use]
    pub fn new(origins: Vec<WebOrigin>) -> Self {
        Self(origins.into())
    }

    /// What the answer to the request says to browsers; nothing where no origin is set, or the path
    /// is for no page's script.
    pub(super) fn of(&self, request: &RequestHead) -> Option<Grant> {
        let path = request.uri.path();
        let rest = path.strip_prefix(PATHS)?;
        if self.0.is_empty() || !(rest.is_empty() || rest.starts_with('/')) {
            return None;
        }
        let mut given = request.headers.get_all(header::ORIGIN);
        let origin = match (given.next(), given.next()) {
            (Some(only), None) => self.0.iter().find(|known| known.0 == *only),
            _ => None,
        };
        let origin = origin.map(|origin| origin.0.clone());
        let is_preflight = request.method == Method::OPTIONS
            && request
                .headers
                .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        Some(Grant {
            is_preflight: is_preflight && origin.is_some(),
            origin,
        })
    }
}

/// What an answer says to browsers.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    /// The origin whose pages may read it.
    origin: Option<HeaderValue>,
    is_preflight: bool,
}

impl Grant {
    /// The answer to a browser that asks before it sends the request itself, where this is one. It
    /// bears no key, and needs none.
    pub(super) fn preflight(&self) -> Option<HttpResponse> {
        self.is_preflight.then(|| {
            HttpResponse::NoContent()
                .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, METHODS))
                .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS))
                .insert_header((header::ACCESS_CONTROL_MAX_AGE, MAX_AGE))
                .finish()
        })
    }

    pub(super) fn dress(&self, headers: &mut HeaderMap) {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = &self.origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(ANSWER_HEADERS),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        for good in [
            "https://shop.example.com",
            "http://localhost:3000",
            "https://shop.example.com:8443",
            "http://[::1]:3000",
        ] {
            assert_eq!(WebOrigin::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "*",
            "null",
            "",
            "shop.example.com",
            "https://shop.example.com/",
            "https://Shop.example.com",
            "https://shop.example.com:443",
            "https://shop.example.com/path",
            "https://*.example.com",
            "https://user@shop.example.com",
            "ftp://shop.example.com",
            "chrome-extension://abc",
        ] {
            assert!(WebOrigin::parse(bad).is_err(), "{bad}");
        }
    }
}
