//! Customers.

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, page};
use super::tables::{Owned, Unowned, check_version, count_up};
use crate::access::Mode;
use crate::customer::{Customer, Screening};
use crate::ids::{CustomerPubId, OrganizationId, UserId};
use crate::metadata::Metadata;
use crate::ports::{
    CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer, Page, SortOrder, StoreError,
    UniqueField,
};
use crate::text::Email;

/// Whether the session verifies who they are.
pub(super) fn is_screened_in(customer: &Customer, mode: Mode, session_id: &str) -> bool {
    customer.screening(mode).verification_session_id.as_deref() == Some(session_id)
}

fn by_email<'a>(
    state: &'a Owned,
    organization: OrganizationId,
    email: &Email,
) -> Option<&'a Customer> {
    state.customers.values().find(|customer| {
        customer.organization_id == organization && customer.email.folded() == email.folded()
    })
}

fn is_known(state: &Owned, unowned: &Unowned, id: UserId, organization: OrganizationId) -> bool {
    let has_checkout = state
        .checkouts
        .values()
        .any(|row| row.checkout.user_id == id && row.checkout.organization_id == organization);
    let has_key = unowned
        .keys
        .values()
        .any(|key| key.user_id == id && key.organization_id == organization);
    has_checkout || has_key
}

fn shows(
    state: &Owned,
    unowned: &Unowned,
    organization: OrganizationId,
    filter: &CustomerFilter,
    customer: &Customer,
) -> bool {
    customer.organization_id == organization
        && is_known(state, unowned, customer.user_id, organization)
        && filter
            .email
            .as_ref()
            .is_none_or(|email| customer.email.folded() == email.folded())
        && customer.metadata.has_all(&filter.metadata)
}

#[async_trait]
impl CustomerStore for Memory {
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError> {
        let state = self.change_of(new.organization_id)?;
        if let Some(existing) = by_email(state, new.organization_id, &new.email) {
            return Ok(InsertedCustomer::Existing(existing.clone()));
        }
        let user_id = UserId::new(self.next_number()?).map_err(StoreError::internal)?;
        self.change_unowned()?.users.insert(user_id, new.id);
        let new = new.clone();
        let customer = Customer {
            id: new.id,
            user_id,
            organization_id: new.organization_id,
            email: new.email,
            profile: new.profile,
            live: Screening::default(),
            sandbox: Screening::default(),
            metadata: Metadata::default(),
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        };
        let state = self.change_own()?;
        state.customers.insert(customer.id, customer.clone());
        Ok(InsertedCustomer::New(customer))
    }

    async fn get(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        Ok(self.own().customers.get(&id).cloned())
    }

    async fn get_many(&mut self, ids: &[UserId]) -> Result<Vec<Customer>, StoreError> {
        let state = self.own();
        Ok(state
            .customers
            .values()
            .filter(|customer| ids.contains(&customer.user_id))
            .cloned()
            .collect())
    }

    async fn find_by_email(
        &mut self,
        organization: OrganizationId,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError> {
        Ok(by_email(&self.own(), organization, email).cloned())
    }

    async fn find_by_verification_session(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<Customer>, StoreError> {
        let state = self.own();
        Ok(state
            .customers
            .values()
            .find(|customer| is_screened_in(customer, mode, session_id))
            .cloned())
    }

    async fn lock(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        Ok(self.lock_own()?.customers.get(&id).cloned())
    }

    async fn is_known_to(
        &mut self,
        id: UserId,
        organization: OrganizationId,
    ) -> Result<bool, StoreError> {
        Ok(is_known(&self.own(), &self.unowned(), id, organization))
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &CustomerFilter,
        wanted: Page,
    ) -> Result<Vec<Customer>, StoreError> {
        let (state, unowned) = (self.own(), self.unowned());
        let own = state
            .customers
            .values()
            .filter(|customer| customer.organization_id == organization);
        let key = |customer: &Customer| (customer.created_at, customer.id.as_uuid());
        Ok(page(
            own,
            |customer| customer.id.as_uuid(),
            |customer| shows(&state, &unowned, organization, filter, customer),
            |a, b| directed(&key(a), &key(b), SortOrder::Descending),
            wanted,
        )
        .into_iter()
        .cloned()
        .collect())
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &CustomerFilter,
    ) -> Result<u64, StoreError> {
        let (state, unowned) = (self.own(), self.unowned());
        let shown = state
            .customers
            .values()
            .filter(|customer| shows(&state, &unowned, organization, filter, customer));
        Ok(u64::try_from(shown.count()).unwrap_or(u64::MAX))
    }

    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError> {
        let state = self.change_own()?;
        check_version(state.customers.get(&customer.id), customer)?;
        let taken = by_email(state, customer.organization_id, &customer.email)
            .is_some_and(|other| other.id != customer.id);
        if taken {
            return Err(StoreError::Conflict(UniqueField::Email));
        }
        count_up(customer);
        state.customers.insert(customer.id, customer.clone());
        Ok(())
    }
}
