//! What a database holds as one file, and back into a database of any version of PostgreSQL.
//!
//! The file is a line that names the format, a header in JSON, the rows of each table as COPY writes them,
//! and a SHA-256 of all that. Header and rows are frames: four bytes of length, then the frame; an empty
//! one ends a table. Tables come in an order in which each refers to those before it alone.
//!
//! The header says which migrations the tables had. Tables are made by the same ones before rows are put
//! into them, and migrated afterwards: so what later migrations do with rows is done with these too.

use std::collections::HashSet;
use std::io::{self, Cursor, Read, Write};
use std::pin::pin;

use futures_util::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Client;

use super::PgDatabase;
use super::migrate::{HISTORY, MigrateError, known_versions};

/// What the file begins with.
const FORMAT: &[u8; 16] = b"lessor backup 1\n";

/// Tables that migrations fill.
const REBUILT: &[&str] = &[HISTORY, "lifecycle_states"];

/// How values are written, whatever server and role are set to; and no limit of time.
const SETTINGS: &str = "SET LOCAL row_security = off; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
    SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL client_encoding = 'UTF8'; \
    SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres'; SET LOCAL TimeZone = 'UTC'; \
    SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'";

const TABLES: &str = "\
SELECT kept.relname::text, array_agg(part.attname::text ORDER BY part.attnum)
FROM pg_class AS kept
JOIN pg_namespace AS home ON home.oid = kept.relnamespace
JOIN pg_attribute AS part ON part.attrelid = kept.oid
WHERE home.nspname = current_schema() AND kept.relkind IN ('r', 'p') AND NOT kept.relispartition
    AND kept.relname::text <> ALL ($1::text[])
    AND part.attnum > 0 AND NOT part.attisdropped AND part.attgenerated = ''
GROUP BY kept.relname ORDER BY kept.relname";

const REFERENCES: &str = "\
SELECT child.relname::text, parent.relname::text
FROM pg_constraint AS rule
JOIN pg_class AS child ON child.oid = rule.conrelid
JOIN pg_class AS parent ON parent.oid = rule.confrelid
JOIN pg_namespace AS home ON home.oid = child.relnamespace
WHERE home.nspname = current_schema() AND rule.contype = 'f' AND rule.conrelid <> rule.confrelid";

const SEQUENCES: &str = "\
SELECT kept.relname::text FROM pg_class AS kept
JOIN pg_namespace AS home ON home.oid = kept.relnamespace
WHERE home.nspname = current_schema() AND kept.relkind = 'S' ORDER BY 1";

/// Why there is no backup, or nothing came of one.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Connect(#[source] tokio_postgres::Error),
    /// The database refuses a statement.
    #[error("the database cannot be copied")]
    Database(#[from] tokio_postgres::Error),
    /// Row security hides rows from the role.
    #[error(
        "the role {role} is held to row security, which is forced, and would copy nothing: use a superuser or a role \
         with BYPASSRLS"
    )]
    RowSecurity {
        /// Who connects.
        role: String,
    },
    /// There is nothing to be kept.
    #[error(
        "the database has no tables of Lessor: is it the right one? `lessor migrate` makes them"
    )]
    NoTables,
    /// The file cannot be read or written.
    #[error("the file cannot be read or written")]
    File(#[source] io::Error),
    /// The file is something else.
    #[error("the file is no backup that this version of Lessor knows")]
    Unknown,
    /// Something of the file is missing, or not as it was written.
    #[error("the backup is damaged or cut off: nothing was restored")]
    Damaged,
    /// The file has tables that this version cannot make.
    #[error(
        "the backup was made by Lessor {lessor}, with migrations that this version does not know: restore it with that \
         version or a later one"
    )]
    Newer {
        /// The version that made it.
        lessor: String,
    },
    /// There is something in the database.
    #[error("the database has content (in {table}): restore into a new one")]
    HasContent {
        /// Where.
        table: String,
    },
    /// The tables of the database are those of a later version.
    #[error(
        "the database has tables of a later version than the backup: restore into one without tables"
    )]
    Ahead,
    /// The tables cannot be made, or not be brought up to date.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
}

/// What a backup has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    /// The version of Lessor that made it.
    pub lessor: String,
    /// When it was made, by the database's clock: RFC 3339.
    pub made_at: String,
    /// How many migrations its tables had.
    pub migrations: usize,
    /// How many tables it has.
    pub tables: usize,
    /// How many rows they have in all.
    pub rows: u64,
    /// The fingerprint of the server's key that it is under, in hexadecimal digits; none where no server
    /// had started on the database.
    pub server_key: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    lessor: String,
    made_at: String,
    migrations: Vec<String>,
    server_key: Option<String>,
    tables: Vec<Table>,
    sequences: Vec<Sequence>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    name: String,
    columns: Vec<String>,
    rows: u64,
}

impl Table {
    /// The table as COPY is told of it.
    fn target(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        format!("{} ({})", quoted(&self.name), columns.join(", "))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sequence {
    name: String,
    last_value: i64,
    is_called: bool,
}

impl Header {
    fn summary(&self) -> BackupSummary {
        let rows = self.tables.iter().map(|table| table.rows);
        BackupSummary {
            lessor: self.lessor.clone(),
            made_at: self.made_at.clone(),
            migrations: self.migrations.len(),
            tables: self.tables.len(),
            rows: rows.fold(0, u64::saturating_add),
            server_key: self.server_key.clone(),
        }
    }
}

/// A file, and the hash of what went to or came from it.
struct Hashed<T> {
    file: T,
    hash: Sha256,
}

impl<T> Hashed<T> {
    fn new(file: T) -> Self {
        Self {
            file,
            hash: Sha256::new(),
        }
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        self.hash.update(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}

fn write_frame(to: &mut impl Write, frame: &[u8]) -> Result<(), BackupError> {
    let length = u32::try_from(frame.len())
        .map_err(io::Error::other)
        .map_err(BackupError::File)?;
    to.write_all(&length.to_be_bytes())
        .and_then(|()| to.write_all(frame))
        .map_err(BackupError::File)
}

fn read_frame(from: &mut impl Read) -> Result<Vec<u8>, BackupError> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(unread)?;
    let length = u32::from_be_bytes(length);
    let mut frame = Vec::new();
    // What a damaged length promises takes no memory before it is there.
    let read = from
        .by_ref()
        .take(length.into())
        .read_to_end(&mut frame)
        .map_err(unread)?;
    if u32::try_from(read) == Ok(length) {
        Ok(frame)
    } else {
        Err(BackupError::Damaged)
    }
}

fn unread(error: io::Error) -> BackupError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => BackupError::Damaged,
        _ => BackupError::File(error),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl PgDatabase {
    /// Writes what the database holds, as of one moment, while others work on. What is known of it beside
    /// the rows is the version of Lessor, given here. One row at a time is in memory; the thread waits for
    /// the file.
    ///
    /// # Errors
    /// [`BackupError`]: whatever was written then is no backup.
    pub async fn back_up(
        &self,
        lessor: &str,
        to: impl Write,
    ) -> Result<BackupSummary, BackupError> {
        let client = self.pool.client().await.map_err(BackupError::Connect)?;
        let begin = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}");
        client.batch_execute(&begin).await?;
        stands_above_row_security(&client).await?;
        let header = describe(&client, lessor).await?;
        let mut to = Hashed::new(to);
        to.write_all(FORMAT).map_err(BackupError::File)?;
        let text = serde_json::to_vec(&header)
            .map_err(|error| BackupError::File(io::Error::other(error)))?;
        write_frame(&mut to, &text)?;
        for table in &header.tables {
            let copy = format!("COPY {} TO STDOUT", table.target());
            let mut rows = pin!(client.copy_out(copy.as_str()).await?);
            while let Some(row) = rows.next().await {
                write_frame(&mut to, &row?)?;
            }
            write_frame(&mut to, &[])?;
        }
        let Hashed { mut file, hash } = to;
        let hash: [u8; 32] = hash.finalize().into();
        file.write_all(&hash)
            .and_then(|()| file.flush())
            .map_err(BackupError::File)?;
        client.batch_execute("COMMIT").await?;
        Ok(header.summary())
    }

    /// Makes the tables in a database that has none, or empty ones, puts in what a backup has, and brings
    /// them up to date. Tells the name of each migration before it is run. The rows come in as a whole or
    /// not at all. One row at a time is in memory; the thread waits for the file.
    ///
    /// # Errors
    /// [`BackupError`]: the database has no rows then, unless the error is of a migration after them.
    pub async fn restore(
        &self,
        from: impl Read,
        progress: impl FnMut(&str) + Clone + Send + 'static,
    ) -> Result<BackupSummary, BackupError> {
        self.has_sessions()?;
        let mut from = Hashed::new(from);
        let header = read_header(&mut from)?;
        let known = known_versions()?;
        if !(header.migrations.iter()).all(|version| known.contains(version)) {
            return Err(BackupError::Newer {
                lessor: header.lessor,
            });
        }
        let client = self.pool.client().await.map_err(BackupError::Connect)?;
        stands_above_row_security(&client).await?;
        has_no_content(&client, &tables(&client).await?).await?;
        let seen = self.seen_versions().await?;
        if !seen
            .iter()
            .all(|version| header.migrations.contains(version))
        {
            return Err(BackupError::Ahead);
        }
        self.migrate_as(header.migrations.clone(), progress.clone())
            .await?;
        client.batch_execute(&format!("BEGIN; {SETTINGS}")).await?;
        let tables = tables(&client).await?;
        // What triggers would write is in the backup. References are checked as ever.
        client
            .batch_execute(&set_triggers(&tables, "DISABLE"))
            .await?;
        // Nobody else writes to them from here on.
        has_no_content(&client, &tables).await?;
        for table in &header.tables {
            fill(&client, table, &mut from).await?;
        }
        ends_whole(from)?;
        client
            .batch_execute(&set_triggers(&tables, "ENABLE"))
            .await?;
        for sequence in &header.sequences {
            let name = quoted(&sequence.name).replace('\'', "''");
            let (last_value, is_called) = (sequence.last_value, sequence.is_called);
            let set = format!("SELECT setval('{name}'::regclass, {last_value}, {is_called})");
            client.batch_execute(&set).await?;
        }
        client.batch_execute("COMMIT").await?;
        self.migrate(progress).await?;
        // Else the first statements are planned as for empty tables. It is done sooner or later anyway.
        let _ = client.batch_execute("ANALYZE").await;
        self.forget_idle();
        Ok(header.summary())
    }
}

async fn stands_above_row_security(client: &Client) -> Result<(), BackupError> {
    let asked =
        "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";
    let row = client.query_one(asked, &[]).await?;
    let stands_above: bool = row.try_get(1)?;
    if stands_above {
        Ok(())
    } else {
        Err(BackupError::RowSecurity {
            role: row.try_get(0)?,
        })
    }
}

/// The tables that hold records, without how many.
async fn tables(client: &Client) -> Result<Vec<Table>, BackupError> {
    let rows = client.query(TABLES, &[&REBUILT]).await?;
    let tables = rows.iter().map(|row| {
        Ok::<_, BackupError>(Table {
            name: row.try_get(0)?,
            columns: row.try_get(1)?,
            rows: 0,
        })
    });
    tables.collect()
}

async fn describe(client: &Client, lessor: &str) -> Result<Header, BackupError> {
    let mut found = tables(client).await?;
    let has = |name: &str| found.iter().any(|table| table.name == name);
    if !has("organizations") {
        return Err(BackupError::NoTables);
    }
    let has_key = has("server_key");
    let names: Vec<String> = found.iter().map(|table| quoted(&table.name)).collect();
    // Nobody changes them until the end.
    let lock = format!("LOCK TABLE {} IN ACCESS SHARE MODE", names.join(", "));
    client.batch_execute(&lock).await?;
    for table in &mut found {
        let count = format!("SELECT count(*) FROM {}", quoted(&table.name));
        let count: i64 = client.query_one(count.as_str(), &[]).await?.try_get(0)?;
        table.rows = u64::try_from(count).unwrap_or(0);
    }
    let mut references: Vec<(String, String)> = Vec::new();
    for row in client.query(REFERENCES, &[]).await? {
        references.push((row.try_get(0)?, row.try_get(1)?));
    }
    let mut sequences = Vec::new();
    for row in client.query(SEQUENCES, &[]).await? {
        let name: String = row.try_get(0)?;
        let asked = format!("SELECT last_value, is_called FROM {}", quoted(&name));
        let state = client.query_one(asked.as_str(), &[]).await?;
        sequences.push(Sequence {
            name,
            last_value: state.try_get(0)?,
            is_called: state.try_get(1)?,
        });
    }
    let mut migrations: Vec<String> = Vec::new();
    let asked = format!("SELECT version::text FROM {HISTORY} ORDER BY 1");
    for row in client.query(asked.as_str(), &[]).await? {
        migrations.push(row.try_get(0)?);
    }
    let server_key: Option<String> = if has_key {
        let asked = "SELECT encode(fingerprint, 'hex') FROM server_key";
        let key = client.query_opt(asked, &[]).await?;
        key.map(|row| row.try_get(0)).transpose()?
    } else {
        None
    };
    let asked = "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    Ok(Header {
        lessor: lessor.to_owned(),
        made_at: client.query_one(asked, &[]).await?.try_get(0)?,
        migrations,
        server_key,
        tables: in_order(found, &references),
        sequences,
    })
}

/// The tables, each after those that it refers to. Where some refer to each other in a circle, they come
/// last.
fn in_order(mut tables: Vec<Table>, references: &[(String, String)]) -> Vec<Table> {
    let mut ordered = Vec::new();
    while !tables.is_empty() {
        let left: HashSet<String> = tables.iter().map(|table| table.name.clone()).collect();
        let waits = |table: &Table| {
            (references.iter()).any(|(child, parent)| *child == table.name && left.contains(parent))
        };
        let (waiting, ready): (Vec<_>, Vec<_>) = tables.into_iter().partition(waits);
        if ready.is_empty() {
            ordered.extend(waiting);
            break;
        }
        ordered.extend(ready);
        tables = waiting;
    }
    ordered
}

fn read_header(from: &mut impl Read) -> Result<Header, BackupError> {
    let mut format = [0; FORMAT.len()];
    match from.read_exact(&mut format) {
        Ok(()) if format == *FORMAT => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(BackupError::File(error));
        }
        Ok(()) | Err(_) => return Err(BackupError::Unknown),
    }
    serde_json::from_slice(&read_frame(from)?).map_err(|_| BackupError::Damaged)
}

async fn has_no_content(client: &Client, tables: &[Table]) -> Result<(), BackupError> {
    for table in tables {
        let asked = format!("SELECT EXISTS (SELECT FROM {})", quoted(&table.name));
        let has_rows: bool = client.query_one(asked.as_str(), &[]).await?.try_get(0)?;
        if has_rows {
            return Err(BackupError::HasContent {
                table: table.name.clone(),
            });
        }
    }
    Ok(())
}

fn set_triggers(tables: &[Table], how: &str) -> String {
    let statements = tables
        .iter()
        .map(|table| format!("ALTER TABLE {} {how} TRIGGER USER", quoted(&table.name)));
    statements.collect::<Vec<_>>().join("; ")
}

/// Puts the table's rows in.
async fn fill(client: &Client, table: &Table, from: &mut impl Read) -> Result<(), BackupError> {
    let copy = format!("COPY {} FROM STDIN", table.target());
    let copying = client.copy_in::<_, Cursor<Vec<u8>>>(copy.as_str());
    let mut rows = pin!(copying.await?);
    loop {
        let row = read_frame(from)?;
        if row.is_empty() {
            break;
        }
        rows.feed(Cursor::new(row)).await?;
    }
    let filled = rows.as_mut().finish().await?;
    if filled == table.rows {
        Ok(())
    } else {
        Err(BackupError::Damaged)
    }
}

/// Sees to it that everything came as it was written, and nothing comes after it.
fn ends_whole(from: Hashed<impl Read>) -> Result<(), BackupError> {
    let Hashed { mut file, hash } = from;
    let mut written = Vec::new();
    // One byte more than there is to be.
    file.by_ref()
        .take(33)
        .read_to_end(&mut written)
        .map_err(unread)?;
    let hash: [u8; 32] = hash.finalize().into();
    if written == hash {
        Ok(())
    } else {
        Err(BackupError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        Table {
            name: name.to_owned(),
            columns: vec!["id".to_owned(), "of \"it\"".to_owned()],
            rows: 0,
        }
    }

    #[test]
    fn tables_come_after_those_that_they_refer_to() {
        let names = |references: &[(&str, &str)]| {
            let tables = ["a", "b", "c", "d"].map(table).into();
            let references = references.iter();
            let references: Vec<_> = references
                .map(|(child, parent)| ((*child).to_owned(), (*parent).to_owned()))
                .collect();
            let ordered = in_order(tables, &references);
            ordered
                .iter()
                .map(|it| it.name.as_str())
                .collect::<String>()
        };
        assert_eq!(names(&[]), "abcd");
        assert_eq!(names(&[("a", "b"), ("b", "d"), ("a", "gone")]), "cdba");
        assert_eq!(names(&[("a", "b"), ("b", "a"), ("c", "d")]), "dcab");
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(table("x").target(), r#""x" ("id", "of ""it""")"#);
    }

    #[test]
    fn a_frame_that_is_cut_off_is_damaged() {
        let mut file = Vec::new();
        write_frame(&mut file, b"rows").unwrap();
        write_frame(&mut file, b"").unwrap();
        let mut whole = file.as_slice();
        assert_eq!(read_frame(&mut whole).unwrap(), b"rows");
        assert_eq!(read_frame(&mut whole).unwrap(), b"");
        for length in 0..8 {
            let cut = read_frame(&mut file.get(..length).unwrap());
            assert!(matches!(cut, Err(BackupError::Damaged)), "{length}");
        }
    }
}
