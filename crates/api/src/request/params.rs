//! What the address of a request says: its query and the dynamic segment of its path.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::{FromRequest, HttpRequest, dev};
use lessor_domain::ids::IdError;
use serde::de::DeserializeOwned;

use super::query::{decode, from_query};
use crate::http::error::ApiError;

/// The longest path segment that can name anything, in characters.
const SEGMENT_MAX: usize = 255;

/// The query string, read into `T`: unknown parameters, repeated single values and broken encodings
/// are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for QueryParams<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(from_query(request.query_string()).map(Self))
    }
}

/// The value of the route's one dynamic path segment (`{id}`, `{sku}`), decoded. What cannot name
/// anything is a 404.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment(pub String);

impl FromRequest for Segment {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        // actix has undone most of the encoding already, with replacement characters for what is not
        // UTF-8; only the address as it was sent tells these from their own likes.
        let readable = decode(request.uri().path()).is_some();
        let last = request.match_info().iter().last().filter(|_| readable);
        let segment = last.and_then(|(_, value)| segment(value));
        ready(
            segment
                .map(Self)
                .ok_or_else(|| ApiError::not_found("resource")),
        )
    }
}

/// Decodes a path segment. `None` for what is broken, too long or holds control characters.
fn segment(raw: &str) -> Option<String> {
    let text = decode(raw)?;
    let nameable =
        !text.is_empty() && !text.contains(char::is_control) && text.chars().count() <= SEGMENT_MAX;
    nameable.then(|| text.into_owned())
}

/// The id in the route's dynamic segment. What is no id names nothing, and is refused only when it
/// is asked for: the body is looked at before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathId<T>(Option<T>);

impl<T> PathId<T> {
    /// The id.
    ///
    /// # Errors
    /// 404 of `what`, as for an id that nothing has.
    pub fn of(self, what: &'static str) -> Result<T, ApiError> {
        self.0.ok_or_else(|| ApiError::not_found(what))
    }
}

impl<T: FromStr<Err = IdError> + 'static> FromRequest for PathId<T> {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let segment = Segment::from_request(request, payload).into_inner();
        ready(Ok(Self(segment.ok().and_then(|text| text.0.parse().ok()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_strictly() {
        assert_eq!(segment("a%20b+c").as_deref(), Some("a b+c"));
        assert_eq!(segment("%C3%A4").as_deref(), Some("ä"));
        for bad in ["", "%", "%zz", "%ff", "%00", "a%0ab", &"x".repeat(256)] {
            assert_eq!(segment(bad), None, "{bad}");
        }
    }
}
