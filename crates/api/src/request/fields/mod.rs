//! The values that requests are made of: each type reads one kind of value strictly, bounds it, and
//! describes itself in the OpenAPI document.
//!
//! They know nothing of leases. What a money amount or a postal code may be is the domain's to say:
//! a handler passes their text on to the domain's own types.

pub(crate) mod decimal;
mod integer;
mod list;
mod moment;
mod named;
mod patch;
mod raw;
mod text;

pub use decimal::DecimalText;
pub use integer::{Int, IntText, Limit, Offset, Reference};
pub use list::{List, Table};
pub use moment::Moment;
pub(crate) use named::names;
pub use named::{Id, Named, Names};
pub use patch::Patch;
pub use raw::RawObject;
pub use text::{Prose, Text, WebUrl};

/// Visits only strings, and those that a number's text is made of.
pub(crate) struct StrVisitor<F> {
    pub(crate) expecting: &'static str,
    pub(crate) read: F,
}

impl<'de, T, F> serde::de::Visitor<'de> for StrVisitor<F>
where
    F: FnOnce(&str) -> Result<T, String>,
{
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }

    fn visit_newtype_struct<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}
