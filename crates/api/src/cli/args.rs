//! Arguments that several commands share, and how they are read.

use std::time::Duration;

use clap::Args;

use crate::run::config::parse_duration;

/// The settings of a process that serves or works, as flags. Their texts are read where those of the
/// environment and the file are.
#[derive(Debug, Default, Args)]
pub(crate) struct ServiceArgs {
    /// Where requests are taken; port 0 takes a free one [env: LESSOR_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Where clients reach the service, for links in answers [env: LESSOR_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Origins whose pages may call the API, separated by commas [env: LESSOR_CORS_ORIGINS]
    #[arg(long, value_name = "ORIGINS")]
    pub(crate) cors_origins: Option<String>,
    /// Threads that serve; one for each processor if not given [env: LESSOR_HTTP_THREADS]
    #[arg(long, value_name = "N")]
    pub(crate) http_threads: Option<String>,
    /// How long a request waits for a database connection [env: LESSOR_DATABASE_WAIT] [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) database_wait: Option<String>,
    /// Serve without the worker, which then runs as `lessor worker` [env: LESSOR_NO_WORKER]
    #[arg(long)]
    pub(crate) no_worker: bool,
    /// Requests a second for each secret API key [env: LESSOR_RATE_LIMIT] [default: off]
    #[arg(long, value_name = "N")]
    pub(crate) rate_limit: Option<String>,
    /// Requests a second with publishable keys for each client address
    /// [env: LESSOR_ADDRESS_RATE_LIMIT] [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) address_rate_limit: Option<String>,
    /// Networks of the proxies in front [env: LESSOR_TRUSTED_PROXIES]
    #[arg(long, value_name = "NETWORKS")]
    pub(crate) trusted_proxies: Option<String>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// The settings of a process that works on the database, as flags.
#[derive(Debug, Default, Args)]
pub(crate) struct ProcessArgs {
    /// Leave the tables as they are, and refuse to start when they are too old [env: LESSOR_NO_MIGRATE]
    #[arg(long)]
    pub(crate) no_migrate: bool,
    /// Database connections in all [env: LESSOR_POOL_SIZE] [default: 20]
    #[arg(long, value_name = "N")]
    pub(crate) pool_size: Option<String>,
    /// Jobs that the worker has under way at a time [env: LESSOR_WORKER_JOBS] [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) worker_jobs: Option<String>,
    /// How long a job of a worker that died is kept from others [env: LESSOR_JOB_LEASE] [default: 45s]
    #[arg(long, value_name = "TIME")]
    pub(crate) job_lease: Option<String>,
    /// How long stopping may take [env: LESSOR_SHUTDOWN_TIMEOUT] [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) shutdown_timeout: Option<String>,
    /// Days after which an untouched checkout expires [env: LESSOR_EXPIRY_DAYS] [default: 30]
    #[arg(long, value_name = "DAYS")]
    pub(crate) expiry_days: Option<String>,
    /// How long a lease may have no subscription before it needs attention
    /// [env: LESSOR_NOT_BILLED_AFTER] [default: 1h]
    #[arg(long, value_name = "TIME")]
    pub(crate) not_billed_after: Option<String>,
    /// How long a carrier may say nothing before goods need attention
    /// [env: LESSOR_DELIVERY_OVERDUE_AFTER] [default: 10d]
    #[arg(long, value_name = "TIME")]
    pub(crate) delivery_overdue_after: Option<String>,
    /// Where the payment processor's API is [env: LESSOR_PROCESSOR_URL]
    #[arg(long, value_name = "URL")]
    pub(crate) processor_url: Option<String>,
}

impl ServiceArgs {
    /// Gives the flags that are set to the configuration.
    pub(crate) fn give(&self, give: &mut impl FnMut(&'static str, Option<String>)) {
        give("listen", self.listen.clone());
        give("public_url", self.public_url.clone());
        give("cors_origins", self.cors_origins.clone());
        give("http_threads", self.http_threads.clone());
        give("database_wait", self.database_wait.clone());
        give("no_worker", self.no_worker.then(|| "true".to_owned()));
        give("rate_limit", self.rate_limit.clone());
        give("address_rate_limit", self.address_rate_limit.clone());
        give("trusted_proxies", self.trusted_proxies.clone());
        self.process.give(give);
    }
}

impl ProcessArgs {
    /// Gives the flags that are set to the configuration.
    pub(crate) fn give(&self, give: &mut impl FnMut(&'static str, Option<String>)) {
        give("no_migrate", self.no_migrate.then(|| "true".to_owned()));
        give("pool_size", self.pool_size.clone());
        give("worker_jobs", self.worker_jobs.clone());
        give("job_lease", self.job_lease.clone());
        give("shutdown_timeout", self.shutdown_timeout.clone());
        give("expiry_days", self.expiry_days.clone());
        give("not_billed_after", self.not_billed_after.clone());
        give(
            "delivery_overdue_after",
            self.delivery_overdue_after.clone(),
        );
        give("processor_url", self.processor_url.clone());
    }
}

/// A time such as `90d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
}

/// A time such as `24h`, or none at all.
pub(crate) fn overlap(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        _ => parse_duration(text),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::run::config::SETTINGS;

    #[derive(Parser)]
    struct Everything {
        #[command(flatten)]
        global: super::super::GlobalArgs,
        #[command(flatten)]
        service: ServiceArgs,
    }

    /// Each setting that says it has a flag has it, under its name.
    #[test]
    fn every_setting_has_the_flag_that_it_names() {
        let flags: BTreeSet<String> = SETTINGS
            .iter()
            .filter_map(|setting| setting.flag)
            .map(str::to_owned)
            .collect();
        let given: Vec<String> = std::iter::once("lessor".to_owned())
            .chain(flags.iter().map(|flag| match flag.as_str() {
                "--no-worker" | "--no-migrate" => flag.clone(),
                _ => format!("{flag}=7"),
            }))
            .collect();
        let parsed = Everything::try_parse_from(given).unwrap();
        let mut heard: BTreeSet<String> = [
            ("data_dir", &parsed.global.data_dir),
            ("log", &parsed.global.log),
            ("log_format", &parsed.global.log_format),
            ("pg_bin_dir", &parsed.global.pg_bin_dir),
        ]
        .into_iter()
        .filter(|(_, value)| value.is_some())
        .map(|(key, _)| key.to_owned())
        .collect();
        parsed.service.give(&mut |key, value| {
            if value.is_some() {
                heard.insert(key.to_owned());
            }
        });
        let heard: BTreeSet<String> = heard
            .iter()
            .map(|key| format!("--{}", key.replace('_', "-")))
            .collect();
        assert_eq!(heard, flags);
    }
}
