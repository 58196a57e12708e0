//! An object whose reading is put off.

use std::fmt;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer};

use super::de::{RAW_OBJECT, from_node};
use super::json::{Node, Value};
use crate::http::error::ApiError;

/// An item of a bulk request: an object that is read on its own, so that what is wrong with it
/// fails this item and no other. Document it with
/// `#[schema(value_type = Vec<TheItem>, min_items = 1, max_items = 100)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawObject(String);

impl RawObject {
    /// Reads the item. `param` of the error is relative to the item.
    ///
    /// # Errors
    /// What is wrong with the item.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let node = Node::parse(self.0.as_bytes())
            .map_err(|error| ApiError::invalid_request(error.to_string()))?;
        Ok(from_node(&node)?)
    }

    /// The member `name` when it is there and a string: what a failed item is called in the answer.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        match Node::parse(self.0.as_bytes()).ok()?.value {
            Value::Object(members) => {
                members
                    .into_iter()
                    .find_map(|(member, node)| match node.value {
                        Value::String(text) if member == name => Some(text.into_owned()),
                        _ => None,
                    })
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW_OBJECT, RawVisitor)
    }
}

struct RawVisitor;

impl Visitor<'_> for RawVisitor {
    type Value = RawObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_str<E>(self, raw: &str) -> Result<RawObject, E> {
        Ok(RawObject(raw.to_owned()))
    }
}
