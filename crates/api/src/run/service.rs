//! A process that serves: from the listening socket to the orderly stop.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lessor_adapters::ambient::{SystemClock, SystemEntropy};
use lessor_adapters::processor::DEFAULT_URL;
use lessor_adapters::processor::signature::WebhookSecret;
use lessor_domain::access::Mode;
use lessor_domain::workers::Engine;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::auth::addresses::TrustedProxies;
use crate::auth::links::CheckoutPageLinks;
use crate::http::admission::ConnectionLimits;
use crate::http::budget::MemoryBudget;
use crate::http::draining::Draining;
use crate::http::mutation::Mutations;
use crate::http::public_url::PublicUrl;
use crate::http::server::{self, ServerSettings};
use crate::middleware::{Cors, Deadline};
use crate::request::BodyLimits;
use crate::routes;
use crate::run::app::{self, AppParts, Said};
use crate::run::compose::{self, Composition, Location, Use};
use crate::run::config::{Config, ProcessorConfig};
use crate::run::lookout;
use crate::run::operators::{self, Operators};
use crate::run::server_key;
use crate::run::systemd::{Notifier, Sockets};
use crate::run::worker::{RunningWorker, Worker};
use crate::state::{AppState, ProcessorSecrets, StateSettings};
use crate::telemetry::{self, Metrics, Telling};

/// The part of the time to stop that is left for the embedded database, at most.
const RESERVE: Duration = Duration::from_secs(2);
/// What the system keeps of an answer for a client that does not read it, in bytes; it doubles that. Left to itself it
/// takes a megabyte for each connection, whoever is at the other end, and nothing else is sent while it does.
const SEND_BUFFER: usize = 64 * 1024;
/// Where the secrets of the processor's messages are set.
const LIVE_SECRETS: &str = "LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS";
const SANDBOX_SECRETS: &str = "LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS";

/// Starts logging for a process that runs on, and telling of spans, until what is answered is dropped.
///
/// # Errors
/// The filter is not one, or there is no way to the collector.
pub fn init_logs(config: &Config) -> anyhow::Result<Telling> {
    let filter = config.log.as_deref().unwrap_or("info");
    let collector = config.otlp_endpoint.as_deref();
    let telling = telemetry::init_logs(config.log_format, filter, collector)?;
    for name in &config.unknown_environment {
        tracing::warn!("{name} is set and means nothing: see `lessor config --describe`");
    }
    Ok(telling)
}

/// Says in the log what has started, and on which database.
pub fn log_start(location: &Location) {
    let (version, database) = (env!("CARGO_PKG_VERSION"), location.describe());
    tracing::info!(version, database, "started");
}

/// How many threads serve. Each has database connections of its own, and the rest of the process as many
/// as all of them.
#[must_use]
pub fn threads(config: &Config) -> usize {
    let wanted = match config.http_threads {
        Some(threads) => threads.get(),
        None => std::thread::available_parallelism().map_or(2, NonZeroUsize::get),
    };
    wanted.min(config.pool_size.get() / 2).max(1)
}

/// Cancelled by SIGTERM or SIGINT, once who started the process was told.
///
/// # Errors
/// The signals cannot be listened to.
pub fn stop_token(notifier: &Notifier) -> anyhow::Result<CancellationToken> {
    let signal = server::stop_signal().context("cannot listen to signals")?;
    let token = CancellationToken::new();
    let (stop, notifier) = (token.clone(), notifier.clone());
    tokio::spawn(async move {
        signal.await;
        notifier.stopping();
        stop.cancel();
    });
    Ok(token)
}

/// Takes the address.
///
/// # Errors
/// It is in use, or none of this machine.
pub fn bind(address: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
}

/// Where a process that serves listens.
pub struct Listeners {
    /// Requests are taken here.
    pub requests: TcpListener,
    /// Operators are answered here, where they have a listener of their own.
    pub operators: Option<TcpListener>,
}

impl Listeners {
    /// The sockets that the process was started with; where it was with none, those of the addresses that are set.
    ///
    /// # Errors
    /// An address is in use, or none of this machine.
    pub fn bind(config: &Config, inherited: Sockets) -> anyhow::Result<Self> {
        let requests = match inherited.requests {
            Some(socket) => socket,
            None => bind(&config.listen)?,
        };
        // Its connections have it from their listener.
        rustix::net::sockopt::set_socket_send_buffer_size(&requests, SEND_BUFFER)
            .context("the listening socket")?;
        Ok(Self {
            requests,
            operators: operators::bind(config, inherited.operators)?,
        })
    }
}

/// The database of a process that runs on; none when it is told to stop before that is ready.
///
/// # Errors
/// The embedded database cannot be had.
pub async fn host(
    config: &Config,
    stop: &CancellationToken,
    mut progress: impl FnMut(&str) + Send + 'static,
) -> anyhow::Result<Option<Location>> {
    let config = config.clone();
    let starting = tokio::task::spawn_blocking(move || {
        compose::host(&config, |step| progress(&step.to_string()))
    });
    match stop.run_until_cancelled(starting).await {
        Some(located) => Ok(Some(located.context("starting the database")??)),
        // The server that was being started ends with this process.
        None => Ok(None),
    }
}

/// Resolves when the process is told to stop. Until then the embedded database is started again whenever it
/// ends, or taken over from the process that ran it.
///
/// # Errors
/// It ended, and is not to be had back at the same address.
pub async fn until_stopped(
    location: &mut Location,
    config: &Config,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    // A server that is being started then ends with this process.
    match stop
        .run_until_cancelled(lookout::lost(location, config))
        .await
    {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// How long requests and jobs under way may take from now on.
fn drain(config: &Config) -> Duration {
    let reserve = RESERVE.min(config.shutdown_timeout / 4);
    config.shutdown_timeout.saturating_sub(reserve)
}

/// When requests and jobs under way are cut off, if the process is told to stop now.
#[must_use]
pub fn drain_deadline(config: &Config) -> Instant {
    Instant::now() + drain(config)
}

/// The origin of the pages of a processor that is not at its own address; they are where its API is.
fn pages_of(config: &ProcessorConfig) -> Option<String> {
    let url = url::Url::parse(config.url.as_deref()?).ok()?;
    let own = url::Url::parse(DEFAULT_URL).ok()?;
    let origin = url.origin();
    (origin != own.origin()).then(|| origin.ascii_serialization())
}

/// What the processor's messages are signed with, by mode. A key without a secret of its mode is told
/// of: its messages are refused.
fn processor_secrets(config: &ProcessorConfig) -> anyhow::Result<ProcessorSecrets> {
    let read = |secrets: &[SecretString], variable: &'static str| {
        let read = secrets
            .iter()
            .map(|secret| WebhookSecret::new(secret.expose_secret()));
        read.collect::<Result<Vec<_>, _>>().context(variable)
    };
    let secrets = ProcessorSecrets {
        live: read(&config.live_webhook_secrets, LIVE_SECRETS)?,
        sandbox: read(&config.sandbox_webhook_secrets, SANDBOX_SECRETS)?,
    };
    anyhow::ensure!(
        secrets
            .live
            .iter()
            .all(|live| !secrets.sandbox.contains(live)),
        "{LIVE_SECRETS} and {SANDBOX_SECRETS} name the same secret: one opens one mode only"
    );
    for (mode, variable) in unheard_modes(config) {
        tracing::warn!(
            "the payment processor has a key for {mode} mode and no webhook secret: its messages of \
             payments, refunds, disputes and identities are refused until {variable} is set. What they \
             tell comes late instead, once an hour, when reconcile reads the processor's list of them"
        );
    }
    Ok(secrets)
}

/// The modes for which the processor has a key, and whose messages are refused since there is no secret
/// that they could be signed with; each with the variable that sets one.
pub(crate) fn unheard_modes(config: &ProcessorConfig) -> Vec<(Mode, &'static str)> {
    let live = (&config.live_key, &config.live_webhook_secrets);
    let sandbox = (&config.sandbox_key, &config.sandbox_webhook_secrets);
    let modes = [
        (Mode::Live, live, LIVE_SECRETS),
        (Mode::Sandbox, sandbox, SANDBOX_SECRETS),
    ];
    let unheard = (modes.into_iter())
        .filter(|(_, (key, secrets), _)| key.is_some() && secrets.is_empty())
        .map(|(mode, _, variable)| (mode, variable));
    unheard.collect()
}

/// A service that serves.
pub struct Service {
    url: String,
    composition: Composition,
    config: Config,
    draining: Draining,
    operators: Option<Operators>,
    server: JoinHandle<std::io::Result<()>>,
    stop_server: CancellationToken,
    working: Option<RunningWorker>,
    /// Numbers events, and counts what there is, as long as this is here.
    following: JoinSet<()>,
}

impl Service {
    /// Migrates the database and begins to serve and to work. Returns once requests are taken.
    ///
    /// # Errors
    /// The database cannot be used, or not with this server's key; the providers cannot be set up.
    pub async fn start(
        config: &Config,
        location: &Location,
        listeners: Listeners,
        mut progress: impl FnMut(&str) + Send + 'static,
    ) -> anyhow::Result<Self> {
        let threads = threads(config);
        let Listeners {
            requests: listener,
            operators: for_operators,
        } = listeners;
        let address = listener.local_addr().context("the listening socket")?;
        let url = match &config.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", reachable(address)),
        };
        // Half of the connections are for reads, by the threads that serve.
        let reads = (config.pool_size.get() / 2 / threads).max(1);
        let rest = config
            .pool_size
            .get()
            .saturating_sub(reads * threads)
            .max(1);
        let database = compose::connect_for(Use::Writes, config, location.url(), rest)?;
        compose::prepare(&database, config, move |name| {
            progress(&format!("migrating: {name}"));
        })
        .await?;
        let server_keys =
            server_key::obtain(config, &database, &SystemClock, &SystemEntropy).await?;
        let secrets = server_keys.sealing();
        let database = database.sealing_with(secrets.clone());
        server_key::renew(&database).await?;
        let links = CheckoutPageLinks::new(server_keys.clone(), PublicUrl::new(&url));
        let composition = compose::compose(config, &database, &PublicUrl::new(&url))?;
        let worker = (!config.no_worker).then(|| composition.worker(config, links));
        let worker = worker.transpose()?;
        let mut following = composition.follow(&database, !config.no_worker);
        let engine = &composition.engine;
        let replica = composition.replica(config, &database).await?;
        let metrics = Metrics::install().context("metrics")?;
        tokio::spawn(metrics.clone().upkeep());
        metrics.count_connections(&database);
        composition.count(&mut following);

        let mutations = Mutations::new(Handle::current());
        let mut settings = StateSettings::new(PublicUrl::new(&url), server_keys);
        settings.rate_limit = config.rate_limit;
        settings.address_rate_limit = config.address_rate_limit;
        settings.trusted_proxies = TrustedProxies::new(config.trusted_proxies.clone());
        settings.tracking_secrets = config
            .tracking_webhook_secrets
            .iter()
            .map(|secret| secret.expose_secret().parse())
            .collect::<Result<_, _>>()
            .context("LESSOR_TRACKING_WEBHOOK_SECRETS")?;
        settings.processor_secrets = processor_secrets(&config.processor)?;
        settings.mail_secrets = (config.mail.mail_webhook_secret.iter())
            .map(|secret| secret.expose_secret().parse())
            .collect::<Result<_, _>>()
            .context("LESSOR_MAIL_WEBHOOK_SECRET")?;
        settings.mail = config.mail.modes();
        settings.targets = compose::targets(config);
        if let Some(origin) = pages_of(&config.processor) {
            settings.provider_pages = vec![origin];
        }
        let state = AppState::new(engine.clone(), mutations.clone(), settings)
            .following(composition.feeds.clone())
            .hearing_of(composition.prices.clone());
        following.spawn(state.remembered.clone().keep_swept());
        let draining = Draining::default();
        let readiness = operators::readiness(config, location, &draining)?;
        let operators = for_operators
            .map(|listener| Operators::start(listener, readiness.clone(), metrics.clone()))
            .transpose()
            .context("the listener for operators")?;
        let counted = metrics.clone();
        let parts = AppParts {
            public_url: PublicUrl::new(&url),
            body_limits: BodyLimits::default(),
            memory: MemoryBudget::new(mebibytes(config.memory_budget)),
            cors: Cors::new(config.cors_origins.clone()),
            deadline: Deadline(config.request_deadline),
            mutations: mutations.clone(),
            readiness,
            // Who has a listener of their own asks there.
            metrics: operators.is_none().then_some(metrics),
            draining: draining.clone(),
            said: Said::default(),
        };
        let reads_url = location.url().to_owned();
        let reads_config = config.clone();
        let app = move || {
            // A connection belongs to the thread that opened it.
            let connected = compose::connect_for(Use::Reads, &reads_config, &reads_url, reads);
            let state = match connected {
                Ok(database) => {
                    counted.count_connections(&database);
                    let database = database.sealing_with(secrets.clone());
                    state.clone().reading_from(Arc::new(database))
                }
                // The same address was good a moment ago.
                Err(_) => state.clone(),
            };
            let stores = compose::connect_replica(&reads_config, reads);
            let state = match (&replica, stores) {
                (Some(replica), Ok(Some(stores))) => {
                    state.listing_from(replica.over(stores.sealing_with(secrets.clone())))
                }
                _ => state,
            };
            app::build(&parts, routes::configure).app_data(state)
        };
        let stop_server = CancellationToken::new();
        let server_settings = ServerSettings {
            public_url: PublicUrl::new(&url),
            workers: Some(threads),
            connections: connection_limits(config),
            shutdown_timeout: drain(config),
            ..ServerSettings::default()
        };
        let stop = stop_server.clone().cancelled_owned();
        let server = tokio::spawn(server::serve(
            listener,
            server_settings,
            mutations,
            stop,
            app,
        ));
        let working = worker.map(Worker::start);
        Ok(Self {
            url,
            composition,
            config: config.clone(),
            draining,
            operators,
            server,
            stop_server,
            working,
            following,
        })
    }

    /// Where clients reach the service, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where operators are answered, where they have a listener of their own.
    #[must_use]
    pub fn operators(&self) -> Option<SocketAddr> {
        self.operators.as_ref().map(Operators::address)
    }

    /// The ports that it works with.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.composition.engine
    }

    /// Serves until it is told to stop, and stops in order.
    ///
    /// # Errors
    /// The server ended by itself, or the embedded database did and is not to be had back.
    pub async fn run(
        mut self,
        location: &mut Location,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let ended = tokio::select! {
            ended = &mut self.server => Some(ended),
            stopped = until_stopped(location, &self.config, stop) => {
                // Nothing can be finished without the database.
                stopped?;
                None
            }
        };
        match ended {
            Some(ended) => {
                ended.context("the server")??;
                anyhow::bail!("the server ended by itself");
            }
            None => self.stop().await,
        }
    }

    /// Stops in order: once a proxy had the time to notice no new connections, requests answered, jobs finished
    /// or handed back.
    ///
    /// # Errors
    /// The server failed.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.draining.begin();
        let delay = self.config.drain_delay;
        if !delay.is_zero() {
            tracing::info!(
                seconds = delay.as_secs(),
                "not ready any more, stopping soon"
            );
            sleep(delay).await;
        }
        let deadline = drain_deadline(&self.config);
        self.stop_server.cancel();
        // Whoever waits for events is answered.
        self.composition.feeds.close();
        let working = async {
            if let Some(working) = self.working {
                working.stop(deadline).await;
            }
        };
        let (served, ()) = tokio::join!(self.server, working);
        served.context("the server")??;
        drop(self.following);
        if let Some(operators) = self.operators {
            operators.stop().await;
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// So many MiB, in bytes.
const fn mebibytes(count: NonZeroUsize) -> usize {
    count.get().saturating_mul(1024 * 1024)
}

/// Proxies connect for others.
fn connection_limits(config: &Config) -> ConnectionLimits {
    ConnectionLimits {
        total: config.max_connections.get(),
        per_address: config.max_connections_per_address.get(),
        uncapped: config.trusted_proxies.clone(),
    }
}

/// Where clients reach the server of this configuration, as far as another process can say: one that
/// listens on any port says its own.
pub(crate) fn public_url(config: &Config) -> String {
    if let Some(url) = &config.public_url {
        return url.clone();
    }
    match config.listen.parse() {
        Ok(address) => format!("http://{}", reachable(address)),
        Err(_) => format!("http://{}", config.listen),
    }
}

/// An address that a client on this machine can use.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn proxies_may_have_as_many_connections_as_there_are() {
        let set = [
            ("LESSOR_MAX_CONNECTIONS", "7"),
            ("LESSOR_MAX_CONNECTIONS_PER_ADDRESS", "3"),
            ("LESSOR_TRUSTED_PROXIES", "10.0.0.0/8"),
        ];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = Config::load(BTreeMap::new(), set, None).unwrap();
        let limits = ConnectionLimits {
            total: 7,
            per_address: 3,
            uncapped: vec!["10.0.0.0/8".parse().unwrap()],
        };
        assert_eq!(connection_limits(&config), limits);
    }

    #[test]
    fn a_client_can_use_the_address_that_is_shown() {
        for (listening, shown) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            let address = reachable(listening.parse().unwrap());
            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn a_secret_is_of_one_mode() {
        let secrets = |texts: &[&str]| -> Vec<SecretString> {
            texts.iter().map(|text| (*text).into()).collect()
        };
        let config = |live: &[&str], sandbox: &[&str]| ProcessorConfig {
            url: None,
            live_key: None,
            sandbox_key: None,
            live_webhook_secrets: secrets(live),
            sandbox_webhook_secrets: secrets(sandbox),
        };
        let read = processor_secrets(&config(&["a", "b"], &["c"])).unwrap();
        assert_eq!((read.live.len(), read.sandbox.len()), (2, 1));
        let refused = processor_secrets(&config(&["a", "b"], &["b"])).unwrap_err();
        assert!(refused.to_string().contains("one mode only"), "{refused}");
        let blank = processor_secrets(&config(&[], &[" "])).unwrap_err();
        assert_eq!(blank.to_string(), SANDBOX_SECRETS);
    }

    #[test]
    fn messages_of_a_mode_with_a_key_and_no_secret_are_not_heard() {
        let secret = |text: &str| SecretString::from(text);
        let mut config = ProcessorConfig {
            url: None,
            live_key: None,
            sandbox_key: None,
            live_webhook_secrets: vec![],
            sandbox_webhook_secrets: vec![],
        };
        assert!(unheard_modes(&config).is_empty());
        config.live_key = Some(secret("sk_live_1"));
        assert_eq!(unheard_modes(&config), [(Mode::Live, LIVE_SECRETS)]);
        // The secret of one mode is none of the other.
        config.sandbox_webhook_secrets = vec![secret("a")];
        assert_eq!(unheard_modes(&config), [(Mode::Live, LIVE_SECRETS)]);
        config.sandbox_key = Some(secret("sk_test_1"));
        config.live_webhook_secrets = vec![secret("b")];
        assert!(unheard_modes(&config).is_empty());
        config.sandbox_webhook_secrets.clear();
        assert_eq!(unheard_modes(&config), [(Mode::Sandbox, SANDBOX_SECRETS)]);
    }
}
