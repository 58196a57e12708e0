//! Pages that start after a record.

use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::sql_types::{BigInt, Bool, Uuid as SqlUuid};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::SortOrder;
use uuid::Uuid;

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
