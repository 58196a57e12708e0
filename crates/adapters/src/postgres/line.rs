//! Lines to the database on which nothing passes any more.
//!
//! A connection can stay open while its other end is gone: behind a proxy, or after a fail-over.
//! The limits that the database keeps itself need the line to be told of. So whoever uses a line
//! keeps the time of each statement as well, and lets go of a line on which one is overdue: whoever
//! waits is told, as when the line breaks.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use diesel::connection::{Instrumentation, InstrumentationEvent};
use diesel::pg::data_types::PgLsn as Lsn;
use diesel::{ConnectionError, QueryResult};
use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection};
use lessor_domain::cause::chain;
use lessor_domain::ids::OrganizationId;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::connect::Wire;
use super::distribute::is_spreadable;
use super::position::pg_current_wal_insert_lsn;

/// How often it is looked whether a statement is overdue.
const LOOK: Duration = Duration::from_secs(1);
/// How much later than the database itself a statement is given up here: its own word leaves the
/// connection in use, and says more.
const GRACE: Duration = Duration::from_secs(1);

/// The most statements that a session keeps prepared: the server's own are some hundreds, and the plan of each takes some
/// ten to hundred KiB of the database's memory.
const MOST_KEPT: u32 = 1_000;

/// When a line to one database was last found silent: those that nobody used since are silent too.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    pub(super) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a line that was not used for so long was last used before that.
    pub(super) fn covers(&self, unused: Duration) -> bool {
        let found = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.is_some_and(|found| found.elapsed() < unused)
    }
}

/// What is known of a line by whoever drives it and whoever uses it.
#[derive(Debug)]
struct Line {
    opened: Instant,
    /// When the statement under way that was put on the line last began, in milliseconds after the opening, and
    /// one; 0: there is none.
    begun: AtomicU64,
    /// How many are under way: several may be put on the line one behind the other.
    under_way: AtomicU32,
    /// The milliseconds that a statement may take; 0: as long as it needs.
    limit: AtomicU64,
    /// How many statements the session keeps prepared.
    kept: AtomicU32,
    is_over: AtomicBool,
    let_go: Notify,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Line {
    /// Resolves once a statement is overdue.
    async fn overdue(&self) {
        loop {
            sleep(LOOK).await;
            let begun = self.begun.load(Ordering::Relaxed);
            let limit = self.limit.load(Ordering::Relaxed);
            let taken = millis(self.opened.elapsed()).saturating_sub(begun);
            if begun != 0 && limit != 0 && taken > limit {
                return;
            }
        }
    }

    /// Drives the connection until it ends, is let go of, or a statement is overdue.
    async fn drive(&self, wire: Box<dyn Wire>, silence: &Silence) {
        tokio::select! {
            ended = wire => {
                if let Err(error) = ended {
                    tracing::debug!(error = %chain(&error), "a connection to the database broke");
                }
            }
            () = self.overdue() => {
                silence.note();
                // Whoever waits for the statement is told too, and says it: so do all that are on other lines.
                tracing::debug!("the database did not answer a statement in time: its connection is given up");
            }
            () = self.let_go.notified() => {}
        }
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Notes when statements begin and end.
struct Timekeeper(Arc<Line>);

impl Instrumentation for Timekeeper {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        let line = &self.0;
        match event {
            InstrumentationEvent::StartQuery { .. } => {
                line.under_way.fetch_add(1, Ordering::Relaxed);
                let now = millis(line.opened.elapsed()).saturating_add(1);
                line.begun.store(now, Ordering::Relaxed);
            }
            InstrumentationEvent::FinishQuery { .. }
                if line.under_way.fetch_sub(1, Ordering::Relaxed) <= 1 =>
            {
                line.begun.store(0, Ordering::Relaxed);
            }
            InstrumentationEvent::CacheQuery { .. } => {
                line.kept.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// The user's end of a line, which ends with it.
struct End {
    line: Arc<Line>,
    is_left_open: bool,
}

impl Drop for End {
    fn drop(&mut self) {
        if !self.is_left_open {
            self.line.let_go.notify_one();
        }
    }
}

/// A connection, and the line that it goes over.
pub(super) struct Session {
    connection: AsyncPgConnection,
    end: End,
    /// Whether it is of a cluster, where what is set for a session is set on one node; none where nobody asked yet.
    is_of_a_cluster: Option<bool>,
    /// Whose rows it shows outside of transactions.
    shows: Option<OrganizationId>,
    /// Whether it may show somebody's, also where that was to be changed and failed.
    may_show: bool,
    /// Whose were asked for last.
    asked: Option<OrganizationId>,
}

impl Session {
    /// A session over a connection that was made. A task of the current runtime drives it. A
    /// statement is to be answered within `limit`, which the database keeps as well.
    pub(super) async fn over(
        client: Client,
        wire: Box<dyn Wire>,
        limit: Duration,
        silence: &Arc<Silence>,
    ) -> Result<Self, ConnectionError> {
        let line = Arc::new(Line {
            opened: Instant::now(),
            begun: AtomicU64::new(0),
            under_way: AtomicU32::new(0),
            limit: AtomicU64::new(millis(limit.saturating_add(GRACE))),
            kept: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
            let_go: Notify::new(),
        });
        let end = End {
            line: Arc::clone(&line),
            is_left_open: false,
        };
        let silence = Arc::clone(silence);
        let keeper = Timekeeper(Arc::clone(&line));
        tokio::spawn(async move { line.drive(wire, &silence).await });
        let mut connection = AsyncPgConnection::try_from(client).await?;
        connection.set_instrumentation(keeper);
        Ok(Self {
            connection,
            end,
            is_of_a_cluster: None,
            shows: None,
            may_show: false,
            asked: None,
        })
    }

    /// Whether the session shows the organization's rows without a transaction that says so. One that is asked
    /// for the same organization again does so from then on, so that a statement of a view is all that is sent; whoever has the
    /// session next says otherwise in a transaction.
    ///
    /// It is waited for: a session shows what it is known to show. On a cluster none does.
    pub(super) async fn shows(&mut self, organization: OrganizationId) -> QueryResult<bool> {
        let is_again = self.asked == Some(organization);
        if self.shows != Some(organization) && is_again && !self.is_of_a_cluster().await? {
            self.shows = None;
            self.may_show = true;
            self.connection
                .batch_execute(&format!("SET lessor.organization = '{organization}'"))
                .await?;
            self.shows = Some(organization);
        }
        self.asked = Some(organization);
        Ok(self.shows == Some(organization))
    }

    /// Whether it is a session of a cluster.
    pub(super) async fn is_of_a_cluster(&mut self) -> QueryResult<bool> {
        use diesel_async::RunQueryDsl as _;

        if let Some(known) = self.is_of_a_cluster {
            return Ok(known);
        }
        let is_so = diesel::select(is_spreadable());
        let is_so = is_so.get_result(&mut self.connection).await?;
        self.is_of_a_cluster = Some(is_so);
        Ok(is_so)
    }

    /// Whether it may show somebody's rows outside of transactions.
    pub(super) const fn may_show_any(&self) -> bool {
        self.may_show
    }

    /// The connection, for statements.
    pub(super) const fn connection(&mut self) -> &mut AsyncPgConnection {
        &mut self.connection
    }

    /// Puts statements on the line in front of the next one, and waits for no answer: whatever
    /// they fail at, the next one meets.
    ///
    /// At its first poll the library puts them on the line, and the answers to what nobody waits
    /// for any more it throws away.
    pub(super) fn send_ahead(&mut self, sql: &str) {
        let line = Arc::clone(&self.end.line);
        let (begun, under_way) = (
            line.begun.load(Ordering::Relaxed),
            line.under_way.load(Ordering::Relaxed),
        );
        let mut sent = pin!(self.connection.batch_execute(sql));
        let _ = sent.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // Noted as begun, they would never be noted as ended. A statement before them of which
        // nobody awaited the end stays noted.
        line.begun.store(begun, Ordering::Relaxed);
        line.under_way.store(under_way, Ordering::Relaxed);
    }

    /// Carries out statements, and asks behind them on the line how far the database's log has come
    /// then: one round trip for both. Answers what came of each.
    pub(super) async fn execute_and_locate(
        &mut self,
        sql: &str,
    ) -> (QueryResult<()>, QueryResult<Lsn>) {
        // Here alone: whatever is atomic has a `load` of its own.
        use diesel_async::RunQueryDsl as _;

        let (mut first, mut second) = (&self.connection, &self.connection);
        let mut executed = pin!(SimpleAsyncConnection::batch_execute(&mut first, sql));
        // At its first poll it is put on the line, so that the question comes behind it. The answers come
        // in that order too: who has waited for the second need not wait for the first.
        let early = executed
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        let located = diesel::select(pg_current_wal_insert_lsn()).get_result::<Lsn>(&mut second);
        let located = located.await;
        let executed = match early {
            Poll::Ready(executed) => executed,
            Poll::Pending => executed.await,
        };
        (executed, located)
    }

    /// Whether it keeps so many statements prepared that it is better ended: who asks for a list in ever other ways has the
    /// database keep a plan for each.
    pub(super) fn keeps_too_many(&self) -> bool {
        self.end.line.kept.load(Ordering::Relaxed) > MOST_KEPT
    }

    /// Whether the line is closed.
    pub(super) fn is_over(&self) -> bool {
        self.end.line.is_over.load(Ordering::Relaxed)
    }

    /// Whether a statement was begun of which nobody awaited the end.
    pub(super) fn is_under_way(&self) -> bool {
        self.end.line.begun.load(Ordering::Relaxed) != 0
    }

    /// The connection alone, whose statements may take as long as they need. It ends when it is
    /// dropped.
    pub(super) fn into_patient(mut self) -> AsyncPgConnection {
        self.end.line.limit.store(0, Ordering::Relaxed);
        self.end.is_left_open = true;
        self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_used_before_one_was_found_silent_are_silent_too() {
        let silence = Silence::default();
        assert!(!silence.covers(Duration::from_secs(3_600)));
        silence.note();
        assert!(silence.covers(Duration::from_secs(3_600)));
        assert!(!silence.covers(Duration::ZERO));
    }
}
