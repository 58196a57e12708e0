//! The store of customers, of a unit of work that tells.

use async_trait::async_trait;

use crate::access::Mode;
use crate::customer::Customer;
use crate::ids::{CustomerPubId, UserId};
use crate::ports::{
    CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer, Page, Scope, StoreError,
};
use crate::services::events::work::TellingWork;
use crate::text::Email;

#[async_trait]
impl CustomerStore for TellingWork {
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError> {
        let inserted = self.inner.customers().insert(new).await?;
        match &inserted {
            InsertedCustomer::New(customer) => {
                self.seen
                    .write_customer(customer.id, None, Some(customer.clone()));
            }
            InsertedCustomer::Existing(customer) => {
                self.seen.customers.note(customer.id, customer);
            }
        }
        Ok(inserted)
    }

    async fn get(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        if let Some(known) = self.seen.customer(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.customers().get(id).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn get_many(&mut self, ids: &[UserId]) -> Result<Vec<Customer>, StoreError> {
        self.inner.customers().get_many(ids).await
    }

    async fn find_by_email(
        &mut self,
        scope: Scope,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError> {
        let found = self.inner.customers().find_by_email(scope, email).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_verification_session(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<Customer>, StoreError> {
        let found = self
            .inner
            .customers()
            .find_by_verification_session(mode, session_id)
            .await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        let found = self.inner.customers().lock(id).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        page: Page,
    ) -> Result<Vec<Customer>, StoreError> {
        self.inner.customers().list(scope, filter, page).await
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner.customers().count(scope, filter, most).await
    }

    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError> {
        let before = match self.seen.customers.take(customer.id, customer.version) {
            Some(before) => Some(before),
            None if self.seen.customers.is_written(customer.id) => None,
            None => self.inner.customers().get(customer.id).await?,
        };
        self.inner.customers().update(customer).await?;
        self.seen
            .write_customer(customer.id, before, Some(customer.clone()));
        Ok(())
    }
}
