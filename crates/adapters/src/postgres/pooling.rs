//! Poolers between Lessor and the database.
//!
//! One that gives each client a session of its own is not noticed. One that hands a session on with each transaction
//! (PgBouncer's `pool_mode = transaction`) loses what was set for the session, whom it acts as included, so with it
//! everything is set with each transaction; and it must know statements that were prepared before, as PgBouncer does
//! from 1.21 on with `max_prepared_statements` above 0.

use std::str::FromStr;
use std::time::Duration;

use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::Text;
use diesel::{ConnectionError, QueryResult};
use diesel_async::{RunQueryDsl as _, SimpleAsyncConnection as _};
use lessor_domain::access::UnknownName;
use lessor_domain::ports::IdGenerator as _;
use tokio::time::timeout;

use super::PgDatabase;
use super::line::Session;
use crate::ambient::UuidV7Generator;

const TRIES: usize = 3;
/// How long the one of two clients waits whose session the other may have.
const WAIT: Duration = Duration::from_secs(2);

/// For how long a session is a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// As long as it is connected: without a pooler, and behind one that pools sessions.
    #[default]
    Session,
    /// For a transaction.
    Transaction,
}

impl FromStr for Pooling {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "session" => Ok(Self::Session),
            "transaction" => Ok(Self::Transaction),
            _ => Err(UnknownName {
                allowed: "session, transaction".to_owned(),
            }),
        }
    }
}

/// Why the way to the database cannot be used as it is set.
#[derive(Debug, thiserror::Error)]
pub enum PoolingError {
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Connect(#[source] ConnectionError),
    /// Sessions are others' between transactions, and nobody said so.
    #[error(
        "between Lessor and the database is a pooler that hands sessions on with each transaction: set \
         LESSOR_DATABASE_POOLING=transaction, or have the pooler keep a session for each client"
    )]
    SharesSessions,
    /// A statement that was prepared is not known any more.
    #[error(
        "the pooler between Lessor and the database loses prepared statements (PgBouncer does before 1.21, and with \
         max_prepared_statements = 0): have it know them, or keep a session for each client"
    )]
    LosesStatements,
}

impl PgDatabase {
    /// Sees to it that what lies between here and the database does as the settings say.
    ///
    /// Two clients are there at once: a pooler that hands sessions on gives the other the one's session while that does
    /// nothing.
    ///
    /// # Errors
    /// [`PoolingError`].
    pub async fn check_pooling(&self) -> Result<(), PoolingError> {
        let mut one = self.pool.connect_bare().await.map_err(not_connected)?;
        let mut other = self.pool.connect_bare().await.map_err(not_connected)?;
        // Which session the other is given is the pooler's to choose: several times tell.
        for _ in 0..TRIES {
            match self.pool.pooling() {
                Pooling::Session if !keeps_settings(&mut one, &mut other).await => {
                    return Err(PoolingError::SharesSessions);
                }
                Pooling::Transaction if !keeps_statements(&mut one, &mut other).await => {
                    return Err(PoolingError::LosesStatements);
                }
                Pooling::Session | Pooling::Transaction => {}
            }
        }
        Ok(())
    }
}

/// What keeps a client from connecting. Statements are prepared while it is set up already, and may be lost there.
fn not_connected(error: ConnectionError) -> PoolingError {
    // 26000, which Diesel does not hand on: the name is quoted between the two.
    const UNKNOWN: &str = "prepared statement \"";
    match &error {
        ConnectionError::CouldntSetupConfiguration(diesel::result::Error::DatabaseError(
            _,
            info,
        )) if info.message().starts_with(UNKNOWN) => PoolingError::LosesStatements,
        _ => PoolingError::Connect(error),
    }
}

/// Whether what the one set is still set when the other has begun a transaction.
async fn keeps_settings(one: &mut Session, other: &mut Session) -> bool {
    // Nobody else's: a session that is handed on keeps what was set in it.
    let mark = UuidV7Generator.next();
    let set = format!("SET lessor.pooling = '{mark}'");
    let look = format!(
        "DO $$ BEGIN IF coalesce(current_setting('lessor.pooling', true), '') <> '{mark}' \
         THEN RAISE EXCEPTION 'set in another session'; END IF; END $$"
    );
    if one.connection().batch_execute(&set).await.is_err() {
        return false;
    }
    if other.connection().batch_execute("BEGIN").await.is_err() {
        return false;
    }
    // Where there is one session for both, the one waits for the other's transaction.
    let seen = timeout(WAIT, one.connection().batch_execute(&look)).await;
    let ended = other.connection().batch_execute("ROLLBACK").await;
    matches!((seen, ended), (Ok(Ok(())), Ok(())))
}

/// Whether the one's statement is known when the other has begun a transaction.
async fn keeps_statements(one: &mut Session, other: &mut Session) -> bool {
    let mark = UuidV7Generator.next().to_string();
    let prepared: Result<String, _> = Marked(&mark).get_result(one.connection()).await;
    // The answer is there before the statement's end: what comes next comes after that.
    let over = one.connection().batch_execute("SELECT").await;
    if prepared.is_err()
        || over.is_err()
        || other.connection().batch_execute("BEGIN").await.is_err()
    {
        return false;
    }
    let again = async { Marked(&mark).get_result::<String>(one.connection()).await };
    let known = timeout(WAIT, again).await;
    let ended = other.connection().batch_execute("ROLLBACK").await;
    matches!((known, ended), (Ok(Ok(said)), Ok(())) if said == mark)
}

/// A statement that is prepared once, known by its name afterwards, and says which one it is: names are numbers, and a
/// session may know one of the same number by a process that was there before.
struct Marked<'a>(&'a str);

impl QueryFragment<Pg> for Marked<'_> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        pass.push_sql("SELECT '");
        pass.push_sql(self.0);
        pass.push_sql("'::text");
        Ok(())
    }
}

impl Query for Marked<'_> {
    type SqlType = Text;
}

impl QueryId for Marked<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}
