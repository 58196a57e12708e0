//! The examples of the reference: each is sent to a fresh server, and what comes back is of the kind
//! that is shown. `UPDATE_DOCS=1` writes the answers anew.

use std::collections::{BTreeMap, BTreeSet};

use lessor_tests::Server;
use serde_json::{Map, Value};

use crate::BINARY;

const STORY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/api/src/http/openapi/examples.json"
);
/// Operations with a body that the story cannot send: a signature comes with it.
const SIGNED: [&str; 2] = ["take_processor_message", "take_tracking_message"];

/// The value with what came before put in.
fn told(value: &Value, answers: &BTreeMap<String, Value>, organization: i64) -> Value {
    match value {
        Value::String(text) if text == "$organization" => organization.into(),
        Value::String(text) => match text.strip_prefix('$').and_then(|it| it.split_once('.')) {
            Some((operation, member)) => {
                let member = format!("/{}", member.replace('.', "/"));
                let answer = answers[operation].pointer(&member);
                answer.cloned().unwrap_or_default()
            }
            None => value.clone(),
        },
        Value::Array(elements) => elements
            .iter()
            .map(|it| told(it, answers, organization))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, it)| (name.clone(), told(it, answers, organization)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// The members that a value has, however deep, without the elements' places.
fn shape(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                shape(member, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                shape(element, &format!("{path}[]"), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

fn shape_of(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    shape(value, "", &mut found);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_is_accepted_and_answered_as_it_is_shown() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    let mut story: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(STORY).unwrap()).unwrap();
    let mut answers = BTreeMap::new();
    let writes = std::env::var_os("UPDATE_DOCS").is_some();
    for step in &mut story {
        let text = |name: &str| step[name].as_str().unwrap().to_owned();
        let (operation, method, path) = (text("operation"), text("method"), text("path"));
        // A path names what came before within braces, a query behind its sign.
        let parts = path.split(['{', '}']).map(|part| {
            let (fixed, named) = part.split_at(part.find('$').unwrap_or(part.len()));
            let named = told(&named.into(), &answers, client.organization_number);
            format!("{fixed}{}", named.as_str().unwrap())
        });
        let path: String = parts.collect();
        let request = step
            .get("request")
            .map(|request| told(request, &answers, client.organization_number).to_string());
        let answer = match request {
            Some(body) => client.send_json(&method, &path, body).await,
            None if method == "DELETE" => client.delete(&path).await,
            None => {
                let accepted = step["accept"].as_str().unwrap_or("*/*").to_owned();
                let headers = [("accept", accepted.as_str())];
                client.send(&method, &path, &headers, None).await
            }
        };
        assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
        if writes {
            step["answer"] = answer.body.clone();
        } else {
            let (shown, came) = (shape_of(&step["answer"]), shape_of(&answer.body));
            assert_eq!(shown, came, "{operation}: UPDATE_DOCS=1 writes what came");
        }
        answers.insert(operation, answer.body);
    }
    if writes {
        let text = serde_json::to_string_pretty(&story).unwrap() + "\n";
        std::fs::write(STORY, text).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_body_and_every_answer_has_an_example() {
    let document = reqwest::get(format!("{}/openapi.json", Server::shared(BINARY).await.url))
        .await
        .unwrap()
        .json::<Value>()
        .await
        .unwrap();
    let mut without = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/v1/") {
            continue;
        }
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap_or_default();
            if SIGNED.contains(&id) {
                continue;
            }
            for place in [
                "/requestBody/content/application~1json",
                "/responses/200/content/application~1json",
            ] {
                let body = operation.pointer(place);
                if body.is_some_and(|body| body["example"].is_null()) {
                    without.push(format!("{method} {path} {place}"));
                }
            }
        }
    }
    assert_eq!(without, Vec::<String>::new());
}
