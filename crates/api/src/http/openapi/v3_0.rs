//! The document as OpenAPI 3.0 says it, for makers of clients that do not read 3.1.
//!
//! Three things are lost, for which 3.0 has no words: what is told to others (`webhooks`), the form of a table's member names, and that an
//! object or an enumeration may be null, which it may where it may be left out as well. Only what
//! [`finish`](super::finish) writes is known here; a test reads the whole document for words that 3.0
//! does not have.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::inline::PREFIX;

/// The version that it is written in.
const VERSION: &str = "3.0.3";
/// What the name of alternatives begins with where null is one more of them.
const NULLABLE: &str = "Nullable";

/// The finished document in OpenAPI 3.0.
#[must_use]
pub fn v3_0(newer: &Value) -> Value {
    let mut document = newer.clone();
    document["openapi"] = json!(VERSION);
    // What is sent to others it cannot say.
    if let Some(document) = document.as_object_mut() {
        document.remove("webhooks");
    }
    // Licences are told by addresses, not by identifiers.
    if let Some(license) = document.pointer_mut("/info/license") {
        *license = json!({ "name": license["name"], "url": env!("CARGO_PKG_REPOSITORY") });
    }
    let mut writer = Writer {
        components: &newer["components"]["schemas"],
        nullable: BTreeSet::new(),
    };
    writer.outside(&mut document);
    let schemas = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        schemas
            .values_mut()
            .for_each(|schema| writer.schema(schema));
        for name in std::mem::take(&mut writer.nullable) {
            let mut schema = writer.components[&name].clone();
            writer.schema(&mut schema);
            if let Some(choices) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
                allow_null(choices);
            }
            schemas.insert(format!("{NULLABLE}{name}"), schema);
        }
        schemas.iter_mut().for_each(name_alternatives);
    }
    document
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// The alternatives of a component are called by its name and their types: makers of clients count
/// those that have no names.
fn name_alternatives((component, schema): (&String, &mut Value)) {
    let choices = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        let kind = choice.get("type").and_then(Value::as_str);
        if let Some((first, rest)) = kind.and_then(|kind| kind.split_at_checked(1)) {
            choice["title"] = format!("{component}{}{rest}", first.to_uppercase()).into();
        }
    }
}

/// Null is said of a type: of the first alternative that has one.
fn allow_null(choices: &mut [Value]) {
    let mut choices = choices.iter_mut().filter_map(Value::as_object_mut);
    if let Some(typed) = choices.find(|choice| choice.contains_key("type")) {
        typed.insert("nullable".to_owned(), json!(true));
    }
}

struct Writer<'d> {
    /// The components of the newer document.
    components: &'d Value,
    /// The names of those whose alternatives are needed with null.
    nullable: BTreeSet<String>,
}

impl Writer<'_> {
    /// Rewrites the schemas of parameters, headers and bodies.
    fn outside(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match name.as_str() {
                        "schema" => self.schema(member),
                        // Components have their turn, and examples are data.
                        "schemas" | "example" | "examples" => {}
                        _ => self.outside(member),
                    }
                }
            }
            Value::Array(elements) => elements
                .iter_mut()
                .for_each(|element| self.outside(element)),
            _ => {}
        }
    }

    fn schema(&mut self, value: &mut Value) {
        let Some(object) = value.as_object_mut() else {
            return;
        };
        for (name, member) in object.iter_mut() {
            match (name.as_str(), member) {
                ("items" | "additionalProperties", member) => self.schema(member),
                ("properties", Value::Object(properties)) => {
                    properties
                        .values_mut()
                        .for_each(|property| self.schema(property));
                }
                // Null among alternatives is said beside them.
                ("oneOf" | "anyOf" | "allOf", Value::Array(choices)) => choices
                    .iter_mut()
                    .filter(|choice| !is_null(choice))
                    .for_each(|choice| self.schema(choice)),
                _ => {}
            }
        }
        object.remove("propertyNames");
        if let Some(Value::Array(examples)) = object.remove("examples")
            && let Some(first) = examples.into_iter().next()
        {
            object.insert("example".to_owned(), first);
        }
        if let Some(only) = object.remove("const") {
            object.insert("enum".to_owned(), json!([only]));
        }
        types(object);
        self.alternatives(object);
        reference(object);
    }

    /// Null is no alternative, and a single one is none.
    fn alternatives(&mut self, object: &mut Map<String, Value>) {
        for name in ["oneOf", "anyOf"] {
            let Some(Value::Array(choices)) = object.get_mut(name) else {
                continue;
            };
            let before = choices.len();
            choices.retain(|choice| !is_null(choice));
            if choices.len() == before {
                continue;
            }
            let [only] = choices.as_mut_slice() else {
                allow_null(choices);
                continue;
            };
            self.allow_null_beside(only);
            if let Value::Object(mut only) = only.take() {
                object.remove(name);
                object.append(&mut only);
            }
        }
    }

    /// Null is no value of a component. Alternatives have a second component, with null among them.
    fn allow_null_beside(&mut self, reference: &mut Value) {
        let name = reference["$ref"]
            .as_str()
            .and_then(|target| target.strip_prefix(PREFIX))
            .filter(|name| self.components[name].get("oneOf").is_some());
        if let Some(name) = name.map(str::to_owned) {
            reference["$ref"] = json!(format!("{PREFIX}{NULLABLE}{name}"));
            self.nullable.insert(name);
        }
    }
}

/// One type, with `nullable` for null, and alternatives for several.
fn types(object: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = object.get("type") else {
        return;
    };
    let mut kinds = kinds.clone();
    object.remove("type");
    let before = kinds.len();
    kinds.retain(|kind| kind != "null");
    let has_null = kinds.len() < before;
    if let [only] = kinds.as_slice() {
        object.insert("type".to_owned(), only.clone());
        if has_null {
            object.insert("nullable".to_owned(), json!(true));
        }
        return;
    }
    let choices = kinds.iter().map(|kind| json!({ "type": kind }));
    let mut choices: Vec<_> = choices.collect();
    if has_null {
        allow_null(&mut choices);
    }
    object.insert("oneOf".to_owned(), Value::Array(choices));
}

/// What stands beside a reference is not read: the reference goes into an `allOf`.
fn reference(object: &mut Map<String, Value>) {
    if object.len() > 1
        && let Some(target) = object.remove("$ref")
    {
        object.insert("allOf".to_owned(), json!([{ "$ref": target }]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> Value {
        let document = v3_0(&json!({ "components": { "schemas": {
            "It": value,
            "Object": { "type": "object" },
            "Choice": { "oneOf": [{ "type": "number" }, { "type": "string" }] }
        } } }));
        document["components"]["schemas"].clone()
    }

    #[test]
    fn schemas_are_said_in_the_older_words() {
        let cases = [
            (
                json!({ "type": ["string", "null"], "maxLength": 5 }),
                json!({ "type": "string", "nullable": true, "maxLength": 5 }),
            ),
            (
                json!({ "type": ["string", "integer", "null"] }),
                json!({ "oneOf": [
                    { "title": "ItString", "type": "string", "nullable": true },
                    { "title": "ItInteger", "type": "integer" }
                ] }),
            ),
            (
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
                json!({ "type": "string", "nullable": true, "enum": ["a", null] }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/components/schemas/Object" }, { "type": "null" }], "description": "It." }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/Object" }], "description": "It." }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/components/schemas/Choice" }, { "type": "null" }], "description": "It." }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/NullableChoice" }], "description": "It." }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/components/schemas/Object" }, { "type": "null" }] }),
                json!({ "$ref": "#/components/schemas/Object" }),
            ),
            (
                json!({ "oneOf": [{ "type": "number" }, { "type": "string" }, { "type": "null" }] }),
                json!({ "oneOf": [
                    { "title": "ItNumber", "type": "number", "nullable": true },
                    { "title": "ItString", "type": "string" }
                ] }),
            ),
            (
                json!({ "oneOf": [{ "type": "number" }, { "type": "string" }] }),
                json!({ "oneOf": [
                    { "title": "ItNumber", "type": "number" },
                    { "title": "ItString", "type": "string" }
                ] }),
            ),
            (
                json!({ "$ref": "#/x", "description": "It." }),
                json!({ "allOf": [{ "$ref": "#/x" }], "description": "It." }),
            ),
            (json!({ "$ref": "#/x" }), json!({ "$ref": "#/x" })),
            (
                json!({ "type": "string", "examples": ["a", "b"] }),
                json!({ "type": "string", "example": "a" }),
            ),
            (json!({ "const": "a" }), json!({ "enum": ["a"] })),
            (
                json!({
                    "type": "object",
                    "propertyNames": { "pattern": "^x" },
                    "additionalProperties": { "type": ["integer", "null"] }
                }),
                json!({
                    "type": "object",
                    "additionalProperties": { "type": "integer", "nullable": true }
                }),
            ),
            // Names of members are no words of the language.
            (
                json!({ "properties": {
                    "type": { "type": ["string", "null"] },
                    "examples": { "items": { "$ref": "#/x", "description": "It." } }
                } }),
                json!({ "properties": {
                    "type": { "type": "string", "nullable": true },
                    "examples": { "items": { "allOf": [{ "$ref": "#/x" }], "description": "It." } }
                } }),
            ),
        ];
        for (before, after) in cases {
            assert_eq!(written(&before)["It"], after, "{before}");
        }
    }

    #[test]
    fn alternatives_with_a_name_have_another_with_null() {
        let schemas = written(&json!({
            "oneOf": [{ "$ref": "#/components/schemas/Choice" }, { "type": "null" }]
        }));
        assert_eq!(
            schemas["NullableChoice"],
            json!({ "oneOf": [
                { "title": "NullableChoiceNumber", "type": "number", "nullable": true },
                { "title": "NullableChoiceString", "type": "string" }
            ] })
        );
        assert_eq!(
            schemas["Choice"],
            json!({ "oneOf": [
                { "title": "ChoiceNumber", "type": "number" },
                { "title": "ChoiceString", "type": "string" }
            ] })
        );
    }

    /// Null has a meaning of its own in updates alone.
    #[test]
    fn what_an_update_clears_may_be_null() {
        let newer = crate::run::app::document("", crate::routes::configure);
        let older = v3_0(&newer);
        let mut count = 0;
        for (name, schema) in newer["components"]["schemas"].as_object().unwrap() {
            if !(name.starts_with("Update") || name.starts_with("BulkUpdate")) {
                continue;
            }
            for (member, schema) in schema["properties"].as_object().unwrap() {
                let older = &older["components"]["schemas"][name]["properties"][member];
                let (newer, older) = (
                    schema.get("oneOf").or(schema.get("type")),
                    json!([older["nullable"], older["allOf"], older["oneOf"]]),
                );
                let newer = newer.cloned().unwrap_or_default();
                if newer.to_string().contains("\"null\"") {
                    count += 1;
                    let said = older.to_string();
                    assert!(
                        said.contains("true") || said.contains(NULLABLE),
                        "{name} {member}: {said}"
                    );
                }
            }
        }
        assert!(count > 20, "{count}");
    }

    /// What 3.0 does not know, wherever it stands.
    fn unknown(value: &Value, place: &str, found: &mut Vec<String>) {
        let Value::Object(members) = value else {
            if let Value::Array(elements) = value {
                for (index, element) in elements.iter().enumerate() {
                    unknown(element, &format!("{place}/{index}"), found);
                }
            }
            return;
        };
        let is_table = place.ends_with("/properties") || place.ends_with("/schemas");
        for (name, member) in members {
            let place = format!("{place}/{name}");
            if !is_table {
                let is_unknown = match name.as_str() {
                    "propertyNames" | "const" | "examples" | "identifier" | "$defs"
                    | "patternProperties" | "prefixItems" | "if" | "webhooks" => true,
                    "type" => member.is_array() || member == "null",
                    "exclusiveMinimum" | "exclusiveMaximum" => !member.is_boolean(),
                    "$ref" => members.len() > 1,
                    _ => false,
                };
                if is_unknown {
                    found.push(place.clone());
                }
            }
            if name != "example" || is_table {
                unknown(member, &place, found);
            }
        }
    }

    #[test]
    fn the_whole_document_is_in_the_older_words() {
        let newer = crate::run::app::document("", crate::routes::configure);
        let older = v3_0(&newer);
        let mut found = Vec::new();
        unknown(&older, "", &mut found);
        assert_eq!(found, Vec::<String>::new());
        assert_eq!(older["openapi"], "3.0.3");
        unknown(&newer, "", &mut found);
        assert!(!found.is_empty(), "the newer one has newer words");
        // What it says is the same: operations, members and what must be there.
        for pointer in [
            "/paths/~1v1~1checkouts/post/responses",
            "/paths/~1v1~1checkouts/post/requestBody/content/application~1json/example",
            "/components/schemas/Checkout/required",
            "/components/securitySchemes",
            "/tags",
        ] {
            assert_eq!(older.pointer(pointer), newer.pointer(pointer), "{pointer}");
        }
    }
}
