//! Values of the domain in requests: parsed once, where they are met, so that what is wrong has its path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use lessor_domain::ids::IdError;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::de::{NUMBER, SCALAR};
use super::{List, Table, schemas};

/// Which values of JSON a type is read from. In a query string everything is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A string.
    Text,
    /// A number without decimals.
    Integer,
    /// Either, told by these words (a noun with its article).
    Scalar(&'static str),
}

/// A value that requests carry: how its text is read, and what the reference says of it.
pub trait Described: Sized {
    /// Which values of JSON it is read from.
    const FORM: Form = Form::Text;

    /// Reads the text.
    ///
    /// # Errors
    /// A predicate that says what is allowed, such as `must be a string`.
    fn read(text: &str) -> Result<Self, String>;

    /// What it is called among the schemas of the reference.
    fn name() -> Cow<'static, str>;

    /// What the reference says of it.
    fn schema() -> RefOr<Schema>;
}

/// A value of the domain, read from its text. The one way from a request to the domain.
///
/// [`wire`](crate::wire) has the names of those that the routes use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parsed<T>(pub T);

impl<T> From<T> for Parsed<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<'de, T: Described> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = ParsedVisitor(PhantomData);
        match T::FORM {
            Form::Text => deserializer.deserialize_str(visitor),
            Form::Integer => deserializer.deserialize_newtype_struct(NUMBER, visitor),
            Form::Scalar(_) => deserializer.deserialize_newtype_struct(SCALAR, visitor),
        }
    }
}

struct ParsedVisitor<T>(PhantomData<T>);

impl<'de, T: Described> Visitor<'de> for ParsedVisitor<T> {
    type Value = Parsed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match T::FORM {
            Form::Text => "a string",
            Form::Integer => "an integer",
            Form::Scalar(expected) => expected,
        })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Parsed<T>, E> {
        T::read(text.trim()).map(Parsed).map_err(E::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Parsed<T>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T: Display> Serialize for Parsed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T: Described> PartialSchema for Parsed<T> {
    fn schema() -> RefOr<Schema> {
        T::schema()
    }
}

impl<T: Described> ToSchema for Parsed<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }
}

/// From the types of a request to the values that they hold.
pub trait Plain {
    /// What it holds.
    type Plain;

    /// The values, without what only a request needs.
    fn plain(self) -> Self::Plain;
}

impl<T> Plain for Parsed<T> {
    type Plain = T;

    fn plain(self) -> T {
        self.0
    }
}

impl<T: Plain> Plain for Option<T> {
    type Plain = Option<T::Plain>;

    fn plain(self) -> Option<T::Plain> {
        self.map(T::plain)
    }
}

impl<T: Plain, const MAX: usize, const MIN: usize> Plain for List<T, MAX, MIN> {
    type Plain = Vec<T::Plain>;

    fn plain(self) -> Vec<T::Plain> {
        self.into_iter().map(T::plain).collect()
    }
}

impl<K: Plain<Plain: Ord>, V: Plain, const MAX: usize> Plain for Table<K, V, MAX> {
    type Plain = BTreeMap<K::Plain, V::Plain>;

    fn plain(self) -> BTreeMap<K::Plain, V::Plain> {
        let members = self.into_map().into_iter();
        members
            .map(|(key, value)| (key.plain(), value.plain()))
            .collect()
    }
}

/// A value or `null`, as a member of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Plain> Plain for Nullable<T> {
    type Plain = Option<T::Plain>;

    fn plain(self) -> Option<T::Plain> {
        self.0.plain()
    }
}

impl<T: ToSchema> PartialSchema for Nullable<T> {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .item(T::schema())
            .into()
    }
}

impl<T: ToSchema> ToSchema for Nullable<T> {
    fn name() -> Cow<'static, str> {
        format!("Nullable{}", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

/// The id of another record, which may exist or not. A text of the right kind that can be no id names
/// what does not exist; only one of another kind is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<T> {
    /// The id, if there can be such a record.
    pub id: Option<T>,
    /// As it was sent.
    pub text: String,
}

impl<T: Described + FromStr<Err = IdError>> Described for Lookup<T> {
    const FORM: Form = T::FORM;

    fn read(text: &str) -> Result<Self, String> {
        let id = match text.parse() {
            Ok(id) => Some(id),
            Err(IdError::Malformed { .. }) => None,
            Err(error) => return Err(error.to_string()),
        };
        let text = text.to_owned();
        Ok(Self { id, text })
    }

    fn name() -> Cow<'static, str> {
        format!("Lookup{}", T::name()).into()
    }

    fn schema() -> RefOr<Schema> {
        T::schema()
    }
}

/// A whole number from `MIN` to `MAX`, both of which `T` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whole<T, const MIN: i64, const MAX: i64>(T);

impl<T, const MIN: i64, const MAX: i64> Whole<T, MIN, MAX> {
    /// The number.
    pub fn get(self) -> T {
        self.0
    }
}

impl<T: TryFrom<i64>, const MIN: i64, const MAX: i64> Described for Whole<T, MIN, MAX> {
    const FORM: Form = Form::Integer;

    fn read(text: &str) -> Result<Self, String> {
        // A sign is for numbers below zero.
        let number = (!text.starts_with('+')).then(|| text.parse().ok());
        let number = number
            .flatten()
            .filter(|number| (MIN..=MAX).contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .map(Self)
            .ok_or_else(|| format!("must be an integer from {MIN} to {MAX}"))
    }

    fn name() -> Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::integer(MIN, MAX).into()
    }
}
