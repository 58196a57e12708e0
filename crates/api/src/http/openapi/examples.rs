//! Examples: one story, told in the order in which its requests are sent.
//!
//! `examples.json` holds the requests, and the answers that a server gave to them. A request names
//! what came before it as `$operation.member`; `$organization` is the caller's own. A test sends the
//! whole story to a fresh server and compares what comes back.

use serde::Deserialize;
use serde_json::{Map, Value, json};

const STORY: &str = include_str!("examples.json");

/// One request of the story.
#[derive(Deserialize)]
struct Step {
    operation: String,
    path: String,
    #[serde(default)]
    request: Option<Value>,
    #[serde(default)]
    answer: Value,
    /// Whether it is an example, and not only on the way to one.
    #[serde(default = "yes")]
    shown: bool,
}

const fn yes() -> bool {
    true
}

/// Puts the examples into the document.
pub(super) fn insert(document: &mut Value) {
    // A test reads the same text: what is wrong with it does not come so far.
    let story: Vec<Step> = serde_json::from_str(STORY).unwrap_or_default();
    for item in document["paths"]
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
    {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let step = story
                .iter()
                .find(|step| step.shown && operation["operationId"] == step.operation);
            if let Some(step) = step {
                exemplify(operation, step, &story);
            }
        }
    }
}

fn exemplify(operation: &mut Value, step: &Step, story: &[Step]) {
    if let Some(request) = &step.request
        && let Some(body) = operation.pointer_mut("/requestBody/content/application~1json")
    {
        body["example"] = told(request, story);
    }
    if !step.answer.is_null()
        && let Some(body) = operation.pointer_mut("/responses/200/content/application~1json")
    {
        body["example"] = step.answer.clone();
    }
    // In the order of the path.
    let mut values = step.path.split('{').skip(1).filter_map(|part| {
        let (value, _) = part.split_once('}')?;
        Some(told(&json!(value), story))
    });
    let parameters = operation
        .get_mut("parameters")
        .and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["in"] == "path"
            && let Some(value) = values.next()
        {
            parameter["example"] = value;
        }
    }
}

/// Where a member is: `id`, or `0.id` of the first of a list.
fn pointer(member: &str) -> String {
    format!("/{}", member.replace('.', "/"))
}

/// What was answered to the operations of the story.
pub(super) struct Answers(Vec<Step>);

impl Answers {
    pub(super) fn read() -> Self {
        Self(serde_json::from_str(STORY).unwrap_or_default())
    }

    pub(super) fn to(&self, operation: &str) -> Value {
        let step = self.0.iter().find(|step| step.operation == operation);
        step.map_or(Value::Null, |step| step.answer.clone())
    }
}

/// The value with what came before put in.
fn told(value: &Value, story: &[Step]) -> Value {
    match value {
        // The first organization of a fresh server has this number.
        Value::String(text) if text == "$organization" => json!(1),
        Value::String(text) => text
            .strip_prefix('$')
            .and_then(|name| name.split_once('.'))
            .and_then(|(operation, member)| {
                let step = story.iter().find(|step| step.operation == operation)?;
                step.answer.pointer(&pointer(member)).cloned()
            })
            .unwrap_or_else(|| value.clone()),
        Value::Array(elements) => elements.iter().map(|it| told(it, story)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, it)| (name.clone(), told(it, story)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
