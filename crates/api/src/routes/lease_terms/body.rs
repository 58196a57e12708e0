//! Lease terms as requests have them.

use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::pricing::RateCard;
use lessor_domain::services::lease_terms as service;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{DecimalText, Int, Text};
use crate::wire::records::ProductId;
use crate::wire::{LeaseTermMethod, LeaseTermStatus, existing, invalid, parse_some};

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
#[schema(as = CreateLeaseTerm)]
pub struct CreateLeaseTermBody {
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

impl CreateLeaseTermBody {
    pub(super) fn parse(self) -> Result<service::CreateLeaseTerm, ApiError> {
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
#[schema(as = UpdateLeaseTerm)]
pub struct UpdateLeaseTermBody {
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

impl UpdateLeaseTermBody {
    pub(super) fn parse(self) -> Result<service::LeaseTermChanges, ApiError> {
        Ok(service::LeaseTermChanges {
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
