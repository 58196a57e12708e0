//! What a server costs its database while nobody asks anything of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lessor_adapters::testing::is_cluster;
use lessor_tests::Server;
use lessor_tests::server::PATIENCE;
use serde_json::json;

use crate::BINARY;
use crate::wrong_input::signed_headers;

/// How long it is watched: longer than a worker's longest pause before it looks for messages again.
const WATCHED: Duration = Duration::from_secs(6);
/// The most transactions a second.
const MOST: f64 = 2.0;
/// Transactions of who watches: its sessions begin with one each.
const WATCHING: f64 = 4.0;

/// What the database knows of whoever uses it.
#[derive(Debug)]
struct Use {
    /// Transactions that there were.
    transactions: f64,
    /// The processes of those who are connected, but for who asks.
    connected: BTreeSet<String>,
}

impl Use {
    async fn of(server: &Server) -> Self {
        let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database \
             WHERE datname = current_database() \
             UNION ALL SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
             AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let mut rows = server.query(sql).await.into_iter();
        let transactions = rows.next().and_then(|count| count.parse().ok());
        Self {
            transactions: transactions.unwrap_or(f64::INFINITY),
            connected: rows.collect(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_asks_leaves_its_database_alone() {
    if is_cluster() {
        println!("SKIPPED an idle server: a cluster's nodes are never idle");
        return;
    }
    let server = Server::start(BINARY, &[]).await;
    let nobody = server.client().await.with_key("");
    let deadline = Instant::now() + PATIENCE;
    let (mut before, mut watched) = (Use::of(&server).await, Instant::now());
    let idle = loop {
        tokio::time::sleep(WATCHED).await;
        let after = Use::of(&server).await;
        let most = MOST * watched.elapsed().as_secs_f64() + WATCHING;
        if after.transactions - before.transactions <= most && after.connected == before.connected {
            break after;
        }
        // What is done at the start, and once a minute, comes on top.
        assert!(Instant::now() < deadline, "{before:?} {after:?}");
        (before, watched) = (after, Instant::now());
    };

    // A message that came before costs no connection either.
    let message = json!({
        "trackingNumber": "1ZNOBODY", "carrier": "ups", "status": "inTransit",
        "timestamp": "2026-01-02T03:04:00Z"
    });
    let body = message.to_string();
    let headers = signed_headers("msg_twice", &body);
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    for _ in 0..3 {
        let body = Some(body.clone().into_bytes());
        let taken = nobody
            .send("POST", "/webhooks/tracking", &headers, body)
            .await;
        taken.ok();
    }
    let after = Use::of(&server).await;
    assert!(
        idle.connected.is_subset(&after.connected),
        "{idle:?} {after:?}"
    );
}
