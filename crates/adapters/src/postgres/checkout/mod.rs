//! The store of checkouts.

mod history;
mod list;
mod queues;
mod row;

use async_trait::async_trait;
use diesel::dsl::{case_when, exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamptz};
use diesel::upsert::excluded;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Checkout, Lifecycle, Tracking, Transition};
use lessor_domain::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductVariantPubId,
};
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, CheckoutStore, InsertedCheckout, InvoiceNews, InvoiceTally, Page,
    Scope, SortOrder, Stamped, StoreError, UniqueField,
};
use lessor_domain::text::ExternalId;
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use self::row::{CheckoutRow, ItemRow};
use super::PgUnitOfWork;
use super::error::store_error;
use super::schema::{checkout_items, checkouts};

/// How often an insert is tried again when what it ran into was gone when looked for.
const INSERT_TRIES: usize = 3;

/// The names of the states that fit.
fn names(fits: impl Fn(Lifecycle) -> bool) -> Vec<&'static str> {
    Lifecycle::ALL
        .iter()
        .copied()
        .filter(|state| fits(*state))
        .map(Lifecycle::as_str)
        .collect()
}

/// The same as SQL, for conditions that have to be those of a partial index.
fn names_in_sql(fits: impl Fn(Lifecycle) -> bool) -> String {
    names(fits)
        .iter()
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join(", ")
}

async fn find_open(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    customer: CustomerPubId,
    variant: ProductVariantPubId,
    term: Option<LeaseTermPubId>,
) -> Result<Option<Checkout>, StoreError> {
    let open = checkouts::table
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .filter(checkouts::customer_id.eq(customer.as_uuid()))
        .filter(checkouts::variant_id.eq(variant.as_uuid()))
        .filter(checkouts::term_id.is_not_distinct_from(term.map(|term| term.as_uuid())))
        .filter(checkouts::lifecycle.ne_all(names(Lifecycle::is_ended)))
        .filter(checkouts::organization_id.eq(scope.organization_id.get()));
    row::load_one(connection, open.into_boxed()).await
}

async fn has_external_order(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    id: &ExternalId,
) -> Result<bool, StoreError> {
    let found = checkouts::table
        .filter(checkouts::organization_id.eq(scope.organization_id.get()))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .filter(checkouts::external_order_id.eq(id.as_str()));
    select(exists(found))
        .get_result(connection)
        .await
        .map_err(store_error)
}

/// The row, unless something unique is taken. Tells whether it was written.
async fn insert_row(
    connection: &mut AsyncPgConnection,
    checkout: &Checkout,
) -> Result<bool, StoreError> {
    let row = CheckoutRow::of(checkout)?;
    let waiting_since = checkout
        .lifecycle()
        .is_waitlisted()
        .then_some(checkout.created_at);
    // Without a target: whatever is taken, the transaction stays usable, and the
    // statement waits for others that are about to take it.
    diesel::insert_into(checkouts::table)
        .values((&row, checkouts::waiting_since.eq(waiting_since)))
        .on_conflict_do_nothing()
        .execute(connection)
        .await
        .map(|written| written == 1)
        .map_err(store_error)
}

async fn write_items(
    connection: &mut AsyncPgConnection,
    checkout: &Checkout,
) -> Result<(), StoreError> {
    let rows = ItemRow::of(checkout);
    diesel::insert_into(checkout_items::table)
        .values(&rows)
        .on_conflict(checkout_items::id)
        .do_update()
        .set((
            checkout_items::position.eq(excluded(checkout_items::position)),
            checkout_items::variant_id.eq(excluded(checkout_items::variant_id)),
            checkout_items::sku.eq(excluded(checkout_items::sku)),
            checkout_items::name.eq(excluded(checkout_items::name)),
            checkout_items::serial_number.eq(excluded(checkout_items::serial_number)),
        ))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(store_error)
}

#[async_trait]
impl CheckoutStore for PgUnitOfWork {
    async fn insert(&mut self, checkout: &Checkout) -> Result<InsertedCheckout, StoreError> {
        let connection = self.connection()?;
        let scope = Scope {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
        };
        for _ in 0..INSERT_TRIES {
            if insert_row(connection, checkout).await? {
                write_items(connection, checkout).await?;
                return Ok(InsertedCheckout::New);
            }
            let existing = find_open(
                connection,
                scope,
                checkout.customer_id,
                checkout.variant_id,
                checkout.term.map(|term| term.id),
            )
            .await?;
            if let Some(existing) = existing {
                return Ok(InsertedCheckout::Existing(Box::new(existing)));
            }
            if let Some(order) = &checkout.external_order_id
                && has_external_order(connection, scope, order).await?
            {
                return Err(StoreError::Conflict(UniqueField::ExternalOrderId));
            }
            // What was in the way has ended since: the next try may get through.
        }
        Err(StoreError::Contended)
    }

    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        let one = checkouts::table.find(id.as_uuid());
        row::load_one(self.connection()?, one.into_boxed()).await
    }

    async fn find_by_page_token(
        &mut self,
        hash: &[u8; 32],
    ) -> Result<Option<Checkout>, StoreError> {
        let one = checkouts::table.filter(checkouts::page_token_hash.eq(hash.as_slice()));
        row::load_one(self.connection()?, one.into_boxed()).await
    }

    async fn set_page_token(
        &mut self,
        id: CheckoutPubId,
        hash: &[u8; 32],
    ) -> Result<(), StoreError> {
        let written = diesel::update(checkouts::table.find(id.as_uuid()))
            .set(checkouts::page_token_hash.eq(hash.as_slice()))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Missing("checkout"));
        }
        Ok(())
    }

    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError> {
        find_open(self.connection()?, scope, customer, variant, term).await
    }

    async fn has_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<bool, StoreError> {
        has_external_order(self.connection()?, scope, id).await
    }

    async fn find_by_payment_intent(
        &mut self,
        mode: Mode,
        id: &str,
    ) -> Result<Option<CheckoutPubId>, StoreError> {
        checkouts::table
            .filter(checkouts::mode.eq(mode.as_str()))
            .filter(checkouts::payment_intent_id.eq(id))
            .select(checkouts::id)
            .first(self.connection()?)
            .await
            .optional()
            .map(|found| found.map(CheckoutPubId::from_uuid))
            .map_err(store_error)
    }

    async fn find_by_subscription(
        &mut self,
        mode: Mode,
        id: &str,
    ) -> Result<Option<CheckoutPubId>, StoreError> {
        checkouts::table
            .filter(checkouts::mode.eq(mode.as_str()))
            .filter(checkouts::subscription_id.eq(id))
            .select(checkouts::id)
            .first(self.connection()?)
            .await
            .optional()
            .map(|found| found.map(CheckoutPubId::from_uuid))
            .map_err(store_error)
    }

    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        checkouts::table
            .filter(checkouts::tracking_number.eq(tracking.number.as_str()))
            .filter(checkouts::tracking_carrier.eq(tracking.carrier.as_str()))
            .filter(checkouts::lifecycle.ne_all(names(Lifecycle::is_ended)))
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
        let rows = list::page(connection, scope, filter, sort, order, page).await?;
        row::with_items(connection, rows).await
    }

    async fn count(&mut self, scope: Scope, filter: &CheckoutFilter) -> Result<u64, StoreError> {
        list::count(self.connection()?, scope, filter).await
    }

    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        let connection = self.connection()?;
        // Whoever only refers to the checkout (an event, a job) is not kept waiting.
        let held: Option<Uuid> = checkouts::table
            .find(id.as_uuid())
            .select(checkouts::id)
            .for_no_key_update()
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        // Read by a statement of its own, which sees what the holder before committed.
        match held {
            Some(held) => row::load_one(connection, checkouts::table.find(held).into_boxed()).await,
            None => Ok(None),
        }
    }

    /// After [`StoreError::Conflict`] the unit of work can only be dropped: Postgres
    /// goes on with no transaction in which something unique was violated.
    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError> {
        let connection = self.connection()?;
        let known = checkout.version;
        let mut row = CheckoutRow::of(checkout)?;
        row.version = known.saturating_add(1);
        let waits = names(Lifecycle::is_waitlisted);
        // Who waits already, for whatever, keeps the place in the queue.
        let begins_to_wait = checkout.lifecycle().is_waitlisted().then(|| {
            checkouts::waiting_since.eq(case_when(
                checkouts::lifecycle.ne_all(waits),
                Some(checkout.updated_at).into_sql::<Nullable<Timestamptz>>(),
            )
            .otherwise(checkouts::waiting_since))
        });
        let stored = checkouts::table
            .find(checkout.id.as_uuid())
            .filter(checkouts::version.eq(known));
        let written = diesel::update(stored)
            .set((&row, begins_to_wait))
            .execute(connection)
            .await
            .map_err(store_error)?;
        if written == 0 {
            let there = checkouts::table.find(checkout.id.as_uuid());
            let is_there: bool = select(exists(there))
                .get_result(connection)
                .await
                .map_err(store_error)?;
            return Err(if is_there {
                StoreError::Stale("checkout")
            } else {
                StoreError::Missing("checkout")
            });
        }
        let kept: Vec<Uuid> = checkout
            .items
            .iter()
            .map(|item| item.id.as_uuid())
            .collect();
        diesel::delete(
            checkout_items::table
                .filter(checkout_items::checkout_id.eq(checkout.id.as_uuid()))
                .filter(checkout_items::id.ne_all(kept)),
        )
        .execute(connection)
        .await
        .map_err(store_error)?;
        write_items(connection, checkout).await?;
        checkout.version = row.version;
        Ok(())
    }

    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError> {
        history::record(self.connection()?, id, transitions).await
    }

    async fn record_invoice(
        &mut self,
        id: CheckoutPubId,
        news: &InvoiceNews,
    ) -> Result<InvoiceTally, StoreError> {
        history::record_invoice(self.connection()?, id, news).await
    }

    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<Stamped>, StoreError> {
        history::of(self.connection()?, id).await
    }

    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError> {
        queues::lock_waiting_for_stock(self.connection()?, variant, limit).await
    }

    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::waiting_for_location(self.connection()?, organization, after, limit).await
    }

    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::untouched_since(self.connection()?, before, limit).await
    }

    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::lapsing_before(self.connection()?, before, limit).await
    }

    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::leases_ended_before(self.connection()?, day, limit).await
    }

    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::billed(self.connection()?, mode, after, limit).await
    }

    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError> {
        queues::under_way(self.connection()?, limit).await
    }
}

fn ids(found: Vec<Uuid>) -> Vec<CheckoutPubId> {
    found.into_iter().map(CheckoutPubId::from_uuid).collect()
}
