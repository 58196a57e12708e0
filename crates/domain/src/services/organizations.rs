//! Organizations: administration by the operator of the installation.

use async_trait::async_trait;
use rust_decimal::Decimal;

use super::addresses::checked_phone;
use super::audit::{self, Entry};
use super::credit::CreditChange;
use super::signers::SignerChange;
use super::{Context, Error, Patch, UseCase, agreements, credit, signers, waitlist};
use crate::access::{Mode, Permission};
use crate::agreement::{AgreementTerms, Signer};
use crate::audit::{AuditAction, AuditArea, Origin};
use crate::credit::CreditPolicy;
use crate::ids::{IdError, LeaseTermPubId, OftakePartnerId, OrganizationPubId, OrganizationRef};
use crate::lease_term::LeaseTermStatus;
use crate::money::Currency;
use crate::organization::{Color, Face, Organization, ServiceArea};
use crate::percentage::{MoneyFactor, Percentage, RateError, TermMonths};
use crate::ports::{DialingPlan, IdGenerator, NewLeaseTerm, NewOrganization, UnitOfWork};
use crate::pricing::{Rate, RateCard};
use crate::secret::Secret;
use crate::text::{AgreementText, Email, Line, Name, Url};
use crate::time::Timestamp;

/// An organization to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOrganization {
    pub name: Name,
    pub currency: Currency,
    pub discount: Percentage,
    /// Where it delivers.
    pub service_area: ServiceArea,
    /// Whether products wait for a review.
    pub requires_product_review: bool,
    /// Its financing partner; 1 when nobody says.
    pub oftake_partner_id: Option<OftakePartnerId>,
}

/// What is to change in an organization. Its currency stays: prices are in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateOrganization {
    pub name: Option<Name>,
    pub discount: Option<Percentage>,
    /// Where it delivers.
    pub service_area: Option<ServiceArea>,
    /// Whether products wait for a review.
    pub requires_product_review: Option<bool>,
    /// Its financing partner.
    pub oftake_partner_id: Option<OftakePartnerId>,
    /// Whether its sandbox keys write catalog and lease terms; cleared: until it has a live key.
    pub sandbox_writes_catalog: Patch<bool>,
    /// How it shows itself, [checked](FaceChanges::checked).
    pub face: FaceChanges,
}

/// What is to change in how an organization shows itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaceChanges {
    pub display_name: Patch<Name>,
    /// Of an https address.
    pub logo_url: Patch<Url>,
    pub accent_color: Patch<Color>,
    pub support_email: Patch<Email>,
    pub support_phone: Patch<Line>,
    /// Of an https address.
    pub terms_url: Patch<Url>,
    /// Of an https address.
    pub privacy_url: Patch<Url>,
    pub notify_email: Patch<Email>,
}

impl FaceChanges {
    /// The same, as far as an organization can show it.
    ///
    /// # Errors
    /// [`Error::Invalid`] of an address that browsers would load in clear, and of a phone number that cannot
    /// be dialled from everywhere.
    pub fn checked(self, phones: &dyn DialingPlan) -> Result<Self, Error> {
        for (member, url) in [
            ("logoUrl", &self.logo_url),
            ("termsUrl", &self.terms_url),
            ("privacyUrl", &self.privacy_url),
        ] {
            if matches!(url, Patch::Set(url) if !url.is_https()) {
                return Err(Error::invalid(member, "must be an absolute https URL"));
            }
        }
        if let Patch::Set(phone) = &self.support_phone {
            // Without a country: customers of every country are to dial it.
            checked_phone(phones, None, Some(phone.clone()))
                .map_err(|fault| Error::invalid("supportPhone", fault.problem))?;
        }
        Ok(self)
    }

    fn apply(self, face: &mut Face) {
        self.display_name.apply(&mut face.display_name);
        self.logo_url.apply(&mut face.logo_url);
        self.accent_color.apply(&mut face.accent_color);
        self.support_email.apply(&mut face.support_email);
        self.support_phone.apply(&mut face.support_phone);
        self.terms_url.apply(&mut face.terms_url);
        self.privacy_url.apply(&mut face.privacy_url);
        self.notify_email.apply(&mut face.notify_email);
    }
}

/// An organization with its settings in a mode, as somebody of it sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationView {
    pub organization: Organization,
    /// How it decides about credit in the mode.
    pub credit: CreditPolicy,
    /// A secret that was made for where it is asked for decisions, to be shown once.
    pub made_credit_secret: Option<Secret>,
    /// Where it has its agreements signed in the mode.
    pub signer: Signer,
    /// A secret that was made for its signer, to be shown once.
    pub made_signer_secret: Option<Secret>,
    /// Its own terms, which are in its agreements.
    pub terms: Option<AgreementTerms>,
}

async fn view_of(
    uow: &mut dyn UnitOfWork,
    organization: Organization,
    mode: Mode,
) -> Result<OrganizationView, Error> {
    let id = organization.id;
    Ok(OrganizationView {
        credit: credit::policy_of(uow, id, mode).await?,
        made_credit_secret: None,
        signer: signers::signer_of(uow, id, mode).await?,
        made_signer_secret: None,
        terms: uow.agreements().terms(id).await?,
        organization,
    })
}

/// The caller's organization, with its settings in the caller's mode.
///
/// # Errors
/// [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetOrganization;

#[async_trait]
impl UseCase for GetOrganization {
    type Output = OrganizationView;

    fn permission(&self) -> Permission {
        Permission::OrganizationRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<OrganizationView, Error> {
        ctx.access.require(self.permission())?;
        let own = uow.organizations().get(ctx.access.organization_id).await?;
        let own = own.ok_or(Error::not_found("organization"))?;
        view_of(uow, own, ctx.access.mode).await
    }
}

/// Changes how the caller's organization shows itself, where it delivers, its own terms, and how it decides
/// about credit and has its agreements signed in the caller's mode. Both modes have the one face, area and
/// terms, so that a sandbox key changes them no longer than it writes the catalog.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] naming the member at fault.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeOrganization {
    /// Where it delivers.
    pub service_area: Option<ServiceArea>,
    /// How it shows itself.
    pub face: FaceChanges,
    /// Its own terms, for agreements that are made from then on.
    pub terms: Option<AgreementText>,
    /// How it decides about credit in the caller's mode.
    pub credit: Option<CreditChange>,
    /// Where it has its agreements signed in the caller's mode.
    pub signer: Option<SignerChange>,
}

impl ChangeOrganization {
    /// Whether it changes nothing but settings that each mode has of its own.
    fn is_of_a_mode(&self) -> bool {
        let Self {
            service_area,
            face,
            terms,
            credit,
            signer,
        } = self;
        let says_something = credit.as_ref().is_some_and(|credit| !credit.is_empty())
            || signer.as_ref().is_some_and(|signer| !signer.is_empty());
        let is_shared =
            service_area.is_some() || *face != FaceChanges::default() || terms.is_some();
        says_something && !is_shared
    }
}

#[async_trait]
impl UseCase for ChangeOrganization {
    type Output = OrganizationView;

    fn permission(&self) -> Permission {
        Permission::OrganizationWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<OrganizationView, Error> {
        if self.is_of_a_mode() {
            ctx.access.require_permission(self.permission())?;
        } else {
            ctx.access.require(self.permission())?;
        }
        let update = UpdateOrganization {
            service_area: self.service_area,
            face: self.face.checked(ctx.phones)?,
            ..UpdateOrganization::default()
        };
        let own = OrganizationRef::Number(ctx.access.organization_id);
        // As much of the organization as a sandbox key may change with the catalog, it may look after too.
        let area = AuditArea::Catalog;
        let (ids, now, origin, mode) = (ctx.ids, ctx.now, ctx.origin, ctx.access.mode);
        let changed = change(uow, ids, now, origin, own, update, area).await?;
        if let Some(text) = &self.terms {
            agreements::set_terms(uow, ids, now, origin, own, text).await?;
        }
        let (mut credit_secret, mut signer_secret) = (None, None);
        if let Some(wanted) = self.credit.filter(|wanted| !wanted.is_empty()) {
            let known = credit::policy_of(uow, changed.id, mode).await?;
            let (policy, made) = wanted.over(&known, changed.currency)?;
            if policy != known {
                credit::set_policy(uow, ids, now, origin, own, mode, policy).await?;
            }
            credit_secret = made;
        }
        if let Some(wanted) = self.signer.filter(|wanted| !wanted.is_empty()) {
            let known = signers::signer_of(uow, changed.id, mode).await?;
            let (signer, made) = wanted.over(&known)?;
            if signer != known {
                signers::set_signer(uow, ids, now, origin, own, mode, signer).await?;
            }
            signer_secret = made;
        }
        Ok(OrganizationView {
            made_credit_secret: credit_secret,
            made_signer_secret: signer_secret,
            ..view_of(uow, changed, mode).await?
        })
    }
}

/// The terms that a new organization offers: months and residual in percent.
const FIRST_TERMS: [(u16, i64); 3] = [(12, 60), (24, 45), (36, 30)];

fn first_terms() -> Result<Vec<RateCard>, RateError> {
    FIRST_TERMS
        .into_iter()
        .map(|(months, residual)| {
            Ok(RateCard {
                term: TermMonths::new(months).unwrap_or(TermMonths::MIN),
                rate: Rate::MoneyFactor(MoneyFactor::new(Decimal::new(25, 4))?),
                residual: Percentage::new(Decimal::from(residual))?,
                deposit: Percentage::new(Decimal::from(10))?,
                insurance: Percentage::new(Decimal::from(6))?,
            })
        })
        .collect()
}

/// Creates an organization with terms of 12, 24 and 36 months.
///
/// # Errors
/// [`Error::Invalid`] of a currency that no processor can charge to the unit; [`Error::Store`].
pub async fn create_organization(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    input: CreateOrganization,
) -> Result<Organization, Error> {
    if !input.currency.is_chargeable() {
        return Err(Error::invalid(
            "currency",
            format!(
                "{} has a smallest unit that payment processors cannot charge",
                input.currency
            ),
        ));
    }
    let partner = match input.oftake_partner_id {
        Some(partner) => partner,
        None => OftakePartnerId::new(1)
            .map_err(|error: IdError| Error::invalid("offtakePartnerId", error))?,
    };
    let organization = uow
        .organizations()
        .insert(&NewOrganization {
            pub_id: OrganizationPubId::from_uuid(ids.next()),
            name: input.name,
            currency: input.currency,
            discount: input.discount,
            service_area: input.service_area,
            requires_product_review: input.requires_product_review,
            oftake_partner_id: partner,
            created_at: now,
        })
        .await?;
    uow.enter(organization.id).await?;
    let mut made = vec![Entry::created(
        AuditAction::OrganizationCreated,
        &organization,
    )];
    for card in first_terms().map_err(|error| Error::invalid("termInMonths", error))? {
        let term = uow
            .lease_terms()
            .insert(&NewLeaseTerm {
                id: LeaseTermPubId::from_uuid(ids.next()),
                organization_id: organization.id,
                product_id: None,
                card,
                status: LeaseTermStatus::Active,
                created_at: now,
            })
            .await?;
        made.push(Entry::created(AuditAction::LeaseTermCreated, &term));
    }
    audit::record_all(uow, ids, now, origin, organization.id, made).await?;
    Ok(organization)
}

/// Updates an organization. A wider service area frees the checkouts that waited
/// for it.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn update_organization(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    update: UpdateOrganization,
) -> Result<Organization, Error> {
    let area = AuditArea::Organization;
    change(uow, ids, now, origin, organization, update, area).await
}

/// The organization, in whose name the work goes on, kept from changing: of those who set something of it at
/// once one comes first.
pub(super) async fn entered(
    uow: &mut dyn UnitOfWork,
    named: OrganizationRef,
) -> Result<Organization, Error> {
    let found = uow.organizations().find(named).await?;
    let found = found.ok_or(Error::not_found("organization"))?;
    uow.enter(found.id).await?;
    let locked = uow.organizations().lock(found.id).await?;
    locked.ok_or(Error::not_found("organization"))
}

async fn change(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: OrganizationRef,
    update: UpdateOrganization,
    area: AuditArea,
) -> Result<Organization, Error> {
    let mut organization = entered(uow, organization).await?;
    let before = organization.clone();
    organization.name = update.name.unwrap_or(organization.name);
    organization.discount = update.discount.unwrap_or(organization.discount);
    organization.requires_product_review = update
        .requires_product_review
        .unwrap_or(organization.requires_product_review);
    organization.oftake_partner_id = update
        .oftake_partner_id
        .unwrap_or(organization.oftake_partner_id);
    update.face.apply(&mut organization.face);
    update
        .sandbox_writes_catalog
        .apply(&mut organization.sandbox_writes_catalog);
    let widened = update.service_area.is_some();
    organization.service_area = update.service_area.unwrap_or(organization.service_area);
    organization.updated_at = now;
    uow.organizations().update(&mut organization).await?;
    let updated = Entry {
        area,
        ..Entry::changed(AuditAction::OrganizationUpdated, &before, &organization)
    };
    audit::record(uow, ids, now, origin, organization.id, updated).await?;
    if widened {
        let mut after = None;
        while let Some(last) = waitlist::free_location(
            uow,
            now,
            ids,
            organization.id,
            &organization.service_area,
            after,
        )
        .await?
        {
            after = Some(last);
        }
    }
    Ok(organization)
}
