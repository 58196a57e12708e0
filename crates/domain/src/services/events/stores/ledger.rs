//! The store of ledger entries, of a unit of work that tells.

use async_trait::async_trait;

use crate::access::Mode;
use crate::ids::CheckoutPubId;
use crate::ledger::Entry;
use crate::ports::{LedgerStore, StoreError};
use crate::services::events::names::Booked;
use crate::services::events::work::TellingWork;

#[async_trait]
impl LedgerStore for TellingWork {
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<Entry>, StoreError> {
        let rows = self.inner.ledger().of(checkout).await?;
        for row in &rows {
            self.seen.rows.insert(row.id.clone(), Some(row.clone()));
        }
        Ok(rows)
    }

    async fn find(&mut self, mode: Mode, id: &str) -> Result<Option<Entry>, StoreError> {
        let row = self.inner.ledger().find(mode, id).await?;
        self.seen.rows.insert(id.to_owned(), row.clone());
        Ok(row)
    }

    async fn find_payment(
        &mut self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Entry>, StoreError> {
        self.inner
            .ledger()
            .find_payment(mode, payment_intent_id)
            .await
    }

    async fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let before = match self.seen.rows.get(&entry.id) {
            Some(known) => known.clone(),
            None => {
                let rows = self.inner.ledger().of(entry.checkout).await?;
                rows.into_iter().find(|row| row.id == entry.id)
            }
        };
        self.inner.ledger().put(entry).await?;
        let after = entry.clone();
        self.seen.rows.insert(entry.id.clone(), Some(after.clone()));
        self.seen.book(
            entry.checkout,
            Booked {
                before,
                after,
                is_of_deposit: false,
            },
        );
        Ok(())
    }
}
