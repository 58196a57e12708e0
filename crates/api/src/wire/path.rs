//! Ids in paths.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::{FromRequest, HttpRequest, dev};
use lessor_domain::ids::IdError;

use crate::http::error::ApiError;
use crate::request::query::Segment;

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
