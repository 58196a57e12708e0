//! `lessor doctor`: whether an installation is as it should be.

use std::net::SocketAddr;

use chrono::TimeDelta;
use clap::Args;
use lessor_adapters::ambient::SystemClock;
use lessor_adapters::postgres::{PgDatabase, PoolingError, Standing};
use lessor_domain::ports::{Clock as _, Database as _, Reach, StoreError};
use lessor_domain::time::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::output::{Output, Reply, time, with_causes};
use super::session;
use crate::run::compose::{self, Location};
use crate::run::config::{Config, ProcessorConfig};
use crate::run::{descriptors, server_key, service};

/// Connections that it looks by: it asks one thing after the other.
const CONNECTIONS: usize = 2;
/// How far the clocks of machine and database may be apart.
const CLOCKS_APART: TimeDelta = TimeDelta::seconds(5);
/// How long an event may be without a number where somebody numbers them.
const UNNUMBERED: TimeDelta = TimeDelta::minutes(1);

/// Look whether the installation is as it should be, and say what to do where it is not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor doctor\n  lessor doctor --json | jq -r '.findings[].name'\n  \
    lessor doctor > /dev/null || notify                 (in a timer)\n\n\
    Run it where `lessor serve` runs, with the same settings. It only reads: it makes no database, migrates\n\
    nothing and mends nothing. Status 0 when nothing is found, 1 when anything is."
)]
pub(crate) struct DoctorArgs {}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trouble {
    problem: String,
    advice: String,
}

impl Trouble {
    fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// What cannot be looked at since the database does not do what it is asked for.
    fn of_database(error: impl Into<anyhow::Error>) -> Self {
        Self::new(
            with_causes(&error.into()),
            "see that the database runs and can be reached from here, and that DATABASE_URL or the data \
             directory names it and no standby; its own log says more",
        )
    }
}

/// A trouble as it is shown.
#[derive(Debug, Serialize)]
struct Finding {
    /// The check that found it.
    name: &'static str,
    problem: String,
    advice: String,
}

/// What was looked at, and what was found.
#[derive(Debug, Default)]
struct Report {
    checks: Vec<&'static str>,
    findings: Vec<Finding>,
    /// What is worth knowing and nothing to be mended.
    notes: Vec<String>,
}

impl Report {
    /// Takes what a check found.
    fn take(&mut self, name: &'static str, found: impl IntoIterator<Item = Trouble>) {
        if !self.checks.contains(&name) {
            self.checks.push(name);
        }
        let findings = found.into_iter().map(|trouble| Finding {
            name,
            problem: trouble.problem,
            advice: trouble.advice,
        });
        self.findings.extend(findings);
    }

    fn reply(&self) -> Reply {
        let rows = self.findings.iter().map(|finding| {
            [
                finding.name.to_owned(),
                finding.problem.clone(),
                finding.advice.clone(),
            ]
        });
        let found = self.findings.len();
        let value = json!({
            "healthy": found == 0,
            "findings": self.findings,
            "checks": self.checks,
            "notes": self.notes,
        });
        let mut reply = Reply::table(value, ["check", "problem", "what to do"], rows);
        for note in &self.notes {
            reply = reply.with_note(note);
        }
        let reply = reply.with_note(&format!("{} checks, {found} findings", self.checks.len()));
        if found == 0 {
            reply
        } else {
            reply.but_fail(format!("findings of the doctor: {found}"))
        }
    }
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output) -> anyhow::Result<()> {
    session::init_quiet_logs(config)?;
    let mut report = Report::default();
    look_at_settings(&mut report, config);
    match compose::find(config, |step| session::report(output, &step)) {
        Ok(location) => {
            let runtime = compose::runtime(1)?;
            runtime.block_on(look_at_database(&mut report, config, &location));
            drop(runtime);
            drop(location);
        }
        Err(error) => report.take("database", [Trouble::of_database(error)]),
    }
    output.reply(&report.reply())
}

fn look_at_settings(report: &mut Report, config: &Config) {
    let public_url = config.public_url.as_deref();
    report.take("publicUrl", public_url_fits(&config.listen, public_url));
    report.take("processorSecrets", messages_are_heard(&config.processor));
    let to_database = config.pool_size.get();
    let connections = to_database.saturating_add(config.max_connections.get());
    report.take("descriptors", descriptors_suffice(connections));
}

/// Clients beyond this machine are shown links that lead here, and nobody on the way reads along.
fn public_url_fits(listen: &str, public_url: Option<&str>) -> Option<Trouble> {
    const ADVICE: &str =
        "set LESSOR_PUBLIC_URL to the https address that clients reach the service at";
    if !is_beyond_loopback(listen) {
        return None;
    }
    match public_url {
        None => Some(Trouble::new(
            format!("requests are taken on {listen}, and links in answers lead there as well"),
            ADVICE,
        )),
        Some(url) if !url.starts_with("https://") => Some(Trouble::new(
            format!(
                "requests are taken on {listen}, and links in answers lead to {url}, not by TLS"
            ),
            ADVICE,
        )),
        Some(_) => None,
    }
}

fn is_beyond_loopback(listen: &str) -> bool {
    match listen.parse::<SocketAddr>() {
        Ok(address) => !address.ip().is_loopback(),
        Err(_) => !listen.starts_with("localhost:"),
    }
}

/// What the payment processor tells is not refused.
fn messages_are_heard(config: &ProcessorConfig) -> Vec<Trouble> {
    let unheard = service::unheard_modes(config).into_iter();
    let troubles = unheard.map(|(mode, variable)| {
        Trouble::new(
            format!(
                "the payment processor has a key for {} mode and no webhook secret: its messages are refused",
                mode.as_str()
            ),
            format!("set {variable} to the secret of the endpoint at the processor"),
        )
    });
    troubles.collect()
}

/// A process that is started here may have as many descriptors as its connections need.
fn descriptors_suffice(connections: usize) -> Option<Trouble> {
    let (most, needed) = descriptors::lacking(connections)?;
    Some(Trouble::new(
        format!("a process may have {most} descriptors here, and its connections need {needed}"),
        "raise the hard limit (`LimitNOFILE=` of systemd, `ulimit -Hn`), or lower LESSOR_MAX_CONNECTIONS",
    ))
}

/// Looks at the database as far as it can be looked at: what stands behind a trouble is not told as well.
async fn look_at_database(report: &mut Report, config: &Config, location: &Location) {
    let is_embedded = !matches!(location, Location::Given(_));
    if is_embedded {
        report.notes.push(format!(
            "The database is {}: made for trying out and for one machine. Back it up, or set DATABASE_URL.",
            location.describe()
        ));
    }
    let database = match compose::connect(config, location.url(), CONNECTIONS) {
        Ok(database) => database,
        Err(error) => return report.take("database", [Trouble::of_database(error)]),
    };
    if !is_embedded {
        match database.check_pooling().await {
            Err(PoolingError::Connect(error)) => {
                return report.take("database", [Trouble::of_database(error)]);
            }
            Err(error) => return report.take("pooling", [sessions_are_lost(error)]),
            Ok(()) => report.take("pooling", None),
        }
    }
    let looked = async {
        database.ping().await?;
        report.take("database", None);
        let asked = SystemClock.now();
        let standing = database.standing().await?;
        report.take(
            "clock",
            clocks_agree(asked, SystemClock.now(), standing.now),
        );
        if !is_embedded {
            report.take("role", role_is_held(&standing));
        }
        let lacking = database.pending_migrations().await?;
        report.take("migrations", is_migrated(lacking.len()));
        if lacking.is_empty() {
            report.take("serverKey", key_fits(config, &database).await);
            look_at_work(report, &database).await?;
        }
        anyhow::Ok(())
    };
    let looked: anyhow::Result<()> = looked.await;
    report.take("database", looked.err().map(Trouble::of_database));
}

/// Whatever is set with a session stays set.
fn sessions_are_lost(error: PoolingError) -> Trouble {
    Trouble::new(
        with_causes(&error.into()),
        "set LESSOR_DATABASE_POOLING to what the pooler does, or change the pooler",
    )
}

/// The machine and the database have the same time, as far as that can be told by who asked at one time
/// and was answered at another.
fn clocks_agree(asked: Timestamp, answered: Timestamp, there: Timestamp) -> Option<Trouble> {
    let (apart, which) = if there < asked {
        (asked - there, "behind")
    } else {
        (there - answered, "ahead of")
    };
    (apart > CLOCKS_APART).then(|| {
        Trouble::new(
            format!(
                "the clock of the database is {} s {which} that of this machine",
                apart.num_seconds()
            ),
            "have both machines' clocks set by NTP: jobs, deadlines and signatures go by them",
        )
    })
}

/// Row security, which keeps organizations apart, is for the role as well.
fn role_is_held(standing: &Standing) -> Option<Trouble> {
    let what = match (standing.is_superuser, standing.bypasses_row_security) {
        (true, _) => "a superuser",
        (false, true) => "a role with BYPASSRLS",
        (false, false) => return None,
    };
    Some(Trouble::new(
        format!(
            "the database is used as {}, {what}: whoever has its password stands above the row security \
             that keeps organizations apart",
            standing.role
        ),
        "make a role that is neither, `lessor migrate --grant-to ROLE`, and have DATABASE_URL name it",
    ))
}

fn is_migrated(lacking: usize) -> Option<Trouble> {
    (lacking > 0).then(|| {
        Trouble::new(
            format!("the database lacks {lacking} migrations"),
            "run `lessor migrate` as the role that the tables belong to",
        )
    })
}

/// The key that `lessor serve` would have here is the one that the database is under.
async fn key_fits(config: &Config, database: &PgDatabase) -> Option<Trouble> {
    let problem = match server_key::at_hand(config, database).await {
        Ok(Some(_)) => return None,
        Ok(None) => match database.server_key().await {
            Ok(None) => return None,
            Ok(Some(_)) => "the database is under a server key that is not here".to_owned(),
            Err(error) => with_causes(&error.into()),
        },
        Err(error) => with_causes(&error),
    };
    Some(Trouble::new(
        problem,
        "give this machine the key that the others have: LESSOR_SERVER_SECRET, or the file server.key in its \
         data directory",
    ))
}

/// What waits for a person, or for a process that does not run.
async fn look_at_work(report: &mut Report, database: &PgDatabase) -> Result<(), StoreError> {
    let mut view = database.read(Reach::Server).await?;
    let jobs = view.doors().backlog().await?;
    report.take("jobs", some(jobs.dead, "jobs that were given up", JOBS));
    let (_, failed) = view.inbox().backlog().await?;
    let what = "messages of providers that could not be handled";
    report.take("messages", some(failed, what, MESSAGES));
    let mails = view.doors().mail_backlog().await?;
    report.take("mails", some(mails.dead, "mails that were given up", MAILS));
    let attention = view.doors().attention().await?;
    drop(view);
    let waiting = attention.into_iter().filter_map(|(reason, count)| {
        let what = format!("checkouts that need a person ({})", reason.as_str());
        some(count, &what, CHECKOUTS)
    });
    report.take("checkouts", waiting);
    let since = database.unnumbered_since().await?;
    report.take("events", events_are_numbered(since, SystemClock.now()));
    Ok(())
}

const JOBS: &str = "`lessor jobs list --state dead` says why: correct the cause, then `lessor jobs retry`, or see to it by \
                    hand and `lessor jobs skip`";
const MESSAGES: &str = "`lessor inbox list --state failed` says why: correct the cause, then `lessor inbox retry --all`";
const MAILS: &str = "`lessor mail list` says why: correct the cause, then `lessor mail retry`";
const CHECKOUTS: &str = "GET /v1/checkouts?needsAttention=true lists them, and \"What needs a person\" in the manual says what to do";

fn some(count: u64, what: &str, advice: &str) -> Option<Trouble> {
    (count > 0).then(|| Trouble::new(format!("{what}: {count}"), advice))
}

/// Whoever follows events hears of them.
fn events_are_numbered(since: Option<Timestamp>, now: Timestamp) -> Option<Trouble> {
    let since = since.filter(|since| now - *since > UNNUMBERED)?;
    Some(Trouble::new(
        format!(
            "nobody has given numbers to events since {}: who follows them, webhooks too, hears nothing",
            time(since)
        ),
        "start `lessor serve` or `lessor worker`; where one runs, its log and pg_locks on event_feeds say more",
    ))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn links_for_clients_beyond_this_machine_are_https() {
        for (listen, url, word) in [
            ("127.0.0.1:8080", None, None),
            ("[::1]:8080", None, None),
            ("localhost:8080", Some("http://localhost:8080"), None),
            ("0.0.0.0:8080", Some("https://lease.example.com"), None),
            ("0.0.0.0:8080", None, Some("lead there")),
            ("lease.example.com:80", None, Some("lead there")),
            (
                "[::]:80",
                Some("http://lease.example.com"),
                Some("not by TLS"),
            ),
        ] {
            let problem = public_url_fits(listen, url).map(|trouble| trouble.problem);
            assert_eq!(problem.is_some(), word.is_some(), "{listen} {url:?}");
            let problem = problem.unwrap_or_default();
            assert!(problem.contains(word.unwrap_or_default()), "{problem}");
        }
    }

    #[test]
    fn a_slow_answer_is_no_difference_of_clocks() {
        let at = |seconds: i64| DateTime::from_timestamp(1_000 + seconds, 0).unwrap();
        for (answered, there, apart) in [
            (0, 0, None),
            (20, 3, None),
            (20, 20, None),
            (0, -5, None),
            (0, -6, Some("6 s behind")),
            (2, 7, None),
            (2, 8, Some("6 s ahead of")),
        ] {
            let found = clocks_agree(at(0), at(answered), at(there));
            assert_eq!(found.is_some(), apart.is_some(), "{answered} {there}");
            let problem = found.map(|found| found.problem).unwrap_or_default();
            assert!(problem.contains(apart.unwrap_or_default()), "{problem}");
        }
    }

    #[test]
    fn events_may_wait_for_their_numbers_for_a_moment() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(events_are_numbered(None, now), None);
        assert_eq!(events_are_numbered(Some(now - UNNUMBERED), now), None);
        let long = now - UNNUMBERED - TimeDelta::seconds(1);
        assert!(events_are_numbered(Some(long), now).is_some());
    }

    #[test]
    fn whoever_stands_above_row_security_is_named() {
        let standing = |is_superuser, bypasses_row_security| Standing {
            role: "ada".to_owned(),
            is_superuser,
            bypasses_row_security,
            now: DateTime::UNIX_EPOCH,
        };
        assert_eq!(role_is_held(&standing(false, false)), None);
        for (standing, word) in [
            (standing(true, true), "ada, a superuser"),
            (standing(true, false), "ada, a superuser"),
            (standing(false, true), "ada, a role with BYPASSRLS"),
        ] {
            let found = role_is_held(&standing).map(|found| found.problem);
            assert!(found.unwrap_or_default().contains(word), "{word}");
        }
    }
}
