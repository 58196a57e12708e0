//! Records by what callers keep beside them.

use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::sql_types::{BigInt, Bool, Jsonb, Text};
use lessor_domain::ids::OrganizationId;
use lessor_domain::metadata::Metadata;
use serde_json::Value;

/// Where the entries of a kind of records are kept, one row each, by triggers on the records' own
/// table. Names come from the stores alone.
pub(super) struct Entries {
    /// The column of the record's id in its own table.
    record: &'static str,
    table: &'static str,
    /// The column of the record's id there.
    id: &'static str,
}

pub(super) const OF_CUSTOMERS: Entries = Entries {
    record: "customers.id",
    table: "customer_metadata",
    id: "customer_id",
};

pub(super) const OF_PRODUCTS: Entries = Entries {
    record: "products.id",
    table: "product_metadata",
    id: "product_id",
};

pub(super) const OF_CHECKOUTS: Entries = Entries {
    record: "checkouts.id",
    table: "checkout_metadata",
    id: "checkout_id",
};

type With<T, U, S> = UncheckedBind<SqlLiteral<Bool, T>, AsExprOf<U, S>>;
type OfOrganization = UncheckedBind<SqlLiteral<Bool>, AsExprOf<i64, BigInt>>;
type OfKey = With<OfOrganization, String, Text>;
type OfEntry = With<OfKey, String, Text>;

/// A condition for each of the wanted entries: whether the organization's record has it.
pub(super) fn has_each(
    entries: &'static Entries,
    organization: OrganizationId,
    wanted: &Metadata,
) -> impl Iterator<Item = SqlLiteral<Bool, OfEntry>> {
    let Entries { record, table, id } = entries;
    wanted.entries().iter().map(move |(key, value)| {
        sql::<Bool>(&format!(
            "{record} IN (SELECT entry.{id} FROM {table} AS entry WHERE entry.organization_id = "
        ))
        .bind::<BigInt, _>(organization.get())
        .sql(" AND entry.key = ")
        .bind::<Text, _>(key.as_str().to_owned())
        .sql(" AND entry.value = ")
        .bind::<Text, _>(value.as_str().to_owned())
        .sql(")")
    })
}

/// Whether a variant has all of the wanted metadata, of those of one product: they are few.
pub(super) fn is_of_variant(
    wanted: &Metadata,
) -> UncheckedBind<SqlLiteral<Bool>, AsExprOf<Value, Jsonb>> {
    let entries = wanted.entries().iter();
    let entries =
        entries.map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned().into()));
    sql::<Bool>("product_variants.metadata @> ").bind::<Jsonb, _>(Value::Object(entries.collect()))
}
