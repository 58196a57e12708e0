//! What a request carries, as a tree, and how a JSON document becomes one, exactly.
//!
//! `serde_json::Value` turns numbers into floats and keeps the last of two equal members. This tree
//! keeps every number's text, refuses equal members and bounds the nesting. The lexing is
//! `serde_json`'s: each level is split by it into the raw texts of its parts, which is linear in
//! the document for each of at most [`MAX_DEPTH`] levels.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fault::echo;

/// The deepest nesting of objects and arrays that is read.
const MAX_DEPTH: usize = 32;

/// A value of the document, with its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node<'a> {
    /// The value exactly as it was sent; nothing of a query string.
    pub(super) raw: &'a str,
    pub(super) value: Value<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// The number's text, which is a valid JSON number.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
    /// What a query string gives for a parameter: text whose type is told by who reads it.
    Words {
        /// Each value that was given.
        values: Vec<String>,
        /// The elements, where a list is read.
        list: Vec<Node<'a>>,
    },
}

/// Why a text is not a document that we read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("the request body is not valid UTF-8")]
    NotUtf8,
    #[error("the request body is not valid JSON: {0}")]
    Syntax(String),
    #[error("the request body is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the request body has the member \"{0}\" more than once in one object")]
    DuplicateMember(String),
}

impl<'a> Node<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?;
        let raw: &RawValue = serde_json::from_str(text).map_err(syntax)?;
        Self::read(raw, 0)
    }

    fn read(raw: &'a RawValue, depth: usize) -> Result<Self, JsonError> {
        let raw = raw.get();
        let value = match raw.as_bytes().first() {
            Some(b'{') => Value::Object(Self::read_object(raw, depth + 1)?),
            Some(b'[') => Value::Array(Self::read_array(raw, depth + 1)?),
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw).map_err(syntax)?;
                Value::String(text)
            }
            Some(b'n') => Value::Null,
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            _ => Value::Number(raw),
        };
        Ok(Self { raw, value })
    }

    fn read_object(raw: &'a str, depth: usize) -> Result<Vec<(Cow<'a, str>, Self)>, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        let members = serde_json::Deserializer::from_str(raw)
            .deserialize_map(MembersVisitor)
            .map_err(syntax)?;
        let mut seen = HashSet::with_capacity(members.len());
        for (name, _) in &members {
            if !seen.insert(name.as_ref()) {
                return Err(JsonError::DuplicateMember(echo(name)));
            }
        }
        drop(seen);
        members
            .into_iter()
            .map(|(name, raw)| Ok((name, Self::read(raw, depth)?)))
            .collect()
    }

    fn read_array(raw: &'a str, depth: usize) -> Result<Vec<Self>, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        serde_json::Deserializer::from_str(raw)
            .deserialize_seq(ElementsVisitor)
            .map_err(syntax)?
            .into_iter()
            .map(|raw| Self::read(raw, depth))
            .collect()
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that map_err takes"
)]
fn syntax(error: serde_json::Error) -> JsonError {
    JsonError::Syntax(error.to_string())
}

/// A string that borrows from the document where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

struct ElementsVisitor;

impl<'de> Visitor<'de> for ElementsVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> String {
        match Node::parse(text.as_bytes()).unwrap().value {
            Value::Number(text) => text.to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        for text in [
            "0",
            "-0",
            "1.10",
            "1e400",
            "0.1000000000000000055511151231257827",
            "12345678901234567890123",
        ] {
            assert_eq!(number(text), text);
        }
    }

    #[test]
    fn strings_are_unescaped_and_members_kept_in_order() {
        let node = Node::parse(br#" {"b":"\u00e4\n","a\u0062":[true,null,{}]} "#).unwrap();
        let Value::Object(members) = node.value else {
            panic!()
        };
        assert_eq!(members[0].0, "b");
        assert_eq!(members[0].1.value, Value::String("ä\n".into()));
        assert_eq!(members[1].0, "ab");
        assert_eq!(members[1].1.raw, "[true,null,{}]");
    }

    #[test]
    fn what_is_not_one_exact_document_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let err = |text: &str| Node::parse(text.as_bytes()).unwrap_err();
        assert!(Node::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(err(&nested(MAX_DEPTH + 1)), JsonError::TooDeep);
        assert_eq!(err(&nested(100_000)), JsonError::TooDeep);
        assert_eq!(
            err(r#"{"x":{"a":1,"\u0061":2}}"#),
            JsonError::DuplicateMember("a".into())
        );
        assert_eq!(Node::parse(b"\"\xff\""), Err(JsonError::NotUtf8));
        for text in [
            "",
            " ",
            "{",
            "{}{}",
            "{} x",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "NaN",
            "'a'",
            "\"\u{1}\"",
            "\"\\ud800\"",
            "\"\\x\"",
            "\u{feff}{}",
            "nul",
            "[1 2]",
            "{a:1}",
            "/**/{}",
        ] {
            assert!(matches!(err(text), JsonError::Syntax(_)), "{text}");
        }
    }
}
