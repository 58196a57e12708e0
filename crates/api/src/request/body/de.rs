//! From a JSON document to the request types of the routes.

use std::borrow::Cow;
use std::slice;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::decimal::plain_decimal;
use super::fault::Fault;
use super::json::{Node, Value};

/// The newtype name by which a type asks for the text of a number or a string.
pub(crate) const SCALAR: &str = "$lessor::Scalar";
/// The newtype name by which a type asks for the raw text of an object.
pub(crate) const RAW_OBJECT: &str = "$lessor::RawObject";
/// The newtype name by which a type asks to be told of `null`.
pub(crate) const PATCH: &str = "$lessor::Patch";

/// What `null` means in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// POST: an optional member that is `null` counts as left out, a required one as missing.
    Create,
    /// PUT: `null` clears a [`Patch`](crate::request::fields::Patch) and is invalid for every other member;
    /// inside a nested object an optional member that is `null` counts as left out.
    Update,
}

/// Reads a request type from a document.
pub(crate) fn from_node<'de, T: Deserialize<'de>>(
    node: &Node<'_>,
    nulls: NullRule,
) -> Result<T, Fault> {
    T::deserialize(NodeDeserializer {
        node,
        nulls,
        level: 0,
    })
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'n> {
    node: &'n Node<'n>,
    nulls: NullRule,
    /// 0 for the document, 1 for its members.
    level: usize,
}

impl<'n> NodeDeserializer<'n> {
    const fn child(self, node: &'n Node<'n>) -> Self {
        Self {
            node,
            nulls: self.nulls,
            level: self.level + 1,
        }
    }

    /// A value of another type than `expected` (a noun with its article).
    fn mismatch(self, expected: &str) -> Fault {
        match (&self.node.value, self.nulls) {
            (Value::Null, NullRule::Create) if self.level > 0 => Fault::missing(),
            (Value::Null, _) if self.level > 0 => {
                Fault::invalid(format!("must be {expected}, not null"))
            }
            _ if self.level == 0 => Fault::invalid(format!("body must be {expected}")),
            _ => Fault::invalid(format!("must be {expected}")),
        }
    }

    fn text(self) -> Result<&'n str, Fault> {
        match &self.node.value {
            Value::String(text) if text.contains('\0') => {
                Err(Fault::invalid("must not contain the character U+0000"))
            }
            Value::String(text) => Ok(text),
            _ => Err(self.mismatch("a string")),
        }
    }

    /// The number that the visitor expects, which says the range that it allows.
    fn integer<'de, N: std::str::FromStr>(self, visitor: &impl Visitor<'de>) -> Result<N, Fault> {
        match &self.node.value {
            Value::Number(text) => text.parse().map_err(|_| {
                let expected: &dyn Expected = visitor;
                Fault::invalid(format!("must be {expected}"))
            }),
            _ => Err(self.mismatch("an integer")),
        }
    }
}

macro_rules! integers {
    ($($method:ident => $visit:ident: $ty:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let value = self.integer::<$ty>(&visitor)?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de, 'n> Deserializer<'de> for NodeDeserializer<'n> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(text) => {
                if let Ok(value) = text.parse() {
                    visitor.visit_u64(value)
                } else {
                    let value = self.integer(&visitor)?;
                    visitor.visit_i64(value)
                }
            }
            Value::String(_) => visitor.visit_str(self.text()?),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.value {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => Err(self.mismatch("true or false")),
        }
    }

    integers! {
        deserialize_i8 => visit_i8: i8,
        deserialize_i16 => visit_i16: i16,
        deserialize_i32 => visit_i32: i32,
        deserialize_i64 => visit_i64: i64,
        deserialize_u8 => visit_u8: u8,
        deserialize_u16 => visit_u16: u16,
        deserialize_u32 => visit_u32: u32,
        deserialize_u64 => visit_u64: u64,
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.value {
            Value::Null if self.nulls == NullRule::Update && self.level == 1 => Err(
                Fault::invalid("must not be null; leave it out to keep what is there"),
            ),
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match (name, &self.node.value) {
            (PATCH, Value::Null) => visitor.visit_none(),
            (PATCH, _) => visitor.visit_some(self),
            (SCALAR, Value::Number(text)) => match plain_decimal(text) {
                Some(plain) => visitor.visit_str(&plain),
                None => Err(Fault::invalid("is a number out of range")),
            },
            (SCALAR, Value::String(_)) => visitor.visit_str(self.text()?),
            (SCALAR, _) => Err(self.mismatch(&(&visitor as &dyn Expected).to_string())),
            (RAW_OBJECT, Value::Object(_)) => visitor.visit_str(self.node.raw),
            (RAW_OBJECT, _) => Err(self.mismatch("an object")),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Array(elements) => visitor.visit_seq(Elements {
                parent: self,
                rest: elements.iter(),
                index: 0,
            }),
            _ => Err(self.mismatch("an array")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Object(members) => visitor.visit_map(Members {
                parent: self,
                rest: members.iter(),
                pending: None,
            }),
            _ => Err(self.mismatch("an object")),
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

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(UnitVariant(self.text()?))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Elements<'n> {
    parent: NodeDeserializer<'n>,
    rest: slice::Iter<'n, Node<'n>>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(node) = self.rest.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        seed.deserialize(self.parent.child(node))
            .map(Some)
            .map_err(|fault| fault.in_element(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'n> {
    parent: NodeDeserializer<'n>,
    rest: slice::Iter<'n, (Cow<'n, str>, Node<'n>)>,
    pending: Option<&'n (Cow<'n, str>, Node<'n>)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.pending = self.rest.next();
        let Some((name, _)) = self.pending else {
            return Ok(None);
        };
        seed.deserialize(name.as_ref().into_deserializer())
            .map(Some)
            .map_err(|fault: Fault| fault.about_member(name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.pending.take() {
            Some((name, node)) => seed
                .deserialize(self.parent.child(node))
                .map_err(|fault| fault.in_member(name)),
            None => Err(Fault::invalid("is read out of order")),
        }
    }
}

/// An enumeration's value: the name of a variant without data.
pub(crate) struct UnitVariant<'a>(pub(crate) &'a str);

impl<'de> EnumAccess<'de> for UnitVariant<'_> {
    type Error = Fault;
    type Variant = UnitOnly;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, UnitOnly), Fault> {
        Ok((seed.deserialize(self.0.into_deserializer())?, UnitOnly))
    }
}

pub(crate) struct UnitOnly;

impl<'de> VariantAccess<'de> for UnitOnly {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Fault> {
        Err(Fault::invalid("must be the name of a value"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(Fault::invalid("must be the name of a value"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        Err(Fault::invalid("must be the name of a value"))
    }
}
