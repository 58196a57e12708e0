//! `GET /openapi.json` and the reference: complete, and true.

use std::collections::{BTreeMap, BTreeSet};

use lessor_tests::Server;
use lessor_tests::schema::is_id;
use serde_json::Value;

use crate::BINARY;

/// Every endpoint, with the statuses that it can answer with beside 200, 401, 403, 404, 429, 500, 503.
const ENDPOINTS: [(&str, &str, &str); 31] = [
    ("post", "/v1/products", "400 408 409 413 415"),
    ("get", "/v1/products", "400"),
    ("get", "/v1/products/{id}", "400"),
    ("put", "/v1/products/{id}", "400 408 413 415"),
    ("delete", "/v1/products/{id}", "400"),
    ("put", "/v1/products/bulk", "400 408 413 415"),
    ("get", "/v1/products/{id}/variants", "400"),
    ("post", "/v1/product-variants", "400 408 409 413 415"),
    ("get", "/v1/product-variants/{id}", "400"),
    ("put", "/v1/product-variants/{id}", "400 408 413 415"),
    ("delete", "/v1/product-variants/{id}", "400"),
    ("get", "/v1/product-variants/by-sku/{sku}", "400"),
    ("get", "/v1/product-variants/bulk", "400"),
    ("put", "/v1/product-variants/bulk", "400 408 413 415"),
    (
        "post",
        "/v1/product-variants/bulk/fetch",
        "400 408 409 413 415",
    ),
    (
        "get",
        "/v1/product-variants/{identifier}/pricing-summary",
        "304 400",
    ),
    ("get", "/v1/product-variants/{identifier}/lowest", "400"),
    ("post", "/v1/checkouts", "400 408 409 413 415 502"),
    ("get", "/v1/checkouts", "400"),
    ("get", "/v1/checkouts/{id}", "400"),
    ("put", "/v1/checkouts/{id}", "400 408 413 415 502"),
    (
        "post",
        "/v1/checkouts/{id}/cancel",
        "400 408 409 413 415 502",
    ),
    (
        "post",
        "/v1/checkouts/{id}/fulfill",
        "400 408 409 413 415 502",
    ),
    (
        "post",
        "/v1/checkouts/{id}/tracking",
        "400 408 409 413 415 502",
    ),
    ("get", "/v1/checkouts/{id}/tracking", "400"),
    ("get", "/v1/customers/{id}", "400"),
    ("put", "/v1/customers/{id}", "400 408 413 415"),
    ("get", "/v1/lease-terms", "400"),
    ("post", "/v1/lease-terms", "400 408 409 413 415"),
    ("put", "/v1/lease-terms/{id}", "400 408 413 415"),
    ("delete", "/v1/lease-terms/{id}", "400"),
];

const MORE: [(&str, &str); 46] = [
    ("get", "/v1/customers"),
    ("get", "/v1/customers/{id}/export"),
    ("post", "/v1/customers/{id}/erase"),
    ("get", "/v1/audit"),
    ("get", "/v1/events"),
    ("get", "/v1/events/{id}"),
    ("post", "/v1/events/{id}/redeliver"),
    ("get", "/v1/webhook-endpoints"),
    ("post", "/v1/webhook-endpoints"),
    ("get", "/v1/webhook-endpoints/{id}"),
    ("put", "/v1/webhook-endpoints/{id}"),
    ("delete", "/v1/webhook-endpoints/{id}"),
    ("get", "/v1/webhook-endpoints/{id}/deliveries"),
    ("post", "/v1/webhook-endpoints/{id}/replay"),
    ("post", "/v1/webhook-endpoints/{id}/roll"),
    ("post", "/v1/webhook-endpoints/{id}/test"),
    ("get", "/v1/checkouts/summary"),
    ("post", "/v1/products/{id}/variants/generate"),
    ("get", "/v1/product-categories"),
    ("post", "/v1/product-categories"),
    ("post", "/v1/checkouts/{id}/payments/retry"),
    ("get", "/v1/checkouts/{id}/agreement"),
    ("post", "/v1/checkouts/{id}/link"),
    ("get", "/v1/organization"),
    ("put", "/v1/organization"),
    ("post", "/v1/checkouts/{id}/qualification"),
    ("post", "/v1/checkouts/{id}/signature"),
    ("post", "/v1/sandbox/checkouts/{id}/advance"),
    ("post", "/v1/sandbox/checkouts/{id}/tracking-event"),
    ("post", "/webhooks/tracking"),
    ("post", "/webhooks/mail"),
    ("post", "/webhooks/processor"),
    ("post", "/webhooks/processor/{organizationId}"),
    ("get", "/openapi.json"),
    ("get", "/openapi-3.0.json"),
    ("get", "/docs"),
    ("get", "/docs/errors"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/metrics"),
    ("get", "/c/{token}"),
    ("get", "/c/{token}/agreement"),
    ("get", "/c/{token}/return"),
    ("get", "/c/{token}/{step}"),
    ("post", "/c/{token}/{step}"),
    ("get", "/assets/checkout.css"),
];

fn walk<'v>(value: &'v Value, visit: &mut impl FnMut(&'v Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| walk(member, visit)),
        Value::Array(elements) => elements.iter().for_each(|element| walk(element, visit)),
        _ => {}
    }
}

async fn document() -> Value {
    let server = Server::shared(BINARY).await;
    server.contract().document.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_is_there_with_what_it_can_answer() {
    let document = document().await;
    for (method, path, own) in ENDPOINTS {
        let responses = document["paths"][path][method]["responses"].as_object();
        let told: BTreeSet<&str> = responses
            .into_iter()
            .flat_map(|responses| responses.keys().map(String::as_str))
            .collect();
        let expected: BTreeSet<&str> = own
            .split(' ')
            .chain([
                "200", "401", "403", "404", "414", "429", "431", "500", "503",
            ])
            .collect();
        assert_eq!(told, expected, "{method} {path}");
    }
    for (method, path) in MORE {
        assert!(
            document["paths"][path][method].is_object(),
            "{method} {path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_have_names_of_their_own() {
    let document = document().await;
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let name = operation["operationId"].as_str().unwrap_or_default();
            names
                .entry(name)
                .or_default()
                .push(format!("{method} {path}"));
            assert!(
                !operation["summary"].as_str().unwrap_or_default().is_empty(),
                "{method} {path}"
            );
            let tags = operation["tags"].as_array().map(Vec::len);
            assert_eq!(tags, Some(1), "{method} {path}");
        }
    }
    names.retain(|name, operations| name.is_empty() || operations.len() > 1);
    assert!(names.is_empty(), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn references_lead_somewhere_and_every_schema_is_used() {
    let document = document().await;
    let mut used = BTreeSet::new();
    walk(&document, &mut |value| {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            assert!(
                document.pointer(pointer).is_some(),
                "{reference} leads nowhere"
            );
            used.insert(reference.to_owned());
        }
    });
    let schemas = document["components"]["schemas"].as_object();
    for (name, _) in schemas.into_iter().flatten() {
        assert!(
            used.contains(&format!("#/components/schemas/{name}")),
            "{name} is never used"
        );
    }
}

/// Their bodies are the processor's, who adds to them as it likes; their length in all is bounded.
const SOMEBODY_ELSES: [&str; 2] = [
    "/webhooks/processor",
    "/webhooks/processor/{organizationId}",
];

/// What requests carry is bounded, and nothing else is taken: every object, text and list.
#[tokio::test(flavor = "multi_thread")]
async fn request_schemas_are_closed_and_bounded() {
    let server = Server::shared(BINARY).await;
    let contract = server.contract();
    let mut pending: Vec<(String, &Value)> = Vec::new();
    for (path, item) in contract.document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if SOMEBODY_ELSES.contains(&path.as_str()) {
                continue;
            }
            pending.push((format!("{method} {path}"), schema));
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = format!("{method} {path} {}", parameter["name"]);
                if parameter["in"] == "query" {
                    pending.push((name, &parameter["schema"]));
                }
            }
        }
    }
    let mut loose = Vec::new();
    let mut seen = 0;
    while let Some((name, schema)) = pending.pop() {
        let schema = contract.resolve(schema);
        seen += 1;
        // What may be null as well is of the type beside it.
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
            kind => Some(kind),
        };
        match kind.and_then(Value::as_str) {
            Some("object") => {
                // A table's members are named by the caller, and bounded in number.
                let closed = schema["additionalProperties"] == false
                    || (schema["additionalProperties"].is_object()
                        && schema["maxProperties"].is_u64());
                if !closed {
                    loose.push(format!("{name} takes unknown members"));
                }
            }
            Some("string") => {
                let bounded = schema["maxLength"].is_u64()
                    || schema["enum"].is_array()
                    || is_id(schema)
                    || schema["pattern"]
                        .as_str()
                        .is_some_and(|pattern| pattern.contains(','))
                    || schema["pattern"] == "^-?[0-9]+$";
                if !bounded {
                    loose.push(format!("{name} is a text without end: {schema}"));
                }
            }
            Some("array") if !schema["maxItems"].is_u64() => {
                loose.push(format!("{name} is a list without end"));
            }
            Some("integer") if !(schema["minimum"].is_i64() && schema["maximum"].is_i64()) => {
                loose.push(format!("{name} is a number without bounds"));
            }
            _ => {}
        }
        pending.extend(
            schema["oneOf"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| (name.clone(), one)),
        );
        for (member, value) in schema["properties"].as_object().into_iter().flatten() {
            pending.push((format!("{name} {member}"), value));
        }
        for inner in ["items", "additionalProperties"] {
            if schema[inner].is_object() {
                pending.push((format!("{name} {inner}"), &schema[inner]));
            }
        }
    }
    assert!(loose.is_empty(), "{}", loose.join("\n"));
    assert!(seen > 200, "only {seen} schemas were seen");
}

/// The names of values are those on the wire.
#[tokio::test(flavor = "multi_thread")]
async fn enumerations_are_those_of_the_wire() {
    let document = document().await;
    let schemas = &document["components"]["schemas"];
    for (name, values) in [
        ("ProductStatus", "active inactive archived"),
        ("ProductType", "leasable add-on"),
        ("ProductSource", "manual shopify woocommerce bigcommerce"),
        ("ReviewStatus", "pending approved rejected changesRequested"),
        ("LeaseTermStatus", "active inactive"),
        ("LeaseTermMethod", "moneyFactor annualRate"),
        ("InsuranceStatus", "pending approved denied"),
        ("RecurringPaymentStatus", "pending active cancelled"),
        ("CreditStatus", "unknown passed failed"),
        (
            "IdentityVerificationStatus",
            "none pending processing verified failed",
        ),
        ("WaitlistReason", "inventory location"),
        ("Carrier", "ups fedex"),
        (
            "TrackingStatus",
            "unknown preTransit inTransit outForDelivery availableForPickup delivered returnToSender failure cancelled error",
        ),
    ] {
        let told: Vec<&str> = schemas[name]["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(told.join(" "), values, "{name}");
    }
    // Words of two letters or more that begin with a capital are Rust's, but for codes.
    walk(&document, &mut |value| {
        for word in value["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let is_lower = word.starts_with(|first: char| first.is_ascii_lowercase());
            assert!(is_lower, "{word} in {value}");
        }
    });
}
