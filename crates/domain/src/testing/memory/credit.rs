//! How organizations decide about credit, and what was decided.

use async_trait::async_trait;

use super::Memory;
use crate::access::Mode;
use crate::credit::{CreditPolicy, Qualification};
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationId};
use crate::ports::{CreditPolicyStore, QualificationStore, StoreError};
use crate::time::Timestamp;

#[async_trait]
impl CreditPolicyStore for Memory {
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<CreditPolicy>, StoreError> {
        if self.reach != organization.into() {
            return Ok(None);
        }
        Ok(self.own().credit_policies.get(&mode).cloned())
    }

    async fn put(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        policy: &CreditPolicy,
        _at: Timestamp,
    ) -> Result<(), StoreError> {
        let state = self.change_of(organization)?;
        state.credit_policies.insert(mode, policy.clone());
        Ok(())
    }
}

#[async_trait]
impl QualificationStore for Memory {
    async fn insert(&mut self, qualification: &Qualification) -> Result<(), StoreError> {
        let state = self.change_own()?;
        if !state.checkouts.contains_key(&qualification.checkout) {
            return Err(StoreError::Missing("checkout"));
        }
        state.qualifications.push(qualification.clone());
        Ok(())
    }

    async fn latest(
        &mut self,
        checkouts: &[CheckoutPubId],
    ) -> Result<Vec<Qualification>, StoreError> {
        let state = self.own();
        let latest = |id: &CheckoutPubId| {
            let mut kept = state.qualifications.iter().rev();
            kept.find(|it| it.checkout == *id).cloned()
        };
        let mut ids = checkouts.to_vec();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids.iter().filter_map(latest).collect())
    }

    async fn of_customer(
        &mut self,
        customer: CustomerPubId,
    ) -> Result<Vec<Qualification>, StoreError> {
        let state = self.own();
        let kept = state.qualifications.iter();
        Ok(kept
            .filter(|it| it.customer == customer && it.counts())
            .cloned()
            .collect())
    }

    async fn end(&mut self, customer: CustomerPubId, at: Timestamp) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let mut ended = 0_u64;
        for kept in &mut state.qualifications {
            if kept.customer == customer && kept.counts() {
                kept.ended_at = Some(at);
                ended = ended.saturating_add(1);
            }
        }
        Ok(ended)
    }
}
