//! The moves of a checkout.

use diesel::dsl::max;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, SingleValue, SqlType};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::Transition;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{HistoryEntry, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::Place;
use crate::postgres::error::store_error;
use crate::postgres::schema::checkout_transitions;

#[derive(Queryable, Selectable)]
#[diesel(table_name = checkout_transitions, check_for_backend(diesel::pg::Pg))]
struct TransitionRow {
    sequence: i64,
    from_lifecycle: String,
    event: String,
    to_lifecycle: String,
    at: Timestamp,
    actor: String,
    reason: Option<String>,
}

#[diesel::declare_sql_function]
extern "SQL" {
    fn coalesce<T: SqlType + SingleValue>(x: Nullable<T>, y: T) -> T;
}

/// Adds to the history. The checkout's row is locked by whoever moved it.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    (organization, id): (i64, Uuid),
    transitions: &[Transition],
) -> Result<(), StoreError> {
    for transition in transitions {
        let last = checkout_transitions::table
            .filter(checkout_transitions::organization_id.eq(organization))
            .filter(checkout_transitions::checkout_id.eq(id))
            .select(max(checkout_transitions::sequence))
            .single_value();
        diesel::insert_into(checkout_transitions::table)
            .values((
                checkout_transitions::organization_id.eq(organization),
                checkout_transitions::checkout_id.eq(id),
                checkout_transitions::sequence
                    .eq(coalesce(last, 0_i64.into_sql::<BigInt>()) + 1_i64.into_sql::<BigInt>()),
                checkout_transitions::from_lifecycle.eq(transition.from.as_str()),
                checkout_transitions::event.eq(transition.event.as_str()),
                checkout_transitions::to_lifecycle.eq(transition.to.as_str()),
                checkout_transitions::at.eq(transition.at),
                checkout_transitions::actor.eq(transition.actor.as_str()),
                checkout_transitions::reason.eq(transition
                    .reason
                    .as_ref()
                    .map(lessor_domain::text::Line::as_str)),
            ))
            .execute(connection)
            .await
            .map_err(store_error)?;
    }
    Ok(())
}

/// The moves, oldest first.
pub(super) async fn of(
    connection: &mut AsyncPgConnection,
    owner: i64,
    id: CheckoutPubId,
) -> Result<Vec<HistoryEntry>, StoreError> {
    let rows = checkout_transitions::table
        .filter(checkout_transitions::organization_id.eq(owner))
        .filter(checkout_transitions::checkout_id.eq(id.as_uuid()))
        .order(checkout_transitions::sequence)
        .select(TransitionRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)?;
    rows.into_iter()
        .map(|row| {
            let name = format!("{id} move {}", row.sequence);
            let at = Place::new("checkout_transitions", &name);
            Ok(HistoryEntry {
                sequence: row.sequence,
                transition: Transition {
                    from: at.parse("from_lifecycle", &row.from_lifecycle)?,
                    event: at.parse("event", &row.event)?,
                    to: at.parse("to_lifecycle", &row.to_lifecycle)?,
                    at: row.at,
                    actor: at.parse("actor", &row.actor)?,
                    reason: at.parse_if("reason", row.reason)?,
                },
            })
        })
        .collect()
}
