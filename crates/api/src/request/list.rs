//! Arrays and maps in bounds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::http::openapi::marked_inline;

/// An array of `MIN` to `MAX` elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MAX: usize, const MIN: usize = 0>(Vec<T>);

impl<T, const MAX: usize, const MIN: usize> List<T, MAX, MIN> {
    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// The elements, owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize, const MIN: usize> IntoIterator for List<T, MAX, MIN> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// An absent optional list is empty.
impl<T, const MAX: usize> Default for List<T, MAX, 0> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize, const MIN: usize> Deserialize<'de>
    for List<T, MAX, MIN>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T, const MAX: usize, const MIN: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize, const MIN: usize> Visitor<'de>
    for ListVisitor<T, MAX, MIN>
{
    type Value = List<T, MAX, MIN>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        if seq.size_hint().is_some_and(|length| length > MAX) {
            return Err(serde::de::Error::custom(format!(
                "must have at most {MAX} elements"
            )));
        }
        while let Some(element) = seq.next_element()? {
            if elements.len() == MAX {
                return Err(serde::de::Error::custom(format!(
                    "must have at most {MAX} elements"
                )));
            }
            elements.push(element);
        }
        if elements.len() < MIN {
            let noun = if MIN == 1 { "element" } else { "elements" };
            return Err(serde::de::Error::custom(format!(
                "must have at least {MIN} {noun}"
            )));
        }
        Ok(List(elements))
    }
}

// The document's generator follows type parameters by a trait of its own: where a list or a table is a
// member of a request, an alias hides them.
impl<T: ToSchema, const MAX: usize, const MIN: usize> PartialSchema for List<T, MAX, MIN> {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(T::schema())
            .min_items((MIN > 0).then_some(MIN))
            .max_items(Some(MAX))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl<T: ToSchema, const MAX: usize, const MIN: usize> ToSchema for List<T, MAX, MIN> {
    fn name() -> Cow<'static, str> {
        format!("List{MIN}To{MAX}{}", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

/// An object of up to `MAX` members whose names are the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K, V, const MAX: usize>(BTreeMap<K, V>);

impl<K, V, const MAX: usize> Table<K, V, MAX> {
    /// The members, owned.
    #[must_use]
    pub fn into_map(self) -> BTreeMap<K, V> {
        self.0
    }
}

impl<K, V, const MAX: usize> Default for Table<K, V, MAX> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, K, V, const MAX: usize> Deserialize<'de> for Table<K, V, MAX>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

struct TableVisitor<K, V, const MAX: usize>(PhantomData<(K, V)>);

impl<'de, K, V, const MAX: usize> Visitor<'de> for TableVisitor<K, V, MAX>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    type Value = Table<K, V, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = map.next_entry()? {
            if members.len() == MAX {
                return Err(serde::de::Error::custom(format!(
                    "must have at most {MAX} members"
                )));
            }
            if members.insert(name, value).is_some() {
                return Err(serde::de::Error::custom(
                    "must not name the same member twice",
                ));
            }
        }
        Ok(Table(members))
    }
}

impl<K: ToSchema, V: ToSchema, const MAX: usize> PartialSchema for Table<K, V, MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .property_names(Some(K::schema()))
            .additional_properties(Some(V::schema()))
            .max_properties(Some(MAX))
            .extensions(Some(marked_inline()))
            .into()
    }
}

impl<K: ToSchema, V: ToSchema, const MAX: usize> ToSchema for Table<K, V, MAX> {
    fn name() -> Cow<'static, str> {
        format!("Table{MAX}{}{}", K::name(), V::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        K::schemas(schemas);
        V::schemas(schemas);
    }
}
