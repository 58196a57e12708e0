//! The store of qualifications, of a unit of work that tells.

use async_trait::async_trait;

use crate::credit::Qualification;
use crate::ids::{CheckoutPubId, CustomerPubId};
use crate::ports::{QualificationStore, StoreError};
use crate::services::events::work::TellingWork;
use crate::time::Timestamp;

#[async_trait]
impl QualificationStore for TellingWork {
    async fn insert(&mut self, qualification: &Qualification) -> Result<(), StoreError> {
        let checkout = qualification.checkout;
        let before = self.counting(checkout).await?;
        self.inner.qualifications().insert(qualification).await?;
        self.seen.decide(checkout, before);
        Ok(())
    }

    async fn latest(
        &mut self,
        checkouts: &[CheckoutPubId],
    ) -> Result<Vec<Qualification>, StoreError> {
        if let Some(known) = self.seen.decisions(checkouts) {
            return Ok(known);
        }
        let found = self.inner.qualifications().latest(checkouts).await?;
        self.seen.read_decisions(checkouts, &found);
        Ok(found)
    }

    async fn of_customer(
        &mut self,
        customer: CustomerPubId,
    ) -> Result<Vec<Qualification>, StoreError> {
        self.inner.qualifications().of_customer(customer).await
    }

    async fn end(&mut self, customer: CustomerPubId, at: Timestamp) -> Result<u64, StoreError> {
        let before = self.inner.qualifications().of_customer(customer).await?;
        let ended = self.inner.qualifications().end(customer, at).await?;
        for decided in before {
            let checkout = decided.checkout;
            self.seen.decide(checkout, Some(decided));
        }
        Ok(ended)
    }
}
