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
fn schemas_with_a_title_are_components_of_that_name() {
    let document = inline(json!({
        "paths": {"/x": {"get": {"schema": {"$ref": "#/components/schemas/Generic_Of_It"}}}},
        "components": {"schemas": {
            "Generic_Of_It": {"title": "Generic", "properties": {
                "a": {"description": "An a.", "$ref": "#/components/schemas/Small"},
            }},
            "Big": {"properties": {
                "copy": {"items": {"title": "Copied", "properties": {
                    "title": {"$ref": "#/components/schemas/Small"}
                }}}
            }},
            "Small": {"x-inline": true, "title": "Decimal", "description": "A decimal.", "type": "string"}
        }}
    }));
    assert_eq!(
        document,
        json!({
            "paths": {"/x": {"get": {"schema": {"$ref": "#/components/schemas/Generic"}}}},
            "components": {"schemas": {
                "Big": {"properties": {"copy": {"items": {"$ref": "#/components/schemas/Copied"}}}},
                "Copied": {"properties": {"title": {"$ref": "#/components/schemas/Decimal"}}},
                "Decimal": {"description": "A decimal.", "type": "string"},
                "Generic": {"properties": {
                    "a": {"description": "An a.", "$ref": "#/components/schemas/Decimal"}
                }}
            }}
        })
    );
}

#[test]
fn the_error_schema_names_the_members_of_the_interface() {
    let document = finish(Description::default(), "");
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
    let document = finish(Description::default(), "");
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
    let posted = json!({"requestBody": {}, "responses": success});
    assert_eq!(
        statuses("/webhooks/tracking", "post", posted.clone()),
        "200 400 401 408 413 415 429 500 503"
    );
    assert_eq!(
        statuses("/c/{token}/{step}", "post", posted),
        "200 400 403 404 408 413 415 429 500 503"
    );
    assert_eq!(
        statuses("/c/{token}", "get", json!({"responses": success})),
        "200 404 500 503"
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

fn is_described(value: &Value) -> bool {
    value["description"]
        .as_str()
        .is_some_and(|text| !text.trim().is_empty())
}

/// The places of properties without a description, however deep in the value.
fn undescribed_properties(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{place}/{name}");
                if name == "properties" {
                    for (name, property) in member.as_object().into_iter().flatten() {
                        if !is_described(property) {
                            found.push(format!("{place}/{name}"));
                        }
                    }
                }
                // Examples are data: what they call `properties` is none.
                if !matches!(name.as_str(), "example" | "examples") {
                    undescribed_properties(member, &place, found);
                }
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                undescribed_properties(element, &format!("{place}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Every place of the document that says nothing of itself.
fn undescribed(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    undescribed_properties(document, "", &mut found);
    for kind in ["schemas", "responses", "headers", "securitySchemes"] {
        for (name, component) in document["components"][kind]
            .as_object()
            .into_iter()
            .flatten()
        {
            if !is_described(component) {
                found.push(format!("/components/{kind}/{name}"));
            }
        }
    }
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let place = format!("{method} {path}");
            if !is_described(operation) {
                found.push(place.clone());
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if !is_described(parameter) {
                    found.push(format!("{place} {}", parameter["name"]));
                }
            }
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                let is_said = response.get("$ref").is_some() || is_described(response);
                if !is_said {
                    found.push(format!("{place} {status}"));
                }
            }
        }
    }
    for tag in document["tags"].as_array().into_iter().flatten() {
        if !is_described(tag) {
            found.push(format!("tag {}", tag["name"]));
        }
    }
    found
}

fn whole() -> Value {
    crate::run::app::document("", crate::routes::configure)
}

#[test]
fn everything_is_described() {
    assert_eq!(undescribed(&whole()), Vec::<String>::new());
}

#[test]
fn what_is_not_described_is_found() {
    let mut document = whole();
    let mut silence = |pointer: &str| {
        let value = document.pointer_mut(pointer).unwrap().as_object_mut();
        assert!(value.unwrap().remove("description").is_some(), "{pointer}");
    };
    silence("/components/schemas/Checkout/properties/items");
    silence("/components/schemas/Checkout");
    silence("/components/responses/Conflict");
    silence("/paths/~1v1~1products/get");
    silence("/paths/~1v1~1products/get/parameters/0");
    silence("/paths/~1v1~1products/get/responses/200");
    silence("/tags/0");
    let expected = [
        "/components/schemas/Checkout/properties/items",
        "/components/schemas/Checkout",
        "/components/responses/Conflict",
        "get /v1/products",
        "get /v1/products \"limit\"",
        "get /v1/products 200",
        "tag \"Products\"",
    ];
    assert_eq!(undescribed(&document), expected);
}

/// A member of a request that takes a public id and nothing else has the pattern of its kind.
#[test]
fn ids_in_requests_have_their_pattern() {
    let document = whole();
    let paths = &document["paths"];
    for (pointer, prefix) in [
        ("/~1v1~1checkouts~1{id}/get/parameters/0/schema", "chk"),
        ("/~1v1~1customers~1{id}/put/parameters/0/schema", "usr"),
        ("/~1v1~1products~1{id}/delete/parameters/0/schema", "prod"),
        (
            "/~1v1~1product-variants~1{id}/get/parameters/0/schema",
            "pvar",
        ),
        ("/~1v1~1products/get/parameters/2/schema", "prod"),
        ("/~1v1~1lease-terms/get/parameters/2/schema", "term"),
        ("/~1v1~1product-categories/get/parameters/2/schema", "cat"),
        (
            "/~1v1~1product-variants~1bulk/get/parameters/0/schema/items",
            "prod",
        ),
    ] {
        let schema = paths.pointer(pointer).unwrap();
        let pattern = format!("^{prefix}_[0-9A-Za-z]{{22}}$");
        assert_eq!(schema["type"], "string", "{pointer}");
        assert_eq!(schema["pattern"], pattern, "{pointer}");
    }
    let schemas = &document["components"]["schemas"];
    for (pointer, prefix) in [
        ("/CreateCheckout/properties/productVariantId", "pvar"),
        ("/CreateProductVariant/properties/productId", "prod"),
        ("/CreateLeaseTerm/properties/productId", "prod"),
        ("/FetchProductVariants/properties/ids/items", "pvar"),
        (
            "/FulfillCheckout/properties/serialNumbers/propertyNames",
            "chkitem",
        ),
        ("/BulkUpdateProductItem/properties/id", "prod"),
        ("/BulkUpdateProductVariantItem/properties/id", "pvar"),
    ] {
        let schema = schemas.pointer(pointer).unwrap();
        let pattern = format!("^{prefix}_[0-9A-Za-z]{{22}}$");
        assert_eq!(schema["pattern"], pattern, "{pointer}");
    }
    // Either form is taken there.
    for pointer in [
        "/~1v1~1lease-terms~1{id}/put/parameters/0/schema",
        "/~1v1~1product-variants~1{identifier}~1lowest/get/parameters/0/schema",
    ] {
        let schema = paths.pointer(pointer).unwrap();
        assert_eq!(schema.get("pattern"), None, "{pointer}");
    }
}
