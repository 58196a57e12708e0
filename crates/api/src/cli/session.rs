//! A command's access to the database: that of the server that runs beside it, or its own for a moment.

use std::future::Future;
use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::LocalBoxFuture;
use lessor_adapters::ambient::{SystemClock, SystemEntropy, UuidV7Generator};
use lessor_adapters::carriers::FormatDetector;
use lessor_adapters::dialing::PublishedPlans;
use lessor_adapters::outbound::Targets;
use lessor_adapters::postgres::PgDatabase;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::ids::{
    ApiKeyPubId, OrganizationId, OrganizationPubId, OrganizationRef, UserId, UserPubId,
};
use lessor_domain::organization::Organization;
use lessor_domain::ports::{Clock as _, Database, Reach, StoreError, UnitOfWork};
use lessor_domain::services::{Context, Error};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::Engine;
use lessor_embedded_postgres::Progress;
use uuid::Uuid;

use super::output::{Output, Reply};
use crate::auth::links::CheckoutPageLinks;
use crate::http::public_url::PublicUrl;
use crate::run::config::Config;
use crate::run::{compose, server_key, service};

/// Connections of a command: it does one thing after the other.
const CONNECTIONS: usize = 2;

/// What a command works with.
pub(crate) struct Session {
    database: Arc<dyn Database>,
    ids: UuidV7Generator,
    origin: Origin,
    targets: Targets,
    credit_holds: TimeDelta,
}

impl Session {
    fn on(config: &Config, database: PgDatabase) -> Self {
        let public_url = PublicUrl::new(&service::public_url(config));
        // Whoever serves or works numbers what a command tells of.
        let telling = compose::telling(Arc::new(database), &public_url, Arc::new(()));
        let telling = telling.with_mail(config.mail.modes());
        Self {
            database: Arc::new(telling),
            ids: UuidV7Generator,
            origin: origin(),
            targets: compose::targets(config),
            credit_holds: TimeDelta::days(config.credit_decision_days.get().into()),
        }
    }

    /// Work that changes something. It is nobody's until it enters an organization.
    pub(crate) async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.database.begin(Reach::Server).await
    }

    /// A view for reading. It is nobody's until it enters an organization.
    pub(crate) async fn read(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.database.read(Reach::Server).await
    }

    /// The stores.
    pub(crate) fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// Now.
    #[expect(
        clippy::unused_self,
        reason = "the clock belongs to the session, although the system's has no state"
    )]
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Where ids come from.
    pub(crate) const fn ids(&self) -> &UuidV7Generator {
        &self.ids
    }

    /// Which URLs organizations may name.
    pub(crate) const fn targets(&self) -> Targets {
        self.targets
    }

    /// How long an approval of a customer's credit holds.
    pub(crate) const fn credit_holds(&self) -> TimeDelta {
        self.credit_holds
    }

    /// Who the audit says it was: the user of the system that runs the command.
    pub(crate) const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The operator acting for the organization.
    pub(crate) fn operator<'a>(&'a self, access: &'a Access) -> Context<'a> {
        Context {
            access,
            origin: &self.origin,
            now: self.now(),
            ids: &self.ids,
            entropy: &SystemEntropy,
            carriers: &FormatDetector,
            phones: &PublishedPlans,
        }
    }
}

/// The organization of either id.
pub(crate) async fn organization(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationRef,
) -> Result<Organization, Error> {
    uow.organizations()
        .find(organization)
        .await?
        .ok_or(Error::not_found("organization"))
}

/// The organization of either id, in whose name the work goes on.
pub(crate) async fn enter(
    uow: &mut dyn UnitOfWork,
    named: OrganizationRef,
) -> Result<Organization, Error> {
    let found = organization(uow, named).await?;
    uow.enter(found.id).await?;
    Ok(found)
}

/// What the operator of the installation may do for the organization: everything.
///
/// The operator has the machine, and neither a key nor a user: their ids say "nobody". The use cases
/// that the command line calls look at the organization and the permissions only.
pub(crate) fn operator_access(
    id: OrganizationId,
    pub_id: OrganizationPubId,
) -> Result<Access, Error> {
    Ok(Access {
        key_id: ApiKeyPubId::from_uuid(Uuid::nil()),
        key_name: None,
        organization_id: id,
        organization_pub_id: pub_id,
        user_id: UserId::new(i64::MAX).map_err(|error| Error::invalid("userId", error))?,
        user_pub_id: UserPubId::from_uuid(Uuid::nil()),
        kind: KeyKind::Secret,
        mode: Mode::Live,
        permissions: Permissions::all(),
        sandbox_writes_catalog: true,
    })
}

/// The longest name of a user that the audit is told.
const USER_MAX: usize = 64;

/// Who runs this command: the user of the system by name, or by number where the environment names none.
pub(crate) fn origin() -> Origin {
    let named = ["LOGNAME", "USER"]
        .into_iter()
        .find_map(|name| user_name(&std::env::var(name).ok()?));
    let user = named.unwrap_or_else(|| format!("uid:{}", rustix::process::getuid().as_raw()));
    Origin::cli(user)
}

/// The name without what is not seen; none where nothing is left of it.
fn user_name(text: &str) -> Option<String> {
    let seen = text.trim().chars().filter(|letter| !letter.is_control());
    let name: String = seen.take(USER_MAX).collect();
    (!name.is_empty()).then_some(name)
}

/// The organizations that the operator may have meant: the one named, else every one.
pub(crate) async fn candidates(
    uow: &mut dyn UnitOfWork,
    named: Option<OrganizationRef>,
) -> Result<Vec<Organization>, Error> {
    match named {
        Some(named) => Ok(vec![organization(uow, named).await?]),
        None => Ok(uow.organizations().list().await?),
    }
}

/// Runs a command on the database and shows what it answers.
///
/// # Errors
/// There is no database, or it lacks migrations; what the command says.
pub(crate) fn run<'c, F, R>(config: &'c Config, output: Output, command: F) -> anyhow::Result<()>
where
    F: FnOnce(Session) -> R + 'c,
    R: Future<Output = anyhow::Result<Reply>> + 'c,
{
    let work = |database| -> Work<'c> { Box::pin(command(Session::on(config, database))) };
    on_database(config, output, ServerKey::IfHere, Box::new(work))
}

/// Runs a command that keeps secrets on the database, which needs the server's key.
///
/// # Errors
/// As [`run`], and where the key is not here.
pub(crate) fn run_sealing<'c, F, R>(
    config: &'c Config,
    output: Output,
    command: F,
) -> anyhow::Result<()>
where
    F: FnOnce(Session) -> R + 'c,
    R: Future<Output = anyhow::Result<Reply>> + 'c,
{
    let work = |database| -> Work<'c> { Box::pin(command(Session::on(config, database))) };
    on_database(config, output, ServerKey::Needed, Box::new(work))
}

/// What a command has of the server's key.
#[derive(Debug, Clone, Copy)]
enum ServerKey {
    /// It opens what is sealed, where there is something and the key is here.
    IfHere,
    /// It seals something.
    Needed,
}

/// The database, with what secrets are sealed with.
async fn sealing(
    config: &Config,
    database: PgDatabase,
    key: ServerKey,
) -> anyhow::Result<PgDatabase> {
    let keys = match key {
        ServerKey::Needed => Some(server_key::claim(config, &database, &SystemClock).await?),
        // Most commands open nothing; one that does says then that there is no key.
        ServerKey::IfHere => server_key::at_hand(config, &database)
            .await
            .inspect_err(|error| tracing::warn!(%error, "the server's key is not worked with"))
            .unwrap_or_default(),
    };
    Ok(match keys {
        Some(keys) => database.sealing_with(keys.sealing()),
        None => database,
    })
}

/// Runs a command that shows links of checkouts' pages, as the server beside it would.
///
/// # Errors
/// The database or the server's key cannot be had; what the command says.
pub(crate) fn run_with_links<'c, F, R>(
    config: &'c Config,
    output: Output,
    command: F,
) -> anyhow::Result<()>
where
    F: FnOnce(Session, CheckoutPageLinks) -> R + 'c,
    R: Future<Output = anyhow::Result<Reply>> + 'c,
{
    let work = move |database: PgDatabase| -> Work<'c> {
        Box::pin(async move {
            anyhow::ensure!(
                database.server_key().await?.is_some(),
                "no server has started on this database: there are no links yet"
            );
            let keys = server_key::obtain(config, &database, &SystemClock, &SystemEntropy).await?;
            let url = service::public_url(config);
            let links = CheckoutPageLinks::new(keys, PublicUrl::new(&url));
            let session = Session::on(config, database);
            command(session, links).await
        })
    };
    on_database(config, output, ServerKey::IfHere, Box::new(work))
}

/// What a command does with the database.
type Work<'c> = LocalBoxFuture<'c, anyhow::Result<Reply>>;

/// Of one type for all commands: what is around them is compiled once.
fn on_database<'c>(
    config: &'c Config,
    output: Output,
    key: ServerKey,
    command: Box<dyn FnOnce(PgDatabase) -> Work<'c> + 'c>,
) -> anyhow::Result<()> {
    init_quiet_logs(config)?;
    // Started before the runtime and stopped after it, so that nobody is left who uses it.
    let location = compose::find(config, |step| report(output, &step))?;
    let runtime = compose::runtime(1)?;
    let reply = runtime.block_on(async {
        let database = compose::connect(config, location.url(), CONNECTIONS)?;
        compose::check_pooling(&database, config).await?;
        compose::expect_migrated(&database).await?;
        let database = sealing(config, database, key).await?;
        command(database).await
    });
    drop(runtime);
    drop(location);
    output.reply(&reply?)
}

/// Runs a command that needs providers too.
///
/// # Errors
/// The database cannot be had, the processor cannot be set up; what the command says.
pub(crate) fn run_on_engine<'c, F, R>(
    config: &'c Config,
    output: Output,
    command: F,
) -> anyhow::Result<()>
where
    F: FnOnce(Engine) -> R + 'c,
    R: Future<Output = anyhow::Result<Reply>> + 'c,
{
    let work = move |database: PgDatabase| -> Work<'c> {
        Box::pin(async move {
            let public_url = PublicUrl::new(&service::public_url(config));
            let composition = compose::compose(config, &database, &public_url)?;
            command(composition.engine).await
        })
    };
    on_database(config, output, ServerKey::IfHere, Box::new(work))
}

/// Logs for commands that answer and end: only what is wrong, unless somebody asks for more.
pub(crate) fn init_quiet_logs(config: &Config) -> anyhow::Result<()> {
    let filter = config.log.as_deref().unwrap_or("off");
    crate::telemetry::init_logs_at_once(config.log_format, filter)?;
    Ok(())
}

/// Tells of the steps that take so long that people wonder.
pub(crate) fn report(output: Output, step: &Progress) {
    match step {
        Progress::WaitingForOwner { .. }
        | Progress::Unpacking { .. }
        | Progress::StoppingOrphan { .. }
        | Progress::Recovering => output.progress(&format!("{step} …")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_user_can_be_read() {
        for (text, name) in [
            ("ada", Some("ada")),
            (" Ada L. ", Some("Ada L.")),
            ("a\u{7}da\n", Some("ada")),
            ("", None),
            (" \t", None),
        ] {
            assert_eq!(user_name(text).as_deref(), name, "{text:?}");
        }
        let long = "x".repeat(USER_MAX + 1);
        assert_eq!(user_name(&long).map(|name| name.len()), Some(USER_MAX));
    }
}
