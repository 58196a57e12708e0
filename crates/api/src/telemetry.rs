//! Logs and metrics.

use std::io::IsTerminal as _;
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// How log lines are written. They go to standard error: standard output is for what a command
/// answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object for each line.
    Json,
}

/// The upper bounds of the latency histogram, in seconds.
const LATENCY_BUCKETS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
];

/// Counts messages in the processor's name that were not taken, by why.
pub(crate) const MESSAGES_REFUSED: &str = "lessor_processor_messages_refused_total";

/// Counts connections beyond a limit, which were closed at once, by which.
pub(crate) const CONNECTIONS_REFUSED: &str = "lessor_connections_refused_total";

/// Counts requests that were refused because there were too many, by whose they were.
pub(crate) const RATE_LIMITED: &str = "lessor_rate_limited_total";

/// Counts lists that the replica was to answer, by what came of it.
pub(crate) const REPLICA_READS: &str = "lessor_replica_reads_total";

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not one.
    #[error("the log filter {filter:?} is not valid: {source}")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Something else in the process logs already.
    #[error("logging is set up already")]
    AlreadySet(#[from] TryInitError),
}

/// Starts logging. `filter` is a `tracing` directive list, such as `info,lessor=debug`. Panics are
/// logged like errors.
///
/// # Errors
/// A filter that cannot be read; logging that was set up before.
pub fn init_logs(format: LogFormat, filter: &str) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(filter).map_err(|source| TelemetryError::Filter {
        filter: filter.to_owned(),
        source,
    })?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Human => registry.with(lines).try_init()?,
        LogFormat::Json => {
            // Who a request is, is said once: by the span that it is in.
            let lines = lines.json().flatten_event(true).with_span_list(false);
            registry.with(lines).try_init()?;
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(cause = %panic, "panic");
    }));
    Ok(())
}

/// The process's metrics.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Starts collecting. Once in a process.
    ///
    /// # Errors
    /// Something else in the process collects already.
    pub fn install() -> Result<Self, BuildError> {
        let handle = PrometheusBuilder::new()
            .set_buckets(&LATENCY_BUCKETS)?
            .install_recorder()?;
        metrics::describe_counter!("http_requests_total", "Requests answered");
        metrics::describe_gauge!("http_requests_in_flight", "Requests under way");
        metrics::describe_counter!(
            CONNECTIONS_REFUSED,
            "Connections that were closed because there were too many, by why"
        );
        for why in ["total", "address"] {
            metrics::counter!(CONNECTIONS_REFUSED, "why" => why).absolute(0);
        }
        metrics::describe_counter!(
            MESSAGES_REFUSED,
            "Messages in the payment processor's name that were not taken, by why"
        );
        metrics::describe_counter!(
            REPLICA_READS,
            "Lists that the replica was to answer, by what came of it"
        );
        metrics::describe_counter!(
            RATE_LIMITED,
            "Requests that were refused because there were too many of a key or an address"
        );
        // A counter that nobody has counted up is not there to be alerted on.
        for by in ["key", "address"] {
            metrics::counter!(RATE_LIMITED, "by" => by).absolute(0);
        }
        metrics::describe_histogram!(
            "http_request_duration_seconds",
            metrics::Unit::Seconds,
            "Time from a request's head to its answer"
        );
        Ok(Self(handle))
    }

    /// The metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds recorded samples into their histograms every few seconds, so that they do not pile up
    /// while nobody asks. Never ends.
    pub async fn upkeep(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(5));
        loop {
            ticks.tick().await;
            self.0.run_upkeep();
        }
    }
}
