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
mod error;
mod fixed;
mod payment;
mod quote;
mod rate_card;

pub use error::PricingError;
pub use quote::{Quote, quote};
pub use rate_card::{Rate, RateCard};
