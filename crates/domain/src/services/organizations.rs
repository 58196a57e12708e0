//! Organizations: administration by the operator of the installation.

use rust_decimal::Decimal;

use super::audit::{self, Entry};
use super::{Error, Patch, waitlist};
use crate::audit::{AuditAction, Origin};
use crate::ids::{IdError, LeaseTermPubId, OftakePartnerId, OrganizationPubId, OrganizationRef};
use crate::lease_term::LeaseTermStatus;
use crate::money::Currency;
use crate::organization::{Organization, ServiceArea};
use crate::percentage::{MoneyFactor, Percentage, RateError, TermMonths};
use crate::ports::{IdGenerator, NewLeaseTerm, NewOrganization, UnitOfWork};
use crate::pricing::{Rate, RateCard};
use crate::text::Name;
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
    let found = uow
        .organizations()
        .find(organization)
        .await?
        .ok_or(Error::not_found("organization"))?;
    uow.enter(found.id).await?;
    let mut organization = uow
        .organizations()
        .lock(found.id)
        .await?
        .ok_or(Error::not_found("organization"))?;
    let before = organization.clone();
    organization.name = update.name.unwrap_or(organization.name);
    organization.discount = update.discount.unwrap_or(organization.discount);
    organization.requires_product_review = update
        .requires_product_review
        .unwrap_or(organization.requires_product_review);
    organization.oftake_partner_id = update
        .oftake_partner_id
        .unwrap_or(organization.oftake_partner_id);
    update
        .sandbox_writes_catalog
        .apply(&mut organization.sandbox_writes_catalog);
    let widened = update.service_area.is_some();
    organization.service_area = update.service_area.unwrap_or(organization.service_area);
    organization.updated_at = now;
    uow.organizations().update(&mut organization).await?;
    let updated = Entry::changed(AuditAction::OrganizationUpdated, &before, &organization);
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
