//! Logs and metrics.

mod fields;
mod human;
#[cfg(test)]
mod kept;
mod known;
mod lines;
pub(crate) mod outage;
mod process;
mod tally;
pub(crate) mod traces;

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lessor_adapters::postgres::PgDatabase;
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Layer, Registry};

pub(crate) use known::{
    CHECKOUTS, CHORE_FINISHED, CONNECTIONS_REFUSED, DELIVERIES, ENDPOINTS_DISABLED, JOBS,
    KEY_CACHE, MAILS, MESSAGES, MESSAGES_FAILED, MESSAGES_REFUSED, PROCESSOR_REQUESTS,
    RATE_LIMITED, REMEMBERED, REPLICA_READS,
};
use known::{CONNECTIONS, CONNECTIONS_MAX, LINES_LOST};
pub use known::{Kind, Labels, METRICS, Metric};
pub(crate) use tally::Tally;
pub use traces::{Traces, TracesError};

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
    /// The filter chooses by spans or fields.
    #[error(
        "the log filter {filter:?} names a span or a field: it may name levels and targets alone"
    )]
    Spans {
        /// What was given.
        filter: String,
    },
    /// Something else in the process logs already.
    #[error("logging is set up already")]
    AlreadySet(#[from] TryInitError),
    /// Nobody can be told of spans.
    #[error(transparent)]
    Traces(#[from] TracesError),
    /// Lines cannot be written aside.
    #[error("there is no thread for log lines")]
    Thread(#[from] std::io::Error),
}

/// What logs and tells of spans until it is dropped: what was not written or sent yet is then.
#[derive(Debug)]
pub struct Telling {
    _traces: Traces,
    /// The last to go: what else goes may log.
    _lines: lines::Guard,
}

/// Starts logging, of a process that runs on: lines are written aside. `filter` is a `tracing` directive list, such
/// as `info,lessor=debug`. Panics are logged like errors. A collector of traces is told of spans, whatever is logged.
///
/// # Errors
/// A filter that cannot be read; a collector that cannot be used; logging that was set up before.
pub fn init_logs(
    format: LogFormat,
    filter: &str,
    collector: Option<&str>,
) -> Result<Telling, TelemetryError> {
    let filter = parsed(filter)?;
    let traces = collector.map_or(Ok(Traces::NONE), Traces::to)?;
    let (writer, guard) = lines::aside()?;
    match traces.tracer() {
        None => begin(format, filter, writer)?,
        Some(tracer) => {
            let ours = Targets::new().with_target("lessor", LevelFilter::INFO);
            let spans = tracing_opentelemetry::layer()
                .with_tracer(tracer)
                .with_filter(ours);
            let lines = formatted(format, writer).with_filter(filter);
            Registry::default().with(lines).with(spans).try_init()?;
            traces::collect();
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(cause = %panic, "panic");
    }));
    Ok(Telling {
        _traces: traces,
        _lines: guard,
    })
}

/// Starts logging, of a command that answers and ends: each line is there before what comes next.
///
/// # Errors
/// A filter that cannot be read; logging that was set up before.
pub(crate) fn init_logs_at_once(format: LogFormat, filter: &str) -> Result<(), TelemetryError> {
    begin(format, parsed(filter)?, std::io::stderr)
}

fn parsed(filter: &str) -> Result<Targets, TelemetryError> {
    // They would be read, and mean nothing.
    if filter.contains('[') {
        return Err(TelemetryError::Spans {
            filter: filter.to_owned(),
        });
    }
    let directives = filter.split(',').map(str::trim);
    let directives: Vec<&str> = directives.filter(|it| !it.is_empty()).collect();
    directives
        .join(",")
        .parse()
        .map_err(|source| TelemetryError::Filter {
            filter: filter.to_owned(),
            source,
        })
}

/// Begins to write lines, and what no line is written of is not even begun.
fn begin<W>(format: LogFormat, filter: Targets, writer: W) -> Result<(), TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = formatted(format, writer);
    Ok(Registry::default().with(filter).with(lines).try_init()?)
}

/// What writes log lines.
fn formatted<S, W>(format: LogFormat, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(writer);
    match format {
        LogFormat::Human => {
            let lines = lines.fmt_fields(fields::Fields);
            lines.event_format(human::Human).boxed()
        }
        // Who a request is, is said once: by the span that it is in.
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false);
            lines.boxed()
        }
    }
}

/// The process's metrics.
#[derive(Clone)]
pub struct Metrics {
    recorded: PrometheusHandle,
    /// Where the process has connections.
    pools: Arc<Mutex<Vec<PgDatabase>>>,
}

impl Metrics {
    /// Starts collecting. Once in a process.
    ///
    /// # Errors
    /// Something else in the process collects already.
    pub fn install() -> Result<Self, BuildError> {
        let recorded = PrometheusBuilder::new()
            .set_buckets(&LATENCY_BUCKETS)?
            .install_recorder()?;
        METRICS.iter().for_each(Metric::begin);
        process::measure_once();
        Ok(Self {
            recorded,
            pools: Arc::default(),
        })
    }

    /// Counts the connections of this database's pool too.
    pub fn count_connections(&self, database: &PgDatabase) {
        self.pools().push(database.clone());
    }

    fn pools(&self) -> MutexGuard<'_, Vec<PgDatabase>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        process::measure();
        tally::tell();
        metrics::counter!(LINES_LOST).absolute(lines::lost());
        self.measure_connections();
        self.recorded.render()
    }

    fn measure_connections(&self) {
        let [mut max, mut open, mut idle, mut waiting] = [0_usize; 4];
        for pool in self.pools().iter() {
            let status = pool.pool_status();
            max = max.saturating_add(status.max);
            open = open.saturating_add(status.open);
            idle = idle.saturating_add(status.idle);
            waiting = waiting.saturating_add(status.waiting);
        }
        metrics::gauge!(CONNECTIONS_MAX).set(as_gauge(max));
        for (state, count) in [("open", open), ("idle", idle), ("waiting", waiting)] {
            metrics::gauge!(CONNECTIONS, "state" => state).set(as_gauge(count));
        }
    }

    /// Folds recorded samples into their histograms every few seconds, so that they do not pile up
    /// while nobody asks. Never ends.
    pub async fn upkeep(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(5));
        loop {
            ticks.tick().await;
            self.recorded.run_upkeep();
        }
    }
}

/// A count as the metrics take it.
pub(crate) fn as_gauge(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn lines_are_chosen_by_level_and_target() {
        let shown = |filter: &str, target: &str, level| {
            let filter = parsed(filter).ok();
            filter.map(|filter| filter.would_enable(target, &level))
        };
        for (filter, target, level, expected) in [
            ("info", "lessor", Level::INFO, Some(true)),
            ("info", "lessor", Level::DEBUG, Some(false)),
            (
                "info,lessor=debug",
                "lessor::http",
                Level::DEBUG,
                Some(true),
            ),
            ("info,lessor=debug", "hyper", Level::DEBUG, Some(false)),
            (" info , lessor=debug, ", "lessor", Level::DEBUG, Some(true)),
            ("warn,hyper=off", "hyper", Level::ERROR, Some(false)),
            ("off", "lessor", Level::ERROR, Some(false)),
            ("info,lessor=loud", "lessor", Level::INFO, None),
            ("lessor[request]=debug", "lessor", Level::INFO, None),
        ] {
            assert_eq!(
                shown(filter, target, level),
                expected,
                "{filter:?} {target}"
            );
        }
    }
}
