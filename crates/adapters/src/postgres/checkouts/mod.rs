//! The store of checkouts.

mod history;
mod list;
mod queues;
mod rows;
mod write;

use async_trait::async_trait;
use diesel::dsl::{exists, not, select};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{join, join3};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Checkout, Lifecycle, Tracking, Transition, WayOut};
use lessor_domain::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductVariantPubId,
};
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, CheckoutStore, HistoryEntry, InsertedCheckout, Page, PageToken,
    Scope, SortOrder, StoreError, Surroundings, UniqueField, VariantSelection,
};
use lessor_domain::text::ExternalId;
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

pub(super) use self::queues::{
    attention, owners_billed, owners_ending, owners_lapsing, owners_silent, owners_unbilled,
    owners_under_way, owners_untouched, states,
};
pub(super) use self::rows::{Column, sent};
use super::PgUnitOfWork;
use super::credit::latest;
use super::decode::Place;
use super::error::store_error;
use super::kept::Keep as _;
use super::lease_terms::with_organization;
use super::schema::{checkout_applications, checkout_shipments, checkouts, ended_checkout_links};
use super::variants::with_products;

/// An id that no checkout has.
const MISSING: StoreError = StoreError::Missing("checkout");

/// How often an insert is tried again when what it ran into was gone when looked for.
const INSERT_TRIES: usize = 3;

/// What a customer can have one checkout for that is no lease yet.
#[derive(Clone, Copy)]
struct Wish {
    scope: Scope,
    customer: CustomerPubId,
    variant: ProductVariantPubId,
    term: Option<LeaseTermPubId>,
}

/// The customer's checkout of the variant and term that has not ended: one that is a lease, or one that is none yet. Each
/// goes by an index of its own, which a condition over both would not imply.
async fn find_open(
    connection: &AsyncPgConnection,
    wish: Wish,
    is_leased: bool,
) -> Result<Option<Checkout>, StoreError> {
    let owner = wish.scope.organization_id.get();
    let open = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::mode.eq(wish.scope.mode.as_str()))
        .filter(checkouts::customer_id.eq(wish.customer.as_uuid()))
        .filter(checkouts::variant_id.eq(wish.variant.as_uuid()))
        .filter(checkouts::term_id.is_not_distinct_from(wish.term.map(|term| term.as_uuid())))
        .filter(not(checkouts::is_ended))
        .order((checkouts::created_at.desc(), checkouts::id.desc()))
        .into_boxed();
    let open = if is_leased {
        open.filter(checkouts::is_leased)
    } else {
        open.filter(not(checkouts::is_leased))
    };
    rows::load_one(connection, owner, open).await
}

async fn find_by_external_order(
    connection: &AsyncPgConnection,
    scope: Scope,
    id: &ExternalId,
) -> Result<Option<Checkout>, StoreError> {
    let owner = scope.organization_id.get();
    let of_order = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .filter(checkouts::external_order_id.eq(id.as_str().to_owned()));
    rows::load_one(connection, owner, of_order.into_boxed()).await
}

async fn find_by_page_token(
    connection: &AsyncPgConnection,
    owner: i64,
    token: &PageToken,
) -> Result<Option<Checkout>, StoreError> {
    let (PageToken::Proven { nonce } | PageToken::Unproven { nonce, .. }) = token;
    let mut application = checkout_applications::table
        .filter(checkout_applications::organization_id.eq(owner))
        .filter(checkout_applications::page_nonce.eq(nonce.as_slice()))
        .select(checkout_applications::checkout_id)
        .into_boxed();
    if let PageToken::Unproven { hash, .. } = token {
        let kept = checkout_applications::page_token_hashes;
        application = application.filter(kept.contains(vec![hash.as_slice()]));
    }
    let of_application = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::id.eq_any(application));
    rows::load_one(connection, owner, of_application.into_boxed()).await
}

impl PgUnitOfWork {
    /// What this unit of work has locked nobody else writes: how it is now, is known until the
    /// end, and a write of it need not touch the parts that stay.
    fn remember(&mut self, checkout: &Checkout) {
        if self.can_lock() {
            self.checkouts.insert(checkout.id, checkout.clone());
        }
    }

    /// What rows of the checkout are found by, when there is one.
    pub(super) async fn key_of(&mut self, id: CheckoutPubId) -> Result<(i64, Uuid), StoreError> {
        let key = (self.owner(), id.as_uuid());
        if self.checkouts.contains_key(&id) {
            return Ok(key);
        }
        let is_there: bool = select(exists(checkouts::table.find(key)))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?;
        if is_there { Ok(key) } else { Err(MISSING) }
    }
}

/// What the checkouts are shown with, and these variants: one round trip.
async fn surroundings(
    connection: &AsyncPgConnection,
    owner: i64,
    organization: OrganizationId,
    checkouts: &[CheckoutPubId],
    variants: &[ProductVariantPubId],
) -> Result<Surroundings, StoreError> {
    let leased = VariantSelection::IdsWithArchived(variants.to_vec());
    let leased = async {
        if variants.is_empty() {
            return Ok(Vec::new());
        }
        with_products(connection, organization, &leased).await
    };
    let own = with_organization(connection, organization);
    let (own, leased, decided) = join3(own, leased, latest(connection, owner, checkouts)).await;
    let (own, variants, decided) = (own?, leased?, decided?);
    let (organization, terms) = own.ok_or(StoreError::Missing("organization"))?;
    Ok(Surroundings {
        organization,
        terms,
        variants,
        decided,
    })
}

#[async_trait]
impl CheckoutStore for PgUnitOfWork {
    async fn insert(
        &mut self,
        checkout: &Checkout,
        page_tokens: &[[u8; 32]],
    ) -> Result<InsertedCheckout, StoreError> {
        let scope = Scope {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
        };
        let wish = Wish {
            scope,
            customer: checkout.customer_id,
            variant: checkout.variant_id,
            term: checkout.term.map(|term| term.id),
        };
        for _ in 0..INSERT_TRIES {
            let connection = self.connection()?;
            if write::insert(connection, checkout, page_tokens).await? {
                self.remember(checkout);
                return Ok(InsertedCheckout::New);
            }
            let of_order = match &checkout.external_order_id {
                Some(order) => find_by_external_order(connection, scope, order).await?,
                None => None,
            };
            let is_ordered = of_order.is_some();
            let is_same = |known: &Checkout| known.is_for(wish.customer, wish.variant, wish.term);
            let existing = match of_order.filter(is_same) {
                Some(existing) => Some(existing),
                None => find_open(connection, wish, false).await?,
            };
            if let Some(existing) = existing {
                return Ok(InsertedCheckout::Existing(Box::new(existing)));
            }
            if is_ordered {
                return Err(StoreError::Conflict(UniqueField::ExternalOrderId));
            }
            // What was in the way has ended since: the next try may get through.
        }
        Err(StoreError::Contended)
    }

    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        let key = (self.owner(), id.as_uuid());
        rows::get(self.connection()?, key).await
    }

    async fn get_with_surroundings(
        &mut self,
        organization: OrganizationId,
        id: CheckoutPubId,
    ) -> Result<Option<(Checkout, Surroundings)>, StoreError> {
        let key = (self.owner(), id.as_uuid());
        let connection: &AsyncPgConnection = self.connection()?;
        let (found, own) = join(
            rows::get_with_decision(connection, key),
            with_organization(connection, organization),
        )
        .await;
        let Some((checkout, decided)) = found? else {
            return Ok(None);
        };
        let (organization, terms) = own?.ok_or(StoreError::Missing("organization"))?;
        let with = Surroundings {
            organization,
            terms,
            variants: Vec::new(),
            decided: decided.into_iter().collect(),
        };
        Ok(Some((checkout, with)))
    }

    async fn surroundings(
        &mut self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Result<Surroundings, StoreError> {
        let owner = self.owner();
        surroundings(self.connection()?, owner, organization, checkouts, variants).await
    }

    async fn find_by_page_token(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<Checkout>, StoreError> {
        let owner = self.owner();
        find_by_page_token(self.connection()?, owner, token).await
    }

    async fn set_page_tokens(
        &mut self,
        id: CheckoutPubId,
        hashes: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        let key = self.key_of(id).await?;
        let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
        diesel::update(checkout_applications::table.find(key))
            .set(checkout_applications::page_token_hashes.eq(hashes))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn end_page(&mut self, id: CheckoutPubId, at: Timestamp) -> Result<(), StoreError> {
        let key = self.key_of(id).await?;
        let ended = checkout_applications::table.find(key).select((
            checkout_applications::organization_id,
            checkout_applications::page_nonce,
            checkout_applications::checkout_id,
            checkout_applications::page_token_hashes,
            at.into_sql::<Timestamptz>(),
        ));
        diesel::insert_into(ended_checkout_links::table)
            .values(ended)
            .into_columns((
                ended_checkout_links::organization_id,
                ended_checkout_links::page_nonce,
                ended_checkout_links::checkout_id,
                ended_checkout_links::page_token_hashes,
                ended_checkout_links::ended_at,
            ))
            .on_conflict_do_nothing()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn note_way_out(&mut self, id: CheckoutPubId, way: WayOut) -> Result<bool, StoreError> {
        let key = self.key_of(id).await?;
        let last = checkout_applications::way_out;
        let noted = diesel::update(checkout_applications::table.find(key))
            .filter(last.is_distinct_from(way.as_str()))
            .set(last.eq(way.as_str()))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(noted > 0)
    }

    async fn last_way_out(&mut self, id: CheckoutPubId) -> Result<Option<WayOut>, StoreError> {
        let key = (self.owner(), id.as_uuid());
        let found: Option<Option<String>> = checkout_applications::table
            .find(key)
            .select(checkout_applications::way_out)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let place = Place::new("checkout_applications", &id);
        found
            .flatten()
            .map(|way| place.parse("way_out", &way))
            .transpose()
    }

    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError> {
        let wish = Wish {
            scope,
            customer,
            variant,
            term,
        };
        let connection: &AsyncPgConnection = self.connection()?;
        let [begun, leased] =
            [false, true].map(|are_leased| find_open(connection, wish, are_leased));
        let (begun, leased) = join(begun, leased).await;
        let (begun, leased) = (begun?, leased?);
        Ok(begun.or(leased))
    }

    async fn find_by_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<Option<Checkout>, StoreError> {
        find_by_external_order(self.connection()?, scope, id).await
    }

    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let of_checkout = checkout_shipments::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_shipments::checkout_id.eq(checkouts::id));
        checkouts::table
            .inner_join(checkout_shipments::table.on(of_checkout))
            .filter(checkouts::organization_id.eq(self.owner()))
            .filter(checkout_shipments::tracking_number.eq(tracking.number.as_str()))
            .filter(checkout_shipments::tracking_carrier.eq(tracking.carrier.as_str()))
            .filter(not(checkouts::is_ended))
            .order((checkouts::created_at.desc(), checkouts::id.desc()))
            .select(checkouts::id)
            .load(self.connection()?)
            .await
            .map(ids)
            .map_err(store_error)
    }

    async fn of_customer(
        &mut self,
        mode: Mode,
        customer: CustomerPubId,
        states: &[Lifecycle],
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let states: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
        checkouts::table
            .filter(checkouts::organization_id.eq(self.owner()))
            .filter(checkouts::customer_id.eq(customer.as_uuid()))
            .filter(checkouts::mode.eq(mode.as_str()))
            .filter(checkouts::lifecycle.eq_any(states))
            .order((checkouts::created_at, checkouts::id))
            .select(checkouts::id)
            .load(self.connection()?)
            .await
            .map(ids)
            .map_err(store_error)
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        sort: CheckoutSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Checkout>, StoreError> {
        let connection = self.connection()?;
        list::page(connection, scope, filter, sort, order, page).await
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        list::count(self.connection()?, scope, filter, most).await
    }

    async fn count_by_state(&mut self, scope: Scope) -> Result<Vec<(Lifecycle, u64)>, StoreError> {
        list::count_by_state(self.connection()?, scope).await
    }

    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        if let Some(known) = self.checkouts.get(&id) {
            return Ok(Some(known.clone()));
        }
        let key = (self.owner(), id.as_uuid());
        let connection: &AsyncPgConnection = self.connection()?;
        let mut first = connection;
        // Whoever only refers to the checkout (an event, a job) is not kept waiting.
        let held = checkouts::table
            .find(key)
            .select(checkouts::id)
            .for_no_key_update()
            .first::<Uuid>(&mut first);
        // Read by a statement of its own, which sees what the holder before committed. It goes behind the other on
        // the line.
        let (held, locked) = join(held, rows::get(connection, key)).await;
        let held = held.optional().map_err(store_error)?;
        let locked = locked?.filter(|_| held.is_some());
        locked.iter().for_each(|locked| self.remember(locked));
        Ok(locked)
    }

    /// After [`StoreError::Conflict`] the unit of work can only be dropped: Postgres
    /// goes on with no transaction in which something unique was violated.
    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError> {
        let before = self
            .checkouts
            .remove(&checkout.id)
            .filter(|before| before.version == checkout.version);
        let version = write::update(self.connection()?, before.as_ref(), checkout).await?;
        checkout.is_stored_as(version);
        self.remember(checkout);
        Ok(())
    }

    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError> {
        let key = self.key_of(id).await?;
        history::record(self.connection()?, key, transitions).await
    }

    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<HistoryEntry>, StoreError> {
        let owner = self.owner();
        history::of(self.connection()?, owner, id).await
    }

    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError> {
        let owner = self.owner();
        let connection = self.connection()?;
        let locked =
            queues::lock_waiting_for_stock(connection, owner, variant, mode, limit).await?;
        locked.iter().for_each(|locked| self.remember(locked));
        Ok(locked)
    }

    async fn first_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
    ) -> Result<Option<Checkout>, StoreError> {
        let owner = self.owner();
        queues::first_waiting_for_stock(self.connection()?, owner, variant, mode).await
    }

    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = organization.get();
        queues::waiting_for_location(self.connection()?, owner, after, limit).await
    }

    async fn place_in_line(&mut self, id: CheckoutPubId) -> Result<Option<u64>, StoreError> {
        let owner = self.owner();
        queues::place_in_line(self.connection()?, owner, id).await
    }

    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::untouched_since(self.connection()?, owner, before, limit).await
    }

    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::lapsing_before(self.connection()?, owner, before, after, limit).await
    }

    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::leases_ended_before(self.connection()?, owner, day, limit).await
    }

    async fn unbilled_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::unbilled_since(self.connection()?, owner, before, limit).await
    }

    async fn silent_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::silent_since(self.connection()?, owner, before, limit).await
    }

    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::billed(self.connection()?, owner, mode, after, limit).await
    }

    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        queues::under_way(self.connection()?, owner, limit).await
    }
}

fn ids(found: Vec<Uuid>) -> Vec<CheckoutPubId> {
    found.into_iter().map(CheckoutPubId::from_uuid).collect()
}
