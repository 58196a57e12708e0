//! Agreements: what they are made of, how they are signed, and their record.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::checkouts::{GetCheckout, quote_of};
use super::{Context, Error, UseCase, signers};
use crate::access::Permission;
use crate::agreement::{
    Agreement, AgreementEvent, AgreementEventKind, AgreementRecord, AgreementTerms, Break,
    CONSENT_VERSION, Happening, Sha256, Signature, Signed, Subject, Trail, is_name_of,
};
use crate::audit::{AuditAction, AuditArea, AuditChange, AuditMembers, AuditSubject, Origin};
use crate::checkout::{Checkout, Lifecycle};
use crate::customer::Customer;
use crate::ids::{AgreementPubId, CheckoutPubId, OrganizationRef};
use crate::organization::Organization;
use crate::ports::{
    AgreementRenderer, IdGenerator, NewAgreement, RenderError, StoreError, UnitOfWork,
    VariantSelection,
};
use crate::text::AgreementText;
use crate::time::Timestamp;

/// What the page says, and the API, before there is a document.
pub(super) const NOT_PREPARED: &str = "the lease document is being prepared";

/// All that the agreement of the checkout says, as it stands now. None while its price is not known.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub(crate) async fn content_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    customer: &Customer,
    id: AgreementPubId,
    now: Timestamp,
) -> Result<Option<Agreement>, Error> {
    let Some(quote) = quote_of(uow, checkout).await? else {
        return Ok(None);
    };
    let owner = checkout.organization_id;
    let organization = uow
        .organizations()
        .get(owner)
        .await?
        .ok_or(StoreError::Missing("organization"))?;
    let leased = VariantSelection::IdsWithArchived(vec![checkout.variant_id]);
    let found = uow.variants().with_products(owner, &leased).await?;
    let (variant, product) = found.first().ok_or(StoreError::Missing("variant"))?;
    let location = match checkout.pickup_location_id {
        Some(place) => uow.pickup_locations().get(owner, place).await?,
        None => None,
    };
    let terms = uow.agreements().terms(owner).await?;
    let signer = signers::signer_of(uow, owner, checkout.mode).await?;
    let subject = Subject {
        checkout,
        customer,
        organization: &organization,
        product: &product.name,
        options: &variant.options,
        location: location.as_ref(),
        quote,
        terms: terms.as_ref(),
        signer: signer.kind(),
    };
    Ok(Some(Agreement::of(subject, id, now)?))
}

/// Makes the document of the content.
pub(crate) async fn document_of(
    renderer: &dyn AgreementRenderer,
    checkout: &Checkout,
    agreement: &Agreement,
) -> Result<NewAgreement, RenderError> {
    let pdf = renderer.render(agreement).await?;
    Ok(NewAgreement {
        record: AgreementRecord {
            id: agreement.id,
            organization_id: checkout.organization_id,
            checkout_id: checkout.id,
            sha256: Sha256::of(&pdf),
            terms_version: agreement.terms.as_ref().map(|terms| terms.version),
            signer: agreement.signer,
            created_at: agreement.created_at,
            signed_at: None,
            signer_name: None,
            consent_version: None,
            signer_reference: None,
        },
        pdf,
    })
}

/// The id of the document that the checkout has now.
fn current_id(checkout: &Checkout) -> Result<AgreementPubId, Error> {
    match &checkout.lease_document_id {
        Some(id) => id
            .parse()
            .map_err(|_| Error::Store(StoreError::Missing("agreement"))),
        None if checkout.lifecycle() == Lifecycle::DocumentsPending => {
            Err(Error::rule(NOT_PREPARED))
        }
        None => Err(Error::rule(format!(
            "the checkout is {}: there is no agreement before documentsPending",
            checkout.lifecycle()
        ))),
    }
}

/// Refuses a signature that nothing may rest on.
///
/// # Errors
/// [`Error::Rule`] while there is no document; [`Error::Missing`] and [`Error::Invalid`] of `consent` and `name`.
pub(crate) fn check_signature(
    checkout: &Checkout,
    customer: &Customer,
    signature: &Signature,
) -> Result<AgreementPubId, Error> {
    let id = current_id(checkout)?;
    if !signature.consent {
        return Err(Error::Missing {
            param: "consent".to_owned(),
        });
    }
    if signature.name.trim().is_empty() {
        return Err(Error::Missing {
            param: "name".to_owned(),
        });
    }
    if !is_name_of(&signature.name, &customer.profile) {
        return Err(Error::invalid(
            "name",
            "must be your first and last name, as they stand in the agreement",
        ));
    }
    Ok(id)
}

/// Writes down that the customer agreed to electronic records and signed the document.
pub(crate) async fn record_signature(
    uow: &mut dyn UnitOfWork,
    id: AgreementPubId,
    signature: &Signature,
    now: Timestamp,
) -> Result<(), Error> {
    for kind in [AgreementEventKind::Consented, AgreementEventKind::Signed] {
        let agent = signature.user_agent.as_deref();
        let happening = Happening::new(kind, now, signature.address.clone(), agent);
        uow.agreements().append(id, &happening).await?;
    }
    let version = signature.consent_version.unwrap_or(CONSENT_VERSION);
    let signed = Signed {
        name: signature.name.trim().to_owned(),
        at: now,
        consent_version: Some(version.to_owned()),
        reference: None,
    };
    Ok(uow.agreements().sign(id, &signed).await?)
}

/// A document with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementView {
    pub record: AgreementRecord,
    /// Oldest first.
    pub events: Vec<AgreementEvent>,
    /// Its bytes.
    pub pdf: Vec<u8>,
}

async fn view_of(uow: &mut dyn UnitOfWork, id: AgreementPubId) -> Result<AgreementView, Error> {
    let missing = Error::not_found("agreement");
    let Some(record) = uow.agreements().get(id).await? else {
        return Err(missing);
    };
    let Some(pdf) = uow.agreements().pdf(id).await? else {
        return Err(missing);
    };
    Ok(AgreementView {
        record,
        events: uow.agreements().events(id).await?,
        pdf,
    })
}

/// The agreement of a checkout, with its record.
///
/// # Errors
/// [`Error::NotFound`], also of an agreement whose customer was erased; [`Error::Forbidden`]; [`Error::Rule`]
/// before there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetAgreement {
    /// Which checkout's.
    pub id: CheckoutPubId,
}

#[async_trait]
impl UseCase for GetAgreement {
    type Output = AgreementView;

    fn permission(&self) -> Permission {
        Permission::CheckoutRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<AgreementView, Error> {
        let checkout = GetCheckout { id: self.id }.run(uow, ctx).await?;
        view_of(uow, current_id(&checkout)?).await
    }
}

/// The document of a checkout's page, of which nobody sees more than that it is there.
///
/// # Errors
/// As of [`GetAgreement`].
pub async fn peek(uow: &mut dyn UnitOfWork, checkout: &Checkout) -> Result<AgreementView, Error> {
    view_of(uow, current_id(checkout)?).await
}

/// The document of a checkout's page, which its customer opens: that is noted.
///
/// # Errors
/// As of [`GetAgreement`].
pub async fn open(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    address: Option<String>,
    user_agent: Option<&str>,
    now: Timestamp,
) -> Result<AgreementView, Error> {
    let id = current_id(checkout)?;
    let viewed = Happening::new(AgreementEventKind::Viewed, now, address, user_agent);
    let view = view_of(uow, id).await?;
    uow.agreements().append(id, &viewed).await?;
    Ok(view)
}

/// The document that the page of a checkout asks to sign, or that was signed there.
///
/// # Errors
/// [`Error::Store`].
pub async fn shown(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Option<AgreementRecord>, Error> {
    match current_id(checkout) {
        Ok(id) => Ok(uow.agreements().get(id).await?),
        Err(Error::Rule { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A document that was found by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedAgreement {
    pub record: AgreementRecord,
    /// Whose it is.
    pub organization: Organization,
    /// Oldest first.
    pub events: Vec<AgreementEvent>,
    /// Where its record does not fit together.
    pub broken: Option<Break>,
}

/// Every document of the installation whose bytes have this hash, with its record computed anew. The unit of work
/// begins as the server's.
///
/// # Errors
/// [`Error::Store`].
pub async fn verify(
    uow: &mut dyn UnitOfWork,
    sha256: Sha256,
) -> Result<Vec<VerifiedAgreement>, Error> {
    let mut found = Vec::new();
    for organization in uow.organizations().list().await? {
        uow.enter(organization.id).await?;
        for record in uow.agreements().with_hash(sha256).await? {
            let events = uow.agreements().events(record.id).await?;
            let trail = Trail {
                document: sha256,
                events: &events,
            };
            found.push(VerifiedAgreement {
                broken: trail.check().err(),
                organization: organization.clone(),
                events,
                record,
            });
        }
    }
    Ok(found)
}

/// Puts the organization's own terms in force: agreements that are made from then on have them. The text that is
/// in force already stays the version that it is. The unit of work begins as the server's, or as the
/// organization's own.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_terms(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    text: &AgreementText,
) -> Result<AgreementTerms, Error> {
    let found = uow.organizations().find(organization).await?;
    let organization = found.ok_or(Error::not_found("organization"))?;
    uow.enter(organization.id).await?;
    let before = uow.agreements().terms(organization.id).await?;
    if let Some(known) = before.as_ref().filter(|known| known.text == *text) {
        return Ok(known.clone());
    }
    let terms = uow
        .agreements()
        .set_terms(organization.id, text, now)
        .await?;
    let members = |terms: Option<&AgreementTerms>| {
        let mut members = AuditMembers::new();
        members.set_if("agreementTermsVersion", terms.map(|terms| terms.version));
        members
    };
    let entry = Entry {
        area: AuditArea::Organization,
        action: AuditAction::OrganizationUpdated,
        subject: AuditSubject::from(organization.pub_id),
        change: AuditChange::between(members(before.as_ref()), members(Some(&terms))),
        customer: None,
    };
    audit::record(uow, ids, now, origin, organization.id, entry).await?;
    Ok(terms)
}
