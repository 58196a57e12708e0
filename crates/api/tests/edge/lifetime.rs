use std::time::{Duration, Instant};

use lessor::http::server::ServerSettings;
use lessor::middleware::Deadline;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{PATIENCE, Server, Setup, pass, read_answer, request};

/// Closes with a reset instead of the usual end.
fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
    drop(stream);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_ends_though_its_client_reset_the_connection() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request("POST", "/v1/mutate", &[], b""))
        .await
        .unwrap();
    pass(&server.gate.entered).await;
    reset(stream);
    // One worker, one connection at a time: once this is answered the reset was seen.
    assert_eq!(server.send("GET", "/healthz", &[], b"").await.status, 200);
    server.gate.release.add_permits(1);
    pass(&server.gate.done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_answered_before_the_server_stops() {
    let mut server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request("POST", "/v1/mutate", &[], b""))
        .await
        .unwrap();
    pass(&server.gate.entered).await;
    server.stop();
    // No new connections, once the listener is closed.
    let refused = async {
        while TcpStream::connect(server.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused)
        .await
        .expect("the listener closes");
    server.gate.release.add_permits(1);
    let answer = read_answer(&mut stream).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "done"));
    server.stopped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_without_a_client_is_waited_for() {
    let mut server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request("POST", "/v1/mutate", &[], b""))
        .await
        .unwrap();
    pass(&server.gate.entered).await;
    reset(stream);
    server.stop();
    let gate = server.gate.clone();
    let mutations = server.mutations.clone();
    assert_eq!(mutations.under_way(), 1);
    gate.release.add_permits(1);
    server.stopped().await;
    assert_eq!(mutations.under_way(), 0);
    assert_eq!(gate.done.available_permits(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_holds() {
    let mut server = Server::with(Setup {
        settings: ServerSettings {
            workers: Some(1),
            shutdown_timeout: Duration::from_millis(300),
            ..ServerSettings::default()
        },
        ..Setup::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request("POST", "/v1/mutate", &[], b""))
        .await
        .unwrap();
    pass(&server.gate.entered).await;
    let told = Instant::now();
    server.stop();
    server.stopped().await;
    assert!(
        told.elapsed() < Duration::from_secs(5),
        "{:?}",
        told.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_is_answered_and_its_mutation_ends() {
    let server = Server::with(Setup {
        deadline: Deadline(Duration::from_millis(300)),
        ..Setup::default()
    })
    .await;
    let answer = server.send("POST", "/v1/mutate", &[], b"").await;
    answer.assert_error(503, "unavailable", None);
    assert_eq!(answer.header("retry-after"), Some("1"));
    pass(&server.gate.entered).await;
    assert_eq!(server.mutations.under_way(), 1);
    server.gate.release.add_permits(1);
    pass(&server.gate.done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_delay_the_stop() {
    let mut server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let told = Instant::now();
    server.stop();
    server.stopped().await;
    assert!(
        told.elapsed() < Duration::from_secs(5),
        "{:?}",
        told.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_head_is_given_up() {
    let server = Server::with(Setup {
        settings: ServerSettings {
            workers: Some(1),
            head_timeout: Duration::from_millis(200),
            ..ServerSettings::default()
        },
        ..Setup::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /healthz HTT").await.unwrap();
    assert_eq!(read_answer(&mut stream).await.status, 408);
}
