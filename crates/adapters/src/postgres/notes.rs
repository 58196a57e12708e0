//! What a unit of work writes down at its end: of what it did, and what others are told of.

use diesel_async::AsyncPgConnection;
use futures_util::future::join3;
use lessor_domain::ports::StoreError;

use super::error::store_error;
use super::schema::{audit_events, customer_keys, unnumbered_events};
use super::{PgUnitOfWork, audit, events, kept};

/// A statement has 65 535 parameters at most.
const ROWS_OF_A_STATEMENT: usize = 1_000;

/// All of it at once: nothing of it is read by who writes it, and each round trip is a turn of the database's own, and of
/// whoever waits for it.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) audit: Vec<audit::Row>,
    /// The keys of customers who were made in it.
    pub(super) keys: Vec<audit::KeyRow>,
    pub(super) events: Vec<events::NewRow>,
}

macro_rules! insert {
    ($rows:ident into $table:ident over $connection:ident) => {
        async {
            for part in $rows.chunks(ROWS_OF_A_STATEMENT) {
                let insert = diesel::insert_into($table::table).values(part);
                kept::insert(part.len(), insert, $connection).await?;
            }
            Ok(())
        }
    };
}

impl PgUnitOfWork {
    /// Writes down what was noted.
    pub(super) async fn write_down(&mut self) -> Result<(), StoreError> {
        let Notes {
            audit,
            keys,
            events,
        } = std::mem::take(&mut self.notes);
        if audit.is_empty() && keys.is_empty() && events.is_empty() {
            return Ok(());
        }
        let connection: &AsyncPgConnection = self.connection()?;
        // One behind the other on the line.
        let (keys, audit, events) = join3(
            insert!(keys into customer_keys over connection),
            insert!(audit into audit_events over connection),
            insert!(events into unnumbered_events over connection),
        )
        .await;
        keys.and(audit).and(events).map_err(store_error)
    }
}
