//! Writes small schemas out where they are used.

use serde_json::{Map, Value, json};

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
///
/// A schema with a title is a component of that name instead, wherever it stands: makers of clients
/// would call what has no name by the place where it stands, and by another one at each.
pub(super) fn inline(mut document: Value) -> Value {
    let Some(schemas) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    else {
        return document;
    };
    let all = std::mem::take(schemas);
    let (small, mut named): (Map<_, _>, Map<_, _>) = all
        .into_iter()
        .partition(|(_, schema)| schema.get(INLINE_EXTENSION).is_some() || title(schema).is_some());
    let mut expansion = Expansion {
        small,
        titled: Map::new(),
    };
    named
        .values_mut()
        .for_each(|schema| expansion.within(schema));
    // The other parts hold no schemas yet.
    if let Some(paths) = document.get_mut("paths") {
        expansion.expand(paths);
    }
    named.append(&mut expansion.titled);
    document["components"]["schemas"] = Value::Object(named);
    document
}

/// The name that a schema is to have wherever it stands.
fn title(schema: &Value) -> Option<&str> {
    schema.get("title")?.as_str()
}

struct Expansion {
    /// The schemas that are no components.
    small: Map<String, Value>,
    /// Those that are components of their titles.
    titled: Map<String, Value>,
}

impl Expansion {
    fn expand(&mut self, value: &mut Value) {
        if let Some(mut schema) = self.target(value).cloned() {
            if let Some(reference) = self.named(&schema) {
                value["$ref"] = reference;
                return;
            }
            // What stands beside the reference says more about this use: its description, its default.
            if let (Some(schema), Some(beside)) = (schema.as_object_mut(), value.as_object_mut()) {
                beside.remove("$ref");
                schema.append(beside);
            }
            *value = schema;
            // The schema may itself refer to small ones. They never refer to themselves.
            return self.expand(value);
        }
        match self.named(value) {
            Some(reference) => *value = json!({ "$ref": reference }),
            None => self.within(value),
        }
    }

    fn within(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove(INLINE_EXTENSION);
                members.values_mut().for_each(|member| self.expand(member));
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.expand(element)),
            _ => {}
        }
    }

    fn target(&self, value: &Value) -> Option<&Value> {
        let name = value.get("$ref")?.as_str()?.strip_prefix(PREFIX)?;
        self.small.get(name)
    }

    /// The reference to a schema that has a title, which is then a component.
    fn named(&mut self, schema: &Value) -> Option<Value> {
        let name = title(schema)?.to_owned();
        if !self.titled.contains_key(&name) {
            let mut component = schema.clone();
            self.within(&mut component);
            if let Some(component) = component.as_object_mut() {
                component.remove("title");
            }
            self.titled.insert(name.clone(), component);
        }
        Some(json!(format!("{PREFIX}{name}")))
    }
}
