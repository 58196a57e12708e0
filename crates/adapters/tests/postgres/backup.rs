//! What a database holds as a file, and back.

use std::collections::BTreeMap;

use lessor_adapters::postgres::{BackupError, PgDatabase, PgSettings};
use lessor_adapters::testing::TestDatabase;

use super::leasing::Leasing;
use super::support::skipped_on_a_cluster;

const VERSION: &str = "1.2.3";
const KEY: [u8; 32] = [7; 32];

/// A shop in which somebody leases, on a database that a server has started on.
async fn filled() -> Leasing {
    let leasing = Leasing::open().await;
    leasing.kept(leasing.checkout()).await;
    let made = leasing.shop.make.tick();
    let database = leasing.shop.database();
    database
        .put_under_server_key(KEY, None, made)
        .await
        .unwrap();
    // What COPY has to write in another way than it is.
    let odd = "UPDATE organizations SET name = E'a\\tb\\\\c \\u00e4'";
    leasing.shop.test.execute(odd).await;
    leasing
}

/// The rows of each table, and where the sequences are.
async fn contents(test: &TestDatabase) -> BTreeMap<String, Vec<String>> {
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'";
    let mut contents = BTreeMap::new();
    for table in test.query(tables).await {
        // When a migration was run is no part of it.
        let rows = format!("SELECT (to_jsonb(t) - 'run_on')::text FROM \"{table}\" t ORDER BY 1");
        contents.insert(table, test.query(&rows).await);
    }
    let sequences = "SELECT concat_ws(' ', sequencename, last_value) FROM pg_sequences ORDER BY 1";
    contents.insert("sequences".to_owned(), test.query(sequences).await);
    contents
}

async fn backup_of(database: &PgDatabase) -> Vec<u8> {
    let mut file = Vec::new();
    database.back_up(VERSION, &mut file).await.unwrap();
    file
}

async fn refused(test: &TestDatabase, file: &[u8]) -> BackupError {
    let restored = test.database().restore(file, |_| {}).await;
    restored.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_restored_equals_what_was_backed_up_in_every_row() {
    if skipped_on_a_cluster("a backup of one server") {
        return;
    }
    let leasing = filled().await;
    let mut file = Vec::new();
    let database = leasing.shop.database();
    let written = database.back_up(VERSION, &mut file).await.unwrap();
    assert_eq!(written.lessor, VERSION);
    assert_eq!(written.server_key, Some("07".repeat(32)));
    let before = contents(&leasing.shop.test).await;
    assert!(before["checkouts"].len() == 1 && written.rows > 5);

    let new = TestDatabase::create_empty().await;
    let restored = new.database().restore(file.as_slice(), |_| {}).await;
    assert_eq!(restored.unwrap(), written);
    assert_eq!(contents(&new).await, before);
    // It works on as the other one would.
    let off = "SELECT count(*) FROM pg_trigger WHERE tgenabled <> 'O'";
    assert_eq!(new.query(off).await, ["0"]);
    let key = new.database().server_key().await.unwrap();
    assert_eq!(key.map(|key| key.fingerprint), Some(KEY));
    let lacking = new.database().pending_migrations().await.unwrap();
    assert_eq!(lacking, Vec::<String>::new());
    let again = backup_of(new.database()).await;
    let third = TestDatabase::create().await;
    let restored = third.database().restore(again.as_slice(), |_| {}).await;
    restored.unwrap();
    assert_eq!(contents(&third).await, before);

    // What has content is left as it is.
    let error = refused(&third, &file).await;
    assert!(matches!(error, BackupError::HasContent { .. }), "{error}");
    assert_eq!(contents(&third).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_file_that_is_not_whole_nothing_is_restored() {
    if skipped_on_a_cluster("a backup of one server") {
        return;
    }
    let leasing = filled().await;
    let file = backup_of(leasing.shop.database()).await;
    let new = TestDatabase::create_empty().await;
    for length in [0, 7, 16, 18, 100] {
        let error = refused(&new, &file[..length]).await;
        let is_told = matches!(error, BackupError::Unknown | BackupError::Damaged);
        assert!(is_told, "{length}: {error}");
    }
    let tables = "SELECT to_regclass('organizations') IS NULL";
    assert_eq!(new.query(tables).await, ["t"], "nothing was made for it");
    let half = file.len() / 2;
    for length in [half, file.len() - 40, file.len() - 32, file.len() - 1] {
        let error = refused(&new, &file[..length]).await;
        assert!(matches!(error, BackupError::Damaged), "{length}: {error}");
    }
    let longer = [&file[..], b"x"].concat();
    let error = refused(&new, &longer).await;
    assert!(matches!(error, BackupError::Damaged), "{error}");
    let mut changed = file.clone();
    let last = file.len() - 1;
    changed[last] ^= 1;
    let error = refused(&new, &changed).await;
    assert!(matches!(error, BackupError::Damaged), "{error}");
    let rows = "SELECT count(*) FROM organizations";
    assert_eq!(new.query(rows).await, ["0"]);
    // The tables are there by now, and empty.
    new.database()
        .restore(file.as_slice(), |_| {})
        .await
        .unwrap();
    assert_eq!(new.query(rows).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_later_version_is_refused_by_name() {
    if skipped_on_a_cluster("a backup of one server") {
        return;
    }
    let test = TestDatabase::create().await;
    let version = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000000')";
    test.execute(version).await;
    let file = backup_of(test.database()).await;
    let new = TestDatabase::create_empty().await;
    let error = refused(&new, &file).await.to_string();
    assert!(error.contains("Lessor 1.2.3"), "{error}");
    let tables = "SELECT to_regclass('organizations') IS NULL";
    assert_eq!(new.query(tables).await, ["t"]);

    // The other way round: what later migrations would do with the rows was done already.
    let earlier = TestDatabase::create().await;
    let file = backup_of(earlier.database()).await;
    let error = refused(&test, &file).await;
    assert!(matches!(error, BackupError::Ahead), "{error}");
}

/// Row security would hide the rows, and the backup would be empty.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_held_to_row_security_is_refused() {
    if skipped_on_a_cluster("a role of one server") {
        return;
    }
    let test = TestDatabase::create().await;
    test.execute(
        "CREATE ROLE archivist LOGIN PASSWORD 'secret'; \
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO archivist",
    )
    .await;
    let place = test.url().rsplit('@').next().unwrap();
    let url = format!("postgres://archivist:secret@{place}");
    let database = PgDatabase::new(&PgSettings::new(url)).unwrap();
    let mut file = Vec::new();
    let error = database.back_up(VERSION, &mut file).await.unwrap_err();
    assert!(error.to_string().contains("archivist"), "{error}");
    assert!(file.is_empty());
    let empty = TestDatabase::create_empty().await;
    let error = empty.database().back_up(VERSION, &mut file).await;
    assert!(matches!(error, Err(BackupError::NoTables)), "{error:?}");
}
