//! Configuration: flags first, then the environment, then a TOML file, then the defaults.
//!
//! Every setting is declared once, as a member of [`Config`], and has one text form whichever way it is
//! given; the same parser reads all of them, and an error says where the value came from. Secrets have
//! no flag: everybody on a machine can read the command lines of its processes.

mod resolve;
mod settings;
mod values;

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use ipnet::IpNet;
use lessor_adapters::mail::{Sender, SmtpServer};
use lessor_adapters::postgres::Pooling;
use lessor_domain::mail::MailModes;
use lessor_domain::text::Email;
use secrecy::SecretString;

use crate::auth::server_key::ServerKeys;
use crate::middleware::WebOrigin;
use crate::telemetry::LogFormat;

pub use resolve::{ConfigError, Entry};
pub use settings::{EVERYWHERE, SERVING, Setting, flags, given, markdown, settings};
pub use values::parse_duration;

use values::{
    base_url, between, flag, listen, log_format, networks, origins, pooling, rate_limit, secrets,
    server_keys, up_to, within,
};

/// What one text says, and not as many arguments as it has parts, which `Vec` is to clap.
type List<T> = Vec<T>;
/// What the text `off` says as well, and not what may be left out, which `Option` is to clap.
type Limit<T> = Option<T>;

/// Everything that can be set.
///
/// The name of a member is its key in the file. `hide_env_values` marks secrets, and `hide` what is for
/// tests and nothing that an operator reads about: neither is a flag of any command, although `long` is
/// needed for clap to know them by their names. The heading says which commands have a flag:
/// [`EVERYWHERE`] all of them, [`SERVING`] those that serve, none those that serve or work.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// Folder of the embedded database and of the server's key
    #[arg(long, env = "LESSOR_DATA_DIR", default_value = "./lessor-data")]
    #[arg(value_name = "DIR", help_heading = EVERYWHERE)]
    pub data_dir: PathBuf,
    /// The database, `postgres://user:password@host/name?sslmode=verify-full`; without it the embedded
    /// one runs
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<SecretString>,
    /// A streaming replica of the database, in the same form: it answers lists that say with
    /// `Lessor-Position` how much they have to show, when it is as far
    #[arg(long, env = "LESSOR_REPLICA_URL", hide_env_values = true)]
    pub replica_url: Option<SecretString>,
    /// For how long a session of the database is Lessor's: `session`, or `transaction` behind a pooler that
    /// hands sessions on with each transaction
    #[arg(long, env = "LESSOR_DATABASE_POOLING", default_value = "session")]
    #[arg(value_name = "POOLING", value_parser = pooling, help_heading = EVERYWHERE)]
    pub database_pooling: Pooling,
    /// Folder of `postgres` and `initdb` for the embedded database; looked for when not given
    #[arg(long, env = "LESSOR_PG_BIN_DIR")]
    #[arg(value_name = "DIR", help_heading = EVERYWHERE)]
    pub pg_bin_dir: Option<PathBuf>,
    /// Database connections of the process in all
    #[arg(long, env = "LESSOR_POOL_SIZE", default_value = "20")]
    #[arg(value_name = "N", value_parser = up_to::<NonZeroUsize>(1_000))]
    pub pool_size: NonZeroUsize,
    /// How long a request waits for one of them to be free before it is answered 503, 1s to 1m
    #[arg(long, env = "LESSOR_DATABASE_WAIT", default_value = "1s")]
    #[arg(value_name = "TIME", value_parser = within("1s", "1m"), help_heading = SERVING)]
    pub database_wait: Duration,
    /// How long a request may take from its head to its answer before it is answered 503, 1s to 10m; what
    /// it began goes on
    #[arg(long, env = "LESSOR_REQUEST_DEADLINE", default_value = "15s")]
    #[arg(value_name = "TIME", value_parser = within("1s", "10m"), help_heading = SERVING)]
    pub request_deadline: Duration,
    /// Which log lines are written, such as `info,lessor=debug`; `info` for serve, worker and demo, else
    /// `warn`
    #[arg(long, env = "LESSOR_LOG")]
    #[arg(value_name = "FILTER", help_heading = EVERYWHERE)]
    pub log: Option<String>,
    /// `human` or `json`
    #[arg(long, env = "LESSOR_LOG_FORMAT", default_value = "human")]
    #[arg(value_name = "FORMAT", value_parser = log_format, help_heading = EVERYWHERE)]
    pub log_format: LogFormat,
    /// Where spans of requests, jobs and calls of the processor are told by OTLP over HTTP, such as
    /// `http://collector:4318`; nowhere when not given
    #[arg(long, env = "LESSOR_OTLP_ENDPOINT")]
    #[arg(value_name = "URL", value_parser = base_url, help_heading = EVERYWHERE)]
    pub otlp_endpoint: Option<String>,
    /// Where requests are taken; port 0 takes a free one
    #[arg(long, env = "LESSOR_LISTEN", default_value = "127.0.0.1:8080")]
    #[arg(value_name = "HOST:PORT", value_parser = listen, help_heading = SERVING)]
    pub listen: String,
    /// Where operators are answered, `/metrics`, `/healthz` and `/readyz` alone; when not given, `serve`
    /// answers them where it listens, `/metrics` to this machine alone
    #[arg(long, env = "LESSOR_OPS_LISTEN")]
    #[arg(value_name = "HOST:PORT", value_parser = listen)]
    pub ops_listen: Option<String>,
    /// Where clients reach the service, for the links in answers; the address listened on when not given
    #[arg(long, env = "LESSOR_PUBLIC_URL")]
    #[arg(value_name = "URL", value_parser = base_url, help_heading = SERVING)]
    pub public_url: Option<String>,
    /// Origins whose pages may call `/v1` and read its answers, such as
    /// `https://shop.example.com,http://localhost:3000`; none when not given
    #[arg(
        long,
        env = "LESSOR_CORS_ORIGINS",
        default_value = "",
        hide_default_value = true
    )]
    #[arg(value_name = "ORIGINS", value_parser = origins, help_heading = SERVING)]
    pub cors_origins: List<WebOrigin>,
    /// Threads that serve requests; one for each processor when not given
    #[arg(long, env = "LESSOR_HTTP_THREADS", value_parser = up_to::<NonZeroUsize>(1_000))]
    #[arg(value_name = "N", help_heading = SERVING)]
    pub http_threads: Option<NonZeroUsize>,
    /// Leave the database's tables as they are at the start; refuse to start when they are too old
    #[arg(long, env = "LESSOR_NO_MIGRATE", default_value = "false", value_parser = flag)]
    #[arg(action = ArgAction::Set, num_args = ..=1, require_equals = true)]
    #[arg(value_name = "true|false", default_missing_value = "true")]
    pub no_migrate: bool,
    /// How long the start waits for another process that migrates before it is given up, 1s to 1d
    #[arg(long, env = "LESSOR_MIGRATION_WAIT", default_value = "5m")]
    #[arg(value_name = "TIME", value_parser = within("1s", "1d"))]
    pub migration_wait: Duration,
    /// Serve without the worker, which then runs as `lessor worker`
    #[arg(long, env = "LESSOR_NO_WORKER", default_value = "false", value_parser = flag)]
    #[arg(action = ArgAction::Set, num_args = ..=1, require_equals = true)]
    #[arg(value_name = "true|false", default_missing_value = "true", help_heading = SERVING)]
    pub no_worker: bool,
    /// Jobs that a worker has under way at a time
    #[arg(long, env = "LESSOR_WORKER_JOBS", default_value = "8")]
    #[arg(value_name = "N", value_parser = up_to::<NonZeroUsize>(1_000))]
    pub worker_jobs: NonZeroUsize,
    /// How long a job of a worker that died is kept from others, 2s to 10m; a worker that is at one keeps
    /// it for longer
    #[arg(long, env = "LESSOR_JOB_LEASE", default_value = "45s")]
    #[arg(value_name = "TIME", value_parser = within("2s", "10m"))]
    pub job_lease: Duration,
    /// How long something may come of a request to a provider whose answer was lost, 2s to 10m
    #[arg(long, env = "LESSOR_JOB_SETTLED", default_value = "10m", hide = true)]
    #[arg(value_parser = within("2s", "10m"))]
    pub job_settled: Duration,
    /// Requests a second with each secret API key, of a bulk request each item, twice as many at once, or
    /// `off`; each process counts for itself
    #[arg(long, env = "LESSOR_RATE_LIMIT", default_value = "1000")]
    #[arg(value_name = "N", value_parser = rate_limit, help_heading = SERVING)]
    pub rate_limit: Limit<NonZeroU32>,
    /// Requests a second of each client address without a valid secret key or signature, and posts to pages of
    /// checkouts, five times as many at once, or `off`; each process counts for itself
    #[arg(long, env = "LESSOR_ADDRESS_RATE_LIMIT", default_value = "100")]
    #[arg(value_name = "N", value_parser = rate_limit, help_heading = SERVING)]
    pub address_rate_limit: Limit<NonZeroU32>,
    /// Networks of the proxies in front, such as `10.0.0.0/8,::1`: the client's address is then the last
    /// in `X-Forwarded-For` that is none of theirs
    #[arg(
        long,
        env = "LESSOR_TRUSTED_PROXIES",
        default_value = "",
        hide_default_value = true
    )]
    #[arg(value_name = "NETWORKS", value_parser = networks, help_heading = SERVING)]
    pub trusted_proxies: List<IpNet>,
    /// Connections at a time in all; one more is closed at once
    #[arg(long, env = "LESSOR_MAX_CONNECTIONS", default_value = "10000")]
    #[arg(value_name = "N", value_parser = up_to::<NonZeroUsize>(65_535), help_heading = SERVING)]
    pub max_connections: NonZeroUsize,
    /// Connections at a time from one address, or from one network of 64 bits with IPv6; this machine and
    /// trusted proxies may have as many as there are in all
    #[arg(
        long,
        env = "LESSOR_MAX_CONNECTIONS_PER_ADDRESS",
        default_value = "2048"
    )]
    #[arg(value_name = "N", value_parser = up_to::<NonZeroUsize>(65_535), help_heading = SERVING)]
    pub max_connections_per_address: NonZeroUsize,
    /// MiB of memory that large bodies of requests and answers on their way may take together, 16 or more;
    /// beyond it requests are answered 503
    #[arg(long, env = "LESSOR_MEMORY_BUDGET", default_value = "256")]
    #[arg(value_name = "MIB", value_parser = between::<NonZeroUsize>(16, 65_535), help_heading = SERVING)]
    pub memory_budget: NonZeroUsize,
    /// How long `/readyz` says 503 and requests are answered as before, once the process is told to stop and
    /// before it does: time for a proxy to send no more, 0s to 5m
    #[arg(long, env = "LESSOR_DRAIN_DELAY", default_value = "0s")]
    #[arg(value_name = "TIME", value_parser = within("0s", "5m"), help_heading = SERVING)]
    pub drain_delay: Duration,
    /// How long the process may take to stop, 2s to 10m
    // Less would cut requests off that are on their way.
    #[arg(long, env = "LESSOR_SHUTDOWN_TIMEOUT", default_value = "10s")]
    #[arg(value_name = "TIME", value_parser = within("2s", "10m"))]
    pub shutdown_timeout: Duration,
    /// Days after which a checkout that nobody touched expires
    #[arg(long, env = "LESSOR_EXPIRY_DAYS", default_value = "30")]
    #[arg(value_name = "DAYS", value_parser = up_to::<NonZeroU16>(3_650))]
    pub expiry_days: NonZeroU16,
    /// Days for which an approval of a customer's credit holds for further leases, unless it says otherwise
    #[arg(long, env = "LESSOR_CREDIT_DECISION_DAYS", default_value = "90")]
    #[arg(value_name = "DAYS", value_parser = up_to::<NonZeroU16>(3_650))]
    pub credit_decision_days: NonZeroU16,
    /// Days for which events are kept
    #[arg(long, env = "LESSOR_EVENT_DAYS", default_value = "30")]
    #[arg(value_name = "DAYS", value_parser = up_to::<NonZeroU16>(3_650))]
    pub event_days: NonZeroU16,
    /// Whether organizations' URLs may be of this machine, also by plain HTTP: for development
    #[arg(long, env = "LESSOR_ALLOW_LOOPBACK_TARGETS", default_value = "false", value_parser = flag)]
    #[arg(action = ArgAction::Set, num_args = ..=1, require_equals = true)]
    #[arg(value_name = "true|false", default_missing_value = "true", help_heading = EVERYWHERE)]
    pub allow_loopback_targets: bool,
    /// How long a lease that is to be billed may have no subscription before it needs attention, 1m to
    /// 30d
    #[arg(long, env = "LESSOR_NOT_BILLED_AFTER", default_value = "1h")]
    #[arg(value_name = "TIME", value_parser = within("1m", "30d"))]
    pub not_billed_after: Duration,
    /// How long a carrier may say nothing of goods on their way before they need attention, 1h to 365d
    #[arg(long, env = "LESSOR_DELIVERY_OVERDUE_AFTER", default_value = "10d")]
    #[arg(value_name = "TIME", value_parser = within("1h", "365d"))]
    pub delivery_overdue_after: Duration,
    /// The server's key, which links are derived under: 32 characters or more that nobody can guess, the
    /// same for all processes of a service; `new,old` during a rotation. When not given, it is in the
    /// file `server.key` of the data directory, made at the first start on a database
    #[arg(long, env = "LESSOR_SERVER_SECRET", hide_env_values = true)]
    #[arg(value_parser = server_keys)]
    pub server_secret: Option<ServerKeys>,
    /// The payment processor.
    #[command(flatten)]
    pub processor: ProcessorConfig,
    /// What carriers' messages are signed with (Standard Webhooks); several during a rotation
    #[arg(long, env = "LESSOR_TRACKING_WEBHOOK_SECRETS", hide_env_values = true)]
    #[arg(default_value = "", value_parser = secrets)]
    pub tracking_webhook_secrets: List<SecretString>,
    /// Mails.
    #[command(flatten)]
    pub mail: MailConfig,
    /// Every setting as it is in force, secrets masked, in the order of [`settings`].
    #[arg(skip)]
    pub entries: Vec<Entry>,
    /// Variables that begin with `LESSOR_` and mean nothing: most likely misspelled.
    #[arg(skip)]
    pub unknown_environment: Vec<String>,
}

/// The payment processor.
#[derive(Debug, Clone, Args)]
pub struct ProcessorConfig {
    /// Where the payment processor's API is; its own address when not given
    #[arg(
        id = "processor_url",
        long = "processor-url",
        env = "LESSOR_PROCESSOR_URL"
    )]
    #[arg(value_name = "URL", value_parser = base_url)]
    pub url: Option<String>,
    /// The payment processor's key for live mode; without it live mode refuses payment steps
    #[arg(id = "processor_live_key", long = "processor-live-key")]
    #[arg(env = "LESSOR_PROCESSOR_LIVE_KEY", hide_env_values = true)]
    pub live_key: Option<SecretString>,
    /// The payment processor's key for sandbox mode; without it simulated providers serve sandbox mode
    #[arg(id = "processor_sandbox_key", long = "processor-sandbox-key")]
    #[arg(env = "LESSOR_PROCESSOR_SANDBOX_KEY", hide_env_values = true)]
    pub sandbox_key: Option<SecretString>,
    /// What the payment processor signs its messages of live mode with; several during a rotation
    #[arg(
        id = "processor_live_webhook_secrets",
        long = "processor-live-webhook-secrets"
    )]
    #[arg(env = "LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", hide_env_values = true)]
    #[arg(default_value = "", value_parser = secrets)]
    pub live_webhook_secrets: List<SecretString>,
    /// What the payment processor signs its messages of sandbox mode with; several during a rotation
    #[arg(
        id = "processor_sandbox_webhook_secrets",
        long = "processor-sandbox-webhook-secrets"
    )]
    #[arg(
        env = "LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS",
        hide_env_values = true
    )]
    #[arg(default_value = "", value_parser = secrets)]
    pub sandbox_webhook_secrets: List<SecretString>,
}

/// Mails.
#[derive(Debug, Clone, Args)]
pub struct MailConfig {
    /// The mail server, `smtp://user:password@host:port` by STARTTLS, `smtps://…` by TLS from the first
    /// byte; on this machine without either. Without it no mails are sent
    #[arg(long, env = "LESSOR_SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<SmtpServer>,
    /// From whom mails are sent, an address of the mail server's: `mail@lease.example.com`. Needed with
    /// the mail server
    #[arg(long, env = "LESSOR_MAIL_FROM", value_name = "ADDRESS")]
    pub mail_from: Option<Sender>,
    /// To whom mails of the sandbox go, whoever they are for; without it none are sent
    #[arg(long, env = "LESSOR_SANDBOX_MAIL_TO", value_name = "ADDRESS")]
    pub sandbox_mail_to: Option<Email>,
    /// Folder of templates of mails that take the place of the ones that are built in
    #[arg(long, env = "LESSOR_MAIL_TEMPLATES", value_name = "DIR")]
    pub mail_templates: Option<PathBuf>,
    /// What reports of mails that came back are signed with (Standard Webhooks); several during a
    /// rotation
    #[arg(long, env = "LESSOR_MAIL_WEBHOOK_SECRET", hide_env_values = true)]
    #[arg(default_value = "", value_parser = secrets)]
    pub mail_webhook_secret: List<SecretString>,
    /// How long before a lease ends its customer is mailed of it, 1d to 60d
    #[arg(long, env = "LESSOR_LEASE_ENDS_SOON", default_value = "30d")]
    #[arg(value_name = "TIME", value_parser = within("1d", "60d"))]
    pub lease_ends_soon: Duration,
}

impl MailConfig {
    /// In which modes mails are sent.
    #[must_use]
    pub const fn modes(&self) -> MailModes {
        let live = self.smtp_url.is_some();
        MailModes {
            live,
            sandbox: live && self.sandbox_mail_to.is_some(),
        }
    }
}

#[cfg(test)]
mod tests;
