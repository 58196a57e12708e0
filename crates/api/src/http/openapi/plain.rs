//! One form for what a document can say in several: the one that makers of clients read best.
//!
//! - What may be `null` is `type: [x, "null"]`, and is described outside of its alternatives: most
//!   generators lose a description that stands within one.
//! - An enumeration that has a name is referred to by it.
//! - An id in a path or a query is text: what stands there has no other type. A parameter is never
//!   `null`: it is left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::inline::PREFIX;

/// Rewrites the whole document.
pub(super) fn rewrite(document: &mut Value) {
    let named = named_enumerations(document);
    let components = document["components"]["schemas"].clone();
    for schema in parameters(document) {
        as_text(schema, &components);
    }
    for schema in members(&mut document["components"]["schemas"]) {
        // One that has the name does not refer to itself.
        if schema.get("enum").is_none() {
            each_schema(schema, &named);
        }
    }
    each_schema(&mut document["paths"], &named);
    for schema in parameters(document) {
        without_null(schema);
    }
}

/// The schemas of the parameters of every operation.
fn parameters(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    members(&mut document["paths"])
        .flat_map(members)
        .filter_map(|operation| operation.get_mut("parameters"))
        .flat_map(elements)
        .filter_map(|parameter| parameter.get_mut("schema"))
}

fn members(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(Map::values_mut)
}

fn elements(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

/// The names of components that are enumerations, by their values.
fn named_enumerations(document: &Value) -> BTreeMap<String, String> {
    let schemas = document["components"]["schemas"].as_object();
    schemas
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((schema.get("enum")?.to_string(), name.clone())))
        .collect()
}

fn each_schema(value: &mut Value, named: &BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            for member in object.values_mut() {
                each_schema(member, named);
            }
            refer(object, named);
            nullable(object);
        }
        Value::Array(list) => {
            for element in list {
                each_schema(element, named);
            }
        }
        _ => {}
    }
}

/// Refers to the enumeration that has a name.
fn refer(schema: &mut Map<String, Value>, named: &BTreeMap<String, String>) {
    let values = schema.get("enum").map(Value::to_string);
    if let Some(name) = values.and_then(|values| named.get(&values)) {
        schema.remove("enum");
        schema.remove("type");
        schema.insert("$ref".to_owned(), json!(format!("{PREFIX}{name}")));
    }
}

/// Says of a schema that it may be null as it is said in one place.
fn nullable(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else {
        return;
    };
    let is_null = |choice: &Value| *choice == json!({ "type": "null" });
    let [one, other] = choices.as_slice() else {
        return;
    };
    let inner = match (is_null(one), is_null(other)) {
        (true, false) => other,
        (false, true) => one,
        _ => return,
    };
    let Value::Object(mut inner) = inner.clone() else {
        return;
    };
    if let Some(description) = inner.remove("description") {
        schema.entry("description").or_insert(description);
    }
    let null = json!({ "type": "null" });
    let choices = match (inner.remove("oneOf"), inner.get("type")) {
        (Some(Value::Array(mut alternatives)), _) => {
            alternatives.push(null);
            alternatives
        }
        (None, Some(Value::String(kind))) => {
            let kinds = json!([kind, "null"]);
            schema.remove("oneOf");
            if let Some(Value::Array(values)) = inner.get_mut("enum") {
                values.push(Value::Null);
            }
            schema.append(&mut inner);
            schema.insert("type".to_owned(), kinds);
            return;
        }
        _ => vec![Value::Object(std::mem::take(&mut inner)), null],
    };
    schema.insert("oneOf".to_owned(), Value::Array(choices));
    schema.append(&mut inner);
}

/// What is text or a number is text where everything is, in lists too.
fn as_text(schema: &mut Value, components: &Value) {
    if let Some(items) = schema.get_mut("items") {
        as_text(items, components);
    }
    let name = schema.get("$ref").and_then(Value::as_str);
    if let Some(named) = name.and_then(|name| components.get(name.strip_prefix(PREFIX)?))
        && named.get("oneOf").is_some()
    {
        *schema = named.clone();
    }
    let choices = schema.get("oneOf").and_then(Value::as_array);
    let text = choices.and_then(|choices| {
        let is = |kind: &str| choices.iter().find(|choice| choice["type"] == kind);
        is("integer").and(is("string"))
    });
    if let (Some(text), Some(outer)) = (text.cloned(), schema.as_object_mut())
        && let Value::Object(mut text) = text
    {
        outer.remove("oneOf");
        outer.append(&mut text);
    }
}

/// Takes `null` out of what a schema may be.
fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            schema["type"] = only.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(mut schema: Value) -> Value {
        each_schema(&mut schema, &BTreeMap::new());
        schema
    }

    #[test]
    fn null_is_a_type_and_the_description_stands_outside() {
        let cases = [
            (
                json!({ "oneOf": [{ "type": "string", "description": "Its name." }, { "type": "null" }] }),
                json!({ "type": ["string", "null"], "description": "Its name." }),
            ),
            (
                json!({ "oneOf": [{ "type": "null" }, { "type": "string", "enum": ["a"] }], "description": "Outer." }),
                json!({ "type": ["string", "null"], "enum": ["a", null], "description": "Outer." }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/x", "description": "It." }, { "type": "null" }] }),
                json!({ "oneOf": [{ "$ref": "#/x" }, { "type": "null" }], "description": "It." }),
            ),
            (
                json!({ "oneOf": [
                    { "oneOf": [{ "type": "number" }, { "type": "string" }], "description": "Price." },
                    { "type": "null" }
                ] }),
                json!({
                    "oneOf": [{ "type": "number" }, { "type": "string" }, { "type": "null" }],
                    "description": "Price."
                }),
            ),
        ];
        for (before, after) in cases {
            assert_eq!(written(before.clone()), after, "{before}");
            assert_eq!(written(after.clone()), after, "again: {before}");
        }
    }

    #[test]
    fn ids_in_addresses_are_text() {
        let mut schema = json!({
            "description": "Its id.",
            "oneOf": [{ "type": "string", "pattern": "^x$" }, { "type": "integer" }]
        });
        let text = json!({ "description": "Its id.", "type": "string", "pattern": "^x$" });
        let mut list = json!({ "type": "array", "items": schema });
        let components = json!({ "Id": schema.clone() });
        as_text(&mut schema, &components);
        assert_eq!(schema, text);
        as_text(&mut list, &components);
        assert_eq!(list, json!({ "type": "array", "items": text }));
        let mut named = json!({ "$ref": "#/components/schemas/Id" });
        as_text(&mut named, &components);
        assert_eq!(named, text);
    }

    #[test]
    fn parameters_are_left_out_and_never_null() {
        let mut document = json!({
            "components": { "schemas": {} },
            "paths": { "/x": {
                "get": { "parameters": [
                    { "schema": { "type": ["string", "null"], "maxLength": 255 } },
                    { "schema": { "oneOf": [{ "type": "null" }, { "type": "string" }] } }
                ] },
                "post": { "summary": "None." }
            } }
        });
        rewrite(&mut document);
        assert_eq!(
            document["paths"]["/x"],
            json!({
                "get": { "parameters": [
                    { "schema": { "type": "string", "maxLength": 255 } },
                    { "schema": { "type": "string" } }
                ] },
                "post": { "summary": "None." }
            })
        );
    }

    #[test]
    fn enumerations_with_a_name_are_referred_to() {
        let mut document = json!({
            "components": { "schemas": { "State": { "type": "string", "enum": ["a", "b"] } } },
            "paths": { "/x": { "get": { "parameters": [
                { "schema": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } } }
            ] } } }
        });
        rewrite(&mut document);
        assert_eq!(
            document["paths"]["/x"]["get"]["parameters"][0]["schema"]["items"],
            json!({ "$ref": "#/components/schemas/State" })
        );
        assert_eq!(
            document["components"]["schemas"]["State"],
            json!({ "type": "string", "enum": ["a", "b"] })
        );
    }
}
