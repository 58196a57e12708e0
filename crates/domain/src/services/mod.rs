//! The use cases, over the ports.
//!
//! What a caller may ask for is a [`UseCase`]: a value with its permission. What follows from events,
//! and what the operator of an installation does, asks nobody's permission and is a function.
//!
//! Either works on a [`UnitOfWork`](crate::ports::UnitOfWork) and never commits it: whoever calls
//! decides what else belongs to the same transaction (the answer to a request
//! that may be repeated, another use case). No use case calls a provider; what a
//! provider has to do becomes a job, and the [workers](crate::workers) carry jobs out.
//!
//! Refusals come in one order everywhere: what does not exist or is not visible
//! ([`Error::NotFound`]), then what the key may not ([`Error::Forbidden`]), then
//! the rules ([`Error::Invalid`], [`Error::Taken`], [`Error::Rule`]).

pub mod addresses;
pub mod agreements;
pub mod audit;
pub mod billing;
pub mod categories;
pub mod checkouts;
mod concern;
pub mod credit;
pub mod customers;
pub mod deliveries;
pub mod endpoints;
pub mod erasure;
mod error;
pub mod events;
pub mod generation;
pub(crate) mod identity;
pub mod journey;
pub mod keys;
pub mod lease_terms;
pub(crate) mod ledger;
pub mod mails;
pub(crate) mod moving;
pub mod organizations;
pub mod payments;
pub(crate) mod person;
pub mod pickup_locations;
pub mod pricing;
pub mod processor_accounts;
pub mod products;
pub mod qualifications;
pub mod sessions;
pub mod shipments;
pub mod signers;
mod slice;
mod use_case;
pub mod variants;
pub mod visits;
pub mod waitlist;
pub mod webhook_endpoints;
mod window;

pub use concern::Concern;
pub use error::{Error, Patch};
pub use slice::Slice;
pub use use_case::UseCase;

use crate::access::Access;
use crate::audit::Origin;
use crate::checkout::{Actor, Circumstances};
use crate::ports::{CarrierDetector, DialingPlan, Entropy, IdGenerator};
use crate::time::Timestamp;

/// Who asks, when, and where ids come from.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Who asks.
    pub access: &'a Access,
    /// The same for the audit, and from where.
    pub origin: &'a Origin,
    pub now: Timestamp,
    /// Where ids come from.
    pub ids: &'a dyn IdGenerator,
    /// Where secrets come from.
    pub entropy: &'a dyn Entropy,
    /// How carriers are told by number.
    pub carriers: &'a dyn CarrierDetector,
    /// How phone numbers are dialled.
    pub phones: &'a dyn DialingPlan,
}

impl Context<'_> {
    /// The circumstances of what somebody does to a checkout by this request.
    #[must_use]
    pub fn circumstances(&self, actor: Actor) -> Circumstances {
        Circumstances::new(self.now, actor).with_key(self.access.key_id)
    }
}
