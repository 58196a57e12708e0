//! The store of lease terms, of a unit of work that tells.

use async_trait::async_trait;

use crate::ids::{LeaseTermPubId, LeaseTermRef, OrganizationId};
use crate::lease_term::LeaseTerm;
use crate::organization::Organization;
use crate::ports::{DeletedTerm, LeaseTermStore, NewLeaseTerm, StoreError};
use crate::services::events::work::TellingWork;

#[async_trait]
impl LeaseTermStore for TellingWork {
    async fn insert(&mut self, new: &NewLeaseTerm) -> Result<LeaseTerm, StoreError> {
        let term = self.inner.lease_terms().insert(new).await?;
        self.seen.write_term(term.id, None, Some(term.clone()));
        Ok(term)
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermRef,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let found = self.inner.lease_terms().find(organization, id).await?;
        if let Some(found) = &found {
            self.seen.terms.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(&mut self, organization: OrganizationId) -> Result<Vec<LeaseTerm>, StoreError> {
        self.inner.lease_terms().list(organization).await
    }

    async fn list_with_organization(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError> {
        if let Some(known) = self.seen.terms(organization) {
            return Ok(Some(known));
        }
        let found = self
            .inner
            .lease_terms()
            .list_with_organization(organization)
            .await?;
        if let Some((organization, terms)) = &found {
            self.note_organization(Some(organization));
            self.seen.read_terms(organization, terms);
        }
        Ok(found)
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermPubId,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let found = self.inner.lease_terms().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.terms.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, term: &mut LeaseTerm) -> Result<(), StoreError> {
        let before = match self.seen.terms.take(term.id, term.version) {
            Some(before) => Some(before),
            None if self.seen.terms.is_written(term.id) => None,
            None => {
                let id = LeaseTermRef::Public(term.id);
                self.inner
                    .lease_terms()
                    .find(term.organization_id, id)
                    .await?
            }
        };
        self.inner.lease_terms().update(term).await?;
        self.seen.write_term(term.id, before, Some(term.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: LeaseTermPubId) -> Result<DeletedTerm, StoreError> {
        let before = match self.organization {
            Some(organization) => {
                let term = LeaseTermRef::Public(id);
                self.inner.lease_terms().find(organization, term).await?
            }
            None => None,
        };
        let deleted = self.inner.lease_terms().delete(id).await?;
        if deleted == DeletedTerm::Gone {
            self.seen.write_term(id, before, None);
        }
        Ok(deleted)
    }
}
