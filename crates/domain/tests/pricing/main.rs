//! Lease pricing, through the public interface.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

mod disclosures;
mod imports;
mod plans;
mod properties;
mod published_examples;
mod quotes;

use lessor_domain::money::{Currency, Money};

/// An amount in cents.
fn usd(minor: i64) -> Money {
    Money::from_minor(minor, Currency::USD)
}

/// An amount of another currency, in cents.
fn eur(minor: i64) -> Money {
    Money::from_minor(minor, "EUR".parse().unwrap())
}
