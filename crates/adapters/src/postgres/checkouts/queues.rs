//! What workers look for: an organization's, and which organizations have some. The conditions are
//! those of the partial indexes, word for word: Postgres takes such an index only for a condition
//! that implies it.

use std::collections::HashMap;

use diesel::dsl::{not, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Checkout, Lifecycle};
use lessor_domain::ids::{CheckoutPubId, ProductVariantPubId};
use lessor_domain::ports::{StateCounts, StoreError};
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::{ids, rows};
use crate::postgres::decode::{Place, row_count};
use crate::postgres::error::store_error;
use crate::postgres::schema::{
    checkout_applications, checkout_billing, checkout_deposits, checkout_shipments, checkouts,
};

/// Whether nobody was told to look at the checkout for the reason.
fn is_untold(reason: AttentionReason) -> SqlLiteral<Bool> {
    sql(&format!(
        "NOT checkouts.attention @> '[{{\"reason\": \"{reason}\"}}]'"
    ))
}

/// The organizations of the rows that a query finds, each once, in the order of their numbers.
macro_rules! owners {
    ($connection:expr, $table:ident, $query:expr) => {
        $query
            .select($table::organization_id)
            .distinct()
            .order($table::organization_id)
            .load($connection)
            .await
            .map_err(store_error)
    };
}

/// The mode's that wait for the variant's stock, locked, in the order of the queue.
pub(super) async fn lock_waiting_for_stock(
    connection: &mut AsyncPgConnection,
    owner: i64,
    variant: ProductVariantPubId,
    mode: Mode,
    limit: u32,
) -> Result<Vec<Checkout>, StoreError> {
    let held: Vec<Uuid> = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::variant_id.eq(variant.as_uuid()))
        .filter(checkouts::mode.eq(mode.as_str()))
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
    let those = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::id.eq_any(&held));
    let mut found: HashMap<CheckoutPubId, Checkout> =
        rows::load(connection, owner, those.into_boxed())
            .await?
            .into_iter()
            .map(|checkout| (checkout.id, checkout))
            .collect();
    Ok(ids(held).iter().filter_map(|id| found.remove(id)).collect())
}

/// The first of the mode's that wait for the variant's stock.
pub(super) async fn first_waiting_for_stock(
    connection: &mut AsyncPgConnection,
    owner: i64,
    variant: ProductVariantPubId,
    mode: Mode,
) -> Result<Option<Checkout>, StoreError> {
    let first = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::variant_id.eq(variant.as_uuid()))
        .filter(checkouts::mode.eq(mode.as_str()))
        .filter(sql::<Bool>("checkouts.waits_for = 'inventory'"))
        .order((
            sql::<Bool>("(checkouts.lifecycle <> 'waitlistedAfterDeposit')"),
            checkouts::waiting_since,
            checkouts::id,
        ))
        .limit(1);
    Ok(rows::load(connection, owner, first.into_boxed())
        .await?
        .pop())
}

/// Those that wait for the organization to serve them, behind `after`, which marks
/// its place even when it was freed meanwhile.
pub(super) async fn waiting_for_location(
    connection: &mut AsyncPgConnection,
    owner: i64,
    after: Option<CheckoutPubId>,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut query = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(sql::<Bool>("waits_for = 'location'"))
        .order((checkouts::waiting_since, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .into_boxed();
    if let Some(after) = after {
        let place = checkouts::table
            .find((owner, after.as_uuid()))
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

/// Where a checkout stands that waits: what for, of which variant and mode, with a deposit or without, and
/// since when.
type Waiting = (String, Uuid, String, String, Option<Timestamp>, Uuid);

/// Which in its line the checkout is, from 1.
pub(super) async fn place_in_line(
    connection: &mut AsyncPgConnection,
    owner: i64,
    id: CheckoutPubId,
) -> Result<Option<u64>, StoreError> {
    let found: Option<Waiting> = checkouts::table
        .find((owner, id.as_uuid()))
        .select((
            checkouts::waits_for,
            checkouts::variant_id,
            checkouts::mode,
            checkouts::lifecycle,
            checkouts::waiting_since,
            checkouts::id,
        ))
        .first(connection)
        .await
        .optional()
        .map_err(store_error)?;
    let Some((waits_for, variant, mode, lifecycle, Some(since), own)) = found else {
        return Ok(None);
    };
    let of_mode = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::mode.eq(mode))
        .count()
        .into_boxed();
    let line = match waits_for.as_str() {
        "inventory" => of_mode
            .filter(checkouts::variant_id.eq(variant))
            .filter(sql::<Bool>("waits_for = 'inventory'"))
            .filter(
                sql::<Bool>("((lifecycle <> 'waitlistedAfterDeposit'), waiting_since, id) <= (")
                    .bind::<Bool, _>(lifecycle != Lifecycle::WaitlistedAfterDeposit.as_str())
                    .sql(", ")
                    .bind::<Timestamptz, _>(since)
                    .sql(", ")
                    .bind::<SqlUuid, _>(own)
                    .sql(")"),
            ),
        "location" => of_mode
            .filter(sql::<Bool>("waits_for = 'location'"))
            .filter(
                sql::<Bool>("(waiting_since, id) <= (")
                    .bind::<Timestamptz, _>(since)
                    .sql(", ")
                    .bind::<SqlUuid, _>(own)
                    .sql(")"),
            ),
        _ => return Ok(None),
    };
    let place: i64 = line.get_result(connection).await.map_err(store_error)?;
    Ok(Some(row_count(place)))
}

macro_rules! untouched {
    ($before:expr) => {{
        let of_checkout = checkout_applications::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_applications::checkout_id.eq(checkouts::id));
        checkouts::table
            .inner_join(checkout_applications::table.on(of_checkout))
            .filter(checkouts::expires)
            .filter(checkouts::acted_at.lt($before))
            .filter(checkout_applications::signed_at.is_null())
    }};
}

/// Those that expire and that their customers left alone since.
pub(super) async fn untouched_since(
    connection: &mut AsyncPgConnection,
    owner: i64,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    untouched!(before)
        .filter(checkouts::organization_id.eq(owner))
        .order((checkouts::acted_at, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

pub(in crate::postgres) async fn owners_untouched(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkouts, untouched!(before))
}

macro_rules! lapsing {
    ($before:expr) => {
        checkout_deposits::table
            .filter(checkout_deposits::lapses)
            .filter(checkout_deposits::hold_expires_at.lt($before))
    };
}

/// Those whose authorization lapses.
pub(super) async fn lapsing_before(
    connection: &mut AsyncPgConnection,
    owner: i64,
    before: Timestamp,
    after: Option<CheckoutPubId>,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut query = lapsing!(before)
        .filter(checkout_deposits::organization_id.eq(owner))
        .order(checkout_deposits::checkout_id)
        .limit(i64::from(limit))
        .select(checkout_deposits::checkout_id)
        .into_boxed();
    if let Some(after) = after {
        query = query.filter(checkout_deposits::checkout_id.gt(after.as_uuid()));
    }
    query.load(connection).await.map(ids).map_err(store_error)
}

pub(in crate::postgres) async fn owners_lapsing(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkout_deposits, lapsing!(before))
}

macro_rules! ending {
    ($day:expr) => {{
        let of_checkout = checkout_billing::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_billing::checkout_id.eq(checkouts::id));
        checkouts::table
            .inner_join(checkout_billing::table.on(of_checkout))
            .filter(sql::<Bool>("lifecycle = 'leaseActive'"))
            .filter(checkouts::lease_end.lt($day))
            .filter(sql::<Bool>("paid_cycles >= coalesce(term_in_months, 0)"))
    }};
}

/// Active leases whose last day has passed and whose months are all paid.
pub(super) async fn leases_ended_before(
    connection: &mut AsyncPgConnection,
    owner: i64,
    day: Day,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    ending!(day)
        .filter(checkouts::organization_id.eq(owner))
        .order((checkouts::lease_end, checkouts::id))
        .limit(i64::from(limit))
        .select(checkouts::id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

pub(in crate::postgres) async fn owners_ending(
    connection: &mut AsyncPgConnection,
    day: Day,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkouts, ending!(day))
}

macro_rules! unbilled {
    ($before:expr) => {{
        let of_checkout = checkout_billing::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_billing::checkout_id.eq(checkouts::id));
        checkout_billing::table
            .inner_join(checkouts::table.on(of_checkout))
            .filter(sql::<Bool>("checkout_billing.state = 'requested'"))
            .filter(checkout_billing::requested_at.lt($before))
            .filter(not(checkouts::is_ended))
            .filter(is_untold(AttentionReason::NotBilled))
    }};
}

/// Those whose subscription was asked for, and is not there.
pub(super) async fn unbilled_since(
    connection: &mut AsyncPgConnection,
    owner: i64,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    unbilled!(before)
        .filter(checkout_billing::organization_id.eq(owner))
        .order((
            checkout_billing::requested_at,
            checkout_billing::checkout_id,
        ))
        .limit(i64::from(limit))
        .select(checkout_billing::checkout_id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

pub(in crate::postgres) async fn owners_unbilled(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkout_billing, unbilled!(before))
}

macro_rules! silent {
    ($before:expr) => {{
        let of_checkout = checkout_shipments::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_shipments::checkout_id.eq(checkouts::id));
        checkout_shipments::table
            .inner_join(checkouts::table.on(of_checkout))
            .filter(checkout_shipments::is_under_way)
            .filter(checkout_shipments::tracking_number.is_not_null())
            .filter(checkout_shipments::delivered_at.is_null())
            .filter(checkout_shipments::heard_at.lt($before))
            .filter(sql::<Bool>("checkouts.lifecycle = 'shipped'"))
            .filter(is_untold(AttentionReason::DeliveryOverdue))
    }};
}

/// Tracked shipments under way of which the carrier said nothing since.
pub(super) async fn silent_since(
    connection: &mut AsyncPgConnection,
    owner: i64,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    silent!(before)
        .filter(checkout_shipments::organization_id.eq(owner))
        .order((
            checkout_shipments::heard_at,
            checkout_shipments::checkout_id,
        ))
        .limit(i64::from(limit))
        .select(checkout_shipments::checkout_id)
        .load(connection)
        .await
        .map(ids)
        .map_err(store_error)
}

pub(in crate::postgres) async fn owners_silent(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkout_shipments, silent!(before))
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = Text)]
    reason: String,
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// How many a person must look at, by reason: of all that can be read.
pub(in crate::postgres) async fn attention(
    connection: &mut AsyncPgConnection,
) -> Result<Vec<(AttentionReason, u64)>, StoreError> {
    let counted: Vec<Counted> = diesel::sql_query(
        "SELECT shown ->> 'reason' AS reason, count(*) AS count
        FROM checkouts, jsonb_array_elements(attention) AS shown
        WHERE attention <> '[]' GROUP BY 1",
    )
    .load(connection)
    .await
    .map_err(store_error)?;
    let mut counts = counted
        .into_iter()
        .map(|Counted { reason, count }| {
            let at = Place::new("checkouts", &reason);
            let reason = at.parse("attention", &reason)?;
            Ok((reason, row_count(count)))
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    counts.sort_unstable();
    Ok(counts)
}

#[derive(QueryableByName)]
struct InState {
    #[diesel(sql_type = Text)]
    mode: String,
    #[diesel(sql_type = Text)]
    lifecycle: String,
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// How many are in each state, by mode: of all that can be read.
pub(in crate::postgres) async fn states(
    connection: &mut AsyncPgConnection,
) -> Result<StateCounts, StoreError> {
    let counted: Vec<InState> =
        diesel::sql_query("SELECT mode, lifecycle, count(*) AS count FROM checkouts GROUP BY 1, 2")
            .load(connection)
            .await
            .map_err(store_error)?;
    counted
        .into_iter()
        .map(|row| {
            let at = Place::new("checkouts", &row.lifecycle);
            let mode = at.parse("mode", &row.mode)?;
            let state = at.parse("lifecycle", &row.lifecycle)?;
            Ok(((mode, state), row_count(row.count)))
        })
        .collect()
}

macro_rules! asked_for {
    ($mode:expr) => {
        checkout_billing::table
            .filter(checkout_billing::mode.eq($mode.as_str()))
            .filter(checkout_billing::requested_at.is_not_null())
    };
}

/// Those whose subscription was asked for.
pub(super) async fn billed(
    connection: &mut AsyncPgConnection,
    owner: i64,
    mode: Mode,
    after: Option<CheckoutPubId>,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let mut query = asked_for!(mode)
        .filter(checkout_billing::organization_id.eq(owner))
        .order(checkout_billing::checkout_id)
        .limit(i64::from(limit))
        .select(checkout_billing::checkout_id)
        .into_boxed();
    if let Some(after) = after {
        query = query.filter(checkout_billing::checkout_id.gt(after.as_uuid()));
    }
    query.load(connection).await.map(ids).map_err(store_error)
}

pub(in crate::postgres) async fn owners_billed(
    connection: &mut AsyncPgConnection,
    mode: Mode,
) -> Result<Vec<i64>, StoreError> {
    owners!(connection, checkout_billing, asked_for!(mode))
}

#[derive(QueryableByName)]
struct Turn {
    #[diesel(sql_type = BigInt)]
    turn: i64,
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
    owner: i64,
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    // One turn for all that are asked together, drawn by itself: a cluster draws no number for each row.
    let turn: Turn = diesel::sql_query("SELECT nextval('checkout_tracking_turns') AS turn")
        .get_result(connection)
        .await
        .map_err(store_error)?;
    let mut asked: Vec<Asked> = diesel::sql_query(
        "WITH due AS MATERIALIZED (
            SELECT organization_id, checkout_id AS id, tracking_turn AS turn_before, shipped_at
            FROM checkout_shipments
            WHERE organization_id = $1
                AND is_under_way AND tracking_number IS NOT NULL AND delivered_at IS NULL
            ORDER BY tracking_turn NULLS FIRST, shipped_at, checkout_id
            LIMIT $2
            FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE checkout_shipments AS shipment
        SET tracking_turn = $3
        FROM due WHERE shipment.organization_id = due.organization_id AND shipment.checkout_id = due.id
        RETURNING due.id, due.turn_before, due.shipped_at",
    )
    .bind::<BigInt, _>(owner)
    .bind::<BigInt, _>(i64::from(limit))
    .bind::<BigInt, _>(turn.turn)
    .load(connection)
    .await
    .map_err(store_error)?;
    asked.sort_by_key(|asked| (asked.turn_before, asked.shipped_at, asked.id));
    Ok(ids(asked.into_iter().map(|asked| asked.id).collect()))
}

pub(in crate::postgres) async fn owners_under_way(
    connection: &mut AsyncPgConnection,
) -> Result<Vec<i64>, StoreError> {
    let under_way = checkout_shipments::table
        .filter(checkout_shipments::is_under_way)
        .filter(checkout_shipments::tracking_number.is_not_null())
        .filter(checkout_shipments::delivered_at.is_null());
    owners!(connection, checkout_shipments, under_way)
}
