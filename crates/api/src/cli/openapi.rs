//! `lessor openapi`: the document of the HTTP interface.

use clap::Args;

use super::output::Reply;
use crate::routes;
use crate::run::app;
use crate::run::config::Config;

/// Print the OpenAPI document of the HTTP interface.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  lessor openapi > openapi.json\n\n\
    A running service has the same at /openapi.json, and a reference made of it at /docs/reference.")]
pub(crate) struct OpenapiArgs {}

/// Runs the command.
pub(crate) fn run(config: &Config) -> Reply {
    let url = config.public_url.as_deref().unwrap_or_default();
    let document = app::document(url, routes::configure);
    let text = format!("{document:#}\n");
    Reply::text(document, text)
}
