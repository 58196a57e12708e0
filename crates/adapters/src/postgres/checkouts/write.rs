//! How checkouts are written: the row of their own, and of the parts those that changed.

use diesel::dsl::{case_when, exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamptz};
use diesel::upsert::excluded;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use lessor_domain::checkout::Checkout;
use lessor_domain::ports::StoreError;
use uuid::Uuid;

use super::rows::{
    ApplicationRow, BillingRow, DepositRow, ItemRow, ReturnRow, Rows, ShipmentRow, WaitRow,
};
use crate::postgres::error::store_error;
use crate::postgres::kept::{self, Keep as _};
use crate::postgres::schema::{
    checkout_applications, checkout_billing, checkout_deposits, checkout_items, checkout_returns,
    checkout_shipments, checkout_waits, checkouts,
};
use crate::postgres::version::{self, compare_and_set};

/// What the rows of one checkout are found by.
type Key = (i64, Uuid);

/// Writes the row of a part, or takes it away where there is nothing to say. Columns that only
/// the store knows stay as they are.
macro_rules! parts {
    ($($put:ident: $row:ident of $table:ident,)*) => {$(
        async fn $put(
            mut connection: &AsyncPgConnection,
            key: Key,
            row: Option<&$row>,
        ) -> Result<(), StoreError> {
            let written = match row {
                Some(row) => {
                    let put = diesel::insert_into($table::table)
                        .values(row)
                        .on_conflict(($table::organization_id, $table::checkout_id))
                        .do_update()
                        .set(row);
                    put.kept().execute(&mut connection).await
                }
                None => {
                    diesel::delete($table::table.find(key))
                        .execute(&mut connection)
                        .await
                }
            };
            written.map(|_| ()).map_err(store_error)
        }
    )*};
}

parts! {
    put_application: ApplicationRow of checkout_applications,
    put_wait: WaitRow of checkout_waits,
    put_deposit: DepositRow of checkout_deposits,
    put_billing: BillingRow of checkout_billing,
    put_shipment: ShipmentRow of checkout_shipments,
    put_return: ReturnRow of checkout_returns,
}

async fn put_items(connection: &AsyncPgConnection, rows: &[ItemRow]) -> Result<(), StoreError> {
    let put = diesel::insert_into(checkout_items::table)
        .values(rows)
        .on_conflict((checkout_items::organization_id, checkout_items::id))
        .do_update()
        .set((
            checkout_items::position.eq(excluded(checkout_items::position)),
            checkout_items::variant_id.eq(excluded(checkout_items::variant_id)),
            checkout_items::sku.eq(excluded(checkout_items::sku)),
            checkout_items::name.eq(excluded(checkout_items::name)),
            checkout_items::serial_number.eq(excluded(checkout_items::serial_number)),
        ));
    kept::insert(rows.len(), put, connection)
        .await
        .map(|_| ())
        .map_err(store_error)
}

async fn drop_other_items(
    mut connection: &AsyncPgConnection,
    (organization, id): Key,
    kept: &[ItemRow],
) -> Result<(), StoreError> {
    let kept: Vec<Uuid> = kept.iter().map(ItemRow::id).collect();
    let of_checkout = checkout_items::table
        .filter(checkout_items::organization_id.eq(organization))
        .filter(checkout_items::checkout_id.eq(id));
    diesel::delete(of_checkout.filter(checkout_items::id.ne_all(kept)))
        .execute(&mut connection)
        .await
        .map(|_| ())
        .map_err(store_error)
}

/// Writes the parts and items that are not as they were, all of them when nobody knows how they
/// were: one behind the other on the line, in one round trip.
async fn put_parts(
    connection: &AsyncPgConnection,
    before: Option<&Rows>,
    now: &Rows,
) -> Result<(), StoreError> {
    let key = now.checkout.key();
    let mut writes: Vec<BoxFuture<'_, Result<(), StoreError>>> = Vec::new();
    macro_rules! put {
        ($($put:ident: $part:ident,)*) => {$(
            if before.is_none_or(|before| before.$part != now.$part) {
                writes.push($put(connection, key, now.$part.as_ref()).boxed());
            }
        )*};
    }
    if before.is_none_or(|before| before.application != now.application) {
        writes.push(put_application(connection, key, Some(&now.application)).boxed());
    }
    put! {
        put_wait: wait,
        put_deposit: deposit,
        put_billing: billing,
        put_shipment: shipment,
        put_return: return_,
    }
    if before.is_none_or(|before| before.items != now.items) {
        writes.push(drop_other_items(connection, key, &now.items).boxed());
        writes.push(put_items(connection, &now.items).boxed());
    }
    all_of(writes).await
}

/// Waits for every one of them, so that none is under way any more when one failed.
async fn all_of(writes: Vec<BoxFuture<'_, Result<(), StoreError>>>) -> Result<(), StoreError> {
    join_all(writes).await.into_iter().collect()
}

/// Writes what is ordered, with the hashes of the tokens that open the checkout's page.
async fn insert_application(
    mut connection: &AsyncPgConnection,
    row: &ApplicationRow,
    page_tokens: &[[u8; 32]],
) -> Result<(), StoreError> {
    let hashes: Vec<&[u8]> = page_tokens.iter().map(<[u8; 32]>::as_slice).collect();
    let insert = diesel::insert_into(checkout_applications::table)
        .values((row, checkout_applications::page_token_hashes.eq(hashes)));
    insert
        .kept()
        .execute(&mut connection)
        .await
        .map(|_| ())
        .map_err(store_error)
}

/// A new checkout, unless something unique is taken. Tells whether it was written.
pub(super) async fn insert(
    mut connection: &AsyncPgConnection,
    checkout: &Checkout,
    page_tokens: &[[u8; 32]],
) -> Result<bool, StoreError> {
    let rows = Rows::of(checkout)?;
    let waiting_since = checkout
        .lifecycle()
        .is_waitlisted()
        .then_some(checkout.created_at);
    // Without a target: whatever is taken, the transaction stays usable, and the
    // statement waits for others that are about to take it.
    let insert = diesel::insert_into(checkouts::table)
        .values((&rows.checkout, checkouts::waiting_since.eq(waiting_since)))
        .on_conflict_do_nothing();
    let written = insert
        .kept()
        .execute(&mut connection)
        .await
        .map_err(store_error)?;
    if written == 0 {
        return Ok(false);
    }
    let key = rows.checkout.key();
    let mut writes = vec![insert_application(connection, &rows.application, page_tokens).boxed()];
    macro_rules! put {
        ($($put:ident: $part:ident,)*) => {$(
            if rows.$part.is_some() {
                writes.push($put(connection, key, rows.$part.as_ref()).boxed());
            }
        )*};
    }
    put! {
        put_wait: wait,
        put_deposit: deposit,
        put_billing: billing,
        put_shipment: shipment,
        put_return: return_,
    }
    writes.push(put_items(connection, &rows.items).boxed());
    all_of(writes).await?;
    Ok(true)
}

/// The checkout over the one of its version, given how that was if anybody knows. Answers the
/// version that it has then.
pub(super) async fn update(
    connection: &mut AsyncPgConnection,
    before: Option<&Checkout>,
    checkout: &Checkout,
) -> Result<i64, StoreError> {
    let mut now = Rows::of(checkout)?;
    let version = version::next(checkout.version);
    now.checkout.of_version(version);
    // Who waits already, for whatever, keeps the place in the queue.
    let begins_to_wait = checkout.lifecycle().is_waitlisted().then(|| {
        checkouts::waiting_since.eq(case_when(
            checkouts::waits_for.eq("none"),
            Some(checkout.updated_at).into_sql::<Nullable<Timestamptz>>(),
        )
        .otherwise(checkouts::waiting_since))
    });
    let stored = || checkouts::table.find(now.checkout.key());
    compare_and_set(
        connection,
        "checkout",
        diesel::update(stored().filter(checkouts::version.eq(checkout.version)))
            .set((&now.checkout, begins_to_wait)),
        select(exists(stored())),
    )
    .await?;
    let before = before.map(|before| Rows::of(before)).transpose()?;
    put_parts(connection, before.as_ref(), &now).await?;
    Ok(version)
}
