//! Puts the parts together: from the configuration to a database, providers and an app's state.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use chrono::TimeDelta;
use lessor_adapters::ambient::{SystemClock, SystemEntropy, SystemTimer, UuidV7Generator};
use lessor_adapters::carriers::FormatDetector;
use lessor_adapters::credit::HttpCreditDesk;
use lessor_adapters::dialing::PublishedPlans;
use lessor_adapters::mail::SmtpSender;
use lessor_adapters::missing_provider::MissingProvider;
use lessor_adapters::outbound::{HttpWebhookSender, Outbound, Targets};
use lessor_adapters::postgres::{
    Heard, LastCommit, PgDatabase, PgReplica, PgSettings, Pooling, ReplicaError, place_of,
};
use lessor_adapters::processor::{
    self, ApiSecret, ByAccount, EventReader, HttpProcessor, OwnAccounts, SetupError, SystemPacing,
    Transport,
};
use lessor_adapters::signing::HttpSigner;
use lessor_adapters::simulated::{self, SimulatedProcessor};
use lessor_domain::cause::chain;
use lessor_domain::ports::{
    Database, Entropy, EventListener, EventRecords, MailSender, MailWriter, ProviderSet, Providers,
    Scope,
};
use lessor_domain::services::events::TellingDatabase;
use lessor_domain::workers::Engine;
use lessor_domain::workers::housekeeping::Policy;
use lessor_domain::workers::jobs::{NoProbe, Probe};
use lessor_embedded_postgres as embedded;
use lessor_embedded_postgres::Progress;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::auth::links::CheckoutPageLinks;
use crate::http::public_url::PublicUrl;
use crate::mails::MailPen;
use crate::routes::events::EventRenderer;
use crate::run::config::Config;
use crate::run::counting::Counting;
use crate::run::spans::Spans;
use crate::run::worker::{
    Census, Chore, Couriers, Endings, Gauges, Housekeeping, KeptMessages, Mailers, Numbers, Purge,
    Reconciliation, SimulatedInvoices, WakeUp, WakingDatabase, Worker, keep_doing,
};
use crate::state::feeds::Feeds;
use crate::state::price_revisions::PriceRevisions;
use crate::state::replica::Replica;

/// What live mode lacks: nobody has written an adapter for a credit bureau.
const NOT_IN_LIVE_MODE: &str = "one up where the program puts its providers together";
/// What live mode lacks for an organization without an account of its own.
const NO_LIVE_ACCOUNT: &str = "LESSOR_PROCESSOR_LIVE_KEY, or an account of the organization's own with \
                               `lessor org processor set ORG --mode live`";
/// Where the replica is set.
const REPLICA: &str = "LESSOR_REPLICA_URL";
/// The pause before other processes are listened to again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// Connections of the embedded database that are left for commands and other processes.
const FOR_OTHERS: usize = 50;

/// A database that can be connected to for as long as this lives.
#[derive(Debug)]
pub enum Location {
    /// One that somebody else runs, `DATABASE_URL`.
    Given(String),
    /// The embedded one, which this process runs.
    Owned(Arc<embedded::Instance>),
    /// The embedded one, which another process runs.
    Attached(embedded::ForeignServer),
}

impl From<embedded::Database> for Location {
    fn from(database: embedded::Database) -> Self {
        match database {
            embedded::Database::Owned(instance) => Self::Owned(Arc::from(instance)),
            embedded::Database::Attached(attached) => Self::Attached(attached),
        }
    }
}

impl Location {
    /// Its address, password included.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Given(url) => url,
            Self::Owned(instance) => instance.url(),
            Self::Attached(attached) => attached.url(),
        }
    }

    /// Where it is, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Given(url) => match place_of(url) {
                Ok(place) => format!("DATABASE_URL, {place}"),
                Err(_) => "DATABASE_URL".to_owned(),
            },
            Self::Owned(instance) => {
                format!("embedded in {}", instance.data_dir().display())
            }
            Self::Attached(attached) => {
                format!("embedded, run by process {}", attached.owner_pid())
            }
        }
    }

    /// Why it cannot be connected to now: the embedded server has ended, or the process that runs it.
    /// Blocks for a moment.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        match self {
            Self::Owned(instance) => (!instance.is_running()).then(|| {
                "the embedded database has ended by itself (its log is in the data directory)"
                    .to_owned()
            }),
            Self::Attached(attached) => (!attached.is_running()).then(|| {
                format!(
                    "process {}, which ran the embedded database, has ended",
                    attached.owner_pid()
                )
            }),
            Self::Given(_) => None,
        }
    }
}

/// The settings of the embedded database.
fn embedded_settings(config: &Config) -> embedded::Settings {
    let mut settings = embedded::Settings::new(&config.data_dir);
    settings.bin_dir.clone_from(&config.pg_bin_dir);
    let wanted = config.pool_size.get().saturating_add(FOR_OTHERS);
    settings.max_connections = settings
        .max_connections
        .max(u16::try_from(wanted).unwrap_or(u16::MAX));
    settings
}

/// The database for one command: `DATABASE_URL`, else that of the server that runs on the same data
/// directory, else one that runs until the location is dropped. Makes none. Blocks.
///
/// # Errors
/// There is no embedded database, or it cannot be had.
pub fn find(config: &Config, progress: impl FnMut(Progress)) -> anyhow::Result<Location> {
    locate(config, |settings| {
        embedded::open_existing(settings, progress)
    })
}

/// Like [`find`], for a command that makes the embedded database where there is none. Blocks.
///
/// # Errors
/// The embedded database cannot be had.
pub fn find_or_make(config: &Config, progress: impl FnMut(Progress)) -> anyhow::Result<Location> {
    locate(config, |settings| embedded::open(settings, progress))
}

fn locate(
    config: &Config,
    open: impl FnOnce(&embedded::Settings) -> Result<embedded::Database, embedded::Error>,
) -> anyhow::Result<Location> {
    match &config.database_url {
        Some(url) => Ok(Location::Given(url.expose_secret().to_owned())),
        None => Ok(open(&embedded_settings(config))?.into()),
    }
}

/// The database for a process that runs on: `DATABASE_URL`, else that of a server that runs on the same
/// data directory, else one that runs until the location is dropped. Blocks.
///
/// # Errors
/// The embedded database cannot be had.
pub fn host(config: &Config, mut progress: impl FnMut(Progress)) -> anyhow::Result<Location> {
    if let Some(url) = &config.database_url {
        return Ok(Location::Given(url.expose_secret().to_owned()));
    }
    loop {
        if let Some(attached) = embedded::attach(&config.data_dir)? {
            return Ok(Location::Attached(attached));
        }
        match embedded::start(&embedded_settings(config), &mut progress) {
            Ok(instance) => return Ok(Location::Owned(Arc::new(instance))),
            // Another process came first.
            Err(embedded::Error::InUse { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A runtime with so many threads.
///
/// # Errors
/// The system gives no threads.
pub fn runtime(threads: usize) -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(threads.max(1))
        .enable_all()
        .build()
        .context("the system gives no threads")
}

/// The stores at this address. Connects when they are first used.
///
/// # Errors
/// The address cannot be used.
pub fn connect(config: &Config, url: &str, connections: usize) -> anyhow::Result<PgDatabase> {
    let mut settings = PgSettings::new(url);
    settings.max_connections = connections;
    settings.migration_wait = config.migration_wait;
    settings.pooling = config.database_pooling;
    Ok(PgDatabase::new(&settings)?)
}

/// What a process that answers requests has connections for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Requests that read.
    Reads,
    /// Requests that change something.
    Writes,
    /// Whether the database can be written to.
    Readiness,
}

impl Use {
    /// The longest that one statement may take.
    const fn statement(self) -> Duration {
        match self {
            Self::Reads | Self::Readiness => Duration::from_secs(5),
            Self::Writes => Duration::from_secs(10),
        }
    }
}

/// Like [`connect`], for a process that answers requests: none waits longer than it is set to.
///
/// # Errors
/// The address cannot be used.
pub fn connect_for(
    purpose: Use,
    config: &Config,
    url: &str,
    connections: usize,
) -> anyhow::Result<PgDatabase> {
    let mut settings = PgSettings::new(url);
    settings.max_connections = connections;
    settings.statement_timeout = purpose.statement();
    settings.reads_alone = purpose == Use::Reads;
    settings.wait_timeout = config.database_wait;
    settings.migration_wait = config.migration_wait;
    settings.pooling = config.database_pooling;
    Ok(PgDatabase::new(&settings)?)
}

/// The replica for lists, where one is set. Connects when it is first read from.
///
/// # Errors
/// The address cannot be used.
pub fn connect_replica(config: &Config, connections: usize) -> anyhow::Result<Option<PgReplica>> {
    let Some(url) = &config.replica_url else {
        return Ok(None);
    };
    let mut settings = PgSettings::new(url.expose_secret());
    settings.max_connections = connections;
    settings.pooling = config.database_pooling;
    settings.statement_timeout = Use::Reads.statement();
    PgReplica::new(&settings).map(Some).context(REPLICA)
}

/// Sees to it that a pooler in front of a database that somebody else runs does as is set.
///
/// # Errors
/// The database cannot be reached; the pooler does not.
pub async fn check_pooling(database: &PgDatabase, config: &Config) -> anyhow::Result<()> {
    if config.database_url.is_some() {
        database.check_pooling().await?;
    }
    Ok(())
}

/// Sees to it that the database can be worked with the way that it is reached, and brings the tables up
/// to date; where nobody migrates, sees to it that they are.
///
/// # Errors
/// The database cannot be reached; a pooler is in between that does not do as is set; a migration
/// failed, may not be run, or is another's for too long; the tables are too old.
pub async fn prepare(
    database: &PgDatabase,
    config: &Config,
    progress: impl FnMut(&str) + Send + 'static,
) -> anyhow::Result<()> {
    check_pooling(database, config).await?;
    // Migrations need a session that stays theirs.
    if config.no_migrate || config.database_pooling == Pooling::Transaction {
        return expect_migrated(database).await;
    }
    database.migrate(progress).await?;
    Ok(())
}

/// Sees to it that the tables are up to date, for whoever leaves them as they are.
///
/// # Errors
/// The database cannot be reached; the tables are too old.
pub async fn expect_migrated(database: &PgDatabase) -> anyhow::Result<()> {
    let pending = database.pending_migrations().await?;
    anyhow::ensure!(
        pending.is_empty(),
        "the database lacks {} migrations: run `lessor migrate`",
        pending.len()
    );
    Ok(())
}

/// How a program that tests what becomes of a process that dies looks on.
pub struct Watch {
    /// At every job.
    pub jobs: Arc<dyn Probe>,
    /// At every request to the processor: put before the way that it takes.
    pub requests: fn(Arc<dyn Transport>) -> Arc<dyn Transport>,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Has this process watched. Called once, before anything else.
pub fn watch(watch: Watch) {
    // The first one stays: jobs may be under way under its eyes.
    let _ = WATCH.set(watch);
}

fn probe() -> Arc<dyn Probe> {
    WATCH.get().map_or_else(
        || Arc::new(NoProbe) as Arc<dyn Probe>,
        |watch| Arc::clone(&watch.jobs),
    )
}

/// The processor, over HTTP.
fn over_the_wire(settings: &processor::ProcessorSettings) -> Result<HttpProcessor, SetupError> {
    let mut way = processor::over_http(settings)?;
    if let Some(watch) = WATCH.get() {
        way = (watch.requests)(way);
    }
    let way = Arc::new(Spans(Arc::new(Counting(way))));
    HttpProcessor::over(way, settings, Arc::new(SystemPacing))
}

/// The ports of a process, filled, and what a worker of it needs beside them.
#[derive(Clone)]
pub struct Composition {
    /// The ports; work that is committed to the stores wakes the worker of this process.
    pub engine: Engine,
    /// The processor of sandbox mode where that is simulated for those without an account of their own, whose
    /// payments somebody has to tell.
    simulated: Option<SimulatedProcessor>,
    wake_up: WakeUp,
    /// Tells of what is changed.
    telling: Arc<TellingDatabase>,
    /// Who writes what endpoints are told.
    records: Arc<dyn EventRecords>,
    /// Who is told of it in this process.
    pub feeds: Feeds,
    /// Which prices of organizations this process knows.
    pub prices: PriceRevisions,
}

/// Who is told in this process of what it writes.
struct Told {
    feeds: Feeds,
    prices: PriceRevisions,
}

impl EventListener for Told {
    fn written(&self, scope: Scope) {
        // It may have been a price: whoever reads it next sees it, also before the database says so.
        self.prices.changed(scope.organization_id);
        self.feeds.written(scope);
    }
}

/// Who writes mails, and who sends them.
struct Post {
    writer: Arc<dyn MailWriter>,
    sender: Arc<dyn MailSender>,
}

impl Post {
    /// Those of the configuration; none where no mails are sent.
    fn of(config: &Config, links: CheckoutPageLinks) -> anyhow::Result<Option<Self>> {
        let mail = &config.mail;
        let templates = mail.mail_templates.as_deref();
        let writer = MailPen::new(templates, links).context("LESSOR_MAIL_TEMPLATES")?;
        let (Some(server), Some(from)) = (&mail.smtp_url, &mail.mail_from) else {
            return Ok(None);
        };
        let sender = SmtpSender::new(server.clone(), from.clone(), &[]);
        Ok(Some(Self {
            writer: Arc::new(writer),
            sender: Arc::new(sender.context("LESSOR_SMTP_URL")?),
        }))
    }
}

/// How many mails are under way at a time.
const MAILS: NonZeroUsize = match NonZeroUsize::new(4) {
    Some(number) => number,
    None => NonZeroUsize::MIN,
};

/// How many deliveries to endpoints are under way at a time, besides those to slow ones.
const DELIVERIES: NonZeroUsize = match NonZeroUsize::new(64) {
    Some(number) => number,
    None => NonZeroUsize::MIN,
};

/// A time of the configuration, which bounds it, as the domain counts it.
fn span(time: Duration) -> TimeDelta {
    TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX)
}

/// Where requests to organizations' URLs may go.
#[must_use]
pub const fn targets(config: &Config) -> Targets {
    Targets {
        allow_loopback: config.allow_loopback_targets,
    }
}

/// The stores, with an event for whatever is changed there. Events show records as a service answers them
/// that clients reach at this address.
#[must_use]
pub fn telling(
    database: Arc<dyn Database>,
    public_url: &PublicUrl,
    listener: Arc<dyn EventListener>,
) -> TellingDatabase {
    TellingDatabase::new(
        database,
        Arc::new(SystemClock),
        Arc::new(UuidV7Generator),
        Arc::new(EventRenderer::new(public_url)),
        listener,
    )
}

/// Fills the ports. The database is one that opens organizations' secrets, where they are to be opened;
/// clients reach the service at this address.
///
/// # Errors
/// The payment processor cannot be set up.
pub fn compose(
    config: &Config,
    database: &PgDatabase,
    public_url: &PublicUrl,
) -> anyhow::Result<Composition> {
    let wake_up = WakeUp::default();
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let simulated = config
        .processor
        .sandbox_key
        .is_none()
        .then(|| SimulatedProcessor::new(database.clone(), Arc::clone(&entropy)));
    let waking = WakingDatabase::new(Arc::new(database.clone()), wake_up.clone());
    let feeds = Feeds::default();
    let prices = PriceRevisions::default();
    let told = Told {
        feeds: feeds.clone(),
        prices: prices.clone(),
    };
    let telling = telling(Arc::new(waking), public_url, Arc::new(told));
    let telling = telling.with_mail(config.mail.modes());
    let telling = Arc::new(telling);
    Ok(Composition {
        engine: Engine {
            database: Arc::<TellingDatabase>::clone(&telling),
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidV7Generator),
            providers: providers(config, database, &simulated::providers(database, &entropy))?,
            entropy,
            timer: Arc::new(SystemTimer),
            job_lease: config.job_lease,
            job_settled: span(config.job_settled),
            credit_holds: TimeDelta::days(config.credit_decision_days.get().into()),
            probe: probe(),
        },
        simulated,
        wake_up,
        telling,
        records: Arc::new(EventRenderer::new(public_url)),
        feeds,
        prices,
    })
}

/// The providers: the payment processor for organizations that have an account of their own, and in the
/// modes that have a key for it; without either, simulated providers in sandbox mode and none in live mode.
fn providers(
    config: &Config,
    database: &PgDatabase,
    simulated: &Providers,
) -> anyhow::Result<ProviderSet> {
    let keys = &config.processor;
    let secret = |key: &Option<SecretString>| {
        key.as_ref()
            .and_then(|key| ApiSecret::new(key.expose_secret()))
    };
    let settings = processor::ProcessorSettings {
        base_url: keys
            .url
            .clone()
            .unwrap_or_else(|| processor::DEFAULT_URL.to_owned()),
        live_key: secret(&keys.live_key),
        sandbox_key: secret(&keys.sandbox_key),
        ..processor::ProcessorSettings::default()
    };
    let real = Arc::new(over_the_wire(&settings).context("the payment processor")?);
    let accounts = OwnAccounts::new(Arc::new(database.clone()), (*real).clone());
    let missing = Arc::new(MissingProvider::new(NOT_IN_LIVE_MODE));
    let live = match settings.live_key {
        Some(_) => ByAccount::new(accounts.clone(), real.clone(), real.clone()),
        None => {
            tracing::warn!(
                "live mode has no payment processor for organizations without an account of their own: their \
                 payment steps are refused until LESSOR_PROCESSOR_LIVE_KEY is set, or `lessor org processor set` \
                 gives them one"
            );
            let missing = Arc::new(MissingProvider::new(NO_LIVE_ACCOUNT));
            ByAccount::new(accounts.clone(), missing.clone(), missing)
        }
    };
    let sandbox = match settings.sandbox_key {
        Some(_) => ByAccount::new(accounts.clone(), real.clone(), real),
        None => ByAccount::new(
            accounts.clone(),
            Arc::clone(&simulated.processor),
            Arc::clone(&simulated.identity),
        ),
    };
    let live = Arc::new(live);
    let sandbox = Arc::new(sandbox);
    let live = Providers {
        processor: live.clone(),
        identity: live,
        credit: missing,
    };
    let sandbox = Providers {
        processor: sandbox.clone(),
        identity: sandbox,
        ..simulated.clone()
    };
    Ok(ProviderSet {
        live,
        sandbox,
        accounts: Some(Arc::new(accounts)),
        tracker: None,
        desk: Arc::new(HttpCreditDesk::new(Outbound::new(targets(config)))),
        signer: Arc::new(HttpSigner::new(Outbound::new(targets(config)))),
        messages: Arc::new(EventReader),
        carriers: Arc::new(FormatDetector),
        phones: Arc::new(PublishedPlans),
        agreements: Arc::new(lessor_adapters::agreement::PdfRenderer),
    })
}

impl Composition {
    /// The replica for lists of requests on this database, where one is set. One that cannot be reached
    /// now may be later: the primary answers until it is.
    ///
    /// # Errors
    /// What is set is no replica of the database, or cannot be one.
    pub async fn replica(
        &self,
        config: &Config,
        database: &PgDatabase,
    ) -> anyhow::Result<Option<Replica>> {
        let Some(stores) = connect_replica(config, 1)? else {
            return Ok(None);
        };
        match stores.check(database).await {
            Ok(()) => {}
            Err(error @ ReplicaError::Unreachable(_)) => tracing::warn!(
                error = %chain(&error),
                "the primary answers lists until the replica is available"
            ),
            Err(error) => return Err(error).context(REPLICA),
        }
        let (database, wake_up) = (database.clone(), self.wake_up.clone());
        let telling = Arc::clone(&self.telling);
        let noting = move |last_commit: LastCommit| -> Arc<dyn Database> {
            let noted = Arc::new(database.noting(last_commit));
            let waking = WakingDatabase::new(noted, wake_up.clone());
            Arc::new(telling.around(Arc::new(waking)))
        };
        Ok(Some(Replica::new(stores, Arc::new(noting))))
    }

    /// Numbers the events that this process writes, and hears of those that others have numbered and of
    /// jobs that others left, where that can be heard. A process without a worker tells others of its jobs
    /// instead. It ends when this is dropped.
    #[must_use]
    pub fn follow(&self, database: &PgDatabase, has_worker: bool) -> JoinSet<()> {
        let mut following = JoinSet::new();
        let feeds = self.feeds.clone();
        let engine = &self.engine;
        following.spawn(feeds.keep_numbered(
            Arc::clone(&engine.database),
            Arc::clone(&engine.ids),
            Arc::clone(&engine.clock),
        ));
        if database.can_listen() {
            let (feeds, wake_up) = (self.feeds.clone(), self.wake_up.clone());
            let (database, prices) = (database.clone(), self.prices.clone());
            following.spawn(async move {
                let left = (!has_worker).then(|| wake_up.told());
                loop {
                    // Where nobody knows whether prices are heard of, they are not.
                    let says_prices = database.is_cluster().await.is_ok_and(|is_cluster| !is_cluster);
                    let heard = |said: Heard| match said {
                        // Whatever was told before is to be looked for.
                        Heard::Nothing => {
                            prices.listening(says_prices);
                            feeds.ring(None);
                            wake_up.now();
                        }
                        Heard::Prices(organization) => prices.changed(organization),
                        Heard::Feed(feed) => feeds.ring(Some(feed)),
                        Heard::Jobs if has_worker => wake_up.now(),
                        // It may have told so itself.
                        Heard::Jobs => {}
                    };
                    let ended = database.listen(left, heard).await;
                    prices.listening(false);
                    if let Err(error) = ended {
                        tracing::debug!(error = %chain(&error), "what other processes do is looked for");
                    }
                    sleep(LISTEN_AGAIN).await;
                }
            });
        }
        following
    }

    /// Counts, for the metrics of this process, what waits in the database and what there is. It ends with
    /// `counting`.
    pub fn count(&self, counting: &mut JoinSet<()>) {
        let (database, clock) = (&self.engine.database, &self.engine.clock);
        let chores: [Box<dyn Chore>; 2] = [
            Box::new(Gauges {
                database: Arc::clone(database),
                clock: Arc::clone(clock),
            }),
            Box::new(Census {
                database: Arc::clone(database),
            }),
        ];
        for chore in chores {
            counting.spawn(keep_doing(chore, Arc::clone(clock)));
        }
    }

    /// A worker that has not begun. Mails lead to pages of checkouts by these links.
    ///
    /// # Errors
    /// Mails cannot be written, or cannot be sent.
    pub fn worker(&self, config: &Config, links: CheckoutPageLinks) -> anyhow::Result<Worker> {
        let post = Post::of(config, links)?;
        let engine = &self.engine;
        let housekeeper = engine.housekeeper(Policy {
            expire_after: TimeDelta::days(config.expiry_days.get().into()),
            bill_within: span(config.not_billed_after),
            hear_within: span(config.delivery_overdue_after),
            ..Policy::default()
        });
        let mut chores: Vec<Box<dyn Chore>> = vec![
            Box::new(Housekeeping(housekeeper)),
            Box::new(KeptMessages(engine.inbox())),
            Box::new(Reconciliation::new(
                engine.reconciler(),
                Arc::clone(&engine.clock),
            )),
            Box::new(Purge {
                database: Arc::clone(&engine.database),
                clock: Arc::clone(&engine.clock),
                events_kept: TimeDelta::days(config.event_days.get().into()),
            }),
            Box::new(Numbers {
                database: Arc::clone(&engine.database),
                ids: Arc::clone(&engine.ids),
                clock: Arc::clone(&engine.clock),
                feeds: self.feeds.clone(),
            }),
        ];
        if post.is_some() {
            let soon = span(config.mail.lease_ends_soon);
            chores.push(Box::new(Endings(engine.endings(config.mail.modes(), soon))));
        }
        if let Some(processor) = &self.simulated {
            chores.push(Box::new(SimulatedInvoices {
                processor: processor.clone(),
                database: Arc::clone(&engine.database),
                clock: Arc::clone(&engine.clock),
                ids: Arc::clone(&engine.ids),
            }));
        }
        Ok(Worker {
            runner: engine.jobs(),
            jobs: config.worker_jobs,
            wake_up: self.wake_up.clone(),
            couriers: Couriers {
                courier: engine.courier(
                    Arc::clone(&self.records),
                    Arc::new(HttpWebhookSender::new(Outbound::new(targets(config)))),
                ),
                at_once: DELIVERIES,
                feeds: self.feeds.clone(),
            },
            mailers: post.map(|Post { writer, sender }| Mailers {
                mailer: engine.mailer(writer, sender, config.mail.sandbox_mail_to.clone()),
                at_once: MAILS,
            }),
            chores,
            clock: Arc::clone(&engine.clock),
        })
    }
}
