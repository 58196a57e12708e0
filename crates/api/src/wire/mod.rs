//! How values look on the wire: what requests are parsed into and answers are made of.
//!
//! Amounts of money and percentages are decimal strings, times are RFC 3339 in UTC with
//! milliseconds, enumerations have the domain's names. A member without a value is left out: every
//! `Option` of an answer has `#[serde(skip_serializing_if = "Option::is_none")]`.

mod bulk;
mod list;
mod metadata;
pub mod records;
pub(crate) mod size;
mod text;
mod values;

pub use bulk::{BulkError, BulkItem, BulkUpdate, bulk};
pub(crate) use list::counted;
pub use list::{Limit, Offset, listed, page};
pub use metadata::{MetadataChanges, MetadataInput, metadata, metadata_patch, metadata_record};
pub use text::{DateText, DateTimeText, DecimalString, MoneyText};
pub use values::*;

use std::fmt::Display;

use actix_web::http::header::HeaderValue;
use lessor_domain::ids;
use lessor_domain::services::Error;
use lessor_domain::time::Span;

use crate::http::error::ApiError;
use crate::request::Plain as _;

/// The content type of most answers.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The refusal of a parameter by a rule that concerns more than its own text.
pub fn invalid(param: &str, error: impl Display) -> ApiError {
    ApiError::invalid(param, format!("{param}: {error}"))
}

/// What lies between the times that a list is narrowed to.
#[must_use]
pub fn span(after: Option<Time>, before: Option<Time>) -> Span {
    Span::new(after.plain(), before.plain())
}

/// An organization that a request is to act for.
///
/// # Errors
/// 403 for an id that cannot exist, as for any but the key's own.
pub fn organization(given: &OrganizationRef) -> Result<ids::OrganizationRef, ApiError> {
    let id = given.0.id;
    id.ok_or_else(|| Error::ForeignOrganization.into())
}

/// The product that a request names.
///
/// # Errors
/// 404 for an id that cannot exist, as for any that does not.
pub fn product(given: &ProductLookup) -> Result<ids::ProductPubId, ApiError> {
    given.0.id.ok_or_else(|| ApiError::not_found("product"))
}
