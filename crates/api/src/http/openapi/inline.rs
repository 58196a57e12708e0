//! Writes small schemas out where they are used.

use serde_json::{Map, Value};

pub(super) const PREFIX: &str = "#/components/schemas/";

/// Marks a schema that is written out where it is used instead of being referred to by name: the
/// names of these types mean nothing to a reader of the reference.
const INLINE_EXTENSION: &str = "x-inline";

/// The extensions of a schema that is marked so.
pub(crate) fn marked_inline() -> utoipa::openapi::extensions::Extensions {
    utoipa::openapi::extensions::ExtensionsBuilder::new()
        .add(INLINE_EXTENSION, true)
        .build()
}

/// Replaces every reference to a schema that is marked [`INLINE_EXTENSION`] by the schema, removes
/// these from the components, and the mark from everywhere.
pub(super) fn inline(mut document: Value) -> Value {
    let Some(schemas) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    else {
        return document;
    };
    let all = std::mem::take(schemas);
    let (small, named): (Map<_, _>, Map<_, _>) = all
        .into_iter()
        .partition(|(_, schema)| schema.get(INLINE_EXTENSION).is_some());
    *schemas = named;
    expand(&mut document, &small);
    document
}

fn expand(value: &mut Value, small: &Map<String, Value>) {
    if let Some(mut schema) = target(value, small).cloned() {
        // What stands beside the reference says more about this use: its description, its default.
        if let (Some(schema), Some(beside)) = (schema.as_object_mut(), value.as_object_mut()) {
            beside.remove("$ref");
            schema.append(beside);
        }
        *value = schema;
        // The schema may itself refer to small ones. They never refer to themselves.
        return expand(value, small);
    }
    match value {
        Value::Object(members) => {
            members.remove(INLINE_EXTENSION);
            members
                .values_mut()
                .for_each(|member| expand(member, small));
        }
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| expand(element, small)),
        _ => {}
    }
}

fn target<'s>(value: &Value, small: &'s Map<String, Value>) -> Option<&'s Value> {
    small.get(value.get("$ref")?.as_str()?.strip_prefix(PREFIX)?)
}
