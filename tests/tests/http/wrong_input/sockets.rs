//! Requests that an HTTP library would never send.

use lessor_tests::raw;
use tokio::io::AsyncWriteExt as _;

use super::World;

#[tokio::test(flavor = "multi_thread")]
async fn broken_requests_are_refused_and_leave_the_server_well() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let (url, key) = (&world.client.url, &world.client.key);
    let head = format!(
        "POST /v1/products HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n"
    );
    for (what, request) in [
        (
            "a length that is no number",
            format!("{head}content-length: nonsense\r\n\r\n{{}}"),
        ),
        (
            "a negative length",
            format!("{head}content-length: -1\r\n\r\n{{}}"),
        ),
        (
            "two lengths",
            format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
        ),
        (
            "a length and chunks",
            format!("{head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "a chunk that is no number",
            format!("{head}transfer-encoding: chunked\r\nconnection: close\r\n\r\nzz\r\n"),
        ),
        ("no HTTP at all", "nonsense\r\n\r\n".to_owned()),
        (
            "a version that is none",
            "GET /healthz HTTP/9.9\r\n\r\n".to_owned(),
        ),
        (
            "a header that is none",
            "GET /healthz HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n".to_owned(),
        ),
        (
            "blanks in the address",
            "GET /v1/products x HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        ),
    ] {
        let answer = raw::exchange(url, request.as_bytes()).await;
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        assert!(status.starts_with('4'), "{what}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.contains("\r\nrequest-id: req_"), "{what}: {answer}");
        assert!(
            body.contains("\"invalid_request_error\""),
            "{what}: {answer}"
        );
    }
    let cut = format!("{head}content-length: 1000\r\n\r\n{{\"name\":");
    let mut stream = raw::connect(url).await;
    drop(stream.write_all(cut.as_bytes()).await);
    drop(stream);
    // A byte that comes and then none: refused when the time for a body is over.
    let slow = format!("{head}content-length: 1000\r\nconnection: close\r\n\r\n{{");
    let mut stream = raw::connect(url).await;
    drop(stream.write_all(slow.as_bytes()).await);
    let answer = raw::rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"invalid_request\""), "{answer}");
    assert_eq!(world.server.contents().await, before, "nothing was written");
    world.client.get("/v1/products").await.ok();
}
