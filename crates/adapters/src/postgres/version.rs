//! Writes that compare the version before they set.

use diesel::pg::Pg;
use diesel::query_builder::{QueryFragment, QueryId};
use diesel_async::methods::LoadQuery;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ports::StoreError;

use super::error::store_error;
use super::kept::Keep as _;

/// The version that a write makes of the one that it found.
pub(super) const fn next(version: i64) -> i64 {
    version.saturating_add(1)
}

/// Does a write that finds its row by id and version. Where it finds none, the other statement
/// says whether there is a row of the id: somebody else wrote it, or it is gone.
pub(super) async fn compare_and_set<'q, W, E>(
    connection: &mut AsyncPgConnection,
    what: &'static str,
    write: W,
    is_there: E,
) -> Result<(), StoreError>
where
    W: QueryFragment<Pg> + QueryId + Send + 'q,
    E: LoadQuery<'q, AsyncPgConnection, bool> + Send + 'q,
{
    let written = write
        .kept()
        .execute(connection)
        .await
        .map_err(store_error)?;
    if written > 0 {
        return Ok(());
    }
    if is_there.get_result(connection).await.map_err(store_error)? {
        Err(StoreError::Stale(what))
    } else {
        Err(StoreError::Missing(what))
    }
}
