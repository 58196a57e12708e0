//! The three things that a PUT can say about an optional member.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use utoipa::__dev::ComposeSchema;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::http::openapi::marked_inline;
use crate::request::body::PATCH;

/// A clearable member of a PUT. Needs `#[serde(default)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch<T> {
    /// Left out: unchanged.
    Absent,
    /// `null`: cleared.
    Null,
    /// Set.
    Value(T),
}

impl<T> Patch<T> {
    /// `None`: unchanged; `Some(None)`: cleared; `Some(Some(value))`: set.
    pub fn into_option(self) -> Option<Option<T>> {
        match self {
            Self::Absent => None,
            Self::Null => Some(None),
            Self::Value(value) => Some(Some(value)),
        }
    }

    /// Converts a value that is set.
    ///
    /// # Errors
    /// What `convert` says.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Patch<U>, E> {
        Ok(match self {
            Self::Absent => Patch::Absent,
            Self::Null => Patch::Null,
            Self::Value(value) => Patch::Value(convert(value)?),
        })
    }
}

/// A member that is left out is unchanged.
impl<T> Default for Patch<T> {
    fn default() -> Self {
        Self::Absent
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(PATCH, PatchVisitor(PhantomData))
    }
}

struct PatchVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PatchVisitor<T> {
    type Value = Patch<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E>(self) -> Result<Patch<T>, E> {
        Ok(Patch::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patch<T>, D::Error> {
        T::deserialize(deserializer).map(Patch::Value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Patch<T>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Patch::Null, Patch::Value))
    }
}

impl<T: ComposeSchema> ComposeSchema for Patch<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let value = generics
            .into_iter()
            .next()
            .unwrap_or_else(|| T::compose(Vec::new()));
        OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .item(value)
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl<T: ToSchema + ComposeSchema> ToSchema for Patch<T> {
    fn name() -> Cow<'static, str> {
        "Patch".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}
