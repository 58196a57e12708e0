//! Leases as a library: exact pricing, the lifecycle of a checkout as one table,
//! ports for whatever stores and provides, and the use cases over them.
//!
//! The crate knows no database, no HTTP and no runtime. Time, chance and ids are
//! arguments.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::float_arithmetic,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::get_unwrap
)]

pub mod access;
pub mod address;
pub mod agreement;
pub mod audit;
pub mod catalog;
pub mod cause;
pub mod checkout;
pub mod credit;
pub mod customer;
pub mod endpoint;
pub mod events;
pub mod exact;
pub mod ids;
pub mod lease_term;
pub mod ledger;
pub mod mail;
pub mod metadata;
pub mod money;
mod names;
pub mod organization;
pub mod percentage;
pub mod ports;
pub mod pricing;
pub mod processor_account;
pub mod quantity;
pub mod secret;
pub mod services;
pub mod shipments;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod time;
pub mod webhooks;
pub mod workers;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
