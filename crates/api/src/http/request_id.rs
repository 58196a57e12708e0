//! The id of a request: the caller's own where it brings one, else one that is made here.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use uuid::Uuid;
use uuid::fmt::Simple;

use crate::http::error::ApiError;

/// The header in which a caller names its request.
const CALLERS_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of W3C Trace Context, <https://www.w3.org/TR/trace-context/>.
const TRACE: HeaderName = HeaderName::from_static("traceparent");
/// The longest id that is taken over, in characters.
const MAX_LENGTH: usize = 128;

/// The id of a request, as the answer's `Request-Id` and the log tell it: the caller's
/// `X-Request-Id`, else the trace id of its `traceparent`, else one that is made here. A caller who
/// gives two requests one id finds both under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The id of a request with these headers, and the trace that it belongs to.
    pub(crate) fn of(headers: &HeaderMap) -> (Self, Option<Trace>) {
        let trace = only(headers, &TRACE).and_then(Trace::parse);
        let callers = only(headers, &CALLERS_ID).filter(|id| is_usable(id));
        let id = match (callers, &trace) {
            (Some(id), _) => Self(id.into()),
            (None, Some(trace)) => Self(trace.id.as_str().into()),
            (None, None) => Self::generate(),
        };
        (id, trace)
    }

    /// An id that is made here.
    pub(crate) fn generate() -> Self {
        // For looking things up, not a secret: the system is not asked for each.
        let id = Uuid::from_u128(rand::random());
        let mut digits = [0; Simple::LENGTH];
        let mut text = String::with_capacity("req_".len() + Simple::LENGTH);
        text.push_str("req_");
        text.push_str(id.as_simple().encode_lower(&mut digits));
        Self(text.into())
    }

    /// The id, `req_…` where it was made here.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromRequest for RequestId {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let id = request.extensions().get::<Self>().cloned();
        ready(id.ok_or_else(|| {
            ApiError::internal("the request has no id: the context layer is missing")
        }))
    }
}

/// The one header of the name, where it is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut given = headers.get_all(name);
    match (given.next(), given.next()) {
        (Some(only), None) => only.to_str().ok(),
        _ => None,
    }
}

/// Whether a caller's id can stand in a header, a log line and a message: printable ASCII without
/// spaces, neither empty nor too long.
fn is_usable(id: &str) -> bool {
    (1..=MAX_LENGTH).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The trace that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Of the whole trace, 32 hexadecimal digits.
    pub(crate) id: String,
    /// Of the caller's part of it, 16 hexadecimal digits.
    pub(crate) parent: String,
    /// Whether the caller keeps its part.
    pub(crate) is_sampled: bool,
}

impl Trace {
    /// Reads a `traceparent`: `00-<trace id>-<parent id>-<flags>`. Later versions may add members.
    fn parse(text: &str) -> Option<Self> {
        let mut members = text.split('-');
        let version = hexadecimal(members.next()?, 2)?;
        let id = hexadecimal(members.next()?, 32)?;
        let parent = hexadecimal(members.next()?, 16)?;
        let flags = hexadecimal(members.next()?, 2)?;
        let is_known = match version {
            "ff" => false,
            "00" => members.next().is_none(),
            _ => true,
        };
        let is_set = |id: &str| id.bytes().any(|digit| digit != b'0');
        (is_known && is_set(id) && is_set(parent)).then(|| Self {
            id: id.to_owned(),
            parent: parent.to_owned(),
            is_sampled: u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1),
        })
    }
}

/// The text where it is so many lower-case hexadecimal digits.
fn hexadecimal(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == digits && text.bytes().all(is_digit)).then_some(text)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn headers(given: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(name.clone(), value);
        }
        headers
    }

    #[test]
    fn the_callers_id_is_taken_over_where_it_can_be_used() {
        let longest = "x".repeat(MAX_LENGTH);
        for id in ["a", "order-17/attempt:2", "{\"a\":1}", &longest] {
            let (taken, trace) = RequestId::of(&headers(&[(CALLERS_ID, id)]));
            assert_eq!((taken.as_str(), trace), (id, None));
        }
        let too_long = "x".repeat(MAX_LENGTH + 1);
        for bad in ["", "two words", "tab\there", "Käse", &too_long] {
            let (made, _) = RequestId::of(&headers(&[(CALLERS_ID, bad)]));
            assert!(made.as_str().starts_with("req_"), "{bad}: {made:?}");
        }
        let (made, _) = RequestId::of(&headers(&[(CALLERS_ID, "a"), (CALLERS_ID, "b")]));
        assert!(made.as_str().starts_with("req_"), "{made:?}");
    }

    #[test]
    fn a_trace_names_the_request_that_has_no_id() {
        let given = format!("00-{TRACE_ID}-00f067aa0ba902b7-01");
        let (id, trace) = RequestId::of(&headers(&[(TRACE, &given)]));
        assert_eq!(id.as_str(), TRACE_ID);
        assert_eq!(trace.unwrap().parent, "00f067aa0ba902b7");
        let (id, trace) = RequestId::of(&headers(&[(TRACE, &given), (CALLERS_ID, "mine")]));
        assert_eq!((id.as_str(), trace.is_some()), ("mine", true));
    }

    #[test]
    fn traces_are_read_as_they_are_specified() {
        let parent = "00f067aa0ba902b7";
        let zeros = "0".repeat(32);
        for (text, is_one) in [
            (format!("00-{TRACE_ID}-{parent}-00"), true),
            (format!("cc-{TRACE_ID}-{parent}-01-what-comes"), true),
            (format!("00-{TRACE_ID}-{parent}-01-what-comes"), false),
            (format!("ff-{TRACE_ID}-{parent}-01"), false),
            (format!("00-{zeros}-{parent}-01"), false),
            (format!("00-{TRACE_ID}-0000000000000000-01"), false),
            (format!("00-{}-{parent}-01", TRACE_ID.to_uppercase()), false),
            (format!("00-{}-{parent}-01", &TRACE_ID[1..]), false),
            (format!("00-{TRACE_ID}-{parent}"), false),
            (format!("00-{TRACE_ID}-{parent}-1"), false),
            (String::new(), false),
        ] {
            assert_eq!(Trace::parse(&text).is_some(), is_one, "{text}");
        }
    }
}
