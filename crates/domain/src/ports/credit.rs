//! The stores of how organizations decide about credit, and of what was decided.

use async_trait::async_trait;

use super::StoreError;
use crate::access::Mode;
use crate::credit::{CreditPolicy, Qualification};
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationId};
use crate::time::Timestamp;

/// How organizations decide about credit.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CreditPolicyStore: Send {
    /// How the organization decides in the mode; none where it has said nothing of it.
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<CreditPolicy>, StoreError>;
    /// How the organization decides in the mode from now on. Its endpoint's secret is kept sealed.
    async fn put(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        policy: &CreditPolicy,
        at: Timestamp,
    ) -> Result<(), StoreError>;
}

/// What was decided about customers' credit. Decisions are only added; one whose person changed ends.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait QualificationStore: Send {
    /// Keeps a decision. [`StoreError::Missing`] when its checkout is not there.
    async fn insert(&mut self, qualification: &Qualification) -> Result<(), StoreError>;
    /// The latest decision for each of these checkouts that has one, whether or not it still counts,
    /// in no particular order.
    async fn latest(
        &mut self,
        checkouts: &[CheckoutPubId],
    ) -> Result<Vec<Qualification>, StoreError>;
    /// All that was decided about the customer and still counts, in the order in which it was kept.
    async fn of_customer(
        &mut self,
        customer: CustomerPubId,
    ) -> Result<Vec<Qualification>, StoreError>;
    /// Nothing that was decided about the customer counts any more. Tells how many decisions that ended.
    async fn end(&mut self, customer: CustomerPubId, at: Timestamp) -> Result<u64, StoreError>;
}
