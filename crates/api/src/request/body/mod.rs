//! Request bodies.
//!
//! # Writing a handler
//!
//! A request type is a plain struct of [`fields`](crate::request::fields) types, a handler takes it in a
//! [`Body`] and answers `Result<Json<…>, ApiError>`:
//!
//! ```
//! use actix_web::{post, web::Json};
//! use lessor::request::body::Body;
//! use lessor::http::error::ApiError;
//! use lessor::request::fields::{DecimalText, List, Text, WebUrl};
//! use serde::{Deserialize, Serialize};
//! use utoipa::ToSchema;
//!
//! /// A new widget.
//! #[derive(Deserialize, ToSchema)]
//! #[serde(rename_all = "camelCase", deny_unknown_fields)]
//! struct CreateWidget {
//!     /// What people call it.
//!     name: Text<255>,
//!     price: DecimalText,
//!     description: Option<Text<255>>,
//!     #[serde(default)]
//!     images: List<WebUrl, 50>,
//! }
//!
//! #[derive(Serialize, ToSchema)]
//! #[serde(rename_all = "camelCase")]
//! struct Widget { name: String }
//!
//! /// Creates a widget.
//! #[utoipa::path(tag = "Widgets", request_body = CreateWidget, responses((status = 200, body = Widget)))]
//! #[post("/v1/widgets")]
//! async fn create_widget(body: Body<CreateWidget>) -> Result<Json<Widget>, ApiError> {
//!     let request = body.value;
//!     if request.price.as_str().starts_with('-') {
//!         return Err(ApiError::invalid("price", "price: must not be negative"));
//!     }
//!     Ok(Json(Widget { name: request.name.into_string() }))
//! }
//! ```
//!
//! - Error answers, the security scheme and the `Request-Id` header are added to every operation of
//!   the OpenAPI document by [`openapi`](crate::http::openapi); a handler documents only its success.
//! - PUT: a member that can be cleared is a `#[serde(default)]` [`Patch<T>`](crate::request::fields::Patch);
//!   one that cannot is an `Option<T>` with `#[schema(nullable = false)]`, for which `null` is refused.
//! - A list of [`RawObject`](crate::request::fields::RawObject) reads the items of a bulk request one by one.
//! - [`Body::raw`] has the bytes as they came, for the hash of an idempotent request.
//! - Work that changes anything runs in [`Mutations::run`](crate::http::mutation::Mutations::run), since a
//!   client that goes away drops the handler.

mod de;
pub(crate) mod decimal;
mod extract;
pub(crate) mod fault;
pub(crate) mod json;

pub use de::NullRule;
pub(crate) use de::{PATCH, RAW_OBJECT, SCALAR, UnitVariant, from_node};
pub use extract::{Body, BodyLimits, FormBody, OptionalBody, RawBody};
pub use fault::Fault;

#[cfg(test)]
mod tests;
