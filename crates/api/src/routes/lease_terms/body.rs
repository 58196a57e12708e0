//! Lease terms as requests have them.

use lessor_domain::lease_term;
use lessor_domain::percentage;
use lessor_domain::pricing::RateCard;
use lessor_domain::services::lease_terms::{self, CreateLeaseTerm, LeaseTermChanges};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::{Plain as _, given};
use crate::wire::{
    self, AnnualRate, LeaseTermMethod, LeaseTermStatus, MoneyFactor, Percentage, ProductLookup,
    Term,
};

/// A new lease term.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateLeaseTerm)]
pub struct CreateLeaseTermBody {
    /// Its length; one active term of the same owner has it.
    term_in_months: Term,
    /// Which rate it has.
    method: LeaseTermMethod,
    /// For the method `moneyFactor`: 0 to 1 with up to 8 decimals.
    #[schema(example = "0.0025")]
    money_factor: Option<MoneyFactor>,
    /// For the method `annualRate`: percent a year, 0 to 100 with up to 6 decimals.
    #[schema(example = "6.5")]
    annual_rate: Option<AnnualRate>,
    /// Residual value in percent of the list price; 0 when it is left out.
    #[schema(example = "45")]
    residual_percentage: Option<Percentage>,
    /// Refundable deposit in percent of the list price; 0 when it is left out.
    #[schema(example = "10")]
    deposit_percentage: Option<Percentage>,
    /// Insurance in percent of the list price a year; 0 when it is left out.
    #[schema(example = "6")]
    insurance_percentage: Option<Percentage>,
    /// The product that it is for; the organization's common offer when it is left out.
    product_id: Option<ProductLookup>,
    /// Whether it is offered; `active` when it is left out.
    status: Option<LeaseTermStatus>,
}

/// What is left out is nothing.
fn percent(given: Option<Percentage>) -> percentage::Percentage {
    given.plain().unwrap_or(percentage::Percentage::ZERO)
}

impl CreateLeaseTermBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// 400 for a method without its rate, 404 for a product that cannot exist.
    pub(super) fn command(self) -> Result<CreateLeaseTerm, ApiError> {
        let rate = lease_terms::rate_of(
            self.method.plain(),
            self.money_factor.plain(),
            self.annual_rate.plain(),
        )?;
        let status = self.status.plain();
        Ok(CreateLeaseTerm {
            product_id: self.product_id.as_ref().map(wire::product).transpose()?,
            card: RateCard {
                term: self.term_in_months.plain(),
                rate,
                residual: percent(self.residual_percentage),
                deposit: percent(self.deposit_percentage),
                insurance: percent(self.insurance_percentage),
            },
            status: status.unwrap_or(lease_term::LeaseTermStatus::Active),
        })
    }
}

/// What is to change in a lease term.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UpdateLeaseTerm)]
pub struct UpdateLeaseTermBody {
    /// Its length.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    term_in_months: Option<Term>,
    /// Which rate it has; another method needs its rate.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    method: Option<LeaseTermMethod>,
    /// For the method `moneyFactor`: 0 to 1 with up to 8 decimals.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "0.0025")]
    money_factor: Option<MoneyFactor>,
    /// For the method `annualRate`: percent a year, 0 to 100 with up to 6 decimals.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "6.5")]
    annual_rate: Option<AnnualRate>,
    /// Residual value in percent of the list price.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "45")]
    residual_percentage: Option<Percentage>,
    /// Refundable deposit in percent of the list price.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "10")]
    deposit_percentage: Option<Percentage>,
    /// Insurance in percent of the list price a year.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "6")]
    insurance_percentage: Option<Percentage>,
    /// Whether it is offered.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    status: Option<LeaseTermStatus>,
}

impl From<UpdateLeaseTermBody> for LeaseTermChanges {
    fn from(body: UpdateLeaseTermBody) -> Self {
        Self {
            term: body.term_in_months.plain(),
            method: body.method.plain(),
            money_factor: body.money_factor.plain(),
            annual_rate: body.annual_rate.plain(),
            residual: body.residual_percentage.plain(),
            deposit: body.deposit_percentage.plain(),
            insurance: body.insurance_percentage.plain(),
            status: body.status.plain(),
        }
    }
}
