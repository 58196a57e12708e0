//! What the OpenAPI document says of a PDF.

use std::borrow::Cow;

use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// The bytes of a PDF, in the document: answers are sent as they are.
pub(crate) enum Pdf {}

impl PartialSchema for Pdf {
    fn schema() -> RefOr<Schema> {
        let file = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(file))
            .description(Some("A PDF, as it is."))
            .into()
    }
}

impl ToSchema for Pdf {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Pdf")
    }
}
