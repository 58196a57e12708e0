use lessor::http::draining::Draining;
use lessor::telemetry::Metrics;

use crate::harness::{Server, Setup};

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_are_404_everywhere() {
    let server = Server::start().await;
    for path in [
        "/nope",
        "/v1",
        "/v1/",
        "/v1/nope",
        "/v1/things/",
        "/v1/things/1/nope",
        "/v2/things",
        "/docs/assets/nope.js",
        "/docs/nope",
        "/docs/scalar/0/scalar.js",
    ] {
        server
            .send("GET", path, &[], b"")
            .await
            .assert_error(404, "not_found", None);
    }
    for path in [
        "/v1/things/%00",
        "/v1/things/%zz",
        "/v1/things/%ff",
        "/v1/things/a%0Ab",
    ] {
        server
            .send("GET", path, &[], b"")
            .await
            .assert_error(404, "not_found", None);
    }
    let answer = server.send("GET", "/v1/things/a%20b", &[], b"").await;
    assert_eq!(answer.json()["name"], "a b");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_everything_under_v1_is_401() {
    let server = Server::start().await;
    for (method, path) in [
        ("GET", "/v1/things"),
        ("GET", "/v1/nope"),
        ("PATCH", "/v1/things"),
        ("OPTIONS", "/v1/things"),
        ("GET", "/v1"),
    ] {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let answer = server.raw(request.as_bytes()).await;
        answer.assert_error(401, "unauthorized", None);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_405_with_allow() {
    let server = Server::start().await;
    for (method, path, allow) in [
        ("DELETE", "/v1/things", ["GET", "HEAD", "POST"].as_slice()),
        ("OPTIONS", "/v1/things", &["GET", "HEAD", "POST"]),
        ("PATCH", "/v1/things/1", &["GET", "HEAD", "PUT"]),
        ("GET", "/v1/things/1/cancel", &["POST"]),
        ("HEAD", "/v1/things/1/cancel", &["POST"]),
        ("BREW", "/v1/things", &["GET", "HEAD", "POST"]),
        ("POST", "/healthz", &["GET", "HEAD"]),
        ("POST", "/docs", &["GET", "HEAD"]),
        ("OPTIONS", "/docs/assets/site.css", &["GET", "HEAD"]),
    ] {
        let answer = server.send(method, path, &[], b"").await;
        assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        let mut allowed: Vec<_> = answer.header("allow").unwrap().split(", ").collect();
        allowed.sort_unstable();
        assert_eq!(allowed, allow, "{method} {path}");
        if method == "HEAD" {
            answer.assert_dressed();
            assert!(answer.body.is_empty());
        } else {
            answer.assert_error(405, "invalid_request", None);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_answers_like_get_without_the_body() {
    let server = Server::start().await;
    for path in [
        "/v1/things",
        "/v1/things/1",
        "/healthz",
        "/openapi.json",
        "/openapi-3.0.json",
        "/docs/errors",
        "/v1/nope",
        "/v1/things?limit=0",
    ] {
        let get = server.send("GET", path, &[], b"").await;
        let head = server.send("HEAD", path, &[], b"").await;
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.body, "", "{path}");
        assert!(!get.body.is_empty(), "{path}");
        for name in ["content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
        head.assert_dressed();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_read_strictly() {
    let server = Server::start().await;
    let get = async |query: &str| {
        server
            .send("GET", &format!("/v1/things{query}"), &[], b"")
            .await
    };
    assert_eq!(get("").await.json()[0]["detail"], "20 0 0");
    assert_eq!(
        get("?limit=5&offset=10&tags=a,b&tags=c").await.json()[0]["detail"],
        "5 10 3"
    );
    for (query, param) in [
        ("?limit=0", "limit"),
        ("?limit=x", "limit"),
        ("?limit=1&limit=1", "limit"),
        ("?nope=1", "nope"),
        ("?tags=%ff", "tags"),
    ] {
        get(query)
            .await
            .assert_error(400, "invalid_parameter", Some(param));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_tell_the_request_id_and_nothing_else() {
    let server = Server::start().await;
    for (method, path) in [
        ("GET", "/v1/panic"),
        ("POST", "/v1/panic-in-mutation"),
        ("GET", "/v1/fails"),
    ] {
        server
            .send(method, path, &[], b"")
            .await
            .assert_error(500, "internal_server_error", None);
    }
    let answer = server.send("GET", "/v1/foreign", &[], b"").await;
    answer.assert_error(418, "invalid_request", None);
    assert!(!answer.body.contains("plain text"));
    // The worker has survived.
    assert_eq!(server.send("GET", "/v1/things", &[], b"").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_the_id_that_its_caller_gives() {
    let server = Server::start().await;
    const TRACE: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (headers, id) in [
        (["x-request-id: mine-1", "x: y"], "mine-1"),
        ([TRACE, "x: y"], "4bf92f3577b34da6a3ce929d0e0e4736"),
        ([TRACE, "x-request-id: mine-2"], "mine-2"),
    ] {
        for path in ["/healthz", "/v1/fails", "/nope"] {
            let answer = server.send("GET", path, &headers, b"").await;
            assert_eq!(answer.header("request-id"), Some(id), "{headers:?}");
            if answer.status == 500 {
                assert!(answer.body.contains(id), "{answer:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_id_is_passed_over() {
    let server = Server::start().await;
    let mut seen = std::collections::HashSet::new();
    let too_long = format!("x-request-id: {}", "x".repeat(129));
    for headers in [
        ["request-id: req_mine", "x: y"],
        ["x-request-id: two words", "x: y"],
        ["x-request-id: ", "x: y"],
        ["x-request-id: K\u{e4}se", "x: y"],
        [&too_long, "x: y"],
        ["x-request-id: a", "x-request-id: b"],
        ["traceparent: 00-0-0-0", "x: y"],
        [
            "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "x: y",
        ],
    ] {
        let answer = server.send("GET", "/healthz", &headers, b"").await;
        answer.assert_dressed();
        assert!(seen.insert(answer.header("request-id").unwrap().to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_what_is_asked() {
    let server = Server::start().await;
    assert_eq!(
        server.send("GET", "/healthz", &[], b"").await.json()["status"],
        "ok"
    );
    assert_eq!(
        server.send("GET", "/readyz", &[], b"").await.json()["status"],
        "ready"
    );
    let broken = Server::with(Setup {
        ready: false,
        ..Setup::default()
    })
    .await;
    assert_eq!(broken.send("GET", "/healthz", &[], b"").await.status, 200);
    let answer = broken.send("GET", "/readyz", &[], b"").await;
    answer.assert_error(503, "unavailable", None);
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_by_route_and_not_by_path() {
    let server = Server::with(Setup {
        metrics: Some(Metrics::install().unwrap()),
        ..Setup::default()
    })
    .await;
    for (method, path) in [
        ("GET", "/v1/things/metrics-1"),
        ("HEAD", "/v1/things/metrics-2"),
        ("BREW", "/metrics-nowhere"),
    ] {
        server.send(method, path, &[], b"").await;
    }
    let answer = server.send("GET", "/metrics", &[], b"").await;
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    for line in [
        "http_requests_total{method=\"GET\",route=\"/v1/things/{id}\",status=\"200\"}",
        "http_requests_total{method=\"HEAD\",route=\"/v1/things/{id}\",status=\"200\"}",
        "http_requests_total{method=\"other\",route=\"unmatched\",status=\"404\"}",
        "http_request_duration_seconds_bucket{method=\"GET\",route=\"/v1/things/{id}\",le=\"10\"}",
        "http_requests_in_flight",
        "lessor_connections_refused_total{why=\"total\"}",
        "lessor_connections_refused_total{why=\"address\"} 0",
        "lessor_rate_limited_total{by=\"key\"} 0",
        "lessor_rate_limited_total{by=\"address\"} 0",
    ] {
        assert!(answer.body.contains(line), "{line} in {}", answer.body);
    }
    assert!(!answer.body.contains("metrics-1"));
    // Who comes through a proxy is not of this machine.
    for header in ["forwarded: for=192.0.2.1", "x-forwarded-for: 127.0.0.1"] {
        server
            .send("GET", "/metrics", &[header], b"")
            .await
            .assert_error(404, "not_found", None);
    }
    // Without a recorder there is nothing to show.
    let bare = Server::start().await;
    bare.send("GET", "/metrics", &[], b"")
        .await
        .assert_error(404, "not_found", None);
}

/// Before the server stops it answers as before, and has clients come back by the proxy.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_the_last_of_their_connections_while_it_drains() {
    let draining = Draining::default();
    let server = Server::with(Setup {
        draining: draining.clone(),
        ..Setup::default()
    })
    .await;
    draining.begin();
    for (path, status) in [("/healthz", 200), ("/nope", 404)] {
        // The answer is read until the server closes, which it is not asked to.
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        let answer = server.raw(request.as_bytes()).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("connection"), Some("close"));
    }
}

/// What a refused request leaves unread is never taken for the next request.
#[tokio::test(flavor = "multi_thread")]
async fn an_unread_body_is_not_the_next_request() {
    let server = Server::start().await;
    let smuggled = "GET /v1/things/smuggled HTTP/1.1\r\nhost: x\r\nauthorization: k\r\n\r\n";
    for head in [
        "POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: k\r\ncontent-type: text/plain\r\n",
        "POST /v1/things HTTP/1.1\r\nhost: x\r\n",
        "POST /nope HTTP/1.1\r\nhost: x\r\n",
        "GET /healthz HTTP/1.1\r\nhost: x\r\n",
    ] {
        let first = format!("{head}content-length: {}\r\n\r\n{smuggled}", smuggled.len());
        let last = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let answer = server.raw(format!("{first}{last}").as_bytes()).await;
        assert!(!answer.body.contains("smuggled"), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_arrives_though_the_body_was_not_read() {
    let server = Server::start().await;
    let body = "x".repeat(4 * 1024 * 1024);
    for (path, status) in [("/nope", 404), ("/v1/things", 401)] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(server.raw(request.as_bytes()).await.status, status);
    }
}
