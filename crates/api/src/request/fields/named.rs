//! Values that the domain spells out: its enumerations and its public ids.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use lessor_domain::ids::PublicId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::__dev::ComposeSchema;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use super::StrVisitor;
use crate::http::openapi::marked_inline;

/// An enumeration of the domain that callers see by the names of its values.
pub trait Names: Copy + Sized + FromStr<Err: Display> + 'static {
    /// What the reference calls the enumeration.
    const TITLE: &'static str;
    /// What the reference says of it.
    const ABOUT: &'static str;
    /// Every value.
    fn all() -> &'static [Self];
    /// The name on the wire.
    fn name(self) -> &'static str;
}

/// Implements [`Names`] for enumerations that the domain made with `ALL` and `as_str`.
macro_rules! names {
    ($($of:ty => $title:literal, $about:literal;)*) => {$(
        impl $crate::request::fields::Names for $of {
            const TITLE: &'static str = $title;
            const ABOUT: &'static str = $about;
            fn all() -> &'static [Self] {
                Self::ALL.as_ref()
            }
            fn name(self) -> &'static str {
                self.as_str()
            }
        }
    )*};
}
pub(crate) use names;

/// A value of an enumeration, by its exact name. In requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Named<T>(pub T);

impl<T> From<T> for Named<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<'de, T: Names> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: |text: &str| {
                T::from_str(text)
                    .map(Self)
                    .map_err(|error| error.to_string())
            },
        })
    }
}

impl<T: Names> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<T: Names> ComposeSchema for Named<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(T::ABOUT))
            .enum_values(Some(T::all().iter().map(|value| value.name())))
            .into()
    }
}

impl<T: Names> ToSchema for Named<T> {
    fn name() -> Cow<'static, str> {
        T::TITLE.into()
    }
}

/// A public id, of the form that its kind has. Whether there is such a record is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<T>(pub T);

impl<T: PublicId> Id<T> {
    /// What every text of such an id matches.
    pub(crate) fn pattern() -> String {
        format!("^{}_[0-9A-Za-z]{{22}}$", T::PREFIX)
    }
}

impl<'de, T: PublicId> Deserialize<'de> for Id<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: |text: &str| {
                text.trim()
                    .parse()
                    .map(Self)
                    .map_err(|error: lessor_domain::ids::IdError| error.to_string())
            },
        })
    }
}

impl<T: PublicId> Serialize for Id<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T: PublicId> ComposeSchema for Id<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(Self::pattern()))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl<T: PublicId> ToSchema for Id<T> {
    fn name() -> Cow<'static, str> {
        format!("Id{}", T::PREFIX).into()
    }
}
