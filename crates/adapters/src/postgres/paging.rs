//! Pages that start after a record, and how many records there are.

use diesel::QueryResult;
use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{SortOrder, StoreError};
use uuid::Uuid;

use super::decode::row_count;
use super::error::store_error;
use super::kept::Keep as _;

/// A record that marks a place in a list that is sorted by a column and then by id, both the
/// same way. Names of tables and columns come from the stores alone.
pub(super) struct Mark {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) organization: OrganizationId,
    pub(super) id: Uuid,
}

/// Narrows a boxed query to the rows whose column lies within the span.
macro_rules! within {
    ($query:ident, $column:expr, $span:expr) => {
        if let Some(after) = $span.after() {
            $query = $query.filter($column.gt(after));
        }
        if let Some(before) = $span.before() {
            $query = $query.filter($column.lt(before));
        }
    };
}
pub(super) use within;

type OfOrganization = UncheckedBind<SqlLiteral<Bool>, AsExprOf<i64, BigInt>>;
type OfId = UncheckedBind<SqlLiteral<Bool, OfOrganization>, AsExprOf<Uuid, SqlUuid>>;

/// Whether a row of the list comes after the place. The place is looked up by the
/// same query; after a record that the organization does not have comes nothing.
///
/// Rows compare as a whole, which an index on (key, id) answers; Diesel has no
/// expression for that.
pub(super) fn after(mark: &Mark, order: SortOrder) -> SqlLiteral<Bool, OfId> {
    let Mark {
        table,
        key,
        organization,
        id,
    } = mark;
    let beyond = match order {
        SortOrder::Ascending => ">",
        SortOrder::Descending => "<",
    };
    sql::<Bool>(&format!(
        "({table}.{key}, {table}.id) {beyond} \
         (SELECT place.{key}, place.id FROM {table} AS place WHERE place.organization_id = "
    ))
    .bind::<BigInt, _>(organization.get())
    .sql(" AND place.id = ")
    .bind::<SqlUuid, _>(*id)
    .sql(")")
}

/// Counts the rows of a query, up to so many. The number is a part of the text: the plan goes by it, and there
/// are few.
struct Counted<Q> {
    rows: Q,
    most: u64,
}

impl<Q> QueryId for Counted<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q> Query for Counted<Q> {
    type SqlType = BigInt;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Counted<Q> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        pass.push_sql("SELECT count(*) FROM (");
        self.rows.walk_ast(pass.reborrow())?;
        if self.most < u64::MAX {
            pass.push_sql(" LIMIT ");
            pass.push_sql(&self.most.to_string());
        }
        pass.push_sql(") AS counted");
        Ok(())
    }
}

/// How many rows there are, counted up to `most`.
pub(super) async fn count<Q>(
    rows: Q,
    most: u64,
    connection: &mut AsyncPgConnection,
) -> Result<u64, StoreError>
where
    Q: QueryFragment<Pg> + Send,
{
    let counted = Counted { rows, most };
    let count: i64 = counted
        .kept()
        .get_result(connection)
        .await
        .map_err(store_error)?;
    Ok(row_count(count))
}
