//! What can be set, and how.

use std::fmt::Write as _;

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the file.
    pub key: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its flag, where it has one.
    pub flag: Option<&'static str>,
    /// Its value when nobody says; none means unset.
    pub default: Option<&'static str>,
    /// Whether its value must not be shown.
    pub secret: bool,
    /// Whether it is for tests and nothing that an operator reads about.
    pub hidden: bool,
    /// What it does.
    pub about: &'static str,
}

macro_rules! settings {
    ($(
        $(#[$kind:ident])?
        $name:ident: $key:literal, $variable:literal, $flag:expr, $default:expr, $about:literal;
    )*) => {
        $(
            pub(super) const $name: Setting = Setting {
                key: $key,
                variable: $variable,
                flag: $flag,
                default: $default,
                secret: settings!(@secret $($kind)?),
                hidden: settings!(@hidden $($kind)?),
                about: $about,
            };
        )*

        /// Every setting, in the order in which they are shown.
        pub const SETTINGS: &[Setting] = &[$($name,)*];
    };
    (@secret secret) => { true };
    (@secret $($kind:ident)?) => { false };
    (@hidden hidden) => { true };
    (@hidden $($kind:ident)?) => { false };
}

settings! {
    DATA_DIR: "data_dir", "LESSOR_DATA_DIR", Some("--data-dir"), Some("./lessor-data"),
        "Folder of the embedded database";
    #[secret]
    DATABASE_URL: "database_url", "DATABASE_URL", None, None,
        "The database, `postgres://user:password@host/name?sslmode=verify-full`; without it the embedded one runs";
    PG_BIN_DIR: "pg_bin_dir", "LESSOR_PG_BIN_DIR", Some("--pg-bin-dir"), None,
        "Folder of `postgres` and `initdb` for the embedded database; looked for when not given";
    POOL_SIZE: "pool_size", "LESSOR_POOL_SIZE", Some("--pool-size"), Some("20"),
        "Database connections of the process in all";
    DATABASE_WAIT: "database_wait", "LESSOR_DATABASE_WAIT", Some("--database-wait"), Some("1s"),
        "How long a request waits for one of them to be free before it is answered 503, 1s to 1m";
    LOG: "log", "LESSOR_LOG", Some("--log"), None,
        "Which log lines are written, such as `info,lessor=debug`; `info` for serve, worker and demo, else `warn`";
    LOG_FORMAT: "log_format", "LESSOR_LOG_FORMAT", Some("--log-format"), Some("human"),
        "`human` or `json`";
    LISTEN: "listen", "LESSOR_LISTEN", Some("--listen"), Some("127.0.0.1:8080"),
        "Where requests are taken; port 0 takes a free one";
    PUBLIC_URL: "public_url", "LESSOR_PUBLIC_URL", Some("--public-url"), None,
        "Where clients reach the service, for the links in answers; the address listened on when not given";
    CORS_ORIGINS: "cors_origins", "LESSOR_CORS_ORIGINS", Some("--cors-origins"), None,
        "Origins whose pages may call `/v1` and read its answers, such as `https://shop.example.com,http://localhost:3000`; none when not given";
    HTTP_THREADS: "http_threads", "LESSOR_HTTP_THREADS", Some("--http-threads"), None,
        "Threads that serve requests; one for each processor when not given";
    NO_MIGRATE: "no_migrate", "LESSOR_NO_MIGRATE", Some("--no-migrate"), Some("false"),
        "Leave the database's tables as they are at the start; refuse to start when they are too old";
    NO_WORKER: "no_worker", "LESSOR_NO_WORKER", Some("--no-worker"), Some("false"),
        "Serve without the worker, which then runs as `lessor worker`";
    WORKER_JOBS: "worker_jobs", "LESSOR_WORKER_JOBS", Some("--worker-jobs"), Some("4"),
        "Jobs that a worker has under way at a time";
    JOB_LEASE: "job_lease", "LESSOR_JOB_LEASE", Some("--job-lease"), Some("45s"),
        "How long a job of a worker that died is kept from others, 2s to 10m; a worker that is at one keeps it for longer";
    #[hidden]
    JOB_SETTLED: "job_settled", "LESSOR_JOB_SETTLED", None, Some("10m"),
        "How long something may come of a request to a provider whose answer was lost, 2s to 10m";
    RATE_LIMIT: "rate_limit", "LESSOR_RATE_LIMIT", Some("--rate-limit"), Some("off"),
        "Requests a second for each secret API key, or `off`";
    ADDRESS_RATE_LIMIT: "address_rate_limit", "LESSOR_ADDRESS_RATE_LIMIT", Some("--address-rate-limit"), Some("100"),
        "Requests a second with publishable keys for each client address, five times as many at once, or `off`";
    TRUSTED_PROXIES: "trusted_proxies", "LESSOR_TRUSTED_PROXIES", Some("--trusted-proxies"), None,
        "Networks of the proxies in front, such as `10.0.0.0/8,::1`: the client's address is then the last in `X-Forwarded-For` that is none of theirs";
    SHUTDOWN_TIMEOUT: "shutdown_timeout", "LESSOR_SHUTDOWN_TIMEOUT", Some("--shutdown-timeout"), Some("10s"),
        "How long the process may take to stop, 2s to 10m";
    EXPIRY_DAYS: "expiry_days", "LESSOR_EXPIRY_DAYS", Some("--expiry-days"), Some("30"),
        "Days after which a checkout that nobody touched expires";
    NOT_BILLED_AFTER: "not_billed_after", "LESSOR_NOT_BILLED_AFTER", Some("--not-billed-after"), Some("1h"),
        "How long a lease that is to be billed may have no subscription before it needs attention, 1m to 30d";
    DELIVERY_OVERDUE_AFTER: "delivery_overdue_after", "LESSOR_DELIVERY_OVERDUE_AFTER", Some("--delivery-overdue-after"), Some("10d"),
        "How long a carrier may say nothing of goods on their way before they need attention, 1h to 365d";
    #[secret]
    SERVER_SECRET: "server_secret", "LESSOR_SERVER_SECRET", None, None,
        "What the tokens of checkout pages are derived with, 32 characters or more, the same for all processes of a service; made and kept in the database when not given";
    PROCESSOR_URL: "processor_url", "LESSOR_PROCESSOR_URL", Some("--processor-url"), None,
        "Where the payment processor's API is; its own address when not given";
    #[secret]
    PROCESSOR_LIVE_KEY: "processor_live_key", "LESSOR_PROCESSOR_LIVE_KEY", None, None,
        "The payment processor's key for live mode; without it live mode refuses payment steps";
    #[secret]
    PROCESSOR_SANDBOX_KEY: "processor_sandbox_key", "LESSOR_PROCESSOR_SANDBOX_KEY", None, None,
        "The payment processor's key for sandbox mode; without it simulated providers serve sandbox mode";
    #[secret]
    PROCESSOR_LIVE_WEBHOOK_SECRETS: "processor_live_webhook_secrets", "LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", None, None,
        "What the payment processor signs its messages of live mode with; several during a rotation";
    #[secret]
    PROCESSOR_SANDBOX_WEBHOOK_SECRETS: "processor_sandbox_webhook_secrets", "LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS", None, None,
        "What the payment processor signs its messages of sandbox mode with; several during a rotation";
    #[secret]
    TRACKING_WEBHOOK_SECRETS: "tracking_webhook_secrets", "LESSOR_TRACKING_WEBHOOK_SECRETS", None, None,
        "What carriers' messages are signed with (Standard Webhooks); several during a rotation";
}

/// The settings as a Markdown table, as it stands in `docs/OPERATIONS.md`.
#[must_use]
pub fn markdown() -> String {
    let mut table =
        String::from("| File | Environment | Flag | Default | Meaning |\n|---|---|---|---|---|\n");
    for setting in SETTINGS.iter().filter(|setting| !setting.hidden) {
        let code = |text: Option<&str>| text.map_or_else(String::new, |text| format!("`{text}`"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | `{}` | {} | {} | {} |",
            setting.key,
            setting.variable,
            code(setting.flag),
            code(setting.default),
            setting.about,
        );
    }
    table
}
