//! What the pages load of the OpenAPI document: the operations that a caller of the API has, and
//! where to find them.

use serde_json::{Value, json};

use super::guides::{Guide, Heading};
use super::samples;

/// The document without what is not for callers of the API (checks of health, the site itself, what
/// the processor and carriers call), with samples, and with the server that the page came from.
pub(super) fn document(whole: Value, server: &str) -> Value {
    let mut document = whole;
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|_, item| {
            let mut operations = item.as_object().into_iter().flatten();
            operations.all(|(_, operation)| takes_key(operation))
        });
    }
    let used: Vec<String> = operations(&document)
        .map(|operation| operation.tag.to_owned())
        .collect();
    if let Some(tags) = document.get_mut("tags").and_then(Value::as_array_mut) {
        tags.retain(|tag| used.iter().any(|used| tag["name"] == *used));
    }
    // Headings end without a stop.
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(|paths| paths.values_mut());
    for operation in items
        .filter_map(Value::as_object_mut)
        .flat_map(|item| item.values_mut())
    {
        if let Some(summary) = operation["summary"].as_str() {
            operation["summary"] = summary.trim_end_matches('.').into();
        }
    }
    // The browser is on the page of the very server that is to be tried, under whatever name.
    document["servers"] = json!([{ "url": "/" }]);
    samples::insert(&mut document, server);
    document
}

/// Whether callers with a key are meant. Operations without say so.
fn takes_key(operation: &Value) -> bool {
    operation["security"]
        .as_array()
        .is_none_or(|keys| !keys.is_empty())
}

struct Operation<'d> {
    tag: &'d str,
    method: &'d str,
    path: &'d str,
    it: &'d Value,
}

fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, it)| Operation {
            tag: it["tags"][0].as_str().unwrap_or_default(),
            method,
            path,
            it,
        })
    })
}

/// What is found by the site's search: title, where it stands, its address, its words.
pub(super) fn index(document: &Value, guides: &[(&Guide, Vec<Heading>)]) -> Value {
    let sections = guides.iter().flat_map(|(guide, headings)| {
        headings.iter().map(move |heading| {
            let (title, address) = if heading.id.is_empty() {
                (guide.title, guide.path())
            } else {
                let address = format!("{}#{}", guide.path(), heading.id);
                (heading.title.as_str(), address)
            };
            json!([title, guide.title, address, heading.words.trim()])
        })
    });
    let operations = operations(document).map(|operation| {
        let text = |name: &str| operation.it[name].as_str().unwrap_or_default();
        let method = operation.method.to_uppercase();
        json!([
            text("summary"),
            format!("{method} {}", operation.path),
            format!(
                "/docs/reference#tag/{}/{method}{}",
                operation.tag.to_lowercase().replace(' ', "-"),
                operation.path
            ),
            text("description"),
        ])
    });
    sections.chain(operations).collect()
}
