//! Organizations and their pickup locations.

use async_trait::async_trait;

use super::Memory;
use super::tables::{check_version, count_up};
use crate::ids::{IdRef, OrganizationId, OrganizationRef, PickupLocationId};
use crate::organization::{Organization, PickupLocation};
use crate::ports::{
    NewOrganization, NewPickupLocation, OrganizationStore, PickupLocationStore, StoreError,
    UniqueField,
};

#[async_trait]
impl OrganizationStore for Memory {
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError> {
        let state = self.change()?;
        let id = OrganizationId::new(state.next_number()).map_err(StoreError::internal)?;
        let new = new.clone();
        let organization = Organization {
            id,
            pub_id: new.pub_id,
            name: new.name,
            currency: new.currency,
            discount: new.discount,
            service_area: new.service_area,
            requires_product_review: new.requires_product_review,
            oftake_partner_id: new.oftake_partner_id,
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        };
        state.organizations.insert(id, organization.clone());
        Ok(organization)
    }

    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        Ok(self.state().organizations.get(&id).cloned())
    }

    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError> {
        let state = self.state();
        Ok(state
            .organizations
            .values()
            .find(|organization| match id {
                IdRef::Public(id) => organization.pub_id == id,
                IdRef::Number(id) => organization.id == id,
            })
            .cloned())
    }

    async fn list(&mut self) -> Result<Vec<Organization>, StoreError> {
        let mut all: Vec<_> = self.state().organizations.values().cloned().collect();
        all.sort_by_key(|organization| (organization.created_at, organization.id));
        Ok(all)
    }

    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        Ok(self.locked()?.organizations.get(&id).cloned())
    }

    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError> {
        let state = self.change()?;
        let stored = state.organizations.get(&organization.id);
        check_version(stored, organization)?;
        if stored.is_some_and(|stored| stored.discount != organization.discount) {
            state.reprice(organization.id);
        }
        count_up(organization);
        state
            .organizations
            .insert(organization.id, organization.clone());
        Ok(())
    }

    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        let state = self.state();
        Ok(state
            .pricing_revisions
            .get(&organization)
            .copied()
            .unwrap_or_default())
    }
}

#[async_trait]
impl PickupLocationStore for Memory {
    async fn insert(&mut self, new: &NewPickupLocation) -> Result<PickupLocation, StoreError> {
        let state = self.change()?;
        state.require_organization(new.organization_id)?;
        let taken = state.pickup_locations.values().any(|other| {
            other.organization_id == new.organization_id && other.active && other.name == new.name
        });
        if taken {
            return Err(StoreError::Conflict(UniqueField::Name));
        }
        let id = PickupLocationId::new(state.next_number()).map_err(StoreError::internal)?;
        let location = PickupLocation {
            id,
            organization_id: new.organization_id,
            name: new.name.clone(),
            address: new.address.clone(),
            active: true,
        };
        state.pickup_locations.insert(id, location.clone());
        Ok(location)
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: PickupLocationId,
    ) -> Result<Option<PickupLocation>, StoreError> {
        let state = self.state();
        Ok(state
            .pickup_locations
            .get(&id)
            .filter(|location| location.organization_id == organization)
            .cloned())
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<PickupLocation>, StoreError> {
        let state = self.state();
        Ok(state
            .pickup_locations
            .values()
            .filter(|location| location.organization_id == organization)
            .cloned()
            .collect())
    }

    async fn update(&mut self, location: &PickupLocation) -> Result<(), StoreError> {
        let state = self.change()?;
        let stored = state
            .pickup_locations
            .get_mut(&location.id)
            .ok_or(StoreError::Missing("pickup location"))?;
        *stored = location.clone();
        Ok(())
    }
}
