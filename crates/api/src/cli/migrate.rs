//! `lessor migrate`: the database's tables.

use clap::Args;
use lessor_embedded_postgres::Progress;
use serde_json::{Value, json};

use super::output::{Output, Reply};
use super::session;
use crate::run::compose;
use crate::run::config::Config;

/// Bring the database's tables up to date.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor migrate\n  lessor migrate --dry-run --json\n  \
    lessor migrate --grant-to lessor_service     (whom serve and worker connect as)\n  lessor migrate --distribute                  (on a cluster's coordinator)\n\n\
    Any number of processes may do so at once: one does the work, the others wait. A service that runs\n\
    keeps working: the tables of each version also serve the version before."
)]
pub(crate) struct MigrateArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Then let this role, which there is already, work on the tables
    #[arg(long, value_name = "ROLE", conflicts_with = "dry_run")]
    grant_to: Option<String>,
    /// Then spread the tables over the nodes of the cluster whose coordinator this is (PostgreSQL with
    /// the extension citus)
    #[arg(long, conflicts_with = "dry_run")]
    distribute: bool,
}

/// Runs the command.
pub(crate) fn run(config: &Config, output: Output, args: &MigrateArgs) -> anyhow::Result<()> {
    session::init_quiet_logs(config)?;
    let progress = |step: Progress| output.progress(&format!("{step} …"));
    let location = if args.dry_run {
        compose::find(config, progress)?
    } else {
        compose::find_or_make(config, progress)?
    };
    let runtime = compose::runtime(1)?;
    let applied = runtime.block_on(async {
        let database = compose::connect(config, location.url(), 1)?;
        compose::check_pooling(&database, config).await?;
        let pending = database.pending_migrations().await?;
        if !args.dry_run {
            database
                .migrate(move |name| output.progress(&format!("migrating: {name}")))
                .await?;
        }
        if let Some(role) = &args.grant_to {
            database.grant_to(role).await?;
        }
        let spread = if args.distribute {
            output.progress("spreading the tables over the nodes");
            Some(database.distribute().await?)
        } else {
            None
        };
        anyhow::Ok((pending, spread))
    });
    drop(runtime);
    drop(location);
    let (applied, spread) = applied?;
    let mut text = match (applied.len(), args.dry_run) {
        (0, _) => "the database is up to date\n".to_owned(),
        (_, true) => format!("pending:\n  {}\n", applied.join("\n  ")),
        (count, false) => format!("{count} migrations applied\n"),
    };
    let member = if args.dry_run { "pending" } else { "applied" };
    let mut value = json!({ (member): applied });
    if let (Some(role), Value::Object(members)) = (&args.grant_to, &mut value) {
        members.insert("grantedTo".to_owned(), json!(role));
        text.push_str(&format!("{role} may work on the tables\n"));
    }
    if let (Some(spread), Value::Object(members)) = (spread, &mut value) {
        members.insert("distributed".to_owned(), json!(spread));
        text.push_str(&format!("{spread} tables spread over the nodes\n"));
    }
    output.reply(&Reply::text(value, text))
}
