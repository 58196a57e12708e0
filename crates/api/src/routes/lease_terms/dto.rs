//! Lease terms as requests and answers have them.

use lessor_domain::lease_term::LeaseTerm;
use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::lease_terms as service;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{DecimalText, Int, Text};
use crate::wire::records::ProductId;
use crate::wire::{DecimalString, LeaseTermMethod, LeaseTermStatus, existing, invalid, parse_some};

/// The length of a lease in months.
type Months = Int<1, 120>;

fn months(given: Months) -> Result<TermMonths, ApiError> {
    const PARAM: &str = "termInMonths";
    let months = u16::try_from(given.get()).map_err(|error| invalid(PARAM, error))?;
    TermMonths::new(months).map_err(|error| invalid(PARAM, error))
}

fn percentage(param: &str, given: Option<DecimalText>) -> Result<Percentage, ApiError> {
    Ok(parse_some(param, given)?.unwrap_or(Percentage::ZERO))
}

/// A new lease term.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateLeaseTerm {
    /// Its length; one active term of the same owner has it.
    term_in_months: Months,
    /// Which rate it has.
    method: LeaseTermMethod,
    /// For the method `moneyFactor`: 0 to 1 with up to 8 decimals.
    #[schema(example = "0.0025")]
    money_factor: Option<DecimalText>,
    /// For the method `annualRate`: percent a year, 0 to 100 with up to 6 decimals.
    #[schema(example = "6.5")]
    annual_rate: Option<DecimalText>,
    /// Residual value in percent of the list price; 0 when it is left out.
    #[schema(example = "45")]
    residual_percentage: Option<DecimalText>,
    /// Refundable deposit in percent of the list price; 0 when it is left out.
    #[schema(example = "10")]
    deposit_percentage: Option<DecimalText>,
    /// Insurance in percent of the list price a year; 0 when it is left out.
    #[schema(example = "6")]
    insurance_percentage: Option<DecimalText>,
    /// The product that it is for; the organization's common offer when it is left out.
    #[schema(value_type = Option<ProductId>)]
    product_id: Option<Text<64>>,
    /// Whether it is offered; `active` when it is left out.
    status: Option<LeaseTermStatus>,
}

impl CreateLeaseTerm {
    pub(super) fn into_input(self) -> Result<service::CreateLeaseTerm, ApiError> {
        let rate = service::rate_of(
            self.method.into(),
            parse_some("moneyFactor", self.money_factor)?,
            parse_some("annualRate", self.annual_rate)?,
        )?;
        let card = RateCard {
            term: months(self.term_in_months)?,
            rate,
            residual: percentage("residualPercentage", self.residual_percentage)?,
            deposit: percentage("depositPercentage", self.deposit_percentage)?,
            insurance: percentage("insurancePercentage", self.insurance_percentage)?,
        };
        let product_id = self
            .product_id
            .map(|id| existing("productId", "product", id.as_str()));
        Ok(service::CreateLeaseTerm {
            product_id: product_id.transpose()?,
            card,
            status: self.status.unwrap_or(LeaseTermStatus::Active).into(),
        })
    }
}

/// What is to change in a lease term.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateLeaseTerm {
    /// Its length.
    #[schema(nullable = false)]
    term_in_months: Option<Months>,
    /// Which rate it has; another method needs its rate.
    #[schema(nullable = false)]
    method: Option<LeaseTermMethod>,
    /// For the method `moneyFactor`: 0 to 1 with up to 8 decimals.
    #[schema(nullable = false, example = "0.0025")]
    money_factor: Option<DecimalText>,
    /// For the method `annualRate`: percent a year, 0 to 100 with up to 6 decimals.
    #[schema(nullable = false, example = "6.5")]
    annual_rate: Option<DecimalText>,
    /// Residual value in percent of the list price.
    #[schema(nullable = false, example = "45")]
    residual_percentage: Option<DecimalText>,
    /// Refundable deposit in percent of the list price.
    #[schema(nullable = false, example = "10")]
    deposit_percentage: Option<DecimalText>,
    /// Insurance in percent of the list price a year.
    #[schema(nullable = false, example = "6")]
    insurance_percentage: Option<DecimalText>,
    /// Whether it is offered.
    #[schema(nullable = false)]
    status: Option<LeaseTermStatus>,
}

impl UpdateLeaseTerm {
    pub(super) fn into_update(self) -> Result<service::UpdateLeaseTerm, ApiError> {
        Ok(service::UpdateLeaseTerm {
            term: self.term_in_months.map(months).transpose()?,
            method: self.method.map(Into::into),
            money_factor: parse_some("moneyFactor", self.money_factor)?,
            annual_rate: parse_some("annualRate", self.annual_rate)?,
            residual: parse_some("residualPercentage", self.residual_percentage)?,
            deposit: parse_some("depositPercentage", self.deposit_percentage)?,
            insurance: parse_some("insurancePercentage", self.insurance_percentage)?,
            status: self.status.map(Into::into),
        })
    }
}

/// A lease term: the conditions at which an organization leases for a number of months.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LeaseTerm)]
pub struct LeaseTermRecord {
    /// Its public id.
    #[schema(
        example = "term_01JQ2m3cXv5Nb7MqLp4RtS",
        pattern = "^term_[0-9A-Za-z]{22}$"
    )]
    id: String,
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
    product_id: Option<String>,
}

impl From<&LeaseTerm> for LeaseTermRecord {
    fn from(term: &LeaseTerm) -> Self {
        let (method, money_factor, annual_rate) = match term.card.rate {
            Rate::MoneyFactor(factor) => (LeaseTermMethod::MoneyFactor, Some(factor.into()), None),
            Rate::AnnualRate(rate) => (LeaseTermMethod::AnnualRate, None, Some(rate.into())),
        };
        Self {
            id: term.id.to_string(),
            lease_term_id: term.lease_term_id.get(),
            term_in_months: term.card.term.get(),
            method,
            money_factor,
            annual_rate,
            residual_percentage: term.card.residual.into(),
            deposit_percentage: term.card.deposit.into(),
            insurance_percentage: term.card.insurance.into(),
            status: term.status.into(),
            product_id: term.product_id.map(|product| product.to_string()),
        }
    }
}
