//! `lessor config`: what is in force, and where it comes from.

use clap::Args;
use serde_json::{Map, Value, json};

use super::output::Reply;
use crate::run::config::{self, Config};

/// Show which settings are in force, and where each comes from.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor config\n  lessor config --config lessor.toml --listen 0.0.0.0:80 --json\n  \
    lessor config --describe                   (every setting, as a Markdown table)\n\n\
    A flag beats the environment, which beats the file, which beats the default. Secrets are masked."
)]
pub(crate) struct ConfigArgs {
    /// Describe every setting instead
    #[arg(long)]
    describe: bool,
}

/// Runs the command.
pub(crate) fn run(config: &Config, args: &ConfigArgs) -> anyhow::Result<Reply> {
    if args.describe {
        let mut settings = config::settings();
        settings.retain(|setting| !setting.hidden);
        return Ok(Reply::text(
            json!({ "results": settings, "total": settings.len() }),
            config::markdown(),
        ));
    }
    let rows = config.entries.iter().map(|entry| {
        [
            entry.key.clone(),
            entry.value.clone().unwrap_or_else(|| "-".to_owned()),
            entry.origin.clone(),
        ]
    });
    let reply = Reply::list(&config.entries, ["setting", "value", "from"], rows)?;
    let members: Map<String, Value> = config
        .entries
        .iter()
        .map(|entry| {
            let shown = json!({ "value": entry.value, "origin": entry.origin });
            (entry.key.clone(), shown)
        })
        .collect();
    let unknown = &config.unknown_environment;
    let reply = if unknown.is_empty() {
        reply
    } else {
        let names = unknown.join(", ");
        reply.with_note(&format!("These variables mean nothing: {names}"))
    };
    Ok(reply
        .with_member("settings", members.into())
        .with_member("unknownEnvironment", unknown.as_slice().into()))
}
