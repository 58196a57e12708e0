//! `lessor backup` and `lessor restore`: what the database holds as a file, and back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use lessor_adapters::postgres::{BackupSummary, PgDatabase};
use lessor_embedded_postgres::Progress;
use serde_json::{Value, json};

use super::output::{Output, Reply, with_causes};
use super::session;
use crate::run::config::Config;
use crate::run::{compose, server_key};

/// One copies, and two look at the way there.
const CONNECTIONS: usize = 2;
/// The name of the file that is standard output or input.
const STANDARD: &str = "-";

/// Write all records of the database to a file.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor backup lessor.backup\n  lessor backup - | gpg -e -r ops > lessor.backup.gpg\n\n\
    As of one moment, while the service runs; as a superuser or a role with BYPASSRLS. The server's key is not\n\
    in it: keep a copy of that apart. `lessor restore` takes it, with any version of PostgreSQL."
)]
pub(crate) struct BackupArgs {
    /// The file, which is made and must not be there, or - for standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Make the tables in a new database and put a backup in.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor restore lessor.backup\n  gpg -d lessor.backup.gpg | lessor restore -\n\n\
    A database with content is refused, and so is a file that is not whole. As a superuser, or the tables' owner\n\
    with BYPASSRLS. The tables are then brought up to date with this version of Lessor."
)]
pub(crate) struct RestoreArgs {
    /// The file that `lessor backup` made, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs `lessor backup`.
pub(crate) fn back_up(config: &Config, output: Output, args: &BackupArgs) -> anyhow::Result<()> {
    session::init_quiet_logs(config)?;
    let location = compose::find(config, |step| session::report(output, &step))?;
    let runtime = compose::runtime(1)?;
    let made = runtime.block_on(async {
        let database = compose::connect(config, location.url(), CONNECTIONS)?;
        compose::check_pooling(&database, config).await?;
        write(&database, &args.file).await
    });
    drop(runtime);
    drop(location);
    let made = made?;
    let text = format!("{} rows of {} tables are kept", made.rows, made.tables);
    if is_standard(&args.file) {
        output.progress(&text);
        return Ok(());
    }
    let file = args.file.display();
    let text = format!("{text} in {file}\nThe server's key is not in it: keep a copy apart.\n");
    output.reply(&Reply::text(value(&made, &args.file), text))
}

/// Runs `lessor restore`.
pub(crate) fn restore(config: &Config, output: Output, args: &RestoreArgs) -> anyhow::Result<()> {
    session::init_quiet_logs(config)?;
    let file = open(&args.file)?;
    let progress = |step: Progress| output.progress(&format!("{step} …"));
    let location = compose::find_or_make(config, progress)?;
    let runtime = compose::runtime(1)?;
    let restored = runtime.block_on(async {
        let database = compose::connect(config, location.url(), CONNECTIONS)?;
        compose::check_pooling(&database, config).await?;
        let migrating = move |name: &str| output.progress(&format!("migrating: {name}"));
        let restored = database.restore(file, migrating).await?;
        let lacking = lacking_key(config, &database, &restored).await;
        anyhow::Ok((restored, lacking))
    });
    drop(runtime);
    drop(location);
    let (restored, lacking) = restored?;
    let text = format!(
        "{} rows of {} tables, kept at {}, are restored\n",
        restored.rows, restored.tables, restored.made_at
    );
    let reply = Reply::text(value(&restored, &args.file), text);
    output.reply(&match lacking {
        Some(lacking) => reply.with_note(&lacking),
        None => reply,
    })
}

fn is_standard(file: &Path) -> bool {
    file == Path::new(STANDARD)
}

/// Makes the file, which only its owner can read, and which is whole or not there.
async fn write(database: &PgDatabase, file: &Path) -> anyhow::Result<BackupSummary> {
    let version = env!("CARGO_PKG_VERSION");
    if is_standard(file) {
        let stdout = BufWriter::new(io::stdout());
        return Ok(database.back_up(version, stdout).await?);
    }
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot make {}", file.display()))?;
    let made = database.back_up(version, BufWriter::new(&opened)).await;
    let made = match made {
        Ok(made) => opened.sync_all().map(|()| made).map_err(Into::into),
        Err(error) => Err(anyhow::Error::from(error)),
    };
    if made.is_err() {
        // It is no backup of anything.
        let _ = fs::remove_file(file);
    }
    made
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if is_standard(file) {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// What stands in the way of serving what was restored.
async fn lacking_key(
    config: &Config,
    database: &PgDatabase,
    restored: &BackupSummary,
) -> Option<String> {
    match server_key::at_hand(config, database).await {
        Ok(None) if restored.server_key.is_some() => Some(
            "The server's key of this database is not here: set LESSOR_SERVER_SECRET to it, or copy it to \
             server.key in the data directory, before `lessor serve`."
                .to_owned(),
        ),
        Ok(_) => None,
        Err(error) => Some(with_causes(&error)),
    }
}

fn value(summary: &BackupSummary, file: &Path) -> Value {
    json!({
        "file": file.display().to_string(),
        "lessor": summary.lessor,
        "madeAt": summary.made_at,
        "migrations": summary.migrations,
        "tables": summary.tables,
        "rows": summary.rows,
        "serverKey": summary.server_key,
    })
}
