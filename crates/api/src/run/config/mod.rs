//! Configuration: flags first, then the environment, then a TOML file, then the defaults.
//!
//! Every setting is declared once, in [`SETTINGS`], and has one text form whichever way it is given;
//! the same parser reads all of them, and an error says where the value came from. Secrets have no
//! flag: everybody on a machine can read the command lines of its processes.

mod resolve;
mod settings;
mod values;

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::middleware::WebOrigin;
use crate::telemetry::LogFormat;

pub use resolve::{ConfigError, Entry, Origin, Sources};
pub use settings::{SETTINGS, Setting, markdown};
pub use values::parse_duration;

use resolve::Resolver;

/// A value that is not to be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The payment processor.
#[derive(Debug, Clone)]
pub struct ProcessorConfig {
    /// Where its API is; its own address when none is given.
    pub url: Option<String>,
    /// The key of live mode.
    pub live_key: Option<Secret>,
    /// The key of sandbox mode.
    pub sandbox_key: Option<Secret>,
    /// What its messages of live mode are signed with: any of these.
    pub live_webhook_secrets: Vec<Secret>,
    /// What its messages of sandbox mode are signed with: any of these.
    pub sandbox_webhook_secrets: Vec<Secret>,
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the embedded database is.
    pub data_dir: PathBuf,
    /// The database; the embedded one without it.
    pub database_url: Option<Secret>,
    /// The folder of the PostgreSQL binaries that the embedded database runs.
    pub pg_bin_dir: Option<PathBuf>,
    /// Connections to the database in all.
    pub pool_size: NonZeroUsize,
    /// How long a request waits for one of them.
    pub database_wait: Duration,
    /// Which log lines are written, when anybody says.
    pub log: Option<String>,
    /// How they are written.
    pub log_format: LogFormat,
    /// Where requests are taken, `host:port`.
    pub listen: String,
    /// Where clients reach the service, when that is another address.
    pub public_url: Option<String>,
    /// The origins whose pages may read answers.
    pub cors_origins: Vec<WebOrigin>,
    /// Threads that serve; one for each processor without it.
    pub http_threads: Option<NonZeroUsize>,
    /// Whether the database is left as it is at the start.
    pub no_migrate: bool,
    /// Whether the worker runs elsewhere.
    pub no_worker: bool,
    /// Jobs that one worker has under way at a time.
    pub worker_jobs: NonZeroUsize,
    /// How long a job of a worker that died is kept from others.
    pub job_lease: Duration,
    /// How long something may come of a request whose answer was lost.
    pub job_settled: Duration,
    /// Requests a second for each secret API key; any number without it.
    pub rate_limit: Option<NonZeroU32>,
    /// Requests a second with publishable keys for each address; any number without it.
    pub address_rate_limit: Option<NonZeroU32>,
    /// Networks of proxies that say whom they speak for.
    pub trusted_proxies: Vec<IpNet>,
    /// How long the process may take to stop.
    pub shutdown_timeout: Duration,
    /// Days after which an untouched checkout expires.
    pub expiry_days: NonZeroU16,
    /// How long a lease that is to be billed may have no subscription before somebody is told.
    pub not_billed_after: Duration,
    /// How long a carrier may be silent before somebody is told.
    pub delivery_overdue_after: Duration,
    /// What the tokens of checkout pages are derived with.
    pub server_secret: Option<Secret>,
    /// The payment processor.
    pub processor: ProcessorConfig,
    /// What carriers' messages are signed with: any of these.
    pub tracking_webhook_secrets: Vec<Secret>,
    entries: Vec<Entry>,
    unknown_environment: Vec<String>,
}

impl Config {
    /// Reads every setting.
    ///
    /// # Errors
    /// The first value that cannot be used, with where it came from.
    pub fn resolve(sources: &Sources) -> Result<Self, ConfigError> {
        use settings as s;
        use values as v;

        let mut from = Resolver::new(sources);
        Ok(Self {
            data_dir: from.needed(&s::DATA_DIR, v::path)?,
            database_url: from.optional(&s::DATABASE_URL, v::secret)?,
            pg_bin_dir: from.optional(&s::PG_BIN_DIR, v::path)?,
            pool_size: from.needed(&s::POOL_SIZE, v::count)?,
            database_wait: from.needed(&s::DATABASE_WAIT, v::second_to_minute)?,
            log: from.optional(&s::LOG, v::text)?,
            log_format: from.needed(&s::LOG_FORMAT, v::log_format)?,
            listen: from.needed(&s::LISTEN, v::listen)?,
            public_url: from.optional(&s::PUBLIC_URL, v::base_url)?,
            cors_origins: from
                .optional(&s::CORS_ORIGINS, v::origins)?
                .unwrap_or_default(),
            http_threads: from.optional(&s::HTTP_THREADS, v::count)?,
            no_migrate: from.needed(&s::NO_MIGRATE, v::flag)?,
            no_worker: from.needed(&s::NO_WORKER, v::flag)?,
            worker_jobs: from.needed(&s::WORKER_JOBS, v::count)?,
            job_lease: from.needed(&s::JOB_LEASE, v::seconds_to_minutes)?,
            job_settled: from.needed(&s::JOB_SETTLED, v::seconds_to_minutes)?,
            rate_limit: from.needed(&s::RATE_LIMIT, v::rate_limit)?,
            address_rate_limit: from.needed(&s::ADDRESS_RATE_LIMIT, v::rate_limit)?,
            trusted_proxies: from
                .optional(&s::TRUSTED_PROXIES, v::networks)?
                .unwrap_or_default(),
            shutdown_timeout: from.needed(&s::SHUTDOWN_TIMEOUT, v::seconds_to_minutes)?,
            expiry_days: from.needed(&s::EXPIRY_DAYS, v::days)?,
            not_billed_after: from.needed(&s::NOT_BILLED_AFTER, v::minute_to_month)?,
            delivery_overdue_after: from.needed(&s::DELIVERY_OVERDUE_AFTER, v::hour_to_year)?,
            server_secret: from.optional(&s::SERVER_SECRET, v::server_secret)?,
            processor: ProcessorConfig {
                url: from.optional(&s::PROCESSOR_URL, v::base_url)?,
                live_key: from.optional(&s::PROCESSOR_LIVE_KEY, v::secret)?,
                sandbox_key: from.optional(&s::PROCESSOR_SANDBOX_KEY, v::secret)?,
                live_webhook_secrets: from.list(&s::PROCESSOR_LIVE_WEBHOOK_SECRETS)?,
                sandbox_webhook_secrets: from.list(&s::PROCESSOR_SANDBOX_WEBHOOK_SECRETS)?,
            },
            tracking_webhook_secrets: from.list(&s::TRACKING_WEBHOOK_SECRETS)?,
            entries: from.into_entries(),
            unknown_environment: sources.unknown_environment(),
        })
    }

    /// Every setting as it is in force, secrets masked, in the order of [`SETTINGS`].
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Variables that begin with `LESSOR_` and mean nothing: most likely misspelled.
    #[must_use]
    pub fn unknown_environment(&self) -> &[String] {
        &self.unknown_environment
    }
}

#[cfg(test)]
mod tests;
