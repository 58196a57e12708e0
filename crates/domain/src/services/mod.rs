//! The use cases, over the ports.
//!
//! A use case works on a [`UnitOfWork`](crate::ports::UnitOfWork) and never commits it: whoever calls
//! decides what else belongs to the same transaction (the answer to a request
//! that may be repeated, another use case). No use case calls a provider; what a
//! provider has to do becomes a job, and the [workers](crate::workers) carry jobs out.
//!
//! Refusals come in one order everywhere: what does not exist or is not visible
//! ([`Error::NotFound`]), then the missing permission ([`Error::Forbidden`]), then
//! the rules ([`Error::Invalid`], [`Error::Taken`], [`Error::Rule`]).

pub mod billing;
pub mod catalog;
pub mod checkouts;
pub mod customers;
mod error;
pub mod fulfillment;
pub mod generation;
mod handled;
pub(crate) mod identity;
pub mod journey;
pub mod keys;
pub mod lease_terms;
pub(crate) mod ledger;
pub(crate) mod moving;
pub mod organizations;
pub mod payments;
pub mod pickup_locations;
pub mod pricing;
pub mod variants;
pub mod waitlist;

pub use error::{Error, Patch};
pub use handled::Handled;

use crate::access::Access;
use crate::ports::IdGenerator;
use crate::time::Timestamp;

/// Who asks, when, and where ids come from.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Who asks.
    pub access: &'a Access,
    /// Now.
    pub now: Timestamp,
    /// Where ids come from.
    pub ids: &'a dyn IdGenerator,
}
