//! Methods and addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::World;

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_refused_with_those_that_are_taken() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let mut taken: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for operation in world.operations() {
        taken
            .entry(operation.path)
            .or_default()
            .push(operation.method);
    }
    for (path, methods) in &taken {
        for method in [
            "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW",
        ] {
            if methods.iter().any(|known| known == method) {
                continue;
            }
            let refused = world.client.send(method, path, &[], None).await;
            refused.refused(405, "invalid_request", "");
            // Those of the path itself: `bulk` is no id.
            let allow: BTreeSet<&str> = refused.header("allow").split(", ").collect();
            let mut known: BTreeSet<&str> = methods.iter().map(String::as_str).collect();
            if known.contains("GET") {
                known.insert("HEAD");
            }
            assert_eq!(allow, known, "{method} {path}");
        }
    }
    assert_eq!(world.server.contents().await, before, "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_a_body() {
    let world = World::new().await;
    for operation in world.operations() {
        if operation.method != "GET" || operation.template == "/metrics" {
            continue;
        }
        let query = if operation.template.ends_with("/bulk") {
            "?productIds=nonsense"
        } else {
            ""
        };
        let path = format!("{}{query}", operation.path);
        let got = world.client.get(&path).await;
        let head = world.client.send("HEAD", &path, &[], None).await;
        assert_eq!(head.status, got.status, "{path}");
        assert!(head.bytes.is_empty(), "{path}");
        assert_eq!(
            head.header("content-type"),
            got.header("content-type"),
            "{path}"
        );
        assert_eq!(
            head.header("content-length"),
            got.header("content-length"),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_are_not_found_in_the_one_shape() {
    let world = World::new().await;
    for path in [
        "/v1",
        "/v1/",
        "/v2/products",
        "/v1/nonsense",
        "/v1/products/",
        "/v1//products",
        "/v1/products/a/b/c",
        "/favicon.png",
        "/v1/%",
        "/v1/%zz",
        "/%00",
        "/v1/products%2f",
        "/../nonsense",
        "/v1/../healthz/x",
        "/documents/nonsense",
        "/docs/assets/nonsense.js",
        "/docs/assets/..%2f..%2fCargo.toml",
        "/webhooks/nonsense",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let answered = world.client.send(method, path, &[], None).await;
            let is_known = world.client.contract().operation("get", path).is_some();
            if answered.status == 405 {
                assert!(is_known, "{method} {path}");
                continue;
            }
            answered.has(404);
        }
    }
    let long = format!("/v1/products/{}", "x".repeat(60_000));
    let answered = world.client.get(&long).await;
    assert!(matches!(answered.status, 404 | 414), "{}", answered.status);
    // Without a key nothing under /v1 can be told apart.
    let nobody = world.client.with_key("");
    for path in ["/v1/nonsense", "/v1/products", "/v1/products/x/y/z"] {
        for method in ["GET", "POST", "PATCH", "OPTIONS"] {
            nobody
                .send(method, path, &[], None)
                .await
                .refused(401, "unauthorized", "");
        }
    }
}
