//! The store of checkouts, of a unit of work that tells.

use async_trait::async_trait;

use crate::access::Mode;
use crate::checkout::{Checkout, Lifecycle, Tracking, Transition, WayOut};
use crate::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductVariantPubId,
};
use crate::ports::{
    CheckoutFilter, CheckoutSort, CheckoutStore, HistoryEntry, InsertedCheckout, Page, PageToken,
    Scope, SortOrder, StoreError, Surroundings,
};
use crate::services::events::work::TellingWork;
use crate::text::ExternalId;
use crate::time::{Day, Timestamp};

#[async_trait]
impl CheckoutStore for TellingWork {
    async fn insert(
        &mut self,
        checkout: &Checkout,
        page_tokens: &[[u8; 32]],
    ) -> Result<InsertedCheckout, StoreError> {
        let inserted = self.inner.checkouts().insert(checkout, page_tokens).await?;
        match &inserted {
            InsertedCheckout::New => {
                self.seen
                    .write_checkout(checkout.id, None, Some(checkout.clone()));
                // Nobody has decided anything about it.
                self.seen.latest.insert(checkout.id, None);
            }
            InsertedCheckout::Existing(checkout) => {
                self.seen.checkouts.note(checkout.id, checkout);
            }
        }
        Ok(inserted)
    }

    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        if let Some(known) = self.seen.checkout(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.checkouts().get(id).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn get_with_surroundings(
        &mut self,
        organization: OrganizationId,
        id: CheckoutPubId,
    ) -> Result<Option<(Checkout, Surroundings)>, StoreError> {
        if let Some(known) = self.seen.checkout(id).cloned() {
            let with = CheckoutStore::surroundings(self, organization, &[id], &[]).await?;
            return Ok(Some((known, with)));
        }
        let found = self
            .inner
            .checkouts()
            .get_with_surroundings(organization, id)
            .await?;
        if let Some((found, with)) = &found {
            self.seen.checkouts.note(found.id, found);
            self.note_surroundings(&[id], with);
        }
        Ok(found)
    }

    async fn surroundings(
        &mut self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Result<Surroundings, StoreError> {
        if let Some(known) = self.seen.surroundings(organization, checkouts, variants) {
            self.seen.read_leased(&known.variants);
            return Ok(known);
        }
        let found = self
            .inner
            .checkouts()
            .surroundings(organization, checkouts, variants)
            .await?;
        self.note_surroundings(checkouts, &found);
        Ok(found)
    }

    async fn find_by_page_token(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self.inner.checkouts().find_by_page_token(token).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn set_page_tokens(
        &mut self,
        id: CheckoutPubId,
        hashes: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        self.inner.checkouts().set_page_tokens(id, hashes).await
    }

    async fn end_page(&mut self, id: CheckoutPubId, at: Timestamp) -> Result<(), StoreError> {
        self.inner.checkouts().end_page(id, at).await
    }

    async fn note_way_out(&mut self, id: CheckoutPubId, way: WayOut) -> Result<bool, StoreError> {
        self.inner.checkouts().note_way_out(id, way).await
    }

    async fn last_way_out(&mut self, id: CheckoutPubId) -> Result<Option<WayOut>, StoreError> {
        self.inner.checkouts().last_way_out(id).await
    }

    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .find_open(scope, customer, variant, term)
            .await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .find_by_external_order(scope, id)
            .await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().find_by_tracking(tracking).await
    }

    async fn of_customer(
        &mut self,
        mode: Mode,
        customer: CustomerPubId,
        states: &[Lifecycle],
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .of_customer(mode, customer, states)
            .await
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        sort: CheckoutSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Checkout>, StoreError> {
        self.inner
            .checkouts()
            .list(scope, filter, sort, order, page)
            .await
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner.checkouts().count(scope, filter, most).await
    }

    async fn count_by_state(&mut self, scope: Scope) -> Result<Vec<(Lifecycle, u64)>, StoreError> {
        self.inner.checkouts().count_by_state(scope).await
    }

    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        let found = self.inner.checkouts().lock(id).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError> {
        let before = match self.seen.checkouts.take(checkout.id, checkout.version) {
            Some(before) => Some(before),
            None if self.seen.checkouts.is_written(checkout.id) => None,
            None => self.inner.checkouts().get(checkout.id).await?,
        };
        self.inner.checkouts().update(checkout).await?;
        self.seen
            .write_checkout(checkout.id, before, Some(checkout.clone()));
        Ok(())
    }

    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError> {
        self.inner.checkouts().record(id, transitions).await?;
        self.seen.moved(id, transitions);
        Ok(())
    }

    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.inner.checkouts().history(id).await
    }

    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .lock_waiting_for_stock(variant, mode, limit)
            .await?;
        for checkout in &found {
            self.seen.checkouts.note(checkout.id, checkout);
        }
        Ok(found)
    }

    async fn first_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
    ) -> Result<Option<Checkout>, StoreError> {
        self.inner
            .checkouts()
            .first_waiting_for_stock(variant, mode)
            .await
    }

    async fn place_in_line(&mut self, id: CheckoutPubId) -> Result<Option<u64>, StoreError> {
        self.inner.checkouts().place_in_line(id).await
    }

    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .waiting_for_location(organization, after, limit)
            .await
    }

    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().untouched_since(before, limit).await
    }

    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .lapsing_before(before, after, limit)
            .await
    }

    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().leases_ended_before(day, limit).await
    }

    async fn unbilled_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().unbilled_since(before, limit).await
    }

    async fn silent_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().silent_since(before, limit).await
    }

    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().billed(mode, after, limit).await
    }

    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().under_way(limit).await
    }
}
