//! Organizations and their pickup locations.

use async_trait::async_trait;

use super::Memory;
use super::tables::{check_version, count_up};
use crate::ids::{IdRef, OrganizationId, OrganizationRef, PickupLocationId};
use crate::organization::{Face, Organization, PickupLocation};
use crate::ports::{
    NewOrganization, NewPickupLocation, OrganizationStore, PickupLocationStore, Reach, StoreError,
    UniqueField,
};

#[async_trait]
impl OrganizationStore for Memory {
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError> {
        let id = OrganizationId::new(self.next_number()?).map_err(StoreError::internal)?;
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
            face: Face::default(),
            sandbox_writes_catalog: None,
            first_live_key_at: None,
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        };
        let state = self.change_unowned()?;
        state.organizations.insert(id, organization.clone());
        Ok(organization)
    }

    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        Ok(self.unowned().organizations.get(&id).cloned())
    }

    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError> {
        let state = self.unowned();
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
        let mut all: Vec<_> = self.unowned().organizations.values().cloned().collect();
        all.sort_by_key(|organization| (organization.created_at, organization.id));
        Ok(all)
    }

    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        Ok(self.lock_unowned()?.organizations.get(&id).cloned())
    }

    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError> {
        let state = self.change_unowned()?;
        let stored = state.organizations.get(&organization.id);
        check_version(stored, organization)?;
        if stored.is_some_and(|stored| stored.discount != organization.discount) {
            // The organization is nobody's, what its prices are made of is its own.
            self.change_of(organization.id)?.reprice();
        }
        count_up(organization);
        self.change_unowned()?
            .organizations
            .insert(organization.id, organization.clone());
        Ok(())
    }

    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        Ok(match self.reach {
            Reach::Organization(id) if id == organization => self.own().pricing_revision,
            Reach::Organization(_) | Reach::Server => 0,
        })
    }
}

#[async_trait]
impl PickupLocationStore for Memory {
    async fn insert(&mut self, new: &NewPickupLocation) -> Result<PickupLocation, StoreError> {
        let state = self.change_of(new.organization_id)?;
        let taken = state.pickup_locations.values().any(|other| {
            other.organization_id == new.organization_id && other.active && other.name == new.name
        });
        if taken {
            return Err(StoreError::Conflict(UniqueField::Name));
        }
        let id = PickupLocationId::new(self.next_number()?).map_err(StoreError::internal)?;
        let location = PickupLocation {
            id,
            organization_id: new.organization_id,
            name: new.name.clone(),
            address: new.address.clone(),
            active: true,
        };
        let state = self.change_own()?;
        state.pickup_locations.insert(id, location.clone());
        Ok(location)
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: PickupLocationId,
    ) -> Result<Option<PickupLocation>, StoreError> {
        let state = self.own();
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
        let state = self.own();
        Ok(state
            .pickup_locations
            .values()
            .filter(|location| location.organization_id == organization)
            .cloned()
            .collect())
    }

    async fn update(&mut self, location: &PickupLocation) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let stored = state
            .pickup_locations
            .get_mut(&location.id)
            .filter(|stored| stored.organization_id == location.organization_id)
            .ok_or(StoreError::Missing("pickup location"))?;
        *stored = location.clone();
        Ok(())
    }
}
