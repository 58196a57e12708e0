//! Lease terms.

use async_trait::async_trait;

use super::Memory;
use super::tables::{Owned, check_version, count_up};
use crate::ids::{IdRef, LeaseTermId, LeaseTermPubId, LeaseTermRef, OrganizationId};
use crate::lease_term::{LeaseTerm, LeaseTermStatus};
use crate::organization::Organization;
use crate::ports::{DeletedTerm, LeaseTermStore, NewLeaseTerm, StoreError, UniqueField};

/// Refuses a second active term of an owner for the same months.
fn check_unique(state: &Owned, term: &LeaseTerm) -> Result<(), StoreError> {
    let taken = term.status == LeaseTermStatus::Active
        && state.lease_terms.values().any(|other| {
            other.id != term.id
                && other.status == LeaseTermStatus::Active
                && other.organization_id == term.organization_id
                && other.product_id == term.product_id
                && other.card.term == term.card.term
        });
    if taken {
        Err(StoreError::Conflict(UniqueField::TermMonths))
    } else {
        Ok(())
    }
}

#[async_trait]
impl LeaseTermStore for Memory {
    async fn insert(&mut self, new: &NewLeaseTerm) -> Result<LeaseTerm, StoreError> {
        self.change_of(new.organization_id)?;
        let lease_term_id = LeaseTermId::new(self.next_number()?).map_err(StoreError::internal)?;
        let term = LeaseTerm {
            id: new.id,
            lease_term_id,
            organization_id: new.organization_id,
            product_id: new.product_id,
            card: new.card,
            status: new.status,
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        };
        let state = self.change_own()?;
        check_unique(state, &term)?;
        state.reprice();
        state.lease_terms.insert(term.id, term.clone());
        Ok(term)
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermRef,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let state = self.own();
        Ok(state
            .lease_terms
            .values()
            .find(|term| {
                term.organization_id == organization
                    && match id {
                        IdRef::Public(id) => term.id == id,
                        IdRef::Number(id) => term.lease_term_id == id,
                    }
            })
            .cloned())
    }

    async fn list(&mut self, organization: OrganizationId) -> Result<Vec<LeaseTerm>, StoreError> {
        let mut terms: Vec<_> = self
            .own()
            .lease_terms
            .values()
            .filter(|term| term.organization_id == organization)
            .cloned()
            .collect();
        terms.sort_by_key(|term| (term.card.term, term.lease_term_id));
        Ok(terms)
    }

    async fn list_with_organization(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError> {
        let terms = LeaseTermStore::list(self, organization).await?;
        let state = self.unowned();
        let found = state.organizations.get(&organization).cloned();
        Ok(found.map(|organization| (organization, terms)))
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermPubId,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let state = self.lock_own()?;
        Ok(state
            .lease_terms
            .get(&id)
            .filter(|term| term.organization_id == organization)
            .cloned())
    }

    async fn update(&mut self, term: &mut LeaseTerm) -> Result<(), StoreError> {
        let state = self.change_own()?;
        check_version(state.lease_terms.get(&term.id), term)?;
        check_unique(state, term)?;
        count_up(term);
        state.reprice();
        state.lease_terms.insert(term.id, term.clone());
        Ok(())
    }

    async fn delete(&mut self, id: LeaseTermPubId) -> Result<DeletedTerm, StoreError> {
        let state = self.change_own()?;
        let in_use = state
            .checkouts
            .values()
            .any(|row| row.checkout.term.is_some_and(|term| term.id == id));
        if in_use {
            return Ok(DeletedTerm::InUse);
        }
        state
            .lease_terms
            .remove(&id)
            .ok_or(StoreError::Missing("lease term"))?;
        state.reprice();
        Ok(DeletedTerm::Gone)
    }
}
