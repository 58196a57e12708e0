//! Whole numbers in bounds, and references by number or public id.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type,
};

use super::StrVisitor;
use crate::http::openapi::marked_inline;
use crate::request::body::SCALAR;

fn bounded(value: i64, least: i64, most: i64) -> Result<i64, String> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("must be an integer from {least} to {most}"))
    }
}

fn object(least: i64, most: i64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(least))
        .maximum(Some(most))
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Int<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(IntVisitor::<MIN, MAX>)
    }
}

/// Says what range is allowed, also of what is no number of 64 bits.
struct IntVisitor<const MIN: i64, const MAX: i64>;

impl<const MIN: i64, const MAX: i64> serde::de::Visitor<'_> for IntVisitor<MIN, MAX> {
    type Value = Int<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {MIN} to {MAX}")
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        bounded(value, MIN, MAX).map(Int).map_err(E::custom)
    }
}

impl<const MIN: i64, const MAX: i64> utoipa::__dev::ComposeSchema for Int<MIN, MAX> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        object(MIN, MAX).extensions(Some(marked_inline())).into()
    }
}

impl<const MIN: i64, const MAX: i64> utoipa::ToSchema for Int<MIN, MAX> {
    fn name() -> Cow<'static, str> {
        format!("Int{MIN}To{MAX}").into()
    }
}

/// A whole number from `MIN` to `MAX` that may also be sent as a string of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntText<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> IntText<MIN, MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for IntText<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(
            SCALAR,
            StrVisitor {
                expecting: "an integer",
                read: |text: &str| {
                    let wanted = || format!("must be an integer from {MIN} to {MAX}");
                    let text = text.trim();
                    let digits = text.strip_prefix('-').unwrap_or(text);
                    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                        return Err(wanted());
                    }
                    bounded(text.parse().map_err(|_| wanted())?, MIN, MAX).map(Self)
                },
            },
        )
    }
}

impl<const MIN: i64, const MAX: i64> utoipa::__dev::ComposeSchema for IntText<MIN, MAX> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(object(MIN, MAX))
            .item(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some("^-?[0-9]+$")),
            )
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl<const MIN: i64, const MAX: i64> utoipa::ToSchema for IntText<MIN, MAX> {
    fn name() -> Cow<'static, str> {
        format!("IntText{MIN}To{MAX}").into()
    }
}

/// How many items a page has: 1 to 100, 20 when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(i64);

impl Limit {
    /// The number of items.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(20)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Int::<1, 100>::deserialize(deserializer).map(|value| Self(value.get()))
    }
}

impl utoipa::__dev::ComposeSchema for Limit {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        object(1, 100)
            .default(Some(20.into()))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl utoipa::ToSchema for Limit {}

/// How many items are skipped before a page: 0 to 10,000, 0 when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Offset(i64);

impl Offset {
    /// The number of items.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Offset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Int::<0, 10_000>::deserialize(deserializer).map(|value| Self(value.get()))
    }
}

impl utoipa::__dev::ComposeSchema for Offset {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        object(0, 10_000)
            .default(Some(0.into()))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl utoipa::ToSchema for Offset {}

/// A record named by its number or by its public id. Digits in a string are a number too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// The record's number.
    Number(i64),
    /// The record's public id, not yet checked.
    PublicId(String),
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(
            SCALAR,
            StrVisitor {
                expecting: "a public id or a number",
                read: |text: &str| {
                    const WANTED: &str = "must be a public id or a number";
                    let text = text.trim();
                    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
                        return text
                            .parse()
                            .map(Self::Number)
                            .map_err(|_| WANTED.to_owned());
                    }
                    let is_id = !text.is_empty()
                        && text.len() <= 64
                        && text.starts_with(|c: char| c.is_ascii_alphabetic())
                        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    if is_id {
                        Ok(Self::PublicId(text.to_owned()))
                    } else {
                        Err(WANTED.to_owned())
                    }
                },
            },
        )
    }
}

impl utoipa::__dev::ComposeSchema for Reference {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some("^[A-Za-z0-9_]{1,64}$")),
            )
            .item(object(0, i64::MAX))
            .title(Some("IdOrNumber"))
            .description(Some("A record by its public id or its number."))
            .into()
    }
}

impl utoipa::ToSchema for Reference {}
