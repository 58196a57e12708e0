//! Pages of checkouts.

use diesel::dsl::{count_star, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Date, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::{Checkout, Lifecycle};
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, Page, Scope, SortOrder, Start, StoreError,
};
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::rows::{Query, find, load, whole, with_items};
use crate::postgres::decode::{Place, row_count};
use crate::postgres::error::store_error;
use crate::postgres::metadata::{OF_CHECKOUTS, has_each};
use crate::postgres::paging::within;
use crate::postgres::schema::{checkout_waits, checkouts};

/// The checkouts that the filter shows.
fn shown<'a>(scope: Scope, filter: &'a CheckoutFilter) -> Query<'a> {
    let mut query = whole()
        .filter(checkouts::organization_id.eq(scope.organization_id.get()))
        .filter(checkouts::mode.eq(scope.mode.as_str()))
        .into_boxed();
    if let Some(id) = filter.id {
        query = query.filter(checkouts::id.eq(id.as_uuid()));
    }
    if let Some(customer) = filter.customer {
        query = query.filter(checkouts::customer_id.eq(customer.as_uuid()));
    }
    if !filter.lifecycles.is_empty() {
        let states: Vec<&str> = filter
            .lifecycles
            .iter()
            .map(|state| state.as_str())
            .collect();
        query = query.filter(checkouts::lifecycle.eq_any(states));
    }
    if let Some(reason) = filter.waitlist_reason {
        query = query.filter(checkout_waits::reason.eq(reason.as_str()));
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
    let after = match page.start {
        Start::Offset(offset) => {
            let query = sorted(shown(scope, filter), sort, order)
                .offset(i64::from(offset))
                .limit(i64::from(page.limit));
            return load(connection, query).await;
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
    let mut rows = Vec::new();
    if let Some(query) = cursor.behind_with_value(shown(scope, filter), sort, order) {
        let query = sorted(query, sort, order).limit(i64::from(page.limit));
        rows = find(connection, query).await?;
    }
    let missing =
        i64::from(page.limit).saturating_sub(i64::try_from(rows.len()).unwrap_or(i64::MAX));
    if missing > 0
        && let Some(query) = cursor.behind_without_value(shown(scope, filter), sort, order)
    {
        rows.extend(find(connection, sorted(query, sort, order).limit(missing)).await?);
    }
    with_items(connection, rows).await
}

/// How many checkouts the filter shows.
pub(super) async fn count(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    filter: &CheckoutFilter,
) -> Result<u64, StoreError> {
    let count: i64 = shown(scope, filter)
        .count()
        .get_result(connection)
        .await
        .map_err(store_error)?;
    Ok(row_count(count))
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
