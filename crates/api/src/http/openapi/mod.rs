//! The OpenAPI document.
//!
//! Handlers document what is their own: parameters, body, success. What holds for every operation is
//! added here, so that no operation can lack it: the error answers, the security scheme, the
//! `Request-Id` header, the `Lessor-Position` of what changes something.

mod examples;
mod inline;
mod nulls;
mod plain;
mod v3_0;
mod webhooks;

pub(crate) use inline::marked_inline;
pub use v3_0::v3_0;

use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::http::error::Code;
use crate::http::routing::Description;

/// The security scheme of keys that everybody may read. The operations that name it take them, and no
/// other does.
pub const PUBLISHABLE_KEY: &str = "publishableKey";

/// The document before its operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lessor",
        contact(name = "The Lessor developers", url = "https://github.com/lessor/lessor"),
        description = "Leasing catalog and checkout: products and variants with exact pricing, lease checkouts \
                       through their whole lifecycle, fulfillment and tracking, customers.\n\n\
                       Every request under `/v1` carries `Authorization: Bearer <API_KEY>`. Bodies are JSON. \
                       Amounts of money are read exactly, from a number or a decimal string, and answered as decimal \
                       strings. Every answer carries a `Request-Id`. \
                       [What each error code means](/docs/errors)."
    ),
    // In the order in which somebody who begins needs them.
    tags(
        (name = "Products", description = "What is leased, with its options."),
        (name = "Product variants", description = "A combination of options, with a price, a stock, and what it costs for every lease term."),
        (name = "Product categories", description = "Products by kind."),
        (name = "Organization", description = "How it shows itself, and where it delivers."),
        (name = "Lease terms", description = "For how long, and at what rate."),
        (name = "Checkouts", description = "A customer's way to a lease, its fulfillment and its return."),
        (name = "Customers", description = "Who leases."),
        (name = "Audit", description = "Who did what."),
        (name = "Events", description = "What happened, one after the other."),
        (name = "Webhook endpoints", description = "Who is told of it by a request, and what became of each."),
        (name = "Sandbox", description = "What customers, providers and carriers would do, played."),
        (name = "Webhooks", description = "What the payment processor and carriers report."),
        (name = "Checkout page", description = "Where the customer goes from step to step."),
        (name = "Reference", description = "This document."),
        (name = "Operations", description = "Whether the service is well.")
    ),
    components(schemas(ErrorBody, ErrorRecord, ErrorType))
)]
struct Base;

/// The body of every error answer.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used; the body is written by ApiError"
)]
struct ErrorBody {
    /// What went wrong.
    error: ErrorRecord,
}

/// What went wrong.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used; the body is written by ApiError"
)]
struct ErrorRecord {
    /// Who is to correct it.
    #[schema(rename = "type")]
    kind: ErrorType,
    /// Machine-readable code; `doc_url` explains it.
    code: Option<String>,
    /// What is wrong and what is allowed, for a person.
    message: Option<String>,
    /// The parameter at fault: its path in the body, or the query parameter.
    param: Option<String>,
    /// Where the code is explained.
    doc_url: Option<String>,
}

/// Who is to correct it: the caller (4xx) or the service (5xx).
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "only its schema is used; the names are those of the interface"
)]
enum ErrorType {
    ApiError,
    InvalidRequestError,
}

/// The document of what routes say of themselves, to be finished.
fn of(description: Description) -> utoipa::openapi::OpenApi {
    let mut document = Base::openapi();
    document.paths.merge(description.paths);
    let components = document.components.get_or_insert_default();
    let schemas = description.schemas.into_iter().flatten();
    components.schemas.extend(schemas);
    document
}

/// The error answers: component name, status, description.
const ERRORS: [(&str, u16, &str); 14] = [
    (
        "BadRequest",
        400,
        "The request or one of its parameters is not accepted.",
    ),
    ("Unauthorized", 401, "No API key that is in force."),
    (
        "Forbidden",
        403,
        "The API key lacks the permission that the message names, is a sandbox key where live keys alone write \
         catalog and lease terms, or is a publishable one.",
    ),
    ("NotFound", 404, "It does not exist, or not for this key."),
    ("RequestTimeout", 408, "The body did not arrive in time."),
    (
        "Conflict",
        409,
        "A request with this Idempotency-Key is being worked on.",
    ),
    (
        "PayloadTooLarge",
        413,
        "The body is larger than 1 MiB, of a webhook than 256 KiB, of a form than 64 KiB.",
    ),
    (
        "UriTooLong",
        414,
        "The path is longer than 4 KiB, or the query than 8 KiB.",
    ),
    (
        "UnsupportedMediaType",
        415,
        "The body is not sent as application/json.",
    ),
    (
        "HeadTooLarge",
        431,
        "The request line and the headers are longer than 16 KiB.",
    ),
    (
        "TooManyRequests",
        429,
        "Too many requests; see Retry-After.",
    ),
    ("InternalServerError", 500, "The service failed."),
    (
        "ProcessorError",
        502,
        "The payment processor did not complete the step.",
    ),
    (
        "Unavailable",
        503,
        "The service cannot take the request now; see Retry-After.",
    ),
];

/// What browsers alone ask for. Makers of clients make nothing of these, and stumble over some: a path
/// that ends with a slash, an icon.
const FOR_BROWSERS: [&str; 11] = [
    "/",
    "/favicon.svg",
    "/favicon.ico",
    "/docs/",
    "/elements/{file}",
    "/assets/accents/{color}.css",
    "/c",
    "/c/link",
    "/docs/reference",
    "/docs/{guide}",
    "/docs/scalar/{version}/{file}",
];

/// Whether browsers alone ask for the path: the document does not have it.
pub(crate) fn is_for_browsers(path: &str) -> bool {
    FOR_BROWSERS.contains(&path)
}

/// The whole document of what routes say of themselves.
#[must_use]
pub fn finish(description: Description, public_url: &str) -> Value {
    // Fails only for maps whose keys are no strings, and the document has none.
    let document = serde_json::to_value(of(description)).unwrap_or_else(|_| json!({}));
    let mut document = inline::inline(document);
    if let Some(paths) = document["paths"].as_object_mut() {
        paths.retain(|path, _| !is_for_browsers(path));
    }
    nulls::forbid_in_answers(&mut document);
    plain::rewrite(&mut document);
    let codes: Vec<_> = Code::ALL.into_iter().map(Code::as_str).collect();
    document["components"]["schemas"]["ErrorRecord"]["properties"]["code"]["enum"] = json!(codes);
    let server = if public_url.is_empty() {
        "/"
    } else {
        public_url
    };
    document["servers"] =
        json!([{ "url": server, "description": "The service that answers with this document." }]);
    document["security"] = json!([{ "apiKey": [] }]);
    let components = &mut document["components"];
    components["securitySchemes"] = json!({
        "apiKey": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key: `lsk_live_…` or `lsk_sandbox_…`."
        },
        PUBLISHABLE_KEY: {
            "type": "http",
            "scheme": "bearer",
            "description": "A publishable key, `lpk_live_…` or `lpk_sandbox_…`, which may be in the pages of a shop: it \
                            reads prices, and what is for everybody of one product or variant that is active."
        }
    });
    components["headers"] = json!({
        "RateLimitLimit": {
            "description": "The most requests at once. Every answer to a key says it, unless there is no limit.",
            "schema": { "type": "integer", "minimum": 1 }
        },
        "RateLimitRemaining": {
            "description": "How many of them are left. Every answer to a key says it, unless there is no limit.",
            "schema": { "type": "integer", "minimum": 0 }
        },
        "RateLimitReset": {
            "description": "Seconds until all of them are there again. Every answer to a key says it, unless there is \
                            no limit.",
            "schema": { "type": "integer", "minimum": 0 }
        },
        "RequestId": {
            "description": "Names this request; give it to support.",
            "schema": { "type": "string" }
        },
        "RetryAfter": {
            "description": "Seconds to wait.",
            "schema": { "type": "integer", "minimum": 1 }
        },
        "Position": {
            "description": "How far the database had come when the request was committed. A list that is sent it as \
                            `Lessor-Position` shows what was changed. Only from a service with a read replica.",
            "schema": { "type": "string", "pattern": "^[0-9a-f]{16}$" }
        }
    });
    components["responses"] = Value::Object(ERRORS.iter().map(error_response).collect());
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            finish_operation(path, method, operation);
        }
    }
    examples::insert(&mut document);
    webhooks::insert(&mut document);
    document
}

fn error_response(&(name, status, description): &(&str, u16, &str)) -> (String, Value) {
    let codes = Code::ALL
        .into_iter()
        .filter(|code| code.statuses().contains(&status))
        .map(|code| format!("[`{0}`](/docs/errors#{0})", code.as_str()))
        .collect::<Vec<_>>()
        .join(", ");
    let mut headers = json!({ "Request-Id": { "$ref": "#/components/headers/RequestId" } });
    if matches!(status, 429 | 503) {
        headers["Retry-After"] = json!({ "$ref": "#/components/headers/RetryAfter" });
    }
    if status == 429 {
        for name in ["Limit", "Remaining", "Reset"] {
            let reference = format!("#/components/headers/RateLimit{name}");
            headers[format!("RateLimit-{name}")] = json!({ "$ref": reference });
        }
    }
    let response = json!({
        "description": format!("{description} Codes: {codes}."),
        "headers": headers,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorBody" } } }
    });
    (name.to_owned(), response)
}

fn finish_operation(path: &str, method: &str, operation: &mut Value) {
    let applies = |status: u16| applies(path, method, operation, status);
    let errors: Vec<_> = ERRORS
        .iter()
        .filter(|&&(_, status, _)| applies(status))
        .collect();
    let Some(operation) = operation.as_object_mut() else {
        return;
    };
    // To fetch changes nothing.
    let changes = is_api(path) && method != "get" && !path.ends_with("/bulk/fetch");
    if !is_api(path) {
        operation.insert("security".to_owned(), json!([]));
    }
    let responses = operation
        .entry("responses")
        .or_insert_with(|| Value::Object(Map::new()));
    for response in responses
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
    {
        if response.get("$ref").is_none() {
            if response.get("description").is_none_or(|text| text == "") {
                response["description"] = json!("Success.");
            }
            response["headers"]["Request-Id"] = json!({ "$ref": "#/components/headers/RequestId" });
            if changes {
                response["headers"]["Lessor-Position"] =
                    json!({ "$ref": "#/components/headers/Position" });
            }
        }
    }
    for (name, status, description) in errors {
        let status = status.to_string();
        if responses.get(&status).is_none() {
            responses[&status] = match is_page(path) {
                true => json!({
                    "description": format!("{description} A page says so."),
                    "headers": { "Request-Id": { "$ref": "#/components/headers/RequestId" } },
                    "content": { "text/html": { "schema": { "type": "string" } } }
                }),
                false => json!({ "$ref": format!("#/components/responses/{name}") }),
            };
        }
    }
}

fn is_api(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// Whether people read what is answered there.
fn is_page(path: &str) -> bool {
    path.starts_with("/c/")
}

/// Whether an operation can answer with this error.
fn applies(path: &str, method: &str, operation: &Value, status: u16) -> bool {
    let has_body = operation.get("requestBody").is_some();
    let has_parameters = operation["parameters"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    match status {
        400 => is_api(path) || has_body || has_parameters,
        // A message whose signature is not good.
        401 => is_api(path) || path.starts_with("/webhooks/"),
        503 => is_api(path) || path.starts_with("/webhooks/") || is_page(path) || path == "/readyz",
        403 => is_api(path) || is_page(path) && method == "post",
        414 | 431 => is_api(path),
        429 => is_api(path) || path.starts_with("/webhooks/") || is_page(path) && method == "post",
        404 => is_api(path) || path.contains('{') || path == "/metrics",
        408 | 413 | 415 => has_body,
        409 => is_api(path) && method == "post",
        // Reads never ask the processor, and the catalog reaches it through the job queue.
        502 => {
            method != "get"
                && (path.starts_with("/v1/checkouts") || path.starts_with("/v1/sandbox"))
        }
        500 => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
