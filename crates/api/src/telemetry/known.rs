//! What is counted and measured.

/// How a metric is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, as long as the process runs.
    Counter,
    /// It is as large as it is now.
    Gauge,
    /// How often there was how much.
    Histogram,
}

/// Labels, each with its values where all are known.
pub type Labels = &'static [(&'static str, &'static [&'static str])];

/// A metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How it is told.
    pub kind: Kind,
    /// What its series are told apart by.
    pub labels: Labels,
    /// What it means.
    pub meaning: &'static str,
}

/// Tries of jobs, by what became of them.
pub(crate) const JOBS: &str = "lessor_jobs_total";
/// Attempts to deliver events, by what became of them.
pub(crate) const DELIVERIES: &str = "lessor_webhook_deliveries_total";
/// Endpoints that were disabled because of how they answered.
pub(crate) const ENDPOINTS_DISABLED: &str = "lessor_webhook_endpoints_disabled_total";
/// Attempts to send mails, by what became of them.
pub(crate) const MAILS: &str = "lessor_mails_total";
/// Messages that were given up.
pub(crate) const MESSAGES_FAILED: &str = "lessor_inbox_messages_failed_total";
/// Messages in the processor's name that were taken, by whether they had come before.
pub(crate) const MESSAGES: &str = "lessor_processor_messages_total";
/// Messages in the processor's name that were not taken, by why.
pub(crate) const MESSAGES_REFUSED: &str = "lessor_processor_messages_refused_total";
/// Requests to the processor, by what was asked for and what came of it.
pub(crate) const PROCESSOR_REQUESTS: &str = "lessor_processor_requests_total";
/// Connections beyond a limit, which were closed at once, by which.
pub(crate) const CONNECTIONS_REFUSED: &str = "lessor_connections_refused_total";
/// Log lines that found no room.
pub(crate) const LINES_LOST: &str = "lessor_log_lines_lost_total";
/// Requests that were refused because there were too many, by whose they were.
pub(crate) const RATE_LIMITED: &str = "lessor_rate_limited_total";
/// Lists that the replica was to answer, by what came of it.
pub(crate) const REPLICA_READS: &str = "lessor_replica_reads_total";
/// Requests with keys, by whether these were remembered.
pub(crate) const KEY_CACHE: &str = "lessor_key_cache_total";
/// Reads that may be remembered, by whether their answers were.
pub(crate) const REMEMBERED: &str = "lessor_remembered_reads_total";
/// When each chore was last done.
pub(crate) const CHORE_FINISHED: &str = "lessor_chore_finished_timestamp_seconds";
/// Connections to the database, by what they do.
pub(crate) const CONNECTIONS: &str = "lessor_database_connections";
/// The most of them that there may be.
pub(crate) const CONNECTIONS_MAX: &str = "lessor_database_connections_max";
/// Checkouts, by mode and state.
pub(crate) const CHECKOUTS: &str = "lessor_checkouts";

/// The names of both modes.
const MODES: &[&str] = &["live", "sandbox"];

const fn counter(name: &'static str, labels: Labels, meaning: &'static str) -> Metric {
    Metric {
        name,
        kind: Kind::Counter,
        labels,
        meaning,
    }
}

const fn gauge(name: &'static str, labels: Labels, meaning: &'static str) -> Metric {
    Metric {
        name,
        kind: Kind::Gauge,
        labels,
        meaning,
    }
}

/// Every metric there is, as the operator's manual lists them.
pub const METRICS: &[Metric] = &[
    counter(
        "http_requests_total",
        &[("method", &[]), ("route", &[]), ("status", &[])],
        "Requests answered",
    ),
    Metric {
        name: "http_request_duration_seconds",
        kind: Kind::Histogram,
        labels: &[("method", &[]), ("route", &[])],
        meaning: "Time from a request's head to its answer",
    },
    gauge("http_requests_in_flight", &[], "Requests under way"),
    counter(
        CONNECTIONS_REFUSED,
        &[("why", &["total", "address"])],
        "Connections that were closed because there were too many, by why",
    ),
    counter(
        RATE_LIMITED,
        &[("by", &["key", "address"])],
        "Requests that were refused because there were too many of a key or an address",
    ),
    counter(
        KEY_CACHE,
        &[("result", &["hit", "miss"])],
        "Requests with keys by whether these were remembered or looked up",
    ),
    counter(
        REMEMBERED,
        &[("result", &["hit", "miss"])],
        "Reads by whether the answer was remembered or made anew",
    ),
    gauge(
        CONNECTIONS,
        &[("state", &["open", "idle", "waiting"])],
        "Connections to the database that are open, those of them that nobody uses, and tasks that wait for one",
    ),
    gauge(
        CONNECTIONS_MAX,
        &[],
        "The most connections to the database that the process may have",
    ),
    gauge("lessor_jobs_pending", &[], "Jobs that are to be done"),
    gauge(
        "lessor_jobs_in_doubt",
        &[],
        "Jobs that were tried and are not done",
    ),
    gauge(
        "lessor_jobs_dead",
        &[],
        "Jobs that were given up and wait for a person",
    ),
    gauge(
        "lessor_jobs_oldest_seconds",
        &[],
        "For how long the oldest job has been due",
    ),
    counter(
        JOBS,
        &[("outcome", &["done", "later", "dead", "unknown"])],
        "Tries of jobs by what became of them",
    ),
    gauge(
        CHORE_FINISHED,
        &[(
            "chore",
            &[
                "census",
                "endings",
                "gauges",
                "housekeeping",
                "keptMessages",
                "numbers",
                "purge",
                "reconciliation",
                "simulatedInvoices",
            ],
        )],
        "When the chore was last done",
    ),
    gauge(
        "lessor_inbox_messages_waiting",
        &[],
        "Messages of providers that are to be handled",
    ),
    gauge(
        "lessor_inbox_messages_failed",
        &[],
        "Messages of providers that were given up and wait for a person",
    ),
    counter(
        MESSAGES_FAILED,
        &[],
        "Messages of providers that were given up and wait for a person",
    ),
    counter(
        MESSAGES,
        &[("verdict", &["new", "repeated"])],
        "Messages of the payment processor that were taken, by whether they had come before",
    ),
    counter(
        MESSAGES_REFUSED,
        &[("why", &["unsigned", "otherMode", "unreadable"])],
        "Messages in the payment processor's name that were not taken, by why",
    ),
    counter(
        PROCESSOR_REQUESTS,
        &[
            ("operation", &[]),
            (
                "outcome",
                &["done", "refused", "limited", "failed", "unanswered"],
            ),
        ],
        "Requests to the payment processor by what was asked for and what came of it",
    ),
    gauge(
        CHECKOUTS,
        &[("mode", MODES), ("state", &[])],
        "Checkouts by mode and state",
    ),
    gauge(
        "lessor_checkouts_needing_attention",
        &[("reason", &[])],
        "Checkouts that a person must look at, by reason",
    ),
    gauge(
        "lessor_event_feeds_waiting",
        &[],
        "Organizations whose events have no numbers yet",
    ),
    gauge(
        "lessor_webhook_queues_due",
        &[],
        "Organizations with deliveries of events that are due and that nobody is at",
    ),
    counter(
        DELIVERIES,
        &[(
            "outcome",
            &["acknowledged", "later", "failed", "moot", "unknown"],
        )],
        "Attempts to deliver events to webhook endpoints by what became of them",
    ),
    counter(
        ENDPOINTS_DISABLED,
        &[("reason", &["gone", "failing"])],
        "Webhook endpoints that were disabled because of how they answered, by reason",
    ),
    gauge("lessor_mails_pending", &[], "Mails that are to be sent"),
    gauge(
        "lessor_mails_dead",
        &[],
        "Mails that were given up and wait for a person",
    ),
    counter(
        MAILS,
        &[(
            "outcome",
            &[
                "sent",
                "later",
                "trouble",
                "bounced",
                "suppressed",
                "skipped",
                "dead",
                "moot",
                "unknown",
            ],
        )],
        "Attempts to send mails by what became of them",
    ),
    gauge(
        "lessor_deposits_held",
        &[],
        "Authorizations that hold money of customers",
    ),
    gauge(
        "lessor_deposits_held_oldest_seconds",
        &[],
        "For how long the oldest authorization has held money",
    ),
    gauge(
        "lessor_reconcile_differences",
        &[("mode", MODES), ("difference", &[])],
        "Differences that the last comparison found and did not mend, by mode and name",
    ),
    gauge(
        "lessor_reconcile_failures",
        &[("mode", MODES)],
        "What the last comparison could not compare, by mode",
    ),
    gauge(
        "lessor_reconcile_finished_timestamp_seconds",
        &[("mode", MODES)],
        "When the last comparison came to its end, by mode",
    ),
    counter(
        "lessor_reconcile_differences_total",
        &[("mended", &["yes", "no"])],
        "Differences found between checkouts and the processor, by whether they were mended",
    ),
    counter(
        "lessor_reconcile_messages_total",
        &[],
        "Messages of the processor that came by its list alone",
    ),
    counter(
        REPLICA_READS,
        &[("result", &["replica", "behind", "unavailable"])],
        "Lists that the replica was to answer, by what came of it",
    ),
    counter(
        LINES_LOST,
        &[],
        "Log lines that nobody read as fast as they came",
    ),
    gauge(
        "process_resident_memory_bytes",
        &[],
        "Memory of the process that is in use",
    ),
    gauge(
        "process_cpu_seconds_total",
        &[],
        "Time that the process had a processor",
    ),
    gauge("process_open_fds", &[], "Descriptors that are open"),
    gauge(
        "process_max_fds",
        &[],
        "The most descriptors that the process may have",
    ),
    gauge("process_start_time_seconds", &[], "When the process began"),
];

impl Metric {
    /// Says what it is, and begins to count it where its series are known: a counter that nobody has
    /// counted up is not there to be alerted on.
    pub(super) fn begin(&self) {
        let (name, meaning) = (self.name, self.meaning);
        match self.kind {
            Kind::Counter => {
                metrics::describe_counter!(name, meaning);
            }
            Kind::Gauge => {
                metrics::describe_gauge!(name, meaning);
            }
            Kind::Histogram => {
                metrics::describe_histogram!(name, meaning);
            }
        }
        if self.kind != Kind::Counter {
            return;
        }
        match self.labels {
            [] => metrics::counter!(name).absolute(0),
            [(label, values)] => {
                let label: &'static str = label;
                for value in values.iter().copied() {
                    metrics::counter!(name, label => value).absolute(0);
                }
            }
            // There is no request to a resource before the first.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lessor_domain::access::Mode;
    use lessor_domain::webhooks::DisabledReason;

    use super::*;

    /// The values of the only label of a metric.
    fn values(name: &str) -> BTreeSet<&'static str> {
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap();
        metric.labels[0].1.iter().copied().collect()
    }

    #[test]
    fn each_metric_stands_here_once() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
    }

    #[test]
    fn values_are_those_of_the_domain() {
        let modes: Vec<_> = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
        assert_eq!(modes, MODES);
        let reasons = DisabledReason::ALL.iter().map(|reason| reason.as_str());
        let reasons: BTreeSet<_> = reasons.collect();
        assert_eq!(values(ENDPOINTS_DISABLED), reasons);
    }
}
