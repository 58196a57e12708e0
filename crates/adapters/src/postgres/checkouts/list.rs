//! Pages of checkouts.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use diesel::dsl::{count_star, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Date, Integer, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::{Checkout, Lifecycle, WaitlistReason};
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, Page, Scope, SortOrder, Start, StoreError,
};
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::rows::{Query, ids, load, load_all};
use crate::postgres::decode::{Place, row_count};
use crate::postgres::error::store_error;
use crate::postgres::metadata::{OF_CHECKOUTS, has_each};
use crate::postgres::paging::{self, within};
use crate::postgres::schema::checkouts;

/// The checkouts that the filter shows.
fn shown<'a>(scope: Scope, filter: &'a CheckoutFilter) -> Query<'a> {
    let mut query = checkouts::table
        .filter(checkouts::organization_id.eq(scope.organization_id.get()))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .into_boxed();
    if let Some(id) = filter.id {
        query = query.filter(checkouts::id.eq(id.as_uuid()));
    }
    if let Some(customer) = filter.customer {
        query = query.filter(checkouts::customer_id.eq(customer.as_uuid()));
    }
    query = match filter.lifecycles.as_slice() {
        [] => query,
        // One is a range of the index, in its order; of several the rows are sorted.
        [state] => query.filter(checkouts::lifecycle.eq(state.as_str())),
        states => {
            let states: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
            query.filter(checkouts::lifecycle.eq_any(states))
        }
    };
    if let Some(reason) = filter.waitlist_reason {
        // Who waits is in a state that says for what. Written out, as the partial index needs it.
        let condition = match reason {
            WaitlistReason::Inventory => "checkouts.waits_for = 'inventory'",
            WaitlistReason::Location => "checkouts.waits_for = 'location'",
        };
        query = query.filter(sql::<Bool>(condition));
    }
    if let Some(needs) = filter.needs_attention {
        // As the partial index says it.
        let condition = if needs {
            "checkouts.attention <> '[]'"
        } else {
            "checkouts.attention = '[]'"
        };
        query = query.filter(sql::<Bool>(condition));
    }
    if let Some(order) = &filter.external_order_id {
        query = query.filter(checkouts::external_order_id.eq(order.as_str()));
    }
    within!(query, checkouts::created_at, filter.created);
    within!(query, checkouts::updated_at, filter.updated);
    for has in has_each(&OF_CHECKOUTS, scope.organization_id, &filter.metadata) {
        query = query.filter(has);
    }
    query
}

/// Longer before or after the epoch no checkout is made.
const EVER: TimeDelta = TimeDelta::days(700_000);

/// The filter, where it is by several states and by nothing else.
fn states_alone(filter: &CheckoutFilter) -> Option<Vec<&'static str>> {
    let states: BTreeSet<&str> = filter
        .lifecycles
        .iter()
        .map(|state| state.as_str())
        .collect();
    let alone = CheckoutFilter {
        lifecycles: filter.lifecycles.clone(),
        ..CheckoutFilter::default()
    };
    (states.len() > 1 && *filter == alone).then(|| states.into_iter().collect())
}

/// A page of the checkouts in several states, sorted by when they were made: merged from the front of each
/// state's own list. By the list of all, those of rare states would be looked for among all others.
async fn page_of_states(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    states: Vec<&'static str>,
    after: Option<Cursor>,
    order: SortOrder,
    (offset, limit): (i64, i64),
) -> Result<Vec<Checkout>, StoreError> {
    let (direction, beyond, bound) = match order {
        SortOrder::Ascending => ("ASC", ">", (Timestamp::UNIX_EPOCH - EVER, Uuid::nil())),
        SortOrder::Descending => ("DESC", "<", (Timestamp::UNIX_EPOCH + EVER, Uuid::max())),
    };
    let owner = scope.organization_id.get();
    let (from, id) = after.map_or(bound, |cursor| (cursor.created_at, cursor.id));
    let merged = sql::<Bool>(
        "checkouts.id = ANY (ARRAY( \
            SELECT one.id FROM unnest(",
    )
    .bind::<Array<Text>, _>(states)
    .sql(
        ") AS state (name) CROSS JOIN LATERAL ( \
            SELECT c.created_at, c.id FROM checkouts AS c WHERE c.organization_id = ",
    )
    .bind::<BigInt, _>(owner)
    .sql(" AND c.mode = ")
    .bind::<Text, _>(scope.mode.as_str())
    .sql(" AND c.lifecycle = state.name AND (c.created_at, c.id) ")
    .sql(beyond)
    .sql(" (")
    .bind::<Timestamptz, _>(from)
    .sql(", ")
    .bind::<SqlUuid, _>(id)
    .sql(&format!(
        ") ORDER BY c.created_at {direction}, c.id {direction} LIMIT "
    ))
    .bind::<BigInt, _>(offset.saturating_add(limit))
    .sql(&format!(
        ") AS one ORDER BY one.created_at {direction}, one.id {direction} LIMIT "
    ))
    .bind::<BigInt, _>(limit)
    .sql(" OFFSET ")
    .bind::<BigInt, _>(offset)
    .sql("))");
    let query = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .filter(merged)
        .into_boxed();
    load(
        connection,
        owner,
        sorted(query, CheckoutSort::CreatedAt, order),
    )
    .await
}

/// In the order, ties by id; what has no value comes last both ways.
fn sorted(query: Query<'_>, sort: CheckoutSort, order: SortOrder) -> Query<'_> {
    use CheckoutSort::{CreatedAt, ExternalOrderId, LeaseStartDate, Lifecycle, UpdatedAt};
    use SortOrder::{Ascending, Descending};
    use checkouts as c;
    match (sort, order) {
        (CreatedAt, Ascending) => query.order((c::created_at.asc(), c::id.asc())),
        (CreatedAt, Descending) => query.order((c::created_at.desc(), c::id.desc())),
        (UpdatedAt, Ascending) => query.order((c::updated_at.asc(), c::id.asc())),
        (UpdatedAt, Descending) => query.order((c::updated_at.desc(), c::id.desc())),
        (Lifecycle, Ascending) => query.order((c::lifecycle.asc(), c::id.asc())),
        (Lifecycle, Descending) => query.order((c::lifecycle.desc(), c::id.desc())),
        (ExternalOrderId, Ascending) => {
            query.order((c::external_order_id.asc().nulls_last(), c::id.asc()))
        }
        (ExternalOrderId, Descending) => {
            query.order((c::external_order_id.desc().nulls_last(), c::id.desc()))
        }
        (LeaseStartDate, Ascending) => {
            query.order((c::lease_start.asc().nulls_last(), c::id.asc()))
        }
        (LeaseStartDate, Descending) => {
            query.order((c::lease_start.desc().nulls_last(), c::id.desc()))
        }
    }
}

/// The place of a checkout in every order.
#[derive(Queryable, Selectable)]
#[diesel(table_name = checkouts, check_for_backend(Pg))]
struct Cursor {
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    lifecycle: String,
    external_order_id: Option<String>,
    lease_start: Option<Day>,
}

impl Cursor {
    /// The checkouts behind the cursor that have a value to sort by; none when the
    /// cursor's has no value, since those come last.
    fn behind_with_value<'a>(
        &self,
        query: Query<'a>,
        sort: CheckoutSort,
        order: SortOrder,
    ) -> Option<Query<'a>> {
        let beyond = match order {
            SortOrder::Ascending => ">",
            SortOrder::Descending => "<",
        };
        // A comparison of rows is one range of the index, however deep the page is.
        let past =
            |column: &str| sql::<Bool>(&format!("(checkouts.{column}, checkouts.id) {beyond} ("));
        Some(match sort {
            CheckoutSort::CreatedAt => query.filter(
                past("created_at")
                    .bind::<Timestamptz, _>(self.created_at)
                    .sql(", ")
                    .bind::<SqlUuid, _>(self.id)
                    .sql(")"),
            ),
            CheckoutSort::UpdatedAt => query.filter(
                past("updated_at")
                    .bind::<Timestamptz, _>(self.updated_at)
                    .sql(", ")
                    .bind::<SqlUuid, _>(self.id)
                    .sql(")"),
            ),
            CheckoutSort::Lifecycle => query.filter(
                past("lifecycle")
                    .bind::<Text, _>(self.lifecycle.clone())
                    .sql(", ")
                    .bind::<SqlUuid, _>(self.id)
                    .sql(")"),
            ),
            CheckoutSort::ExternalOrderId => query.filter(
                past("external_order_id")
                    .bind::<Text, _>(self.external_order_id.clone()?)
                    .sql(", ")
                    .bind::<SqlUuid, _>(self.id)
                    .sql(")"),
            ),
            CheckoutSort::LeaseStartDate => query.filter(
                past("lease_start")
                    .bind::<Date, _>(self.lease_start?)
                    .sql(", ")
                    .bind::<SqlUuid, _>(self.id)
                    .sql(")"),
            ),
        })
    }

    /// The checkouts behind the cursor that have no value to sort by; none when
    /// every checkout has one.
    fn behind_without_value<'a>(
        &self,
        query: Query<'a>,
        sort: CheckoutSort,
        order: SortOrder,
    ) -> Option<Query<'a>> {
        let (query, is_there_already) = match sort {
            CheckoutSort::CreatedAt | CheckoutSort::UpdatedAt | CheckoutSort::Lifecycle => {
                return None;
            }
            CheckoutSort::ExternalOrderId => (
                query.filter(checkouts::external_order_id.is_null()),
                self.external_order_id.is_none(),
            ),
            CheckoutSort::LeaseStartDate => (
                query.filter(checkouts::lease_start.is_null()),
                self.lease_start.is_none(),
            ),
        };
        Some(match order {
            _ if !is_there_already => query,
            SortOrder::Ascending => query.filter(checkouts::id.gt(self.id)),
            SortOrder::Descending => query.filter(checkouts::id.lt(self.id)),
        })
    }
}

/// A page of the checkouts that the filter shows. A cursor that the filter hides
/// still marks a place; behind one that is not there, there is nothing.
pub(super) async fn page(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    filter: &CheckoutFilter,
    sort: CheckoutSort,
    order: SortOrder,
    page: Page,
) -> Result<Vec<Checkout>, StoreError> {
    let states = states_alone(filter).filter(|_| sort == CheckoutSort::CreatedAt);
    let after = match page.start {
        Start::Offset(offset) => {
            let part = (i64::from(offset), i64::from(page.limit));
            if let Some(states) = states {
                return page_of_states(connection, scope, states, None, order, part).await;
            }
            let query = sorted(shown(scope, filter), sort, order)
                .offset(i64::from(offset))
                .limit(i64::from(page.limit));
            let found = ids(connection, query).await?;
            return load_all(connection, scope.organization_id.get(), found).await;
        }
        Start::After(after) => after,
    };
    let cursor = checkouts::table
        .find((scope.organization_id.get(), after))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .select(Cursor::as_select())
        .first(connection)
        .await
        .optional()
        .map_err(store_error)?;
    let Some(cursor) = cursor else {
        return Ok(Vec::new());
    };
    if let Some(states) = states {
        let part = (0, i64::from(page.limit));
        return page_of_states(connection, scope, states, Some(cursor), order, part).await;
    }
    let mut found = Vec::new();
    if let Some(query) = cursor.behind_with_value(shown(scope, filter), sort, order) {
        let query = sorted(query, sort, order).limit(i64::from(page.limit));
        found = ids(connection, query).await?;
    }
    let missing =
        i64::from(page.limit).saturating_sub(i64::try_from(found.len()).unwrap_or(i64::MAX));
    if missing > 0
        && let Some(query) = cursor.behind_without_value(shown(scope, filter), sort, order)
    {
        found.extend(ids(connection, sorted(query, sort, order).limit(missing)).await?);
    }
    load_all(connection, scope.organization_id.get(), found).await
}

/// How many checkouts the filter shows, counted up to `most`.
pub(super) async fn count(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    filter: &CheckoutFilter,
    most: u64,
) -> Result<u64, StoreError> {
    let rows = shown(scope, filter).select(1.into_sql::<Integer>());
    paging::count(rows, most, connection).await
}

/// How many there are in each state, told by the index of states alone.
pub(super) async fn count_by_state(
    connection: &mut AsyncPgConnection,
    scope: Scope,
) -> Result<Vec<(Lifecycle, u64)>, StoreError> {
    let counts: Vec<(String, i64)> = checkouts::table
        .filter(checkouts::organization_id.eq(scope.organization_id.get()))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .group_by(checkouts::lifecycle)
        .select((checkouts::lifecycle, count_star()))
        .load(connection)
        .await
        .map_err(store_error)?;
    let mut counts: Vec<(Lifecycle, u64)> = counts
        .into_iter()
        .map(|(state, count)| {
            let known = Place::new("checkouts", &state).parse("lifecycle", &state)?;
            Ok((known, row_count(count)))
        })
        .collect::<Result<_, StoreError>>()?;
    counts.sort_unstable();
    Ok(counts)
}
