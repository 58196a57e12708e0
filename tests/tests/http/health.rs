//! `/healthz`, `/readyz`, `/metrics`.

use lessor_tests::Server;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_how_it_is_without_a_key() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let nobody = client.with_key("");
    assert_eq!(nobody.get("/healthz").await.ok()["status"], "ok");
    assert_eq!(nobody.get("/readyz").await.ok()["status"], "ready");
    client.get("/v1/products").await.ok();
    let metrics = nobody.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    let counted = told.lines().any(|line| {
        line.starts_with("http_requests_total") && line.contains("route=\"/v1/products\"")
    });
    assert!(counted, "{told}");
    // What keys, customers and ids there are is nobody's business there.
    assert!(
        !told.contains(&client.organization) && !told.contains("lsk_"),
        "{told}"
    );
}
