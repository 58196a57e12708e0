//! Customers.

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, page};
use super::tables::{Owned, check_version, count_up};
use crate::access::Mode;
use crate::customer::{Customer, Screening};
use crate::ids::{CustomerPubId, UserId};
use crate::metadata::Metadata;
use crate::ports::{
    CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer, Page, Scope, SortOrder,
    StoreError, UniqueField,
};
use crate::text::Email;

/// Whether the session verifies who they are.
pub(super) fn is_screened_in(customer: &Customer, mode: Mode, session_id: &str) -> bool {
    customer.mode == mode
        && customer.screening.verification_session_id.as_deref() == Some(session_id)
}

fn is_of(customer: &Customer, scope: Scope) -> bool {
    customer.organization_id == scope.organization_id && customer.mode == scope.mode
}

fn by_email<'a>(state: &'a Owned, scope: Scope, email: &Email) -> Option<&'a Customer> {
    state
        .customers
        .values()
        .find(|customer| is_of(customer, scope) && customer.email.folded() == email.folded())
}

fn shows(filter: &CustomerFilter, customer: &Customer) -> bool {
    filter
        .email
        .as_ref()
        .is_none_or(|email| customer.email.folded() == email.folded())
        && customer.metadata.has_all(&filter.metadata)
}

#[async_trait]
impl CustomerStore for Memory {
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError> {
        let state = self.change_of(new.organization_id)?;
        let scope = Scope {
            organization_id: new.organization_id,
            mode: new.mode,
        };
        if let Some(existing) = by_email(state, scope, &new.email) {
            return Ok(InsertedCustomer::Existing(existing.clone()));
        }
        let user_id = UserId::new(self.next_number()?).map_err(StoreError::internal)?;
        self.change_unowned()?.users.insert(user_id, new.id);
        let new = new.clone();
        let customer = Customer {
            id: new.id,
            user_id,
            organization_id: new.organization_id,
            mode: new.mode,
            email: new.email,
            profile: new.profile,
            screening: Screening::default(),
            metadata: Metadata::default(),
            created_at: new.created_at,
            updated_at: new.created_at,
            erased_at: None,
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
        scope: Scope,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError> {
        Ok(by_email(&self.own(), scope, email).cloned())
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

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        wanted: Page,
    ) -> Result<Vec<Customer>, StoreError> {
        let state = self.own();
        let own = state
            .customers
            .values()
            .filter(|customer| is_of(customer, scope));
        let key = |customer: &Customer| (customer.created_at, customer.id.as_uuid());
        Ok(page(
            own,
            |customer| customer.id.as_uuid(),
            |customer| shows(filter, customer),
            |a, b| directed(&key(a), &key(b), SortOrder::Descending),
            wanted,
        )
        .into_iter()
        .cloned()
        .collect())
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let state = self.own();
        let shown = state
            .customers
            .values()
            .filter(|customer| is_of(customer, scope) && shows(filter, customer));
        Ok(u64::try_from(shown.count()).unwrap_or(u64::MAX).min(most))
    }

    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError> {
        let state = self.change_own()?;
        check_version(state.customers.get(&customer.id), customer)?;
        let scope = Scope {
            organization_id: customer.organization_id,
            mode: customer.mode,
        };
        let taken =
            by_email(state, scope, &customer.email).is_some_and(|other| other.id != customer.id);
        if taken {
            return Err(StoreError::Conflict(UniqueField::Email));
        }
        count_up(customer);
        state.customers.insert(customer.id, customer.clone());
        Ok(())
    }
}
