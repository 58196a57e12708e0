//! A worker in a process of its own.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lessor::telemetry::{Kind, METRICS};
use lessor_tests::server::PATIENCE;
use lessor_tests::{Running, Server};
use serde_json::json;

use crate::BINARY;

/// How often a worker looks for jobs that nobody told it of.
const POLL: Duration = Duration::from_secs(1);
/// What is long enough for it to have looked by itself after a job, and short of the next time.
const BREATH: Duration = Duration::from_millis(250);
/// Metrics that are not told of before there is something: nothing differs, and no processor is asked.
const LATER: [&str; 2] = [
    "lessor_reconcile_differences",
    "lessor_processor_requests_total",
];
/// A busy machine may hold any of them up.
const TRIES: usize = 8;

/// After how many seconds the job that was pushed last was begun, once the try is over.
async fn begun_after(server: &Server) -> f64 {
    let newest = "SELECT extract(epoch FROM first_attempt_at - created_at) FROM jobs \
         WHERE sequence = (SELECT max(sequence) FROM jobs) \
         AND first_attempt_at IS NOT NULL AND claimed_until IS NULL";
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seconds) = server.query(newest).await.first() {
            return seconds.parse().unwrap_or(f64::INFINITY);
        }
        assert!(Instant::now() < deadline, "no worker begins with the job");
    }
}

/// What is told at the address, by line.
async fn told_at(url: &str) -> Vec<String> {
    let told = match reqwest::get(format!("{url}/metrics")).await {
        Ok(answer) => answer.text().await.unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    told.lines().map(str::to_owned).collect()
}

/// The metrics that are told.
fn names(told: &[String]) -> BTreeSet<&str> {
    let types = told.iter().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).collect()
}

/// Between them server and worker tell of all that there is, and each of what is in the database; the worker counts
/// from its start whatever values of labels are known.
async fn everything_is_told(server: &Server, worker: &Running) {
    let known = || METRICS.iter().filter(|it| !LATER.contains(&it.name));
    let is_of_database = |name: &&str| {
        name.starts_with("lessor_jobs_")
            || name.starts_with("lessor_database_")
            || *name == "lessor_checkouts"
    };
    let zeros = known().flat_map(|it| match (it.kind, it.labels) {
        (Kind::Counter, []) => vec![format!("{} ", it.name)],
        (Kind::Counter, [(label, values)]) => {
            let each = values.iter();
            each.map(|value| format!("{}{{{label}=\"{value}\"}} ", it.name))
                .collect()
        }
        _ => Vec::new(),
    });
    let zeros: Vec<String> = zeros.collect();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let of_server = told_at(&server.url).await;
        let of_worker = told_at(&worker.operators).await;
        let (by_server, by_worker) = (names(&of_server), names(&of_worker));
        let mut missing: Vec<String> = Vec::new();
        for it in known() {
            let is_linux = !it.name.starts_with("process_") || cfg!(target_os = "linux");
            let (here, there) = (by_server.contains(it.name), by_worker.contains(it.name));
            if is_linux && !here && !there {
                missing.push(format!("{} anywhere", it.name));
            }
            if is_of_database(&it.name) && !(here && there) {
                missing.push(format!("{} of each", it.name));
            }
        }
        for zero in &zeros {
            if !of_worker.iter().any(|line| line.starts_with(zero)) {
                missing.push(format!("{zero} of the worker"));
            }
        }
        if missing.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{missing:?}");
        tokio::time::sleep(BREATH).await;
    }
}

/// Jobs that the server left are begun as they are committed.
async fn jobs_are_begun_at_once(server: &Server) {
    let client = server.client().await;
    let mut waited = Vec::new();
    for _ in 0..=TRIES {
        client.product(json!({})).await;
        waited.push(begun_after(server).await);
        // Who only looks by itself does so after the rest of its pause, which is much longer; of the first job
        // it is not known when it had looked.
        let measured = waited.iter().skip(1);
        if measured
            .copied()
            .any(|seconds| seconds < BREATH.as_secs_f64())
        {
            return;
        }
        tokio::time::sleep(BREATH).await;
    }
    let measured = waited.get(1..);
    assert_eq!(measured, None, "seconds, with a look each {POLL:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_beside_a_server_hears_of_jobs_and_tells_what_it_does() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let worker = server.worker();
    jobs_are_begun_at_once(&server).await;
    everything_is_told(&server, &worker).await;
}
