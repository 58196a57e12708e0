//! Where organizations have their agreements signed, and what their signers tell.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::checkouts::lock_visible;
use super::endpoints::{EndpointChange, Members};
use super::organizations::entered;
use super::{Context, Error, UseCase, agreements, moving};
use crate::access::{Mode, Permission};
use crate::agreement::{
    AgreementEventKind, AgreementRecord, Happening, Sha256, Signed, Signer, SignerKind,
};
use crate::audit::Origin;
use crate::checkout::{Actor, Checkout, Event, Lifecycle};
use crate::ids::{AgreementPubId, CheckoutPubId, OrganizationId, OrganizationRef};
use crate::organization::Organization;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::secret::Secret;
use crate::text::Line;
use crate::time::{Timestamp, to_millis};

const ENDPOINT: Members = Members {
    url: "signerUrl",
    secret: "signerSecret",
};

/// What is to change in where an organization has its agreements signed in a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignerChange {
    /// None: where they are signed now.
    pub kind: Option<SignerKind>,
    /// Where documents are sent.
    pub endpoint: EndpointChange,
}

impl SignerChange {
    /// Whether nothing is said that changes anything.
    pub(super) fn is_empty(&self) -> bool {
        let says_nothing = self.endpoint.none_said(&ENDPOINT).is_ok();
        self.kind.is_none() && says_nothing && !self.endpoint.renews()
    }

    /// Where they are signed from now on, and the secret that was made for it, which is shown this once.
    ///
    /// # Errors
    /// [`Error::Invalid`] of what does not fit together.
    pub fn over(self, known: &Signer) -> Result<(Signer, Option<Secret>), Error> {
        match self.kind.unwrap_or(known.kind()) {
            SignerKind::Builtin => {
                self.endpoint.none_said(&ENDPOINT)?;
                Ok((Signer::Builtin, None))
            }
            SignerKind::Http => {
                let endpoint = match known {
                    Signer::Http(endpoint) => Some(endpoint),
                    Signer::Builtin => None,
                };
                let (endpoint, made) = self.endpoint.over(endpoint, &ENDPOINT)?;
                Ok((Signer::Http(endpoint), made))
            }
        }
    }
}

/// Where the organization has its agreements signed in the mode.
///
/// # Errors
/// [`Error::Store`].
pub async fn signer_of(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    mode: Mode,
) -> Result<Signer, Error> {
    let said = uow.agreements().signer(organization, mode).await?;
    Ok(said.unwrap_or_default())
}

/// Sets where the organization has its agreements signed in the mode, for every document that is made from
/// then on. One that waits for a signer that the organization has no more is signed on the page.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_signer(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    mode: Mode,
    signer: Signer,
) -> Result<Organization, Error> {
    let organization = entered(uow, organization).await?;
    let before = signer_of(uow, organization.id, mode).await?;
    uow.agreements()
        .set_signer(organization.id, mode, &signer, now)
        .await?;
    let set = Entry::signer_set(&organization, mode, &before, &signer);
    audit::record(uow, ids, now, origin, organization.id, set).await?;
    Ok(organization)
}

/// Whether the customer signs this document elsewhere: it was made to be, and the organization still has its
/// agreements signed there.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn signs_elsewhere(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    document: &AgreementRecord,
) -> Result<bool, Error> {
    if document.signer != SignerKind::Http {
        return Ok(false);
    }
    let signer = signer_of(uow, checkout.organization_id, checkout.mode).await?;
    Ok(signer.kind() == SignerKind::Http)
}

/// Takes in who signed a lease, as the organization's signer tells. The same again changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Rule`] unless the checkout waits for this signature of
/// this document, with these bytes, and the document is signed with the organization's signer;
/// [`Error::Invalid`] of a time in the future, or from before the document was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignAgreement {
    /// Which checkout's.
    pub id: CheckoutPubId,
    /// The document that was signed.
    pub document: AgreementPubId,
    /// Of the bytes that were signed.
    pub sha256: Sha256,
    /// Who signed.
    pub signer_name: Line,
    /// When.
    pub signed_at: Timestamp,
    /// What the signer knows the signature by.
    pub reference: Option<Line>,
}

impl SignAgreement {
    /// Whether the document was signed just so.
    fn is_known(&self, record: &AgreementRecord) -> bool {
        record.id == self.document
            && record.sha256 == self.sha256
            && record.signed_at == Some(to_millis(self.signed_at))
            && record.signer_name.as_deref() == Some(self.signer_name.as_str())
            && record.signer_reference == self.reference
    }

    fn check(&self, record: &AgreementRecord, now: Timestamp) -> Result<(), Error> {
        if record.id != self.document {
            return Err(Error::rule(format!(
                "documentId is not the document that waits to be signed, which is {}",
                record.id
            )));
        }
        if record.sha256 != self.sha256 {
            return Err(Error::rule(format!(
                "sha256 is not that of the document {}: other bytes were signed",
                record.id
            )));
        }
        if record.signer != SignerKind::Http {
            return Err(Error::rule(
                "the document is signed on the checkout page: it was made while the organization had no signer \
                 of its own",
            ));
        }
        if self.signed_at > now {
            return Err(Error::invalid("signedAt", "is in the future"));
        }
        if to_millis(self.signed_at) < record.created_at {
            return Err(Error::invalid(
                "signedAt",
                "is before the document was made",
            ));
        }
        Ok(())
    }
}

#[async_trait]
impl UseCase for SignAgreement {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutSign
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let waits =
            checkout.lifecycle() == Lifecycle::DocumentsPending && checkout.signed_at.is_none();
        let record = agreements::shown(uow, &checkout).await?;
        if !waits {
            let is_signed = checkout.signed_at.is_some();
            if is_signed && record.is_some_and(|record| self.is_known(&record)) {
                return Ok(checkout);
            }
            return Err(Error::rule(if is_signed {
                "the lease was signed already".to_owned()
            } else {
                format!(
                    "the checkout is {} and waits for no signature: only while it is {} is one taken",
                    checkout.lifecycle(),
                    Lifecycle::DocumentsPending
                )
            }));
        }
        let record = record.ok_or_else(|| Error::rule(agreements::NOT_PREPARED))?;
        self.check(&record, ctx.now)?;
        let by = ctx.circumstances(Actor::Provider);
        moving::apply(uow, ctx.ids, &mut checkout, Event::DocumentsSigned, &by).await?;
        let kind = AgreementEventKind::Signed;
        let address = ctx.origin.address.map(|address| address.to_string());
        let signed = Happening::new(kind, self.signed_at, address, None);
        uow.agreements().append(record.id, &signed).await?;
        let signed = Signed {
            name: self.signer_name.to_string(),
            at: self.signed_at,
            consent_version: None,
            reference: self.reference,
        };
        uow.agreements().sign(record.id, &signed).await?;
        Ok(checkout)
    }
}
