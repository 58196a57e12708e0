use super::form::{NamedAmount, sum};
use crate::money::{Currency, Money};
use crate::pricing::amounts::check_amount;
use crate::pricing::error::PricingError;
use crate::pricing::schedule::RentMethod;

/// Insurance in connection with a lease (§ 1013.4(o)).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum InsuranceDisclosure {
    /// The lease requires none and brings none.
    None,
    /// "We (lessor) will provide the insurance coverage quoted above for a total premium cost of …"
    ByLessor {
        /// Types and amounts of coverage.
        coverage: Vec<NamedAmount>,
        /// What the lessee pays for it over the term. For a catalog quote that is the term times
        /// [`Quote::insurance`](crate::pricing::Quote::insurance).
        premium: Money,
    },
    /// "You (lessee) agree to provide insurance coverage in the amount and types indicated above."
    ByLessee {
        /// Types and amounts of coverage.
        coverage: Vec<NamedAmount>,
    },
}

impl InsuranceDisclosure {
    fn check(&self, currency: Currency) -> Result<(), PricingError> {
        match self {
            Self::None => Ok(()),
            Self::ByLessor { coverage, premium } => {
                check_amount("the insurance premium", *premium)?;
                Money::zero(currency).same_currency(*premium)?;
                sum(coverage, currency).map(drop)
            }
            Self::ByLessee { coverage } => sum(coverage, currency).map(drop),
        }
    }
}

/// What the lessor states for the second part of a form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct NonsegregatedTerms {
    /// Official fees and taxes that lines without a name of their own contain: capitalized ones,
    /// those among the further amounts at signing and among the other charges. Title and
    /// registration fees and the tax on each payment are counted without being named here.
    pub further_official_fees_and_taxes: Money,
    pub insurance: InsuranceDisclosure,
    /// Charge for a late payment, if there is one.
    pub late_payment_charge: Option<Money>,
    /// How the balance is computed that an early termination is charged by, if the lease can be
    /// ended early.
    pub early_termination: Option<RentMethod>,
    /// How the balance is computed that the property can be bought for before the end of the
    /// term, if it can.
    pub early_purchase: Option<RentMethod>,
}

impl NonsegregatedTerms {
    /// No fees, no insurance, no charges and no options.
    #[must_use]
    pub const fn none(currency: Currency) -> Self {
        Self {
            further_official_fees_and_taxes: Money::zero(currency),
            insurance: InsuranceDisclosure::None,
            late_payment_charge: None,
            early_termination: None,
            early_purchase: None,
        }
    }

    /// The lines, with the official fees and taxes that the form itself knows of.
    pub(super) fn disclose(
        self,
        known_fees_and_taxes: Money,
    ) -> Result<NonsegregatedDisclosures, PricingError> {
        check_amount(
            "the sum of further official fees and taxes",
            self.further_official_fees_and_taxes,
        )?;
        self.insurance.check(known_fees_and_taxes.currency())?;
        if let Some(charge) = self.late_payment_charge {
            check_amount("the charge for a late payment", charge)?;
            known_fees_and_taxes.same_currency(charge)?;
        }
        Ok(NonsegregatedDisclosures {
            official_fees_and_taxes: known_fees_and_taxes
                .checked_add(self.further_official_fees_and_taxes)?,
            insurance: self.insurance,
            late_payment_charge: self.late_payment_charge,
            early_termination: self.early_termination,
            early_purchase: self.early_purchase,
        })
    }
}

/// The second part of a form: figures that § 1013.4 requires and § 1013.3(a)(2) does not count
/// among those to be kept apart from other text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct NonsegregatedDisclosures {
    /// "The total amount you will pay for official and license fees, registration, title, and
    /// taxes over the term of your lease, whether included with your monthly payments or assessed
    /// otherwise" (§ 1013.4(n)).
    pub official_fees_and_taxes: Money,
    /// Insurance (§ 1013.4(o)).
    pub insurance: InsuranceDisclosure,
    /// Charge for a late payment (§ 1013.4(q)).
    pub late_payment_charge: Option<Money>,
    /// How the charge for an early termination is determined (§ 1013.4(g)(1)):
    /// [`PaymentPlan::termination_quote`](crate::pricing::PaymentPlan::termination_quote) by this
    /// method, for each month.
    pub early_termination: Option<RentMethod>,
    /// How the price of the property before the end of the term is determined (§ 1013.4(i)(2)):
    /// [`PaymentPlan::purchase_quote`](crate::pricing::PaymentPlan::purchase_quote) by this
    /// method, for each month.
    pub early_purchase: Option<RentMethod>,
}
