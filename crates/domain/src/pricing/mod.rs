//! Lease pricing: pure functions over exact money.
//!
//! Every figure is computed exactly and rounded once, by
//! [`round_half_away_from_zero`](crate::exact::round_half_away_from_zero), when it is printed.
//! `docs/PRICING.md` derives the formulas and shows the published examples they reproduce.
//!
//! - [`quote()`] prices a catalog item with a [`RateCard`].

#![deny(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::float_arithmetic
)]

mod amounts;
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
