//! Answers hold no `null`: an optional member without a value is left out. A derived schema cannot
//! know that, since the same Rust type reads `null` in requests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::inline::PREFIX;

/// Takes `null` out of every named schema that no request is made of.
pub(super) fn forbid_in_answers(document: &mut Value) {
    let in_requests = reachable_from_requests(document);
    let schemas = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut);
    for (name, schema) in schemas.into_iter().flatten() {
        if !in_requests.contains(name) {
            forbid(schema);
        }
    }
}

fn reachable_from_requests(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    for item in document["paths"]
        .as_object()
        .into_iter()
        .flat_map(|paths| paths.values())
    {
        for operation in item.as_object().into_iter().flat_map(|item| item.values()) {
            references(&operation["requestBody"], &mut open);
        }
    }
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            references(&document["components"]["schemas"][&name], &mut open);
        }
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            found.extend(
                target
                    .and_then(|target| target.strip_prefix(PREFIX))
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| references(element, found)),
        _ => {}
    }
}

fn forbid(schema: &mut Value) {
    for (_, property) in schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        if let Some(types) = property.get_mut("type").and_then(Value::as_array_mut) {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                property["type"] = only.clone();
            }
        }
        if let Some(choices) = property.get_mut("oneOf").and_then(Value::as_array_mut) {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
            if let [only] = choices.as_mut_slice() {
                let mut only = only.take();
                if let (Some(only), Some(property)) =
                    (only.as_object_mut(), property.as_object_mut())
                {
                    property.remove("oneOf");
                    only.append(property);
                }
                *property = only;
            }
        }
        forbid(property);
    }
}
