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
