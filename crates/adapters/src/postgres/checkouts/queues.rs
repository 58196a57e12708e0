//! What workers look for. The conditions are those of the partial indexes, word
//! for word: Postgres takes such an index only for a condition that implies it.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::Checkout;
use lessor_domain::ids::{CheckoutPubId, OrganizationId, ProductVariantPubId};
use lessor_domain::ports::StoreError;
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::{ids, rows};
use crate::postgres::error::store_error;
use crate::postgres::schema::{checkout_billing, checkout_deposits, checkouts};

/// Those that wait for the variant's stock, locked, in the order of the queue.
pub(super) async fn lock_waiting_for_stock(
    connection: &mut AsyncPgConnection,
    variant: ProductVariantPubId,
    limit: u32,
) -> Result<Vec<Checkout>, StoreError> {
    let held: Vec<Uuid> = checkouts::table
        .filter(checkouts::variant_id.eq(variant.as_uuid()))
        .filter(sql::<Bool>("waits_for = 'inventory'"))
        // Those with a deposit first: false sorts before true.
        .order((
            sql::<Bool>("(lifecycle <> 'waitlistedAfterDeposit')"),
            checkouts::waiting_since,
            checkouts::id,
        ))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .for_no_key_update()
        .load(connection)
        .await
        .map_err(store_error)?;
    // Read by a statement of its own, which sees what holders before committed.
    let those = rows::whole().filter(checkouts::id.eq_any(&held));
    let mut found: HashMap<CheckoutPubId, Checkout> = rows::load(connection, those.into_boxed())
        .await?
        .into_iter()
        .map(|checkout| (checkout.id, checkout))
        .collect();
    Ok(ids(held).iter().filter_map(|id| found.remove(id)).collect())
}

/// Those that wait for the organization to serve them, behind `after`, which marks
/// its place even when it was freed meanwhile.
pub(super) async fn waiting_for_location(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    after: Option<CheckoutPubId>,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut query = checkouts::table
        .filter(checkouts::organization_id.eq(organization.get()))
        .filter(sql::<Bool>("waits_for = 'location'"))
        .order((checkouts::waiting_since, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .into_boxed();
    if let Some(after) = after {
        let place = checkouts::table
            .find((organization.get(), after.as_uuid()))
            .select((checkouts::waiting_since, checkouts::id))
            .first::<(Option<Timestamp>, Uuid)>(connection)
            .await
            .optional()
            .map_err(store_error)?;
        if let Some((Some(since), id)) = place {
            query = query.filter(
                sql::<Bool>("(waiting_since, id) > (")
                    .bind::<Timestamptz, _>(since)
                    .sql(", ")
                    .bind::<SqlUuid, _>(id)
                    .sql(")"),
            );
        }
    }
    query.load(connection).await.map(ids).map_err(store_error)
}

/// Those that nobody touched since.
pub(super) async fn untouched_since(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    checkouts::table
        .filter(checkouts::expires)
        .filter(checkouts::updated_at.lt(before))
        .order((checkouts::updated_at, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

/// Those whose authorization lapses.
pub(super) async fn lapsing_before(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    checkout_deposits::table
        .filter(checkout_deposits::lapses)
        .filter(checkout_deposits::hold_expires_at.lt(before))
        .order((
            checkout_deposits::hold_expires_at,
            checkout_deposits::checkout_id,
        ))
        .limit(i64::from(limit))
        .select(checkout_deposits::checkout_id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

/// Active leases whose last day has passed.
pub(super) async fn leases_ended_before(
    connection: &mut AsyncPgConnection,
    day: Day,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    checkouts::table
        .filter(sql::<Bool>("lifecycle = 'leaseActive'"))
        .filter(checkouts::lease_end.lt(day))
        .order((checkouts::lease_end, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

/// Those whose subscription was asked for.
pub(super) async fn billed(
    connection: &mut AsyncPgConnection,
    mode: Mode,
    after: Option<CheckoutPubId>,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut query = checkout_billing::table
        .filter(checkout_billing::mode.eq(mode.as_str()))
        .filter(checkout_billing::requested_at.is_not_null())
        .order(checkout_billing::checkout_id)
        .limit(i64::from(limit))
        .select(checkout_billing::checkout_id)
        .into_boxed();
    if let Some(after) = after {
        query = query.filter(checkout_billing::checkout_id.gt(after.as_uuid()));
    }
    query.load(connection).await.map(ids).map_err(store_error)
}

#[derive(QueryableByName)]
struct Asked {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<BigInt>)]
    turn_before: Option<i64>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    shipped_at: Option<Timestamp>,
}

/// Tracked shipments that are under way. Each answer moves to the end of the round,
/// so that all of them have their turn; those that somebody else holds are left out.
pub(super) async fn under_way(
    connection: &mut AsyncPgConnection,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut asked: Vec<Asked> = diesel::sql_query(
        "WITH due AS MATERIALIZED (
            SELECT organization_id, checkout_id AS id, tracking_turn AS turn_before, shipped_at
            FROM checkout_shipments
            WHERE is_under_way AND tracking_number IS NOT NULL AND delivered_at IS NULL
            ORDER BY tracking_turn NULLS FIRST, shipped_at, checkout_id
            LIMIT $1
            FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE checkout_shipments AS shipment
        SET tracking_turn = nextval('checkout_tracking_turns')
        FROM due WHERE shipment.organization_id = due.organization_id AND shipment.checkout_id = due.id
        RETURNING due.id, due.turn_before, due.shipped_at",
    )
    .bind::<BigInt, _>(i64::from(limit))
    .load(connection)
    .await
    .map_err(store_error)?;
    asked.sort_by_key(|asked| (asked.turn_before, asked.shipped_at, asked.id));
    Ok(ids(asked.into_iter().map(|asked| asked.id).collect()))
}
