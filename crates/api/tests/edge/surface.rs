use crate::harness::{Server, Setup};

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_are_404_everywhere() {
    let server = Server::start().await;
    for path in [
        "/",
        "/nope",
        "/v1",
        "/v1/",
        "/v1/nope",
        "/v1/things/",
        "/v1/things/1/nope",
        "/v2/things",
        "/docs/assets/nope.js",
        "/docs/",
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
        ("OPTIONS", "/docs/assets/style.css", &["GET", "HEAD"]),
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
async fn a_request_id_is_never_the_clients() {
    let server = Server::start().await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 {
        let answer = server
            .send(
                "GET",
                "/healthz",
                &["request-id: req_mine", "x-request-id: mine"],
                b"",
            )
            .await;
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
