//! Records by what callers keep beside them.

use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::sql_types::{Bool, Jsonb};
use lessor_domain::metadata::Metadata;
use serde_json::Value;

/// Whether a row of the table has all of the wanted metadata. Those that have none are told first,
/// as the partial index says it. The table's name comes from the stores alone.
pub(super) fn has_all(
    table: &str,
    wanted: &Metadata,
) -> UncheckedBind<SqlLiteral<Bool>, AsExprOf<Value, Jsonb>> {
    let entries = wanted.entries().iter();
    let entries =
        entries.map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned().into()));
    sql::<Bool>(&format!(
        "{table}.metadata <> '{{}}' AND {table}.metadata @> "
    ))
    .bind::<Jsonb, _>(Value::Object(entries.collect()))
}
