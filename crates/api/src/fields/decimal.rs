//! Exact decimal numbers, as text.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use super::{StrVisitor, inline};
use crate::body::SCALAR;

/// The longest decimal number that is read, in characters.
const MAX_LENGTH: usize = 64;

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
            .extensions(Some(inline()))
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

/// The text of a JSON number without its exponent, exactly. `None` when that would be longer than
/// [`MAX_LENGTH`] characters.
pub(crate) fn plain_decimal(number: &str) -> Option<Cow<'_, str>> {
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else {
        return (number.len() <= MAX_LENGTH).then_some(Cow::Borrowed(number));
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.bytes().all(|b| b == b'0') {
        return Some(Cow::Borrowed("0"));
    }
    if digits.len() > MAX_LENGTH {
        return None;
    }
    // Where the point stands among the digits; negative is left of them.
    let limit = i64::try_from(MAX_LENGTH).ok()?;
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_add(exponent.parse().ok()?)?;
    if !(-limit..=limit).contains(&point) {
        return None;
    }
    let plain = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
        Ok(0) | Err(_) => {
            let zeros = usize::try_from(-point).ok()?;
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
        Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
    };
    // A shifted point can leave zeros in front: 0.05e1 is 0.5, 0.5e1 is 5.
    let unsigned = plain.strip_prefix('-').unwrap_or(&plain);
    let trimmed = unsigned.trim_start_matches('0');
    let zero = if trimmed.starts_with('.') { "0" } else { "" };
    let plain = format!("{sign}{zero}{trimmed}");
    (plain.len() <= MAX_LENGTH).then_some(Cow::Owned(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_written_out_exactly() {
        for (number, plain) in [
            ("12.50", "12.50"),
            ("-0.1", "-0.1"),
            ("1e3", "1000"),
            ("1E+3", "1000"),
            ("1.5e3", "1500"),
            ("1.5e1", "15"),
            ("1.25e1", "12.5"),
            ("0.05e1", "0.5"),
            ("0.5e1", "5"),
            ("0.0005e2", "0.05"),
            ("2.5e-7", "0.00000025"),
            ("-25e-1", "-2.5"),
            ("25e-2", "0.25"),
            ("0e999999999999999999999", "0"),
            ("1500e-3", "1.500"),
        ] {
            assert_eq!(plain_decimal(number).as_deref(), Some(plain), "{number}");
        }
    }

    #[test]
    fn what_would_be_too_long_is_refused() {
        let digits = "9".repeat(65);
        for number in [
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "1e64",
            digits.as_str(),
        ] {
            assert_eq!(plain_decimal(number), None, "{number}");
        }
    }

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
