//! Strings: trimmed, bounded, free of control characters, never empty.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};

use super::StrVisitor;
use crate::http::openapi::marked_inline;

fn checked(text: &str, max: usize, allowed: impl Fn(char) -> bool) -> Result<&str, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if let Some(character) = text.chars().find(|c| c.is_control() && !allowed(*c)) {
        return Err(format!(
            "must not contain the control character U+{:04X}",
            u32::from(character)
        ));
    }
    if text.chars().count() > max {
        return Err(format!("must be at most {max} characters long"));
    }
    Ok(text)
}

/// Which characters are refused is said in words: as a pattern it has makers of examples invent noise.
fn schema(max: usize) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(max))
        .extensions(Some(marked_inline()))
        .into()
}

/// A line of text of 1 to `MAX` characters after trimming, without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> AsRef<str> for Text<MAX> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: |text: &str| checked(text, MAX, |_| false).map(|text| Self(text.to_owned())),
        })
    }
}

impl<const MAX: usize> utoipa::__dev::ComposeSchema for Text<MAX> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        schema(MAX)
    }
}

impl<const MAX: usize> utoipa::ToSchema for Text<MAX> {
    fn name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }
}

/// A text of 1 to `MAX` characters after trimming that may have several lines: newlines (CR LF is
/// read as one) and tabs, and no other control character.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prose<const MAX: usize>(String);

impl<const MAX: usize> Prose<MAX> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MAX: usize> AsRef<str> for Prose<MAX> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Prose<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: |text: &str| {
                let text = text.replace("\r\n", "\n");
                checked(&text, MAX, |c| matches!(c, '\n' | '\t')).map(|text| Self(text.to_owned()))
            },
        })
    }
}

impl<const MAX: usize> utoipa::__dev::ComposeSchema for Prose<MAX> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        schema(MAX)
    }
}

impl<const MAX: usize> utoipa::ToSchema for Prose<MAX> {
    fn name() -> Cow<'static, str> {
        format!("Prose{MAX}").into()
    }
}

/// An absolute `http` or `https` address of at most 2,048 characters, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebUrl(String);

impl WebUrl {
    /// The longest address, in characters.
    pub const MAX: usize = 2_048;

    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }

    fn parse(text: &str) -> Result<Self, String> {
        const WANTED: &str = "must be an absolute http or https address";
        let text = checked(text, Self::MAX, |_| false)?;
        // The parser forgives what a browser forgives; these are mistakes in a stored address.
        if text.contains(char::is_whitespace) || text.contains('\\') {
            return Err(WANTED.to_owned());
        }
        let url = url::Url::parse(text).map_err(|_| WANTED.to_owned())?;
        let has_authority = text
            .get(url.scheme().len()..)
            .and_then(|rest| rest.strip_prefix("://"))
            .is_some_and(|rest| !rest.starts_with('/'));
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !has_authority {
            return Err(WANTED.to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl AsRef<str> for WebUrl {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for WebUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor {
            expecting: "a string",
            read: Self::parse,
        })
    }
}

impl utoipa::__dev::ComposeSchema for WebUrl {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("uri".to_owned())))
            .max_length(Some(Self::MAX))
            .pattern(Some("^[Hh][Tt][Tt][Pp][Ss]?://"))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl utoipa::ToSchema for WebUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        let text = serde_json::to_string(text).unwrap();
        let node = crate::request::body::json::Node::parse(text.as_bytes()).unwrap();
        crate::request::body::from_node(&node, crate::request::body::NullRule::Create)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn text_is_trimmed_and_bounded_in_characters() {
        assert_eq!(read::<Text<3>>(" äöü \n").unwrap().as_str(), "äöü");
        assert!(
            read::<Text<3>>("äöüa")
                .unwrap_err()
                .contains("at most 3 characters")
        );
        for empty in ["", "  ", "\t\u{3000}"] {
            assert!(
                read::<Text<3>>(empty)
                    .unwrap_err()
                    .contains("must not be empty")
            );
        }
        for bad in ["a\nb", "a\tb", "a\u{7f}b", "a\u{85}b", "a\0b", "\u{1b}[31m"] {
            assert!(read::<Text<255>>(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn prose_keeps_lines_and_tabs() {
        assert_eq!(
            read::<Prose<20>>("a\r\nb\tc\n").unwrap().as_str(),
            "a\nb\tc"
        );
        for bad in ["a\rb", "a\u{8}b", ""] {
            assert!(read::<Prose<20>>(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_absolute_and_of_the_web() {
        for good in [
            "https://a.example/x?y=1#z",
            "HTTP://localhost:8080",
            "http://[::1]/",
            " https://ä.example ",
        ] {
            assert_eq!(read::<WebUrl>(good).unwrap().as_str(), good.trim());
        }
        let long = format!("https://a.example/{}", "x".repeat(2_048));
        for bad in [
            "",
            "/x",
            "a.example",
            "ftp://a.example",
            "javascript:alert(1)",
            "https:a.example",
            "https:///x",
            "http://",
            "https://a b.example",
            "https://a.example\\@b.example",
            "data:text/html,x",
            long.as_str(),
        ] {
            assert!(read::<WebUrl>(bad).is_err(), "{bad}");
        }
    }
}
