//! What Diesel takes the tables to be, against what the migrations make.

use lessor_adapters::testing::TestDatabase;

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
        "Jsonb" => "jsonb",
        "Bytea" => "bytea",
        "Numeric" => "numeric",
        "Timestamptz" => "timestamptz",
        "Date" => "date",
        other => panic!("say here what {other} is in Postgres"),
    }
    .to_owned()
}

#[tokio::test]
async fn the_schema_is_that_of_the_migrations() {
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
#[tokio::test]
async fn every_foreign_key_has_an_index() {
    let test = TestDatabase::create().await;
    let bare = test
        .query(
            "SELECT c.conname FROM pg_constraint c WHERE c.contype = 'f' \
             AND c.connamespace = 'public'::regnamespace AND NOT EXISTS ( \
                SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid \
                AND (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)",
        )
        .await;
    // Organizations, customers and categories are never deleted, and neither are rates of both.
    let never_deleted = |name: &&String| {
        name.ends_with("_organization_id_fkey")
            || name.ends_with("_customer_id_fkey")
            || name.ends_with("_user_id_fkey")
    };
    assert_eq!(
        bare.iter()
            .filter(|name| !never_deleted(name))
            .collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}
