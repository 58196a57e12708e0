//! Connections that are too many, and answers that nobody reads.

use std::time::Duration;

use lessor::http::admission::ConnectionLimits;
use lessor::http::pace::Pace;
use lessor::http::server::ServerSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{LARGE, PATIENCE, Server, Setup, request};

async fn with_connections(total: usize, pace: Pace) -> Server {
    Server::with(Setup {
        settings: ServerSettings {
            workers: Some(1),
            connections: ConnectionLimits {
                total,
                ..ConnectionLimits::default()
            },
            pace,
            ..ServerSettings::default()
        },
        ..Setup::default()
    })
    .await
}

/// What the server says on a connection of its own until it closes.
async fn said(server: &Server) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut bytes = Vec::new();
    let exchange = async {
        // The server may have closed before.
        drop(stream.write_all(request).await);
        drop(stream.read_to_end(&mut bytes).await);
    };
    tokio::time::timeout(PATIENCE, exchange)
        .await
        .expect("the server closes");
    bytes
}

/// Asks until there is room for a connection more.
async fn until_answered(server: &Server) {
    let answered = async {
        while !said(server).await.starts_with(b"HTTP/1.1 200 ") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, answered)
        .await
        .expect("a place gets free");
}

/// A connection that the server has answered on, and keeps.
async fn kept(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn one_too_many_is_closed_at_once_and_the_others_go_on() {
    let server = with_connections(2, Pace::default()).await;
    let first = kept(&server).await;
    let mut second = kept(&server).await;
    for _ in 0..100 {
        assert_eq!(said(&server).await, b"");
    }
    second
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, second.read_to_end(&mut rest))
        .await
        .expect("an answer in time")
        .unwrap();
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.contains("HTTP/1.1 200 OK"), "{rest}");
    drop((first, second));
    until_answered(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_reads_keeps_no_connection() {
    let pace = Pace {
        pause: Duration::from_millis(300),
        ..Pace::default()
    };
    let server = with_connections(1, pace).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let asked = request("GET", "/v1/large", &[], b"");
    stream.write_all(&asked).await.unwrap();
    // It has the only place.
    until_answered(&server).await;
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    drop(read.expect("the server has closed it"));
    assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(bytes.len() < LARGE, "{}", bytes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_arrives_whole() {
    let server = Server::start().await;
    let answer = server.send("GET", "/v1/large", &[], b"").await;
    assert_eq!(answer.status, 200);
    answer.assert_dressed();
    let length = answer.header("content-length").map(str::to_owned);
    assert_eq!(length, Some(LARGE.to_string()));
    assert_eq!(answer.body.len(), LARGE);
    let head = server.send("HEAD", "/v1/large", &[], b"").await;
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, length.as_deref())
    );
    assert_eq!(head.body, "");
}

/// actix waits for the end of a body in chunks, also where nobody reads it, and for as long as it takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_an_end_keeps_no_connection() {
    let server = Server::with(Setup {
        settings: ServerSettings {
            workers: Some(1),
            keep_alive: Duration::from_millis(200),
            ..ServerSettings::default()
        },
        ..Setup::default()
    })
    .await;
    let begun =
        "POST /nope HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let answer = server.raw(begun.as_bytes()).await;
    answer.assert_error(404, "not_found", None);
}
