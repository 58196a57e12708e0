//! Organizations' own accounts at the payment processor.

use async_trait::async_trait;

use super::Memory;
use super::tables::{Owned, check_version, count_up};
use crate::access::Mode;
use crate::checkout::Checkout;
use crate::customer::IdentityStatus;
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::HoldState;
use crate::ports::{ProcessorAccountStore, StoreError};
use crate::processor_account::{AccountRecord, ProcessorAccount};

const NAME: &str = "processor account";

/// Whether it rests on what is at the processor for it.
fn rests(state: &Owned, checkout: &Checkout) -> bool {
    let mut rows = state.ledger.iter().map(|row| &row.entry);
    let is_held =
        rows.any(|row| row.checkout == checkout.id && row.hold_state() == Some(HoldState::Held));
    if is_held {
        return true;
    }
    let is_known = state
        .ledger
        .iter()
        .any(|row| row.entry.checkout == checkout.id);
    let is_verified_there = state.customers.values().any(|customer| {
        let screening = &customer.screening;
        customer.id == checkout.customer_id
            && screening.verification_session_id.is_some()
            && matches!(
                screening.identity,
                IdentityStatus::Pending | IdentityStatus::Processing
            )
    });
    !checkout.lifecycle().is_ended() && (is_known || is_verified_there)
}

#[async_trait]
impl ProcessorAccountStore for Memory {
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<ProcessorAccount>, StoreError> {
        let state = self.own();
        let account = state.processor_accounts.get(&mode);
        Ok(account
            .filter(|account| account.organization_id == organization)
            .cloned())
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<AccountRecord>, StoreError> {
        let state = self.own();
        let accounts = state.processor_accounts.values();
        Ok(accounts
            .filter(|account| account.organization_id == organization)
            .map(ProcessorAccount::record)
            .collect())
    }

    async fn insert(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError> {
        let state = self.change_of(account.organization_id)?;
        if state.processor_accounts.contains_key(&account.mode) {
            return Err(StoreError::Stale(NAME));
        }
        account.version = 1;
        state
            .processor_accounts
            .insert(account.mode, account.clone());
        Ok(())
    }

    async fn update(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError> {
        let state = self.change_own()?;
        check_version(state.processor_accounts.get(&account.mode), account)?;
        count_up(account);
        state
            .processor_accounts
            .insert(account.mode, account.clone());
        Ok(())
    }

    async fn remove(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<bool, StoreError> {
        let own = self.own();
        let stored = own.processor_accounts.get(&mode);
        if stored.is_none_or(|account| account.organization_id != organization) {
            return Ok(false);
        }
        Ok(self
            .change_own()?
            .processor_accounts
            .remove(&mode)
            .is_some())
    }

    async fn resting(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let mut found: Vec<&Checkout> = state
            .checkouts
            .values()
            .map(|row| &row.checkout)
            .filter(|checkout| checkout.organization_id == organization && checkout.mode == mode)
            .filter(|checkout| rests(&state, checkout))
            .collect();
        found.sort_by_key(|checkout| (checkout.created_at, checkout.id));
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(found
            .into_iter()
            .take(most)
            .map(|checkout| checkout.id)
            .collect())
    }

    async fn forget_customers(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<u64, StoreError> {
        let has_any = self.own().customers.values().any(|customer| {
            customer.organization_id == organization && customer.screening.processor_id.is_some()
        });
        if !has_any {
            return Ok(0);
        }
        let mut forgotten: u64 = 0;
        for customer in self.change_own()?.customers.values_mut() {
            let is_meant = customer.organization_id == organization && customer.mode == mode;
            if is_meant && customer.screening.processor_id.take().is_some() {
                count_up(customer);
                forgotten = forgotten.saturating_add(1);
            }
        }
        Ok(forgotten)
    }
}
