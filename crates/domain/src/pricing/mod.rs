//! Lease pricing: pure functions over exact money.
//!
//! Every figure is computed exactly and rounded once, by
//! [`round_half_away_from_zero`](crate::exact::round_half_away_from_zero), when it is printed.
//! `docs/PRICING.md` derives the formulas and shows the published examples they reproduce.
//!
//! - [`quote()`] prices a catalog item with a [`RateCard`].
//! - [`LeaseTerms`] price any lease: capitalized fees, reductions, payments in advance, tax.
//! - Both have a [`PaymentPlan`], from which follow the payment schedule, the implicit rate, what
//!   ending the lease early or buying the property costs, and an extension of the lease.
//! - [`disclosure`] fills in the forms of the US Consumer Leasing Act.
//!
//! ```
//! use lessor_domain::money::{Currency, Money};
//! use lessor_domain::pricing::{LeaseTerms, Rate, RentMethod, TerminationCharges};
//!
//! let usd = |amount| Money::parse(amount, Currency::USD);
//! let rate = Rate::AnnualRate("6".parse()?);
//! let lease = LeaseTerms::new(usd("1299")?, usd("584.55")?, "24".parse()?, rate).quote()?;
//! let plan = lease.plan()?;
//!
//! let schedule = plan.schedule(RentMethod::ConstantYield)?;
//! let rents = Money::sum(schedule.iter().map(|line| line.rent), Currency::USD)?;
//! assert_eq!(rents, lease.rent_charge);
//!
//! let charges = TerminationCharges::none(Currency::USD);
//! let ended = plan.termination_quote(12, RentMethod::ConstantYield, charges)?;
//! assert_eq!(ended.balance, schedule[11].balance);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amounts;
pub mod disclosure;
mod discount;
mod error;
mod extension;
mod fixed;
mod implicit_rate;
mod lease;
mod payment;
mod plan;
mod quote;
mod rate_card;
mod schedule;
mod solve;
mod termination;

pub use error::PricingError;
pub use extension::{Extension, ExtensionTerms};
pub use implicit_rate::ImplicitRate;
pub use lease::{LeaseQuote, LeaseTerms, PaymentTax};
pub use plan::PaymentPlan;
pub use quote::{Quote, quote};
pub use rate_card::{Rate, RateCard};
pub use schedule::{RentMethod, ScheduleLine};
pub use termination::{PurchaseCharges, PurchaseQuote, TerminationCharges, TerminationQuote};
