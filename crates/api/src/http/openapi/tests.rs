use serde_json::{Value, json};

use super::inline::inline;
use super::*;

#[test]
fn small_schemas_are_written_out() {
    let document = inline(json!({
        "paths": {"/x": {"get": {"schema": {"$ref": "#/components/schemas/Big"}}}},
        "components": {"schemas": {
            "Big": {"properties": {
                "a": {"description": "An a.", "$ref": "#/components/schemas/Small"},
                "b": {"type": "integer", "x-inline": true}
            }},
            "Small": {"x-inline": true, "items": {"$ref": "#/components/schemas/Tiny"}},
            "Tiny": {"x-inline": true, "type": "string"}
        }}
    }));
    assert_eq!(
        document,
        json!({
            "paths": {"/x": {"get": {"schema": {"$ref": "#/components/schemas/Big"}}}},
            "components": {"schemas": {
                "Big": {"properties": {
                    "a": {"description": "An a.", "items": {"type": "string"}},
                    "b": {"type": "integer"}
                }}
            }}
        })
    );
}

#[test]
fn the_error_schema_names_the_members_of_the_interface() {
    let document = finish(&base(), "");
    let record = &document["components"]["schemas"]["ErrorRecord"];
    let members: Vec<_> = record["properties"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["code", "doc_url", "message", "param", "type"]);
    assert_eq!(record["required"], json!(["type"]));
    assert_eq!(
        document["components"]["schemas"]["ErrorType"]["enum"],
        json!(["api_error", "invalid_request_error"])
    );
}

#[test]
fn every_code_stands_at_an_answer() {
    let document = finish(&base(), "");
    let responses = document["components"]["responses"].to_string();
    for code in Code::ALL {
        assert!(
            responses.contains(&format!("#{}", code.as_str())),
            "{code:?}"
        );
    }
}

#[test]
fn operations_list_the_errors_that_they_can_answer() {
    let statuses = |path: &str, method: &str, operation: Value| {
        let mut operation = operation;
        finish_operation(path, method, &mut operation);
        let mut statuses: Vec<_> = operation["responses"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        statuses.sort();
        statuses.join(" ")
    };
    let success = json!({"200": {"description": "ok"}});
    assert_eq!(
        statuses(
            "/v1/checkouts",
            "post",
            json!({"requestBody": {}, "responses": success})
        ),
        "200 400 401 403 404 408 409 413 414 415 429 431 500 502 503"
    );
    assert_eq!(
        statuses("/v1/products/{id}", "get", json!({"responses": success})),
        "200 400 401 403 404 414 429 431 500 503"
    );
    assert_eq!(
        statuses("/healthz", "get", json!({"responses": success})),
        "200 500"
    );
}

#[test]
fn nulls_are_for_requests_only() {
    let schema = |reference: Option<&str>| {
        json!({"properties": {
            "plain": {"type": ["string", "null"], "description": "A plain one."},
            "choice": {"description": "A choice.", "oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Leaf"}]},
            "next": reference.map_or(json!({}), |name| json!({"$ref": format!("#/components/schemas/{name}")}))
        }})
    };
    let mut document = json!({
        "paths": {"/x": {"post": {"requestBody": {"schema": {"$ref": "#/components/schemas/Asked"}}}}},
        "components": {"schemas": {
            "Asked": schema(Some("Within")),
            "Within": schema(Some("Asked")),
            "Answered": schema(None),
            "Leaf": {"type": "string"}
        }}
    });
    nulls::forbid_in_answers(&mut document);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Asked"], schema(Some("Within")));
    assert_eq!(schemas["Within"], schema(Some("Asked")));
    assert_eq!(
        schemas["Answered"]["properties"],
        json!({
            "plain": {"type": "string", "description": "A plain one."},
            "choice": {"description": "A choice.", "$ref": "#/components/schemas/Leaf"},
            "next": {}
        })
    );
}
