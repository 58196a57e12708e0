//! `/healthz`, `/readyz`, `/metrics`.

use lessor::telemetry::METRICS;
use lessor_tests::Server;
use lessor_tests::server::PATIENCE;

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
    metrics.has(200);
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    let counted = told.lines().any(|line| {
        line.starts_with("http_requests_total") && line.contains("route=\"/v1/products\"")
    });
    assert!(counted, "{told}");
    let looked_up = told
        .lines()
        .filter_map(|line| line.strip_prefix("lessor_key_cache_total{result=\"miss\"} "))
        .any(|count| count != "0");
    assert!(looked_up, "{told}");
    // Each is in the guide, and is named as ours or as what everybody has.
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/OPERATIONS.md");
    let guide = std::fs::read_to_string(guide).unwrap_or_default();
    let mut ours = 0;
    for name in told
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
    {
        assert!(
            ["lessor_", "http_", "process_"]
                .iter()
                .any(|begin| name.starts_with(begin)),
            "{name}"
        );
        assert!(
            guide.contains(&format!("`{name}`")),
            "{name} is not in the guide"
        );
        ours += usize::from(name.starts_with("lessor_"));
    }
    assert!(ours > 0, "{told}");
    // Values that are listed are all that there are.
    for metric in METRICS {
        let series = told
            .lines()
            .filter_map(|line| line.strip_prefix(metric.name)?.strip_prefix('{'));
        for line in series {
            for (label, values) in metric
                .labels
                .iter()
                .filter(|(_, values)| !values.is_empty())
            {
                let is_listed = |value: &&str| line.contains(&format!("{label}=\"{value}\""));
                assert!(values.iter().any(is_listed), "{}: {line}", metric.name);
            }
        }
    }
    // What keys, customers and ids there are is nobody's business there.
    assert!(
        !told.contains(&client.organization) && !told.contains("lsk_"),
        "{told}"
    );
}

/// What waits, and what a person must look at, is counted.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_somebody_is_counted() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client
        .checkout_at("BIKE", "grace@example.com", "documentsPending")
        .await;
    let declined = client
        .checkout("BIKE", "ada+depositdecline@example.com")
        .await;
    client.advance(&declined, "orderConfirmed").await.ok();
    let wanted = [
        "lessor_checkouts_needing_attention{reason=\"depositFailed\"} 1",
        "lessor_checkouts_needing_attention{reason=\"disputed\"} 0",
        "lessor_deposits_held 1",
        "lessor_deposits_held_oldest_seconds ",
        "lessor_jobs_pending ",
        "lessor_jobs_in_doubt 0",
        "lessor_jobs_dead 0",
        "lessor_jobs_oldest_seconds ",
        "lessor_checkouts{mode=\"sandbox\",state=\"documentsPending\"} ",
        "lessor_checkouts{mode=\"live\",state=\"leaseActive\"} 0",
        "lessor_chore_finished_timestamp_seconds{chore=\"housekeeping\"} ",
        "lessor_chore_finished_timestamp_seconds{chore=\"numbers\"} ",
        "lessor_inbox_messages_waiting 0",
        "lessor_inbox_messages_failed 0",
        "lessor_inbox_messages_failed_total 0",
        "lessor_reconcile_failures{mode=\"sandbox\"} 0",
        "lessor_reconcile_finished_timestamp_seconds{mode=\"sandbox\"} ",
    ];
    let nobody = client.with_key("");
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let metrics = nobody.get("/metrics").await;
        let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
        let is_told = |wanted: &&str| told.lines().any(|line| line.starts_with(wanted));
        if wanted.iter().all(is_told) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{told}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
