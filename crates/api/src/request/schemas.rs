//! What the reference says of values.

use lessor_domain::ids::PublicId;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};

use super::decimal;
use crate::http::openapi::marked_inline;

/// Text of 1 to `max` characters. Which are refused is said in words: as a pattern it has makers of
/// examples invent noise.
pub(crate) fn text(max: usize) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(max))
        .extensions(Some(marked_inline()))
}

/// A whole number of 64 bits in a range.
pub(crate) fn integer(least: i64, most: i64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(least))
        .maximum(Some(most))
        .extensions(Some(marked_inline()))
}

/// A whole number in a range, as a number or a string of digits.
pub(crate) fn integer_or_text(least: i64, most: i64) -> OneOfBuilder {
    let digits = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9]+$"));
    OneOfBuilder::new()
        .item(integer(least, most).extensions(None))
        .item(digits)
        .extensions(Some(marked_inline()))
}

/// A decimal number that is read exactly.
pub(crate) fn decimal() -> OneOfBuilder {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^-?[0-9]+(\.[0-9]+)?$"))
        .max_length(Some(decimal::MAX_LENGTH));
    OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::Number))
        .item(text)
        .title(Some("Decimal"))
        .description(Some(
            "A decimal number: a JSON number, or a decimal string. Read exactly.",
        ))
}

/// What every text of a public id matches.
pub(crate) fn id_pattern<T: PublicId>() -> String {
    format!("^{}_[0-9A-Za-z]{{22}}$", T::PREFIX)
}

/// A public id.
pub(crate) fn id<T: PublicId>() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(id_pattern::<T>()))
        .extensions(Some(marked_inline()))
}

/// A record by its public id or its number.
pub(crate) fn id_or_number() -> OneOfBuilder {
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[A-Za-z0-9_]{1,64}$"));
    OneOfBuilder::new()
        .item(id)
        .item(integer(0, i64::MAX).extensions(None))
        .title(Some("IdOrNumber"))
        .description(Some("A record by its public id or its number."))
}
