//! Pages of other origins.

use lessor::middleware::{Cors, WebOrigin};

use crate::harness::{Answer, Server, Setup};

const SHOP: &str = "https://shop.example.com";

async fn open_to_the_shop() -> Server {
    let origin = WebOrigin::parse(SHOP).unwrap();
    Server::with(Setup {
        cors: Cors::new(vec![origin]),
        ..Setup::default()
    })
    .await
}

/// What an answer says about origins.
fn said(answer: &Answer) -> Vec<(&str, &str)> {
    let is_about = |name: &str| name.starts_with("access-control-") || name == "vary";
    let headers = answer.headers.iter();
    headers
        .filter(|(name, _)| is_about(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

fn origin(origin: &str) -> String {
    format!("origin: {origin}")
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_where_no_origin_is_set() {
    let server = Server::start().await;
    for method in ["GET", "OPTIONS"] {
        let headers = [&*origin(SHOP), "access-control-request-method: GET"];
        let answer = server.send(method, "/v1/things", &headers, b"").await;
        assert_eq!(said(&answer), [], "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_known_origin_reads_every_answer() {
    let server = open_to_the_shop().await;
    for (method, path, status) in [
        ("GET", "/v1/things", 200),
        ("GET", "/v1/things?limit=0", 400),
        ("DELETE", "/v1/things", 405),
        ("GET", "/v1/nope", 404),
        ("GET", "/v1/fails", 500),
        ("GET", "/v1/panic", 500),
    ] {
        let answer = server.send(method, path, &[&origin(SHOP)], b"").await;
        assert_eq!(answer.status, status, "{answer:?}");
        answer.assert_dressed();
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some(SHOP),
            "{path}"
        );
        assert_eq!(answer.header("vary"), Some("Origin"), "{path}");
        let exposed = answer.header("access-control-expose-headers").unwrap();
        for name in [
            "Request-Id",
            "Link",
            "X-Total-Count",
            "Idempotent-Replayed",
            "Existing-Checkout",
            "Lessor-Position",
            "ETag",
            "Retry-After",
            "RateLimit-Remaining",
        ] {
            assert!(exposed.contains(name), "{name} in {exposed}");
        }
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_needs_no_key() {
    let server = open_to_the_shop().await;
    let request = format!(
        "OPTIONS /v1/things HTTP/1.1\r\nhost: x\r\nconnection: close\r\norigin: {SHOP}\r\n\
         access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n\r\n"
    );
    let answer = server.raw(request.as_bytes()).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (204, ""),
        "{answer:?}"
    );
    answer.assert_dressed();
    assert_eq!(answer.header("access-control-allow-origin"), Some(SHOP));
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(answer.header("access-control-max-age"), Some("600"));
    let methods = answer.header("access-control-allow-methods").unwrap();
    assert!(
        methods.contains("POST") && methods.contains("DELETE"),
        "{methods}"
    );
    let headers = answer.header("access-control-allow-headers").unwrap();
    for name in [
        "Authorization",
        "Content-Type",
        "Idempotency-Key",
        "Lessor-Position",
        "X-Request-Id",
        "traceparent",
    ] {
        assert!(headers.contains(name), "{name} in {headers}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_origins_are_told_nothing_but_that_answers_differ() {
    let server = open_to_the_shop().await;
    for other in [
        "https://shop.example.com.evil.example",
        "http://shop.example.com",
        "https://shop.example.com:8443",
        "https://SHOP.example.com",
        "null",
        "*",
    ] {
        let answer = server
            .send("GET", "/v1/things", &[&origin(other)], b"")
            .await;
        assert_eq!(answer.status, 200);
        assert_eq!(said(&answer), [("vary", "Origin")], "{other}");
        let asked = [&*origin(other), "access-control-request-method: GET"];
        let answer = server.send("OPTIONS", "/v1/things", &asked, b"").await;
        answer.assert_error(405, "invalid_request", None);
        assert_eq!(said(&answer), [("vary", "Origin")], "{other}");
    }
    let both = [&*origin(SHOP), "origin: https://evil.example"];
    let answer = server.send("GET", "/v1/things", &both, b"").await;
    assert_eq!(said(&answer), [("vary", "Origin")]);
    // No origin at all: a cache may keep the answer, but not for a page.
    let answer = server.send("GET", "/v1/things", &[], b"").await;
    assert_eq!(said(&answer), [("vary", "Origin")]);
    // What no page's script has business with.
    for path in ["/healthz", "/docs/errors", "/v1x"] {
        let answer = server.send("GET", path, &[&origin(SHOP)], b"").await;
        let said = said(&answer);
        let of_origins = said
            .iter()
            .filter(|said| **said != ("vary", "accept-encoding"));
        assert_eq!(of_origins.count(), 0, "{path} {said:?}");
    }
}
