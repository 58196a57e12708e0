//! Times.

use std::borrow::Cow;

use lessor_domain::time::Timestamp;
use serde::{Deserialize, Deserializer};
use utoipa::__dev::ComposeSchema;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

use super::StrVisitor;
use crate::http::openapi::marked_inline;

/// A time, RFC 3339 with any offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: |text: &str| {
                let at = chrono::DateTime::parse_from_rfc3339(text);
                at.map(|at| Self(at.to_utc())).map_err(|_| {
                    "must be a time in RFC 3339, such as 2026-11-20T09:14:00Z (in a query, + is written %2B)".to_owned()
                })
            },
        })
    }
}

impl ComposeSchema for Moment {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples([serde_json::json!("2026-11-20T09:14:00Z")])
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl ToSchema for Moment {
    fn name() -> Cow<'static, str> {
        "Moment".into()
    }
}
