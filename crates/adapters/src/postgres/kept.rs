//! Statements that a connection keeps prepared.

use std::sync::OnceLock;

use diesel::QueryResult;
use diesel::pg::{Pg, PgQueryBuilder};
use diesel::query_builder::{AstPass, Query, QueryBuilder as _, QueryFragment, QueryId};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};

/// Up to how many rows are inserted by a statement that the connection keeps: its text is another for each
/// number of them.
const FEW: usize = 8;

/// Behind what is asked about each row: no plan asks it of all rows at once. A plan that is kept from when there were few
/// rows would otherwise do so however many there are by now.
pub(super) const FENCE: &str = " OFFSET 0";

/// To the end of the transaction, in front of who asks what is due, or whose. Of rows that row security shows the planner
/// expects so few that it would read and sort all that are due, to look at the first. What is asked for in the order of an index is read
/// in that one then, however few rows there were when they were counted.
pub(super) const BY_INDEX: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; \
                                   SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off";

/// Inserts so many rows.
pub(super) async fn insert<'a, Q>(
    rows: usize,
    insert: Q,
    mut connection: &'a AsyncPgConnection,
) -> QueryResult<usize>
where
    Q: QueryFragment<Pg> + QueryId + Send + 'a,
{
    if rows <= FEW {
        insert.kept().execute(&mut connection).await
    } else {
        insert.execute(&mut connection).await
    }
}

/// A statement whose text is one of a few, so that each connection prepares it once, by its text. Diesel
/// prepares updates and upserts anew each time, since their text may follow what they write; a row whose
/// `None` is written as NULL, not as DEFAULT, has one text. So it does with what is written as SQL.
///
/// The plan is kept too, as it was made by the size that the tables had then, until they are analyzed. So this is for what
/// any plan does well: rows by their keys. What joins, or looks for many ids, in a table that was empty a moment ago is
/// planned anew, or fences off what it asks of each row.
///
/// For a list of ids it is made as if there were ten, and reads all of a table of a thousand rows: where there is one, that is
/// looked for by equality.
pub(crate) struct Kept<Q> {
    query: Q,
    /// Where its text is, of one that has a single text.
    text: Option<&'static Text>,
}

/// The text of a statement, once it was written. The library writes it each time, also where the connection has prepared it,
/// and of a hundred columns that takes longer than to read them.
pub(crate) struct Text(OnceLock<String>);

impl Text {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// Whatever has one of a few texts.
pub(crate) trait Keep: Sized {
    /// The statement, [kept](Kept), whose text is always this one, where it has a single one.
    fn kept_as(self, text: impl Into<Option<&'static Text>>) -> Kept<Self>;

    /// The statement, [kept](Kept), whose text is one of a few.
    fn kept(self) -> Kept<Self> {
        self.kept_as(None)
    }
}

impl<Q: QueryFragment<Pg>> Keep for Q {
    fn kept_as(self, text: impl Into<Option<&'static Text>>) -> Kept<Self> {
        Kept {
            query: self,
            text: text.into(),
        }
    }
}

impl<Q> QueryId for Kept<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Kept<Q> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Kept<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.query.walk_ast(pass)
    }

    fn to_sql(&self, out: &mut PgQueryBuilder, backend: &Pg) -> QueryResult<()> {
        let Some(Text(text)) = self.text else {
            return self.query.to_sql(out, backend);
        };
        let write = || {
            let mut written = PgQueryBuilder::default();
            self.query.to_sql(&mut written, backend)?;
            QueryResult::Ok(written.finish())
        };
        let text = match text.get() {
            Some(text) => {
                debug_assert_eq!(*text, write()?, "a statement has another text by now");
                text
            }
            None => {
                let written = write()?;
                text.get_or_init(|| written)
            }
        };
        out.push_sql(text);
        Ok(())
    }

    fn is_safe_to_cache_prepared(&self, _: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}
