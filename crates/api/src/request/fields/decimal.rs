//! Exact decimal numbers, as text.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use super::StrVisitor;
use crate::request::body::SCALAR;
use crate::request::body::decimal::MAX_LENGTH;

/// The exact text of a decimal number, without an exponent: from a JSON number (`12.50`, `1e3`) or
/// a string (`"12.50"`). No float is involved on the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecimalText(String);

impl DecimalText {
    /// The number: an optional minus sign, digits, and optionally a point and digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for DecimalText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for DecimalText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(
            SCALAR,
            StrVisitor {
                expecting: "a decimal number",
                read: |text: &str| {
                    let text = text.trim();
                    if is_plain_decimal(text) {
                        Ok(Self(text.to_owned()))
                    } else {
                        Err("must be a decimal number, such as 12.50".to_owned())
                    }
                },
            },
        )
    }
}

impl utoipa::__dev::ComposeSchema for DecimalText {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Number))
            .item(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some(r"^-?[0-9]+(\.[0-9]+)?$"))
                    .max_length(Some(MAX_LENGTH)),
            )
            .title(Some("Decimal"))
            .description(Some(
                "A decimal number: a JSON number, or a decimal string. Read exactly.",
            ))
            .into()
    }
}

impl utoipa::ToSchema for DecimalText {
    fn name() -> Cow<'static, str> {
        "DecimalText".into()
    }
}

fn is_plain_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    text.len() <= MAX_LENGTH
        && match unsigned.split_once('.') {
            Some((whole, fraction)) => digits(whole) && digits(fraction),
            None => digits(unsigned),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_must_be_plain() {
        for text in ["0", "-1", "12.50", "007"] {
            assert!(is_plain_decimal(text), "{text}");
        }
        for text in [
            "",
            "-",
            ".5",
            "5.",
            "1e3",
            "+1",
            "1,5",
            "1 0",
            "٣",
            "NaN",
            "0x10",
            "--1",
            "1.2.3",
            &"1".repeat(65),
        ] {
            assert!(!is_plain_decimal(text), "{text}");
        }
    }
}
