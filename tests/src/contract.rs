//! What every answer is to be like: the OpenAPI document, read strictly.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::client::Reply;
use crate::refuse;

/// The statuses that each error code may have, and the type of the error.
const CODES: [(&str, &[u16], &str); 11] = [
    ("parameter_missing", &[400], "invalid_request_error"),
    ("invalid_parameter", &[400], "invalid_request_error"),
    (
        "invalid_request",
        &[400, 405, 408, 413, 414, 415, 431],
        "invalid_request_error",
    ),
    ("unauthorized", &[401], "invalid_request_error"),
    ("forbidden", &[403], "invalid_request_error"),
    ("not_found", &[404], "invalid_request_error"),
    ("idempotency_in_progress", &[409], "invalid_request_error"),
    ("rate_limited", &[429], "invalid_request_error"),
    ("internal_server_error", &[500], "api_error"),
    ("processor_error", &[502], "api_error"),
    ("unavailable", &[503], "api_error"),
];

/// The document of a server, and the schemas of its answers.
pub struct Contract {
    /// The document as it is served.
    pub document: Value,
    /// The schemas, in which nothing is allowed that is not named.
    strict: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contract").finish_non_exhaustive()
    }
}

/// Forbids members that a schema does not name.
fn forbid_unknown(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(forbid_unknown);
            if let Some(Value::Array(parts)) = members.get_mut("allOf") {
                // Each part sees the members of the others.
                for part in parts {
                    part.as_object_mut()
                        .map(|part| part.remove("additionalProperties"));
                }
                members.insert("unevaluatedProperties".to_owned(), json!(false));
            } else if members.contains_key("properties")
                && !members.contains_key("additionalProperties")
                && !members.contains_key("unevaluatedProperties")
            {
                members.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(forbid_unknown),
        _ => {}
    }
}

/// Copies the schemas that parts of an `allOf` refer to into it: a reference to a strict schema
/// would refuse the members of its siblings.
fn inline_all_of(schema: &mut Value, schemas: &Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(parts)) = members.get_mut("allOf") {
                for part in parts {
                    let name = part["$ref"]
                        .as_str()
                        .and_then(|name| name.rsplit('/').next());
                    if let Some(named) = name.map(|name| schemas[name].clone()) {
                        *part = named;
                    }
                    if let Some(part) = part.as_object_mut() {
                        part.insert("unevaluatedProperties".to_owned(), json!(true));
                    }
                }
            }
            for member in members.values_mut() {
                inline_all_of(member, schemas);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                inline_all_of(element, schemas);
            }
        }
        _ => {}
    }
}

impl Contract {
    /// The contract of the program under test, as the first server of this process tells it: whatever they are
    /// started with, all tell the same, and to read it takes as long as many a test.
    ///
    /// # Panics
    /// When the server at this address has no document.
    pub async fn of(url: &str) -> Arc<Self> {
        static KNOWN: OnceCell<Arc<Contract>> = OnceCell::const_new();
        let read = || async { Arc::new(Self::read(url).await) };
        Arc::clone(KNOWN.get_or_init(read).await)
    }

    async fn read(url: &str) -> Self {
        let document = async {
            let response = reqwest::get(format!("{url}/openapi.json")).await?;
            response.json::<Value>().await
        };
        let document = document
            .await
            .unwrap_or_else(|error| refuse(&error.to_string()));
        let mut strict = document["components"]["schemas"].clone();
        let schemas = strict.clone();
        inline_all_of(&mut strict, &schemas);
        forbid_unknown(&mut strict);
        // The record of an error says nothing more than is named either.
        Self {
            document,
            strict,
            validators: Mutex::default(),
        }
    }

    /// The operation of a request: its path in the document and what is written there.
    #[must_use]
    pub fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let segments: Vec<&str> = path.split('/').collect();
        let method = match method.to_ascii_lowercase().as_str() {
            "head" => "get".to_owned(),
            method => method.to_owned(),
        };
        let fits = |template: &str| {
            let parts: Vec<&str> = template.split('/').collect();
            parts.len() == segments.len()
                && parts.iter().zip(&segments).all(|(part, segment)| {
                    part == segment || (part.starts_with('{') && !segment.is_empty())
                })
        };
        // Where several fit, the one with the fewest parameters is meant: `bulk` is no id.
        let parameters = |template: &str| template.matches('{').count();
        let paths = || {
            let paths = self.document["paths"].as_object();
            let fitting = paths.into_iter().flatten();
            fitting.filter(|(template, _)| fits(template))
        };
        let fewest = paths().map(|(template, _)| parameters(template)).min()?;
        paths()
            .filter(|(template, item)| {
                parameters(template) == fewest && item.get(&method).is_some()
            })
            .map(|(template, item)| (template.as_str(), &item[&method]))
            .next()
    }

    /// Follows a reference within the document.
    #[must_use]
    pub fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value["$ref"]
            .as_str()
            .and_then(|name| name.strip_prefix('#'))
        {
            Some(pointer) => match self.document.pointer(pointer) {
                Some(found) => self.resolve(found),
                None => refuse(&format!("{value} leads nowhere")),
            },
            None => value,
        }
    }

    fn validator(&self, name: String, schema: &Value) -> Arc<Validator> {
        let mut known = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let validator = known.entry(name).or_insert_with_key(|name| {
            let mut schema = schema.clone();
            forbid_unknown(&mut schema);
            let whole = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "allOf": [schema],
                "components": { "schemas": self.strict }
            });
            let built = jsonschema::options()
                .should_validate_formats(true)
                .build(&whole);
            Arc::new(built.unwrap_or_else(|error| refuse(&format!("{name}: {error}"))))
        });
        Arc::clone(validator)
    }

    /// Compares an answer with the document.
    ///
    /// # Errors
    /// What is not as documented.
    pub fn check(&self, method: &str, path: &str, answered: &Reply) -> Result<(), String> {
        let status = answered.status;
        let said = || String::from_utf8_lossy(&answered.bytes).into_owned();
        // What a provider leaves in doubt is no fault of the server.
        if status >= 500 && answered.body["error"]["code"] != "processor_error" {
            return Err(format!("{status}: {}", said()));
        }
        if !answered.header("request-id").starts_with("req_") {
            return Err(format!(
                "{status} without Request-Id: {:?}",
                answered.headers
            ));
        }
        if answered.header("cache-control").is_empty() {
            return Err(format!("{status} without Cache-Control"));
        }
        let operation = self.operation(method, path);
        // A page for people tells them what is wrong, with the same status.
        let is_of_a_page = path == "/c" || path.starts_with("/c/");
        let is_page = is_of_a_page && answered.header("content-type").starts_with("text/html");
        if is_page {
            return match operation {
                Some((_, operation))
                    if operation["responses"].get(status.to_string()).is_some() =>
                {
                    Ok(())
                }
                // What there is not, or not by that method.
                None if status >= 400 || path == "/c" => Ok(()),
                // What is refused of any request before it is anybody's.
                Some(_) if matches!(status, 414 | 431) => Ok(()),
                _ => Err(format!("{status} is not documented for {method} {path}")),
            };
        }
        if status >= 400 {
            if method != "HEAD" {
                check_error(answered)?;
            }
            if let Some((template, operation)) = operation {
                let documented = operation["responses"].get(status.to_string()).is_some();
                if !documented {
                    return Err(format!(
                        "{status} is not documented for {method} {template}: {}",
                        said()
                    ));
                }
            }
            return Ok(());
        }
        // What browsers alone ask for is not in the document.
        let is_for_browsers = path == "/"
            || matches!(path, "/c" | "/c/link")
            || ["/docs/", "/elements/", "/favicon.", "/assets/accents/"]
                .iter()
                .any(|begin| path.starts_with(begin));
        if operation.is_none() && is_for_browsers {
            return Ok(());
        }
        let Some((template, operation)) = operation else {
            return Err(format!("{status}, and there is no such operation"));
        };
        let Some(response) = operation["responses"].get(status.to_string()) else {
            return Err(format!(
                "{status} is not documented for {method} {template}"
            ));
        };
        let content = &self.resolve(response)["content"];
        let schema = &content["application/json"]["schema"];
        if schema.is_null() || method == "HEAD" || template.starts_with("/openapi") {
            return Ok(());
        }
        let kind = answered.header("content-type");
        if kind != "application/json" {
            // What is no JSON is bytes, which nothing more is said of.
            return content
                .get(kind)
                .map(|_| ())
                .ok_or_else(|| format!("content type {kind:?}"));
        }
        let validator = self.validator(format!("{method} {template} {status}"), schema);
        let faults: Vec<String> = validator
            .iter_errors(&answered.body)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        if !faults.is_empty() {
            return Err(format!("{}\nin {}", faults.join("\n"), answered.body));
        }
        check_form("", &answered.body)
    }
}

/// The one shape of errors.
fn check_error(answered: &Reply) -> Result<(), String> {
    let said = || String::from_utf8_lossy(&answered.bytes).into_owned();
    let status = answered.status;
    if answered.header("content-type") != "application/json" {
        return Err(format!(
            "{status} as {:?}: {}",
            answered.header("content-type"),
            said()
        ));
    }
    if answered.header("cache-control") != "no-store" {
        return Err(format!("{status} may be cached"));
    }
    let body = answered.body.as_object();
    let error = body
        .and_then(|body| body.get("error"))
        .and_then(Value::as_object);
    let (Some(1), Some(error)) = (body.map(serde_json::Map::len), error) else {
        return Err(format!("{status} in another shape: {}", said()));
    };
    let known = ["type", "code", "message", "param", "doc_url"];
    let texts = error.iter().all(|(name, value)| {
        known.contains(&name.as_str()) && value.as_str().is_some_and(|text| !text.is_empty())
    });
    let code = error
        .get("code")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let kind = error
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let url = error
        .get("doc_url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fits = CODES
        .iter()
        .any(|(known, statuses, of)| *known == code && statuses.contains(&status) && *of == kind);
    let has_message = error.contains_key("message");
    let about = matches!(code, "parameter_missing" | "invalid_parameter");
    if !texts || !fits || !has_message || !url.ends_with(&format!("/docs/errors#{code}")) {
        return Err(format!("{status} in another shape: {}", said()));
    }
    if about != error.contains_key("param") {
        return Err(format!("{code} and its param: {}", said()));
    }
    if status == 405 && answered.header("allow").is_empty() {
        return Err("405 without Allow".to_owned());
    }
    if matches!(status, 429 | 503) && answered.header("retry-after").is_empty() {
        return Err(format!("{status} without Retry-After"));
    }
    Ok(())
}

/// What schemas cannot say: no null anywhere, and the forms of times and amounts by their names.
fn check_form(path: &str, value: &Value) -> Result<(), String> {
    let name = path.rsplit('.').next().unwrap_or_default();
    match value {
        Value::Null => Err(format!("{path} is null")),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(name, value)| check_form(&format!("{path}.{name}"), value)),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .try_for_each(|(index, value)| check_form(&format!("{path}[{index}]"), value)),
        Value::String(text) => {
            let wrong = match name {
                "createdAt"
                | "updatedAt"
                | "erasedAt"
                | "reviewedAt"
                | "shippedAt"
                | "deliveredAt"
                | "completedAt"
                | "depositTimestamp"
                | "depositPreauthExpiresAt"
                | "lastPaymentErrorAt"
                | "returnInitiatedAt"
                | "returnCompletedAt"
                | "returnCancelledAt"
                | "creditTimestamp"
                | "timestamp"
                | "since"
                | "estimatedDelivery" => !is_time(text),
                "price"
                | "msrp"
                | "capitalizedCost"
                | "residualValue"
                | "depreciation"
                | "rentCharge"
                | "monthlyPayment"
                | "insurance"
                | "totalMonthlyPayment"
                | "deposit"
                | "totalDueAtSigning"
                | "totalOfPayments"
                | "amount" => !is_money(text),
                "leaseStartDate" | "leaseEndDate" => !is_shaped(text, "0000-00-00"),
                _ => false,
            };
            if wrong {
                return Err(format!("{path} is {text:?}"));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether the text has digits where the shape has zeros and is the shape elsewhere.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => byte == form,
            })
}

fn is_time(text: &str) -> bool {
    is_shaped(text, "0000-00-00T00:00:00.000Z")
}

/// Digits with two decimals, or none at all for currencies that have none.
fn is_money(text: &str) -> bool {
    let (whole, cents) = text.split_once('.').unwrap_or((text, "00"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty() && digits(whole) && (cents.len() == 2 || cents.len() == 3) && digits(cents)
}
