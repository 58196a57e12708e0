//! From a tree of nodes to the request types of the routes.

use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Expected, IntoDeserializer, Visitor};

use serde_path_to_error::Segment;

use super::decimal::plain_decimal;
use super::fault::Fault;
use super::json::{Node, Value};

/// The newtype name by which a type asks for the text of a number or a string.
pub(super) const SCALAR: &str = "$lessor::Scalar";
/// The newtype name by which a type asks for the text of a number.
pub(super) const NUMBER: &str = "$lessor::Number";
/// The newtype name by which a type asks for the raw text of an object.
pub(super) const RAW_OBJECT: &str = "$lessor::RawObject";

/// Reads a request type from a tree.
///
/// A member that is `null` counts as left out: an optional one is none, a required one missing. Where an
/// update must tell these apart its type says so: [`given`], `serde_with::rust::double_option`.
pub(super) fn from_node<T: DeserializeOwned>(node: &Node<'_>) -> Result<T, Fault> {
    serde_path_to_error::deserialize(node).map_err(|error| {
        let path = error.path().clone();
        error.into_inner().at(path.iter())
    })
}

/// Reads the request type of a query from a tree: the elements of a list have one name there.
pub(super) fn from_parameters<T: DeserializeOwned>(node: &Node<'_>) -> Result<T, Fault> {
    serde_path_to_error::deserialize(node).map_err(|error| {
        let path = error.path().clone();
        let names = path.iter();
        let names = names.filter(|segment| !matches!(segment, Segment::Seq { .. }));
        error.into_inner().at(names)
    })
}

/// Reads a member that an update may leave out and cannot clear.
///
/// # Errors
/// It is `null`, or what its type refuses.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(value) => Ok(Some(value)),
        None => Err(D::Error::custom(
            "must not be null; leave it out to keep what is there",
        )),
    }
}

impl Node<'_> {
    /// A value of another type than `expected` (a noun with its article).
    fn mismatch(&self, expected: &dyn Expected) -> Fault {
        match &self.value {
            Value::Null => Fault::missing(),
            Value::Words { .. } => Fault::invalid("must not be given more than once"),
            _ => Fault::invalid(format!("must be {expected}")),
        }
    }

    /// The text of a string, or of a parameter's one value.
    fn text(&self) -> Result<&str, Fault> {
        match &self.value {
            Value::String(text) if text.contains('\0') => {
                Err(Fault::invalid("must not contain the character U+0000"))
            }
            Value::String(text) => Ok(text),
            Value::Words { values, .. } => match values.as_slice() {
                [value] => Ok(value),
                _ => Err(self.mismatch(&"a string")),
            },
            _ => Err(self.mismatch(&"a string")),
        }
    }
}

impl<'de> IntoDeserializer<'de, Fault> for &Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &Node<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(text) => visitor.visit_str(text),
            Value::String(_) | Value::Words { .. } => visitor.visit_str(self.text()?),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Words { .. } => match self.text()? {
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                _ => Err(Fault::invalid("must be true or false")),
            },
            _ => Err(self.mismatch(&"true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match (name, &self.value) {
            (SCALAR, Value::Number(text)) => match plain_decimal(text) {
                Some(plain) => visitor.visit_str(&plain),
                None => Err(Fault::invalid("is a number out of range")),
            },
            (NUMBER, Value::Number(text)) => visitor.visit_str(text),
            (SCALAR, Value::String(_)) | (SCALAR | NUMBER, Value::Words { .. }) => {
                visitor.visit_str(self.text()?)
            }
            (RAW_OBJECT, Value::Object(_)) => visitor.visit_str(self.raw),
            (SCALAR | NUMBER | RAW_OBJECT, _) => Err(self.mismatch(&visitor)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Array(elements) | Value::Words { list: elements, .. } => {
                visitor.visit_seq(SeqDeserializer::new(elements.iter()))
            }
            _ => Err(self.mismatch(&"an array")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Object(members) => {
                let members = members.iter().map(|(name, node)| (name.as_ref(), node));
                visitor.visit_map(MapDeserializer::new(members))
            }
            Value::Words { .. } => Err(Fault::invalid("must be written with a key: [key]=value")),
            _ => Err(self.mismatch(&"an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct
        enum identifier
    }
}
