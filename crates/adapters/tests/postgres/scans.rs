//! How tables are read, as the server counts it.

use lessor_adapters::postgres::PgDatabase;
use lessor_adapters::testing::TestDatabase;

use super::support::{Patience, pool};

/// How often tables were read whole, and how often by an index.
#[derive(Debug, PartialEq, Eq)]
struct Scans {
    whole: u64,
    by_index: u64,
}

impl Scans {
    async fn of(test: &TestDatabase, tables: &str) -> Self {
        let sql = format!(
            "SELECT sum(seq_scan) || ' ' || sum(idx_scan) FROM pg_stat_user_tables WHERE relname ~ '^({tables})$'"
        );
        let scans = test.query(&sql).await.remove(0);
        let (whole, by_index) = scans.split_once(' ').unwrap();
        Self {
            whole: whole.parse().unwrap(),
            by_index: by_index.parse().unwrap(),
        }
    }
}

/// How often tables are read whole, named like `checkouts|checkout_items`, by what is done over connections of its own.
pub(crate) async fn read_whole(
    test: &TestDatabase,
    tables: &str,
    work: impl AsyncFnOnce(&PgDatabase),
) -> u64 {
    let before = Scans::of(test, tables).await;
    let other = pool(test, |_| {});
    work(&other).await;
    // A session counts at the latest when it ends.
    drop(other);
    let mut patience = Patience::new();
    loop {
        let after = Scans::of(test, tables).await;
        if after != before {
            return after.whole - before.whole;
        }
        patience.spend(&format!("{tables} were not read"));
    }
}

/// How many rows of the table, and entries of its indexes, are read by what is done over one connection, which goes through
/// those that often at least.
pub(crate) async fn rows_read(
    test: &TestDatabase,
    table: &str,
    least: u64,
    work: impl AsyncFnOnce(&PgDatabase),
) -> u64 {
    let sql = format!(
        "SELECT sum(i.idx_scan) || ' ' || sum(i.idx_tup_read) + min(t.seq_tup_read) \
         FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid) WHERE t.relname = '{table}'"
    );
    let read = async || -> (u64, u64) {
        let read = test.query(&sql).await.remove(0);
        let (scans, rows) = read.split_once(' ').unwrap();
        (scans.parse().unwrap(), rows.parse().unwrap())
    };
    let before = read().await;
    let alone = pool(test, |settings| settings.max_connections = 1);
    work(&alone).await;
    // A session counts at the latest when it ends.
    drop(alone);
    let mut patience = Patience::new();
    loop {
        let (scans, rows) = read().await;
        if scans >= before.0 + least {
            return rows - before.1;
        }
        patience.spend(&format!("{table} were not read"));
    }
}
