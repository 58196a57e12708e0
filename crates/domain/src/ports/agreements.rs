//! The store of agreements, and who makes documents of them.

use async_trait::async_trait;

use super::StoreError;
use crate::access::Mode;
use crate::agreement::{
    Agreement, AgreementEvent, AgreementRecord, AgreementTerms, Happening, Sha256, Signed, Signer,
};
use crate::cause::Cause;
use crate::ids::{AgreementPubId, CheckoutPubId, OrganizationId};
use crate::text::AgreementText;
use crate::time::Timestamp;

/// A document that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgreement {
    /// Not signed.
    pub record: AgreementRecord,
    /// Its bytes, whose hash the record has.
    pub pdf: Vec<u8>,
}

/// Agreements, and the organizations' own terms.
///
/// What was done with a document is added to and never changed; only what tells of a person is taken away when
/// they are erased.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AgreementStore: Send {
    /// Keeps the document of a checkout, and that it was created then.
    ///
    /// # Errors
    /// [`StoreError`] of an id that a document has already.
    async fn insert(&mut self, new: &NewAgreement) -> Result<(), StoreError>;
    /// The document of this id.
    async fn get(&mut self, id: AgreementPubId) -> Result<Option<AgreementRecord>, StoreError>;
    /// Its bytes; none once the person was erased whom it told of.
    async fn pdf(&mut self, id: AgreementPubId) -> Result<Option<Vec<u8>>, StoreError>;
    /// Every document of the checkout, oldest first.
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<AgreementRecord>, StoreError>;
    /// The documents whose bytes have this hash, oldest first.
    async fn with_hash(&mut self, sha256: Sha256) -> Result<Vec<AgreementRecord>, StoreError>;
    /// Adds what was done with the document to its record, hashed with the entry before it; whoever adds another
    /// at the same time waits.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn append(
        &mut self,
        id: AgreementPubId,
        happening: &Happening,
    ) -> Result<AgreementEvent, StoreError>;
    /// The record of the document, oldest first.
    async fn events(&mut self, id: AgreementPubId) -> Result<Vec<AgreementEvent>, StoreError>;
    /// Notes who signed the document, and how.
    ///
    /// # Errors
    /// [`StoreError::Missing`]; [`StoreError::Stale`] of one that is signed.
    async fn sign(&mut self, id: AgreementPubId, signed: &Signed) -> Result<(), StoreError>;
    /// The organization's own terms that are in force; none before the first.
    async fn terms(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<AgreementTerms>, StoreError>;
    /// Puts the text in force as the next version. Whoever does the same at the same time waits.
    async fn set_terms(
        &mut self,
        organization: OrganizationId,
        text: &AgreementText,
        at: Timestamp,
    ) -> Result<AgreementTerms, StoreError>;
    /// Where the organization has its agreements signed in the mode; none where it has said nothing of it.
    async fn signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<Signer>, StoreError>;
    /// Where the organization has its agreements signed in the mode from now on. Its endpoint's secret is kept
    /// sealed.
    async fn set_signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        signer: &Signer,
        at: Timestamp,
    ) -> Result<(), StoreError>;
}

/// The content could not be made a document of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agreement cannot be rendered")]
pub struct RenderError(#[source] pub Cause);

/// Makes documents of agreements.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AgreementRenderer: Send + Sync {
    /// The document, PDF. The same content is the same bytes, on any machine and at any time: nothing else goes
    /// into them.
    ///
    /// # Errors
    /// [`RenderError`].
    async fn render(&self, agreement: &Agreement) -> Result<Vec<u8>, RenderError>;
}
