//! A worker in a process of its own.

use std::time::{Duration, Instant};

use lessor_tests::Server;
use lessor_tests::server::PATIENCE;
use serde_json::json;

use crate::BINARY;

/// How often a worker looks for jobs that nobody told it of.
const POLL: Duration = Duration::from_secs(1);
/// What is long enough for it to have looked by itself after a job, and short of the next time.
const BREATH: Duration = Duration::from_millis(250);
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

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_another_process_left_are_begun_at_once() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let _worker = server.worker();
    let client = server.client().await;
    let mut waited = Vec::new();
    for _ in 0..=TRIES {
        client.product(json!({})).await;
        waited.push(begun_after(&server).await);
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
    panic!("a look each {POLL:?}, and jobs were begun after {waited:?} s");
}
