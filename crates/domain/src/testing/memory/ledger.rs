//! What was made at the payment processor.

use async_trait::async_trait;

use super::Memory;
use super::tables::LedgerRow;
use crate::access::Mode;
use crate::ids::CheckoutPubId;
use crate::ledger::{Entry, Thing};
use crate::ports::{LedgerStore, StoreError};

/// Whether it is the hold of the payment, or the invoice that it pays.
pub(super) fn pays(entry: &Entry, intent: &str) -> bool {
    match &entry.thing {
        Thing::Hold { .. } => entry.id == intent,
        Thing::Invoice {
            payment_intent_id, ..
        } => payment_intent_id.as_deref() == Some(intent),
        Thing::Subscription { .. } | Thing::Refund { .. } | Thing::Session { .. } => false,
    }
}

#[async_trait]
impl LedgerStore for Memory {
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<Entry>, StoreError> {
        let state = self.own();
        let rows = state.ledger.iter().map(|row| &row.entry);
        Ok(rows
            .filter(|row| row.checkout == checkout)
            .cloned()
            .collect())
    }

    async fn find(&mut self, mode: Mode, id: &str) -> Result<Option<Entry>, StoreError> {
        let state = self.own();
        let mut rows = state.ledger.iter();
        let found = rows.find(|row| row.mode == mode && row.entry.id == id);
        Ok(found.map(|row| row.entry.clone()))
    }

    async fn find_payment(
        &mut self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Entry>, StoreError> {
        let state = self.own();
        let mut rows = state.ledger.iter();
        let found = rows.find(|row| row.mode == mode && pays(&row.entry, payment_intent_id));
        Ok(found.map(|row| row.entry.clone()))
    }

    async fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let checkout = state.checkouts.get(&entry.checkout);
        let mode = checkout
            .ok_or(StoreError::Missing("checkout"))?
            .checkout
            .mode;
        let mut rows = state.ledger.iter_mut();
        match rows.find(|row| row.mode == mode && row.entry.id == entry.id) {
            Some(row) => row.entry = entry.clone(),
            None => state.ledger.push(LedgerRow {
                mode,
                entry: entry.clone(),
            }),
        }
        Ok(())
    }
}
