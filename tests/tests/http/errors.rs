//! Wrong input: a clear error in the one shape, and nothing written.

use lessor_tests::Server;
use serde_json::{Value, json};

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bodies_name_what_is_wrong() {
    let server = Server::start(BINARY, "errors");
    let product = json!({
        "name": "Bike", "description": "A bike", "organizationId": server.organization, "price": "10.00",
        "productSource": "manual", "productType": "leasable", "options": []
    });
    let with = |member: &str, value: Value| {
        let mut changed = product.clone();
        changed[member] = value;
        changed.to_string()
    };
    let without = |member: &str| {
        let mut changed = product.clone();
        changed
            .as_object_mut()
            .map(|members| members.remove(member));
        changed.to_string()
    };
    let cases = [
        (without("name"), "parameter_missing", json!("name")),
        (
            with("name", Value::Null),
            "parameter_missing",
            json!("name"),
        ),
        (with("name", json!("")), "invalid_parameter", json!("name")),
        (with("name", json!(7)), "invalid_parameter", json!("name")),
        (
            with("name", json!("a\u{0}b")),
            "invalid_parameter",
            json!("name"),
        ),
        (
            with("name", json!("x".repeat(256))),
            "invalid_parameter",
            json!("name"),
        ),
        (
            with("price", json!("-1")),
            "invalid_parameter",
            json!("price"),
        ),
        (
            with("price", json!("1.005")),
            "invalid_parameter",
            json!("price"),
        ),
        (
            product.to_string().replace("\"10.00\"", "1e400"),
            "invalid_parameter",
            json!("price"),
        ),
        (
            with("colour", json!("red")),
            "invalid_parameter",
            json!("colour"),
        ),
        (
            with("options", json!([{ "name": "Size", "values": [] }])),
            "invalid_parameter",
            json!("options[0].values"),
        ),
        (
            product.to_string().replacen('{', "{\"name\":\"twice\",", 1),
            "invalid_request",
            Value::Null,
        ),
        ("{".to_owned(), "invalid_request", Value::Null),
        ("[]".to_owned(), "invalid_request", Value::Null),
    ];
    for (body, code, param) in cases {
        let refused = server
            .send("POST", "/v1/products", &server.key, Some(body.clone()))
            .await;
        let error = &refused.body["error"];
        assert_eq!(refused.status, 400, "{body}: {}", refused.body);
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!(code), &param),
            "{body}: {error}"
        );
    }
    let large = with("description", json!("x".repeat(2 << 20)));
    assert_eq!(
        server
            .send("POST", "/v1/products", &server.key, Some(large))
            .await
            .status,
        413
    );
    let listed = server.get("/v1/products").await;
    assert_eq!(
        listed.body,
        json!({ "results": [], "total": 0 }),
        "nothing was written"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn others_see_nothing_and_permissions_are_named() {
    let server = Server::start(BINARY, "access");
    let variant = server.variant("BIKE", None).await;
    let path = format!("/v1/product-variants/{variant}");
    let stranger = server.new_organization("Others");
    let stranger = server.new_key(&stranger, "all");
    assert_eq!(server.send("GET", &path, &stranger, None).await.status, 404);
    let narrow = server.new_key(&server.organization, "ProductRead");
    let refused = server.send("GET", &path, &narrow, None).await;
    assert_eq!(refused.status, 403);
    let message = lessor_tests::text(&refused.body["error"]["message"]);
    assert!(message.contains("ProductVariantRead"), "{message}");
    for key in ["", "lsk_sandbox_nonsense"] {
        let refused = server.send("GET", "/v1/no/such/path", key, None).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (401, &json!("unauthorized"))
        );
    }
    assert_eq!(server.get("/v1/no/such/path").await.status, 404);
    let method = server
        .send("PATCH", "/v1/products", &server.key, None)
        .await;
    assert_eq!(
        (method.status, &method.headers["allow"]),
        (405, &"GET, HEAD, POST".parse().unwrap())
    );
}
