//! What can go wrong in a store.

use std::error::Error;

use crate::cause::Cause;
use crate::names::named_enum;

named_enum! {
    /// What must be unique and was not.
    pub enum UniqueField {
        /// A variant's stock keeping unit.
        Sku = "sku",
        /// A product's or variant's external id.
        ExternalId = "externalId",
        /// A checkout's external order id.
        ExternalOrderId = "externalOrderId",
        /// A variant's combination of option values and model year.
        Combination = "options",
        /// The running checkout of a customer for a variant and term.
        OpenCheckout = "leaseTermId",
        /// An active lease term of an owner for a number of months.
        TermMonths = "termInMonths",
        /// A category's or pickup location's name.
        Name = "name",
        /// A customer's e-mail address.
        Email = "email",
    }
}

/// Why a store did not do what it was asked. What the database said is the error's
/// source; [`chain`](crate::cause::chain) tells it all.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Something that must be unique is taken.
    #[error("{0} is taken")]
    Conflict(UniqueField),
    /// Somebody else wrote the record since it was read: read it again.
    #[error("the {0} was changed by somebody else")]
    Stale(&'static str),
    /// The record is gone.
    #[error("the {0} does not exist")]
    Missing(&'static str),
    /// Two units of work stood in each other's way; the same work can be tried again.
    #[error("the work met another's and has to be tried again")]
    Contended,
    /// The store cannot be reached, or is overloaded.
    #[error("the store is not available")]
    Unavailable(#[source] Cause),
    /// The record holds what it must not.
    #[error("{table}.{column} of {row} holds what it must not: {problem}")]
    Corrupt {
        table: &'static str,
        column: &'static str,
        /// The row's id.
        row: String,
        /// What is wrong.
        problem: String,
    },
    /// Anything else: a defect.
    #[error("the store failed")]
    Internal(#[source] Cause),
}

impl StoreError {
    /// [`StoreError::Unavailable`], of what the store met.
    pub fn unavailable(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(Cause::new(error))
    }

    /// [`StoreError::Internal`], of what the store met.
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Internal(Cause::new(error))
    }
}
