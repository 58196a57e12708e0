//! What `lessor org update` sets of where agreements are signed.

use std::path::PathBuf;

use clap::Args;
use lessor_adapters::outbound::Targets;
use lessor_domain::access::Mode;
use lessor_domain::agreement::{Signer, SignerKind};
use lessor_domain::ids::OrganizationRef;
use lessor_domain::organization::Organization;
use lessor_domain::ports::UnitOfWork;
use lessor_domain::services::signers::{self, SignerChange};
use lessor_domain::text::Url;
use serde_json::Value;

use super::endpoints::Named;
use super::session::Session;

const NAMED: Named = Named {
    kind: "signer",
    url: "signerUrl",
    secret: "signerSecret",
};

/// Where an organization has its agreements signed.
#[derive(Debug, Args)]
pub(crate) struct SignerArgs {
    /// Where its agreements are signed in the mode: builtin (on the checkout page) or http
    #[arg(long, value_name = "KIND", requires = "mode")]
    signer: Option<SignerKind>,
    /// Where documents are sent, with --signer http; the one that is set stays when not given
    #[arg(long, value_name = "URL", requires = "signer")]
    signer_url: Option<Url>,
    /// File of what requests are signed with (whsec_…); made and shown once when not given
    #[arg(long, value_name = "FILE", requires = "signer")]
    signer_secret_file: Option<PathBuf>,
}

impl SignerArgs {
    /// Whether a secret is kept, for which the server's key is needed.
    pub(crate) fn seals(&self) -> bool {
        self.signer == Some(SignerKind::Http)
    }

    /// Sets what is asked for, of an organization in whose name the work goes on, and tells what the reply
    /// shows of it.
    ///
    /// # Errors
    /// [`Error::Invalid`](lessor_domain::services::Error::Invalid) of what does not fit together; a file that
    /// cannot be read.
    pub(crate) async fn set(
        self,
        session: &Session,
        uow: &mut dyn UnitOfWork,
        organization: &Organization,
        mode: Option<Mode>,
        targets: Targets,
    ) -> anyhow::Result<Vec<(&'static str, Value)>> {
        let (Some(kind), Some(mode)) = (self.signer, mode) else {
            return Ok(Vec::new());
        };
        let file = self.signer_secret_file.as_deref();
        let wanted = SignerChange {
            kind: Some(kind),
            endpoint: NAMED.change(self.signer_url, file, targets)?,
        };
        let known = signers::signer_of(uow, organization.id, mode).await?;
        let (signer, made) = wanted.over(&known)?;
        let url = match &signer {
            Signer::Http(endpoint) => Some(&endpoint.url),
            Signer::Builtin => None,
        };
        let shown = NAMED.shown(kind.as_str(), url, made.as_ref());
        let (ids, now, origin) = (session.ids(), session.now(), session.origin());
        let named = OrganizationRef::Number(organization.id);
        signers::set_signer(uow, ids, now, origin, named, mode, signer).await?;
        Ok(shown)
    }
}
