//! The store of organizations, of a unit of work that tells.

use async_trait::async_trait;

use crate::ids::{OrganizationId, OrganizationRef};
use crate::organization::Organization;
use crate::ports::{NewOrganization, OrganizationStore, StoreError};
use crate::services::events::work::TellingWork;

#[async_trait]
impl OrganizationStore for TellingWork {
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError> {
        self.inner.organizations().insert(new).await
    }

    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        if let Some(known) = self.seen.organization(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.organizations().get(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError> {
        let found = self.inner.organizations().find(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn list(&mut self) -> Result<Vec<Organization>, StoreError> {
        self.inner.organizations().list().await
    }

    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        let found = self.inner.organizations().lock(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError> {
        self.inner.organizations().update(organization).await?;
        self.seen.rates = None;
        self.note_organization(Some(organization));
        Ok(())
    }

    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        self.inner
            .organizations()
            .pricing_revision(organization)
            .await
    }
}
