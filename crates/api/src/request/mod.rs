//! What requests carry: bodies, query strings and paths, read by one set of rules.
//!
//! Whatever came, JSON or a query string, is a tree of [nodes](json) first. Numbers keep their text, equal
//! members and deep nesting are refused. A request type is a plain struct of [`Parsed`] values, [`List`]s and
//! [`Table`]s; what is wrong is told with the path of the value at fault.
//!
//! # Writing a handler
//!
//! ```
//! use actix_web::{post, web::Json};
//! use lessor::http::error::ApiError;
//! use lessor::request::{Body, List, Plain as _, given};
//! use lessor::wire::{Amount, Description, Name, Url};
//! use serde::{Deserialize, Serialize};
//! use utoipa::ToSchema;
//!
//! // The document's generator follows type parameters: those of a list are hidden from it.
//! type Images = List<Url, 50>;
//!
//! /// A new widget.
//! #[derive(Deserialize, ToSchema)]
//! #[serde(rename_all = "camelCase", deny_unknown_fields)]
//! struct CreateWidgetBody {
//!     /// What people call it.
//!     name: Name,
//!     price: Amount,
//!     description: Option<Description>,
//!     #[serde(default)]
//!     images: Images,
//! }
//!
//! /// A change of a widget: what is left out stays.
//! #[derive(Deserialize, ToSchema)]
//! #[serde(rename_all = "camelCase", deny_unknown_fields)]
//! struct UpdateWidgetBody {
//!     /// It has one always: `null` is refused.
//!     #[serde(default, deserialize_with = "given")]
//!     #[schema(nullable = false)]
//!     name: Option<Name>,
//!     /// `null` takes it away.
//!     #[serde(default, with = "serde_with::rust::double_option")]
//!     description: Option<Option<Description>>,
//! }
//!
//! #[derive(Serialize, ToSchema)]
//! #[serde(rename_all = "camelCase")]
//! struct WidgetRecord { name: String }
//!
//! /// Creates a widget.
//! #[utoipa::path(tag = "Widgets", request_body = CreateWidgetBody, responses((status = 200, body = WidgetRecord)))]
//! #[post("/v1/widgets")]
//! async fn create_widget(body: Body<CreateWidgetBody>) -> Result<Json<WidgetRecord>, ApiError> {
//!     let name: lessor_domain::text::Name = body.value.name.plain();
//!     Ok(Json(WidgetRecord { name: name.to_string() }))
//! }
//! ```
//!
//! - Error answers, the security scheme and the `Request-Id` header are added to every operation of
//!   the OpenAPI document by [`openapi`](crate::http::openapi); a handler documents only its success.
//! - A query is the same kind of struct with `utoipa::IntoParams`, taken by [`QueryParams`]. Each member whose
//!   type is no primitive needs `#[param(inline)]`.
//! - A list of [`RawObject`] reads the items of a bulk request one by one.
//! - [`Body::raw`] has the bytes as they came, for the hash of an idempotent request.
//! - Work that changes anything runs in [`Mutations::run`](crate::http::mutation::Mutations::run), since a
//!   client that goes away drops the handler.

mod body;
mod de;
mod decimal;
mod fault;
mod json;
mod list;
mod params;
mod parsed;
mod query;
mod raw;
pub(crate) mod schemas;

pub use body::{Body, BodyLimits, FormBody, OptionalBody, Signature, SignedBody};
pub use de::given;
pub use fault::Fault;
pub use list::{List, Table};
pub use params::{PathId, QueryParams, Segment};
pub use parsed::{Described, Form, Lookup, Nullable, Parsed, Plain, Whole};
pub(crate) use query::{decode, from_query};
pub use raw::RawObject;

#[cfg(test)]
mod tests;
