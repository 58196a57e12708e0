//! Checkouts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, directed_nulls_last, page};
use super::tables::{CheckoutRow, Owned, check_version, count_up};
use crate::access::Mode;
use crate::checkout::{
    AttentionReason, Billing, Checkout, Lifecycle, Tracking, Transition, WaitlistReason, WayOut,
};
use crate::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductVariantPubId,
};
use crate::ports::{
    CheckoutFilter, CheckoutSort, CheckoutStore, HistoryEntry, InsertedCheckout, LeaseTermStore,
    Page, PageToken, QualificationStore, Scope, SortOrder, StoreError, Surroundings, UniqueField,
    VariantSelection, VariantStore,
};
use crate::text::ExternalId;
use crate::time::{Day, Timestamp};

const MISSING: StoreError = StoreError::Missing("checkout");

/// What a customer can have one running checkout for.
type Intent = (
    Mode,
    CustomerPubId,
    ProductVariantPubId,
    Option<LeaseTermPubId>,
);

fn intent(checkout: &Checkout) -> Intent {
    (
        checkout.mode,
        checkout.customer_id,
        checkout.variant_id,
        checkout.term.map(|term| term.id),
    )
}

fn is_of(checkout: &Checkout, scope: Scope) -> bool {
    checkout.organization_id == scope.organization_id && checkout.mode == scope.mode
}

pub(super) fn all(state: &Owned) -> impl Iterator<Item = &Checkout> {
    state.checkouts.values().map(|row| &row.checkout)
}

fn open(state: &Owned, wanted: Intent) -> Option<&Checkout> {
    all(state)
        .filter(|checkout| !checkout.lifecycle().is_ended() && intent(checkout) == wanted)
        .max_by_key(|checkout| {
            let is_leased = checkout.lifecycle().is_leased();
            (!is_leased, checkout.created_at, checkout.id.as_uuid())
        })
}

/// The one that keeps others of its intent out.
fn begun(state: &Owned, wanted: Intent) -> Option<&Checkout> {
    open(state, wanted).filter(|checkout| !checkout.lifecycle().is_leased())
}

fn of_order<'s>(state: &'s Owned, scope: Scope, order: &ExternalId) -> Option<&'s Checkout> {
    all(state).find(|checkout| {
        is_of(checkout, scope) && checkout.external_order_id.as_ref() == Some(order)
    })
}

fn check_order(state: &Owned, checkout: &Checkout) -> Result<(), StoreError> {
    let taken = checkout.external_order_id.is_some()
        && all(state).any(|other| {
            other.id != checkout.id
                && other.organization_id == checkout.organization_id
                && other.mode == checkout.mode
                && other.external_order_id == checkout.external_order_id
        });
    if taken {
        Err(StoreError::Conflict(UniqueField::ExternalOrderId))
    } else {
        Ok(())
    }
}

fn shows(filter: &CheckoutFilter, checkout: &Checkout) -> bool {
    filter.id.is_none_or(|id| checkout.id == id)
        && filter.customer.is_none_or(|id| checkout.customer_id == id)
        && filter
            .needs_attention
            .is_none_or(|needs| needs != checkout.attention.is_empty())
        && (filter.lifecycles.is_empty() || filter.lifecycles.contains(&checkout.lifecycle()))
        && filter.waitlist_reason.is_none_or(|reason| {
            checkout
                .waitlist
                .as_ref()
                .is_some_and(|waitlist| waitlist.reason == reason)
        })
        && filter
            .external_order_id
            .as_ref()
            .is_none_or(|id| checkout.external_order_id.as_ref() == Some(id))
        && filter.created.holds(checkout.created_at)
        && filter.updated.holds(checkout.updated_at)
        && checkout.metadata.has_all(&filter.metadata)
}

fn compare(a: &Checkout, b: &Checkout, sort: CheckoutSort, order: SortOrder) -> Ordering {
    let (a_id, b_id) = (a.id.as_uuid(), b.id.as_uuid());
    match sort {
        CheckoutSort::CreatedAt => directed(&(a.created_at, a_id), &(b.created_at, b_id), order),
        CheckoutSort::UpdatedAt => directed(&(a.updated_at, a_id), &(b.updated_at, b_id), order),
        CheckoutSort::Lifecycle => directed(
            &(a.lifecycle().as_str(), a_id),
            &(b.lifecycle().as_str(), b_id),
            order,
        ),
        CheckoutSort::ExternalOrderId => directed_nulls_last(
            &(a.external_order_id.as_ref(), a_id),
            &(b.external_order_id.as_ref(), b_id),
            order,
        ),
        CheckoutSort::LeaseStartDate => {
            directed_nulls_last(&(a.lease.start, a_id), &(b.lease.start, b_id), order)
        }
    }
}

/// Whether the token opens the checkout's page.
pub(super) fn opens(token: &PageToken, row: &CheckoutRow) -> bool {
    match token {
        PageToken::Proven { nonce } => row.checkout.page_nonce == *nonce,
        PageToken::Unproven { nonce, hash } => {
            row.checkout.page_nonce == *nonce && row.page_tokens.contains(hash)
        }
    }
}

/// Whether the token opened the checkout's page once.
pub(super) fn opened(token: &PageToken, row: &CheckoutRow) -> bool {
    row.ended_pages.iter().any(|(ended, kept)| match token {
        PageToken::Proven { nonce } => ended == nonce,
        PageToken::Unproven { nonce, hash } => ended == nonce && kept.contains(hash),
    })
}

/// Whether it has this tracking number and has not ended.
pub(super) fn is_shipment_of(checkout: &Checkout, tracking: &Tracking) -> bool {
    !checkout.lifecycle().is_ended() && checkout.shipment.tracking.as_ref() == Some(tracking)
}

/// Whether it expires, left alone since before the time.
pub(super) fn is_untouched(checkout: &Checkout, before: Timestamp) -> bool {
    checkout.lifecycle().expires() && checkout.signed_at.is_none() && checkout.acted_at < before
}

/// Whether it has a deposit that lapses before the time.
pub(super) fn lapses(checkout: &Checkout, before: Timestamp) -> bool {
    let hold = checkout.deposit.open_hold();
    !checkout.lifecycle().is_ended() && hold.is_some_and(|hold| hold.expires_at < before)
}

/// The last day of an active lease that is paid.
pub(super) fn ends_on(checkout: &Checkout) -> Option<Day> {
    let is_over = checkout.lifecycle() == Lifecycle::LeaseActive && checkout.payments_left() == 0;
    checkout.lease.end.filter(|_| is_over)
}

/// Since when its subscription is asked for and not there, unless somebody was told.
pub(super) fn billing_since(checkout: &Checkout) -> Option<Timestamp> {
    match checkout.recurring.billing {
        Billing::Requested { at }
            if !checkout.lifecycle().is_ended() && !checkout.needs(AttentionReason::NotBilled) =>
        {
            Some(at)
        }
        _ => None,
    }
}

/// When its carrier was last heard of, while it is shipped and unless somebody was told.
pub(super) fn heard_at(checkout: &Checkout) -> Option<Timestamp> {
    let shipment = &checkout.shipment;
    let is_awaited = checkout.lifecycle() == Lifecycle::Shipped
        && shipment.tracking.is_some()
        && shipment.delivered_at.is_none()
        && !checkout.needs(AttentionReason::DeliveryOverdue);
    shipment.heard_at.filter(|_| is_awaited)
}

/// Whether its subscription was asked for in the mode.
pub(super) fn is_billed(checkout: &Checkout, mode: Mode) -> bool {
    checkout.mode == mode && checkout.recurring.billing.requested_at().is_some()
}

/// Whether its carrier can be asked where it is.
pub(super) fn is_under_way(checkout: &Checkout) -> bool {
    let shipment = &checkout.shipment;
    checkout.lifecycle().is_under_way()
        && shipment.tracking.is_some()
        && shipment.delivered_at.is_none()
}

/// The first `limit` of the ids by their keys.
fn first<K: Ord>(mut found: Vec<(K, CheckoutPubId)>, limit: u32) -> Vec<CheckoutPubId> {
    found.sort();
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    found.into_iter().map(|(_, id)| id).collect()
}

/// The mode's first that wait for the variant's stock, in the order of the line.
fn waiting_for_stock(
    state: &Owned,
    variant: ProductVariantPubId,
    mode: Mode,
    limit: u32,
) -> Vec<Checkout> {
    let found = state
        .checkouts
        .values()
        .filter(|row| row.checkout.variant_id == variant && row.checkout.mode == mode)
        .filter_map(|row| {
            let place = match row.checkout.lifecycle() {
                Lifecycle::WaitlistedAfterDeposit => 0_u8,
                Lifecycle::WaitlistedAfterProfile => 1,
                _ => return None,
            };
            Some(((place, row.waiting_since), row.checkout.id))
        });
    first(found.collect(), limit)
        .iter()
        .filter_map(|id| state.checkouts.get(id))
        .map(|row| row.checkout.clone())
        .collect()
}

#[async_trait]
impl CheckoutStore for Memory {
    async fn insert(
        &mut self,
        checkout: &Checkout,
        page_tokens: &[[u8; 32]],
    ) -> Result<InsertedCheckout, StoreError> {
        let state = self.change_of(checkout.organization_id)?;
        let customer = state.customers.get(&checkout.customer_id);
        if customer.is_none_or(|customer| customer.mode != checkout.mode) {
            return Err(StoreError::Missing("customer"));
        }
        if !state.variants.contains_key(&checkout.variant_id) {
            return Err(StoreError::Missing("variant"));
        }
        let scope = Scope {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
        };
        let term = checkout.term.map(|term| term.id);
        let existing = checkout
            .external_order_id
            .as_ref()
            .and_then(|order| of_order(state, scope, order))
            .filter(|known| known.is_for(checkout.customer_id, checkout.variant_id, term))
            .or_else(|| begun(state, intent(checkout)));
        if let Some(existing) = existing {
            return Ok(InsertedCheckout::Existing(Box::new(existing.clone())));
        }
        check_order(state, checkout)?;
        state.checkouts.insert(
            checkout.id,
            CheckoutRow {
                checkout: checkout.clone(),
                page_tokens: page_tokens.to_vec(),
                ended_pages: Vec::new(),
                way_out: None,
                history: Vec::new(),
                waiting_since: checkout.created_at,
                turn: None,
            },
        );
        Ok(InsertedCheckout::New)
    }

    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        Ok(self
            .own()
            .checkouts
            .get(&id)
            .map(|row| row.checkout.clone()))
    }

    async fn find_by_page_token(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<Checkout>, StoreError> {
        let state = self.own();
        let row = state.checkouts.values().find(|row| opens(token, row));
        Ok(row.map(|row| row.checkout.clone()))
    }

    async fn get_with_surroundings(
        &mut self,
        organization: OrganizationId,
        id: CheckoutPubId,
    ) -> Result<Option<(Checkout, Surroundings)>, StoreError> {
        let Some(found) = CheckoutStore::get(self, id).await? else {
            return Ok(None);
        };
        let with = CheckoutStore::surroundings(self, organization, &[id], &[]).await?;
        Ok(Some((found, with)))
    }

    async fn surroundings(
        &mut self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Result<Surroundings, StoreError> {
        let found = LeaseTermStore::list_with_organization(self, organization).await?;
        let (own, terms) = found.ok_or(StoreError::Missing("organization"))?;
        let leased = VariantSelection::IdsWithArchived(variants.to_vec());
        Ok(Surroundings {
            organization: own,
            terms,
            variants: VariantStore::with_products(self, organization, &leased).await?,
            decided: QualificationStore::latest(self, checkouts).await?,
        })
    }

    async fn set_page_tokens(
        &mut self,
        id: CheckoutPubId,
        hashes: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        let row = self.change_own()?.checkouts.get_mut(&id).ok_or(MISSING)?;
        row.page_tokens = hashes.to_vec();
        Ok(())
    }

    async fn end_page(&mut self, id: CheckoutPubId, _: Timestamp) -> Result<(), StoreError> {
        let row = self.change_own()?.checkouts.get_mut(&id).ok_or(MISSING)?;
        let nonce = row.checkout.page_nonce;
        if !row.ended_pages.iter().any(|(ended, _)| *ended == nonce) {
            row.ended_pages.push((nonce, row.page_tokens.clone()));
        }
        Ok(())
    }

    async fn note_way_out(&mut self, id: CheckoutPubId, way: WayOut) -> Result<bool, StoreError> {
        let row = self.change_own()?.checkouts.get_mut(&id).ok_or(MISSING)?;
        Ok(row.way_out.replace(way) != Some(way))
    }

    async fn last_way_out(&mut self, id: CheckoutPubId) -> Result<Option<WayOut>, StoreError> {
        Ok(self.own().checkouts.get(&id).and_then(|row| row.way_out))
    }

    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError> {
        let state = self.own();
        Ok(open(&state, (scope.mode, customer, variant, term))
            .filter(|checkout| is_of(checkout, scope))
            .cloned())
    }

    async fn find_by_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<Option<Checkout>, StoreError> {
        Ok(of_order(&self.own(), scope, id).cloned())
    }

    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let mut found: Vec<_> = all(&state)
            .filter(|checkout| is_shipment_of(checkout, tracking))
            .map(|checkout| (checkout.created_at, checkout.id))
            .collect();
        found.sort();
        Ok(found.into_iter().rev().map(|(_, id)| id).collect())
    }

    async fn of_customer(
        &mut self,
        mode: Mode,
        customer: CustomerPubId,
        states: &[Lifecycle],
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state)
            .filter(|checkout| {
                checkout.mode == mode
                    && checkout.customer_id == customer
                    && states.contains(&checkout.lifecycle())
            })
            .map(|checkout| (checkout.created_at, checkout.id));
        Ok(first(found.collect(), u32::MAX))
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        sort: CheckoutSort,
        order: SortOrder,
        wanted: Page,
    ) -> Result<Vec<Checkout>, StoreError> {
        let state = self.own();
        Ok(page(
            all(&state).filter(|checkout| is_of(checkout, scope)),
            |checkout| checkout.id.as_uuid(),
            |checkout| shows(filter, checkout),
            |a, b| compare(a, b, sort, order),
            wanted,
        )
        .into_iter()
        .cloned()
        .collect())
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let state = self.own();
        let shown = all(&state)
            .filter(|checkout| is_of(checkout, scope) && shows(filter, checkout))
            .count();
        Ok(u64::try_from(shown).unwrap_or(u64::MAX).min(most))
    }

    async fn count_by_state(&mut self, scope: Scope) -> Result<Vec<(Lifecycle, u64)>, StoreError> {
        let state = self.own();
        let mut counts = BTreeMap::new();
        for checkout in all(&state).filter(|checkout| is_of(checkout, scope)) {
            let count: &mut u64 = counts.entry(checkout.lifecycle()).or_default();
            *count = count.saturating_add(1);
        }
        Ok(counts.into_iter().collect())
    }

    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        Ok(self
            .lock_own()?
            .checkouts
            .get(&id)
            .map(|row| row.checkout.clone()))
    }

    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let stored = state.checkouts.get(&checkout.id);
        check_version(stored.map(|row| &row.checkout), checkout)?;
        let is_begun = |checkout: &Checkout| {
            let state = checkout.lifecycle();
            !state.is_ended() && !state.is_leased()
        };
        let clashes = is_begun(checkout)
            && all(state).any(|other| {
                other.id != checkout.id && is_begun(other) && intent(other) == intent(checkout)
            });
        if clashes {
            return Err(StoreError::Conflict(UniqueField::OpenCheckout));
        }
        check_order(state, checkout)?;
        let row = state.checkouts.get_mut(&checkout.id).ok_or(MISSING)?;
        count_up(checkout);
        let begins_to_wait =
            checkout.lifecycle().is_waitlisted() && !row.checkout.lifecycle().is_waitlisted();
        if begins_to_wait {
            row.waiting_since = checkout.updated_at;
        }
        row.checkout = checkout.clone();
        Ok(())
    }

    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError> {
        let row = self.change_own()?.checkouts.get_mut(&id).ok_or(MISSING)?;
        for transition in transitions {
            let last = row.history.last().map_or(0, |stamped| stamped.sequence);
            row.history.push(HistoryEntry {
                sequence: last.saturating_add(1),
                transition: transition.clone(),
            });
        }
        Ok(())
    }

    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<HistoryEntry>, StoreError> {
        let state = self.own();
        let row = state.checkouts.get(&id);
        Ok(row.map(|row| row.history.clone()).unwrap_or_default())
    }

    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError> {
        Ok(waiting_for_stock(&*self.lock_own()?, variant, mode, limit))
    }

    async fn first_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
    ) -> Result<Option<Checkout>, StoreError> {
        Ok(waiting_for_stock(&self.own(), variant, mode, 1).pop())
    }

    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let place = |row: &CheckoutRow| (row.waiting_since, row.checkout.id);
        // One that was freed meanwhile still marks its place.
        let behind = after.and_then(|id| state.checkouts.get(&id)).map(place);
        let found = state
            .checkouts
            .values()
            .filter(|row| {
                row.checkout.organization_id == organization
                    && row.checkout.lifecycle() == Lifecycle::WaitlistedLocation
                    && behind.is_none_or(|behind| place(row) > behind)
            })
            .map(place);
        Ok(first(found.collect(), limit))
    }

    async fn place_in_line(&mut self, id: CheckoutPubId) -> Result<Option<u64>, StoreError> {
        let state = self.own();
        let place = |row: &CheckoutRow| {
            let with_deposit = row.checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit;
            (!with_deposit, row.waiting_since, row.checkout.id)
        };
        let waits_for = |row: &CheckoutRow| row.checkout.lifecycle().waits_for();
        let Some(own) = state.checkouts.get(&id) else {
            return Ok(None);
        };
        let Some(line) = waits_for(own) else {
            return Ok(None);
        };
        let ahead = state.checkouts.values().filter(|row| {
            let is_same_variant = row.checkout.variant_id == own.checkout.variant_id;
            waits_for(row) == Some(line)
                && row.checkout.mode == own.checkout.mode
                && (line == WaitlistReason::Location || is_same_variant)
                && place(row) <= place(own)
        });
        Ok(u64::try_from(ahead.count()).ok())
    }

    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state)
            .filter(|checkout| is_untouched(checkout, before))
            .map(|checkout| (checkout.acted_at, checkout.id));
        Ok(first(found.collect(), limit))
    }

    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state)
            .filter(|checkout| {
                lapses(checkout, before) && after.is_none_or(|after| checkout.id > after)
            })
            .map(|checkout| ((), checkout.id));
        Ok(first(found.collect(), limit))
    }

    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state).filter_map(|checkout| {
            let end = ends_on(checkout)?;
            (end < day).then_some((end, checkout.id))
        });
        Ok(first(found.collect(), limit))
    }

    async fn unbilled_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state).filter_map(|checkout| {
            let at = billing_since(checkout)?;
            (at < before).then_some((at, checkout.id))
        });
        Ok(first(found.collect(), limit))
    }

    async fn silent_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state).filter_map(|checkout| {
            let at = heard_at(checkout)?;
            (at < before).then_some((at, checkout.id))
        });
        Ok(first(found.collect(), limit))
    }

    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.own();
        let found = all(&state)
            .filter(|checkout| {
                is_billed(checkout, mode) && after.is_none_or(|after| checkout.id > after)
            })
            .map(|checkout| ((), checkout.id));
        Ok(first(found.collect(), limit))
    }

    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError> {
        let state = self.change_own()?;
        let found = state
            .checkouts
            .values()
            .filter(|row| is_under_way(&row.checkout))
            .map(|row| {
                (
                    (row.turn, row.checkout.shipment.shipped_at),
                    row.checkout.id,
                )
            });
        let asked = first(found.collect(), limit);
        state.last_turn = state.last_turn.saturating_add(1);
        let turn = state.last_turn;
        for id in &asked {
            if let Some(row) = state.checkouts.get_mut(id) {
                row.turn = Some(turn);
            }
        }
        Ok(asked)
    }
}
