//! How values look on the wire: what requests are parsed into and answers are made of.
//!
//! Amounts of money and percentages are decimal strings, times are RFC 3339 in UTC with
//! milliseconds, enumerations have the domain's names. A member without a value is left out: every
//! `Option` of an answer has `#[serde(skip_serializing_if = "Option::is_none")]`.

mod bulk;
mod enums;
mod list;
mod metadata;
mod path;
pub mod records;
pub(crate) mod size;
mod text;

pub use bulk::{BulkError, BulkItem, BulkUpdate, bulk};
pub(crate) use enums::wire_enum;
pub use enums::{
    LeaseTermMethod, LeaseTermStatus, ProductSource, ProductStatus, ProductType, ReviewStatus,
    SortOrder,
};
pub use list::{listed, page};
pub use metadata::{MetadataChanges, MetadataInput, metadata, metadata_patch, metadata_record};
pub use path::PathId;
pub use text::{DateText, DateTimeText, DecimalString, MoneyText};

use std::fmt::Display;
use std::str::FromStr;

use lessor_domain::ids::{IdError, IdRef, OrganizationRef};
use lessor_domain::services;
use lessor_domain::time::Span;

use crate::http::error::ApiError;
use crate::request::fields::{Moment, Patch, Reference};

/// The content type of most answers.
pub(crate) const JSON: &str = "application/json";

/// A value that the text does not stand for.
pub fn invalid(param: &str, error: impl Display) -> ApiError {
    ApiError::invalid(param, format!("{param}: {error}"))
}

/// The text as a value of the domain.
///
/// # Errors
/// 400 about `param`.
pub fn parse<T>(param: &str, text: &str) -> Result<T, ApiError>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|error| invalid(param, error))
}

/// Like [`parse`], for what may be left out.
///
/// # Errors
/// 400 about `param`.
pub fn parse_some<T>(param: &str, text: Option<impl AsRef<str>>) -> Result<Option<T>, ApiError>
where
    T: FromStr,
    T::Err: Display,
{
    text.map(|text| parse(param, text.as_ref())).transpose()
}

/// What a PUT does to an optional member, as the use cases take it.
///
/// # Errors
/// 400 about `param`.
pub fn patch<T, U, E: Display>(
    param: &str,
    patch: Patch<T>,
    convert: impl FnOnce(T) -> Result<U, E>,
) -> Result<services::Patch<U>, ApiError> {
    Ok(match patch {
        Patch::Absent => services::Patch::Keep,
        Patch::Null => services::Patch::Clear,
        Patch::Value(value) => {
            services::Patch::Set(convert(value).map_err(|error| invalid(param, error))?)
        }
    })
}

/// What lies between the times that a list is narrowed to.
#[must_use]
pub fn span(after: Option<Moment>, before: Option<Moment>) -> Span {
    Span::new(after.map(|at| at.0), before.map(|at| at.0))
}

/// A record by its number or public id.
///
/// # Errors
/// 400 about `param`.
pub fn reference<P, N>(param: &str, reference: &Reference) -> Result<IdRef<P, N>, ApiError>
where
    P: FromStr<Err = IdError>,
    N: TryFrom<i64, Error = IdError>,
{
    match reference {
        Reference::Number(number) => N::try_from(*number).map(IdRef::Number),
        Reference::PublicId(id) => id.parse().map(IdRef::Public),
    }
    .map_err(|error| invalid(param, error))
}

/// A public id in a list of ids to be found: `None` for one of the right kind that cannot exist.
///
/// # Errors
/// 400 about `param` for an id of another kind.
pub fn findable<P: FromStr<Err = IdError>>(param: &str, text: &str) -> Result<Option<P>, ApiError> {
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(IdError::Malformed { .. }) => Ok(None),
        Err(error) => Err(invalid(param, error)),
    }
}

/// The id of another record that a request names. One of the right kind that cannot exist is not
/// found.
///
/// # Errors
/// 404 of `what`, 400 about `param` for an id of another kind.
pub fn existing<P: FromStr<Err = IdError>>(
    param: &str,
    what: &'static str,
    text: &str,
) -> Result<P, ApiError> {
    findable(param, text)?.ok_or_else(|| ApiError::not_found(what))
}

/// An organization that a request is to act for, by its number or public id.
///
/// # Errors
/// 403 for a public id that cannot exist, as for any but the key's own; 400 about `param` for what
/// is no id of an organization.
pub fn organization(param: &str, given: &Reference) -> Result<OrganizationRef, ApiError> {
    match given {
        Reference::PublicId(id) => match findable(param, id)? {
            Some(id) => Ok(IdRef::Public(id)),
            None => Err(services::Error::ForeignOrganization.into()),
        },
        Reference::Number(_) => reference(param, given),
    }
}
