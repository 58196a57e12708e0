//! What workers look for. The conditions are those of the partial indexes, word
//! for word: Postgres takes such an index only for a condition that implies it.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Checkout, Lifecycle, Phase};
use lessor_domain::ids::{CheckoutPubId, OrganizationId, ProductVariantPubId};
use lessor_domain::ports::StoreError;
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::{ids, names_in_sql, row};
use crate::postgres::error::store_error;
use crate::postgres::schema::checkouts;

const fn expires(state: Lifecycle) -> bool {
    matches!(
        state.phase(),
        Phase::Application | Phase::Payment | Phase::Waitlist
    )
}

/// Those that wait for the variant's stock, locked, in the order of the queue.
pub(super) async fn lock_waiting_for_stock(
    connection: &mut AsyncPgConnection,
    variant: ProductVariantPubId,
    limit: u32,
) -> Result<Vec<Checkout>, StoreError> {
    let held: Vec<Uuid> = checkouts::table
        .filter(checkouts::variant_id.eq(variant.as_uuid()))
        .filter(sql::<Bool>(
            "lifecycle IN ('waitlistedAfterProfile', 'waitlistedAfterDeposit')",
        ))
        // Those with a deposit first: false sorts before true.
        .order((
            sql::<Bool>("(lifecycle = 'waitlistedAfterProfile')"),
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
    let those = checkouts::table.filter(checkouts::id.eq_any(&held));
    let mut found: HashMap<CheckoutPubId, Checkout> = row::load(connection, those.into_boxed())
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
        .filter(sql::<Bool>("lifecycle = 'waitlistedLocation'"))
        .order((checkouts::waiting_since, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .into_boxed();
    if let Some(after) = after {
        let place = checkouts::table
            .find(after.as_uuid())
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
        .filter(sql::<Bool>(&format!(
            "lifecycle IN ({})",
            names_in_sql(expires)
        )))
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
    checkouts::table
        .filter(checkouts::payment_intent_id.is_not_null())
        .filter(checkouts::deposit_captured_at.is_null())
        .filter(sql::<Bool>(&format!(
            "lifecycle NOT IN ({})",
            names_in_sql(Lifecycle::is_ended)
        )))
        .filter(checkouts::preauth_expires_at.lt(before))
        .order((checkouts::preauth_expires_at, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
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
    let mut query = checkouts::table
        .filter(checkouts::mode.eq(mode.as_str()))
        .filter(checkouts::subscription_requested_at.is_not_null())
        .order(checkouts::id)
        .limit(i64::from(limit))
        .select(checkouts::id)
        .into_boxed();
    if let Some(after) = after {
        query = query.filter(checkouts::id.gt(after.as_uuid()));
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
            SELECT id, tracking_turn AS turn_before, shipped_at FROM checkouts
            WHERE lifecycle IN ('shipped', 'fulfillmentException') AND tracking_number IS NOT NULL
                AND delivered_at IS NULL
            ORDER BY tracking_turn NULLS FIRST, shipped_at, id
            LIMIT $1
            FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE checkouts SET tracking_turn = nextval('checkout_tracking_turns')
        FROM due WHERE checkouts.id = due.id
        RETURNING due.id, due.turn_before, due.shipped_at",
    )
    .bind::<BigInt, _>(i64::from(limit))
    .load(connection)
    .await
    .map_err(store_error)?;
    asked.sort_by_key(|asked| (asked.turn_before, asked.shipped_at, asked.id));
    Ok(ids(asked.into_iter().map(|asked| asked.id).collect()))
}
