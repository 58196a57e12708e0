//! Heads that are too long, too slow, or none.

use std::time::Duration;

use lessor::http::head::{MAX_HEAD, MAX_PARAMETERS, MAX_PATH, MAX_QUERY};
use lessor::http::server::ServerSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{PATIENCE, Server, Setup, read_answer};

async fn impatient() -> Server {
    Server::with(Setup {
        settings: ServerSettings {
            workers: Some(1),
            head_timeout: Duration::from_millis(300),
            ..ServerSettings::default()
        },
        ..Setup::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_answered_like_any_other_error() {
    let server = Server::start().await;
    let long_header = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(200_000)
    );
    let many_headers = format!(
        "GET / HTTP/1.1\r\nhost: x\r\n{}\r\n",
        "x: y\r\n".repeat(200)
    );
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET /healthz\r\n\r\n", 400),
        ("GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n", 400),
        ("GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: x\r\nbad header: x\r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
            400,
        ),
        (
            "POST /v1/things HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
            400,
        ),
        (
            "POST /v1/things HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\na",
            400,
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (&long_header, 431),
        (&many_headers, 431),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The server may close while there is still something to send.
        drop(stream.write_all(request.as_bytes()).await);
        let answer = read_answer(&mut stream).await;
        let begin: String = request.chars().take(60).collect();
        assert_eq!(answer.status, status, "{begin:?}: {answer:?}");
        answer.assert_error(status, "invalid_request", None);
        assert_eq!(answer.header("connection"), Some("close"), "{begin:?}");
        let length = answer.header("content-length").unwrap();
        assert_eq!(length, answer.body.len().to_string(), "{begin:?}");
    }
    // The server goes on.
    assert_eq!(server.send("GET", "/healthz", &[], b"").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_it_arrives_as_it_is() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let both = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n";
    stream.write_all(both.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes))
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (first, second) = text.split_at(text.rfind("HTTP/1.1 ").unwrap());
    assert!(
        first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("}"),
        "{text}"
    );
    assert!(second.starts_with("HTTP/1.1 400 "), "{text}");
    assert!(second.contains("\"invalid_request\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_may_be_so_long() {
    let server = Server::start().await;
    let path = |length: usize| format!("/v1/{}", "x".repeat(length - 4));
    let query = |length: usize| format!("/v1/things?tags={}", "x".repeat(length - 5));
    let header = |length: usize| format!("x-long: {}", "y".repeat(length));
    for (target, header, status) in [
        (path(MAX_PATH), None, 404),
        (path(MAX_PATH + 1), None, 414),
        (query(MAX_QUERY), None, 400),
        (query(MAX_QUERY + 1), None, 414),
        ("/v1/things".to_owned(), Some(header(MAX_HEAD - 200)), 200),
        ("/v1/things".to_owned(), Some(header(MAX_HEAD)), 431),
    ] {
        let headers: Vec<&str> = header.as_deref().into_iter().collect();
        let answer = server.send("GET", &target, &headers, b"").await;
        let begin: String = target.chars().take(20).collect();
        assert_eq!(answer.status, status, "{begin} {answer:?}");
        if matches!(status, 414 | 431) {
            answer.assert_error(status, "invalid_request", None);
        }
    }
    let tags = |count: usize| format!("/v1/things?{}", vec!["tags=a"; count].join("&"));
    let message = "query parameters";
    let too_many = server
        .send("GET", &tags(MAX_PARAMETERS + 1), &[], b"")
        .await;
    too_many.assert_error(400, "invalid_request", None);
    assert!(too_many.body.contains(message), "{too_many:?}");
    let many = server.send("GET", &tags(MAX_PARAMETERS), &[], b"").await;
    assert!(!many.body.contains(message), "{many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_head_of_a_connection_has_its_time() {
    let server = impatient().await;
    let a_slow_head = async || {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /healthz HTT").await.unwrap();
        read_answer(&mut stream)
            .await
            .assert_error(408, "invalid_request", None);
    };
    a_slow_head().await;

    // On a busy machine this client may be the one that is too slow: it tries until it was not.
    let mut stream = loop {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        if &first != b"HTTP/1.1 408 Re" {
            assert_eq!(&first, b"HTTP/1.1 200 OK");
            break stream;
        }
    };
    // Who is quiet between requests, for as long as two slow heads take, is not hurried; who begins one is.
    a_slow_head().await;
    a_slow_head().await;
    stream.write_all(b"GET /healthz HTT").await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest))
        .await
        .expect("an answer in time")
        .unwrap();
    let rest = String::from_utf8(rest).unwrap();
    let second = &rest[rest
        .find("HTTP/1.1 408 ")
        .unwrap_or_else(|| panic!("{rest}"))..];
    for part in [
        "\r\nrequest-id: req_",
        "\r\nconnection: close\r\n",
        "\"invalid_request\"",
    ] {
        assert!(second.contains(part), "{part} in {second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_are_none_are_answered_like_any_other_error() {
    let server = Server::start().await;
    // With the head, or when the request is already worked on.
    for parts in [vec!["zz\r\n"], vec!["2\r\n{}\r\n", "zz\r\n"]] {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            let mut request = "POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\n\
                 content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
                .to_owned();
            for part in &parts {
                request.push_str(part);
                drop(stream.write_all(request.as_bytes()).await);
                request.clear();
            }
            let answer = read_answer(&mut stream).await;
            answer.assert_error(400, "invalid_request", None);
        }
    }
}
