//! Lease terms.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::slice::unknown_start;
use super::{Context, Error, Slice, UseCase};
use crate::access::Permission;
use crate::audit::AuditAction;
use crate::ids::{LeaseTermPubId, LeaseTermRef, ProductPubId};
use crate::lease_term::{LeaseTerm, LeaseTermStatus, MAX_ACTIVE};
use crate::names::named_enum;
use crate::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};
use crate::ports::{DeletedTerm, NewLeaseTerm, Page, Start, StoreError, UniqueField, UnitOfWork};
use crate::pricing::{Rate, RateCard};

/// Creates a lease term.
///
/// # Errors
/// [`Error`]: an unknown product, the missing permission, months that an active
/// term of the owner has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateLeaseTerm {
    /// The product that it is for; none means the organization's common offer.
    pub product_id: Option<ProductPubId>,
    /// Months, rate and percentages.
    pub card: RateCard,
    /// Whether it is offered.
    pub status: LeaseTermStatus,
}

named_enum! {
    /// Which rate a term has.
    pub enum Method {
        /// By money factor.
        MoneyFactor = "moneyFactor",
        /// By annual rate.
        AnnualRate = "annualRate",
    }
}

/// What is to change in a lease term.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaseTermChanges {
    /// Its months.
    pub term: Option<TermMonths>,
    pub method: Option<Method>,
    pub money_factor: Option<MoneyFactor>,
    /// Its annual rate in percent.
    pub annual_rate: Option<AnnualRate>,
    /// Its residual in percent of the MSRP.
    pub residual: Option<Percentage>,
    /// Its deposit in percent of the MSRP.
    pub deposit: Option<Percentage>,
    /// Its insurance in percent of the MSRP a year.
    pub insurance: Option<Percentage>,
    /// Whether it is offered.
    pub status: Option<LeaseTermStatus>,
}

/// The rate of the method and the rates that were given: exactly the method's.
///
/// # Errors
/// [`Error::Missing`] of the method's own rate, [`Error::Invalid`] of the other's.
pub fn rate_of(
    method: Method,
    money_factor: Option<MoneyFactor>,
    annual_rate: Option<AnnualRate>,
) -> Result<Rate, Error> {
    match (method, money_factor, annual_rate) {
        (Method::MoneyFactor, _, Some(_)) => Err(Error::invalid(
            "annualRate",
            "does not go with the method moneyFactor",
        )),
        (Method::AnnualRate, Some(_), _) => Err(Error::invalid(
            "moneyFactor",
            "does not go with the method annualRate",
        )),
        (Method::MoneyFactor, Some(factor), None) => Ok(Rate::MoneyFactor(factor)),
        (Method::AnnualRate, None, Some(rate)) => Ok(Rate::AnnualRate(rate)),
        (Method::MoneyFactor, None, None) => Err(Error::Missing {
            param: "moneyFactor".to_owned(),
        }),
        (Method::AnnualRate, None, None) => Err(Error::Missing {
            param: "annualRate".to_owned(),
        }),
    }
}

fn explain(error: StoreError) -> Error {
    match error {
        StoreError::Conflict(UniqueField::TermMonths) => Error::taken(
            "termInMonths",
            "is offered already by an active term of the same owner",
        ),
        other => other.into(),
    }
}

/// Refuses one more active term than an owner may have.
async fn check_room(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    owner: Option<ProductPubId>,
) -> Result<(), Error> {
    let terms = uow.lease_terms().list(ctx.access.organization_id).await?;
    let active = terms
        .iter()
        .filter(|term| term.product_id == owner && term.status == LeaseTermStatus::Active);
    if active.count() < MAX_ACTIVE {
        return Ok(());
    }
    let owner = match owner {
        Some(_) => "the product",
        None => "the organization",
    };
    Err(Error::rule(format!(
        "{owner} has {MAX_ACTIVE} active lease terms, and no more are possible: make one inactive first"
    )))
}

#[async_trait]
impl UseCase for CreateLeaseTerm {
    type Output = LeaseTerm;

    fn permission(&self) -> Permission {
        Permission::LeaseTermWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<LeaseTerm, Error> {
        let organization_id = ctx.access.organization_id;
        if let Some(product) = self.product_id {
            uow.products()
                .get(organization_id, product)
                .await?
                .ok_or(Error::not_found("product"))?;
        }
        ctx.access.require(self.permission())?;
        if self.status == LeaseTermStatus::Active {
            check_room(uow, ctx, self.product_id).await?;
        }
        let new = NewLeaseTerm {
            id: LeaseTermPubId::from_uuid(ctx.ids.next()),
            organization_id,
            product_id: self.product_id,
            card: self.card,
            status: self.status,
            created_at: ctx.now,
        };
        let term = uow.lease_terms().insert(&new).await.map_err(explain)?;
        let made = Entry::created(AuditAction::LeaseTermCreated, &term);
        audit::note(uow, ctx, made).await?;
        Ok(term)
    }
}

/// A page of the organization's lease terms, newest first, and how many there are in all.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after no term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLeaseTerms {
    /// Which part of the list.
    pub page: Page,
}

#[async_trait]
impl UseCase for ListLeaseTerms {
    type Output = Slice<LeaseTerm>;

    fn permission(&self) -> Permission {
        Permission::LeaseTermRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<LeaseTerm>, Error> {
        ctx.access.require(self.permission())?;
        // An owner has few terms: they are read as a whole.
        let mut terms = uow.lease_terms().list(ctx.access.organization_id).await?;
        terms.sort_by_key(|term| Reverse((term.created_at, term.id)));
        let total = terms.len() as u64;
        let skipped = match self.page.start {
            Start::Offset(offset) => usize::try_from(offset).unwrap_or(usize::MAX),
            Start::After(id) => {
                let start = terms.iter().position(|term| term.id.as_uuid() == id);
                start.ok_or_else(unknown_start)?.saturating_add(1)
            }
        };
        let rest = terms.into_iter().skip(skipped).collect();
        Ok(Slice::cut(rest, self.page, Some(total)))
    }
}

async fn lock(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: LeaseTermRef,
    permission: Permission,
) -> Result<LeaseTerm, Error> {
    let organization_id = ctx.access.organization_id;
    let term = uow
        .lease_terms()
        .find(organization_id, id)
        .await?
        .ok_or(Error::not_found("lease term"))?;
    ctx.access.require(permission)?;
    uow.lease_terms()
        .lock(organization_id, term.id)
        .await?
        .ok_or(Error::not_found("lease term"))
}

/// Updates a lease term: what is not mentioned stays. Quotes that are frozen keep
/// their price.
///
/// # Errors
/// [`Error`], as for [`CreateLeaseTerm`]; a changed method needs its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateLeaseTerm {
    /// Which one.
    pub id: LeaseTermRef,
    /// What is to change.
    pub changes: LeaseTermChanges,
}

#[async_trait]
impl UseCase for UpdateLeaseTerm {
    type Output = LeaseTerm;

    fn permission(&self) -> Permission {
        Permission::LeaseTermWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<LeaseTerm, Error> {
        let mut term = lock(uow, ctx, self.id, self.permission()).await?;
        let before = term.clone();
        let (now_method, factor, rate) = match term.card.rate {
            Rate::MoneyFactor(factor) => (Method::MoneyFactor, Some(factor), None),
            Rate::AnnualRate(rate) => (Method::AnnualRate, None, Some(rate)),
        };
        let method = self.changes.method.unwrap_or(now_method);
        let kept = method == now_method;
        term.card.rate = rate_of(
            method,
            self.changes.money_factor.or(factor.filter(|_| kept)),
            self.changes.annual_rate.or(rate.filter(|_| kept)),
        )?;
        term.card.term = self.changes.term.unwrap_or(term.card.term);
        term.card.residual = self.changes.residual.unwrap_or(term.card.residual);
        term.card.deposit = self.changes.deposit.unwrap_or(term.card.deposit);
        term.card.insurance = self.changes.insurance.unwrap_or(term.card.insurance);
        let status = self.changes.status.unwrap_or(term.status);
        if status == LeaseTermStatus::Active && term.status != LeaseTermStatus::Active {
            check_room(uow, ctx, term.product_id).await?;
        }
        term.status = status;
        term.updated_at = ctx.now;
        uow.lease_terms().update(&mut term).await.map_err(explain)?;
        let updated = Entry::changed(AuditAction::LeaseTermUpdated, &before, &term);
        audit::note(uow, ctx, updated).await?;
        Ok(term)
    }
}

/// Deletes a lease term; one that checkouts have becomes inactive instead.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteLeaseTerm {
    /// Which one.
    pub id: LeaseTermRef,
}

#[async_trait]
impl UseCase for DeleteLeaseTerm {
    type Output = LeaseTerm;

    fn permission(&self) -> Permission {
        Permission::LeaseTermWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<LeaseTerm, Error> {
        let mut term = lock(uow, ctx, self.id, self.permission()).await?;
        let done = if uow.lease_terms().delete(term.id).await? == DeletedTerm::InUse {
            let before = term.clone();
            term.status = LeaseTermStatus::Inactive;
            term.updated_at = ctx.now;
            uow.lease_terms().update(&mut term).await?;
            Entry::changed(AuditAction::LeaseTermUpdated, &before, &term)
        } else {
            Entry::deleted(AuditAction::LeaseTermDeleted, &term)
        };
        audit::note(uow, ctx, done).await?;
        Ok(term)
    }
}
