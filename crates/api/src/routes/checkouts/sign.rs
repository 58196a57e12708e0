//! What organizations' signers tell.

use lessor_domain::ids::CheckoutPubId;
use lessor_domain::services::signers::SignAgreement;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::request::Plain as _;
use crate::wire::{DocumentId, Line, Sha256, Time};

/// Who signed a document, and when.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SignAgreement)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignAgreementBody {
    /// The document that was signed: `leaseDocumentId` of the checkout.
    document_id: DocumentId,
    /// Of the bytes that were signed.
    sha256: Sha256,
    /// The name of who signed.
    signer_name: Line,
    /// When: not before the document was made.
    signed_at: Time,
    /// What you know the signature by.
    reference: Option<Line>,
}

impl SignAgreementBody {
    /// What the body tells of the checkout.
    pub(super) fn command(self, id: CheckoutPubId) -> SignAgreement {
        SignAgreement {
            id,
            document: self.document_id.plain(),
            sha256: self.sha256.plain(),
            signer_name: self.signer_name.plain(),
            signed_at: self.signed_at.plain(),
            reference: self.reference.plain(),
        }
    }
}
