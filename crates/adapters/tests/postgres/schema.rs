//! What Diesel takes the tables to be, against what the migrations make.

use lessor_adapters::testing::TestDatabase;
use lessor_domain::checkout::{Lifecycle, WaitlistReason};

use super::support::skipped_on_a_cluster;

/// The columns of the hand-written schema as `table.column type null?`, in order.
fn written() -> Vec<String> {
    let source = include_str!("../../src/postgres/schema.rs");
    let mut table = String::new();
    let mut columns = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some((name, _)) = line.split_once(" (").filter(|_| line.ends_with(") {")) {
            name.clone_into(&mut table);
        } else if let Some((column, kind)) = line
            .strip_suffix(',')
            .and_then(|line| line.split_once(" -> "))
        {
            let (kind, null) = match kind.strip_prefix("Nullable<") {
                Some(inner) => (inner.strip_suffix('>').unwrap(), "null"),
                None => (kind, "not null"),
            };
            columns.push(format!("{table}.{column} {} {null}", in_postgres(kind)));
        }
    }
    columns.sort();
    columns
}

fn in_postgres(kind: &str) -> String {
    if let Some(inner) = kind
        .strip_prefix("Array<")
        .and_then(|inner| inner.strip_suffix('>'))
    {
        return format!("_{}", in_postgres(inner));
    }
    match kind {
        "BigInt" => "int8",
        "Integer" => "int4",
        "SmallInt" => "int2",
        "Bool" => "bool",
        "Text" => "text",
        "Uuid" => "uuid",
        "Json" => "json",
        "Jsonb" => "jsonb",
        "Bytea" | "Binary" => "bytea",
        "Numeric" => "numeric",
        "Timestamptz" => "timestamptz",
        "Date" => "date",
        other => panic!("say here what {other} is in Postgres"),
    }
    .to_owned()
}

#[tokio::test]
async fn the_schema_is_that_of_the_migrations() {
    if skipped_on_a_cluster("the catalog of one server") {
        return;
    }
    let test = TestDatabase::create().await;
    let mut migrated = test
        .query(
            "SELECT table_name || '.' || column_name || ' ' || udt_name || ' ' || \
             CASE is_nullable WHEN 'YES' THEN 'null' ELSE 'not null' END \
             FROM information_schema.columns WHERE table_schema = 'public' \
             AND table_name NOT LIKE '\\_\\_diesel%'",
        )
        .await;
    migrated.sort();
    assert_eq!(written(), migrated);
}

/// A constraint that is renamed would turn a conflict into a failure.
#[tokio::test]
async fn the_unique_constraints_that_errors_tell_apart_are_there() {
    let test = TestDatabase::create().await;
    let there = test
        .query(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
             WHERE i.indisunique",
        )
        .await;
    let source = include_str!("../../src/postgres/error.rs");
    let known: Vec<&str> = source
        .split('"')
        .filter(|text| text.ends_with("_key") && !text.contains(' '))
        .collect();
    assert!(known.contains(&"product_variants_sku_key"));
    for name in known {
        assert!(there.iter().any(|index| index == name), "{name}");
    }
}

/// Deletes look for what refers to a row; without an index they read the whole table.
/// Decisions about credit and the simulated processor's records are never deleted.
#[tokio::test]
async fn every_foreign_key_to_what_is_deleted_has_an_index() {
    if skipped_on_a_cluster("the catalog of one server") {
        return;
    }
    let test = TestDatabase::create().await;
    let bare = test
        .query(
            "SELECT c.conname FROM pg_constraint c WHERE c.contype = 'f' \
             AND c.connamespace = 'public'::regnamespace \
             AND c.confrelid NOT IN ('organizations'::regclass, 'api_keys'::regclass, \
                'customers'::regclass, 'lifecycle_states'::regclass, 'qualifications'::regclass) \
             AND c.confrelid::regclass::text NOT LIKE 'simulated%' \
             AND NOT EXISTS ( \
                SELECT FROM pg_index i JOIN pg_attribute first ON first.attrelid = i.indrelid \
                    AND first.attnum = i.indkey[0] \
                WHERE i.indrelid = c.conrelid AND first.attnum = ANY (c.conkey) \
                AND (first.attname <> 'organization_id' OR i.indkey[1] = ANY (c.conkey)))",
        )
        .await;
    assert_eq!(bare, Vec::<String>::new());
}

/// Adding a state, or changing what holds of one, without telling the database is found here.
#[tokio::test]
async fn the_database_knows_of_each_state_what_the_domain_knows() {
    let test = TestDatabase::create().await;
    let kept = test
        .query("SELECT row_to_json(lifecycle_states)::text FROM lifecycle_states")
        .await;
    let mut kept: Vec<serde_json::Value> = kept
        .iter()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let waits_for = |state: Lifecycle| state.waits_for().map_or("none", WaitlistReason::as_str);
    let mut known: Vec<serde_json::Value> = Lifecycle::ALL
        .iter()
        .map(|state| {
            serde_json::json!({
                "name": state.as_str(),
                "phase": state.phase().as_str(),
                "is_ended": state.is_ended(),
                "expires": state.expires(),
                "waits_for": waits_for(*state),
                "may_hold_stock": state.may_hold_stock(),
                "is_confirmed": state.is_confirmed(),
                "is_leased": state.is_leased(),
                "is_under_way": state.is_under_way(),
            })
        })
        .collect();
    let by_name = |row: &serde_json::Value| row["name"].to_string();
    kept.sort_by_key(by_name);
    known.sort_by_key(by_name);
    assert_eq!(kept, known);
}
