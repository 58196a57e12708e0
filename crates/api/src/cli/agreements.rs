//! `lessor agreement`: the documents that customers signed.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use lessor_domain::agreement::Sha256;
use lessor_domain::services::agreements::{VerifiedAgreement, verify};
use serde::Serialize;

use super::output::{Reply, time};
use super::session::Session;

/// Verify agreements.
#[derive(Debug, Subcommand)]
pub(crate) enum AgreementCommand {
    /// Say whether a file is an agreement that was made here, byte for byte, and whether its record fits together
    #[command(after_help = "Example:\n  lessor agreement verify agreement.pdf --json")]
    Verify {
        /// The PDF
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// A document as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    document_id: String,
    sha256: String,
    checkout_id: String,
    organization_id: String,
    organization_name: String,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_name: Option<String>,
    entries: usize,
}

impl From<&VerifiedAgreement> for View {
    fn from(found: &VerifiedAgreement) -> Self {
        let record = &found.record;
        Self {
            document_id: record.id.to_string(),
            sha256: record.sha256.to_string(),
            checkout_id: record.checkout_id.to_string(),
            organization_id: found.organization.pub_id.to_string(),
            organization_name: found.organization.name.to_string(),
            created_at: time(record.created_at),
            signed_at: record.signed_at.map(time),
            signer_name: record.signer_name.clone(),
            entries: found.events.len(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: AgreementCommand) -> anyhow::Result<Reply> {
    let AgreementCommand::Verify { file } = command;
    let bytes =
        std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let sha256 = Sha256::of(&bytes);
    let mut uow = session.begin().await?;
    let found = verify(uow.as_mut(), sha256).await?;
    uow.roll_back().await?;
    let Some(first) = found.first() else {
        bail!(
            "no agreement that was made here has the SHA-256 {sha256}: it is another file, or was changed"
        );
    };
    if let Some(broken) = &first.broken {
        bail!(
            "the record of {} does not fit together: {broken}",
            first.record.id
        );
    }
    let view = View::from(first);
    Reply::record(
        &view,
        [
            ("document", view.document_id.clone()),
            ("sha-256", view.sha256.clone()),
            ("checkout", view.checkout_id.clone()),
            (
                "organization",
                format!("{} ({})", view.organization_name, view.organization_id),
            ),
            ("created", view.created_at.clone()),
            ("signed", view.signed_at.clone().unwrap_or_default()),
            ("signed by", view.signer_name.clone().unwrap_or_default()),
            ("entries of its record", view.entries.to_string()),
        ],
    )
}
