//! Lease terms as answers have them.

use lessor_domain::lease_term::LeaseTerm;
use lessor_domain::pricing::Rate;
use lessor_domain::services::lease_terms::Method;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{DecimalString, LeaseTermMethod, LeaseTermStatus, ProductId, TermId};

/// A lease term: the conditions at which an organization leases for a number of months.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LeaseTerm)]
pub struct LeaseTermRecord {
    /// Its public id.
    id: TermId,
    /// Its number.
    lease_term_id: i64,
    /// Its length.
    #[schema(minimum = 1, maximum = 120)]
    term_in_months: u16,
    /// Which rate it has.
    method: LeaseTermMethod,
    /// The rate of the method `moneyFactor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    money_factor: Option<DecimalString>,
    /// The rate of the method `annualRate`, percent a year.
    #[serde(skip_serializing_if = "Option::is_none")]
    annual_rate: Option<DecimalString>,
    /// Residual value in percent of the list price.
    residual_percentage: DecimalString,
    /// Refundable deposit in percent of the list price.
    deposit_percentage: DecimalString,
    /// Insurance in percent of the list price a year.
    insurance_percentage: DecimalString,
    /// Whether it is offered.
    status: LeaseTermStatus,
    /// The product that it is for; absent: the organization's common offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<ProductId>,
}

impl From<&LeaseTerm> for LeaseTermRecord {
    fn from(term: &LeaseTerm) -> Self {
        let (method, money_factor, annual_rate) = match term.card.rate {
            Rate::MoneyFactor(factor) => (Method::MoneyFactor, Some(factor.into()), None),
            Rate::AnnualRate(rate) => (Method::AnnualRate, None, Some(rate.into())),
        };
        Self {
            id: term.id.into(),
            lease_term_id: term.lease_term_id.get(),
            term_in_months: term.card.term.get(),
            method: method.into(),
            money_factor,
            annual_rate,
            residual_percentage: term.card.residual.into(),
            deposit_percentage: term.card.deposit.into(),
            insurance_percentage: term.card.insurance.into(),
            status: term.status.into(),
            product_id: term.product_id.map(Into::into),
        }
    }
}
