//! The moves of a checkout.

use diesel::dsl::max;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::Transition;
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId};
use lessor_domain::ports::{HistoryEntry, StoreError};
use lessor_domain::text::Line;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::Place;
use crate::postgres::error::store_error;
use crate::postgres::kept;
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
    key_id: Option<Uuid>,
    reason: Option<String>,
}

#[derive(Insertable)]
#[diesel(table_name = checkout_transitions)]
struct NewRow<'a> {
    organization_id: i64,
    checkout_id: Uuid,
    sequence: i64,
    from_lifecycle: &'a str,
    event: &'a str,
    to_lifecycle: &'a str,
    at: Timestamp,
    actor: &'a str,
    key_id: Option<Uuid>,
    reason: Option<&'a str>,
}

/// Adds to the history. The checkout's row is locked by whoever moved it, so that the last number stays
/// the last one: it is asked for by a statement of its own, since a cluster takes no question among the
/// values of a new row.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    (organization, id): (i64, Uuid),
    transitions: &[Transition],
) -> Result<(), StoreError> {
    if transitions.is_empty() {
        return Ok(());
    }
    let last: Option<i64> = checkout_transitions::table
        .filter(checkout_transitions::organization_id.eq(organization))
        .filter(checkout_transitions::checkout_id.eq(id))
        .select(max(checkout_transitions::sequence))
        .first(connection)
        .await
        .map_err(store_error)?;
    let numbers = last.unwrap_or(0).saturating_add(1)..;
    let rows: Vec<NewRow<'_>> = numbers
        .zip(transitions)
        .map(|(sequence, transition)| NewRow {
            organization_id: organization,
            checkout_id: id,
            sequence,
            from_lifecycle: transition.from.as_str(),
            event: transition.event.as_str(),
            to_lifecycle: transition.to.as_str(),
            at: transition.at,
            actor: transition.actor.as_str(),
            key_id: transition.key.map(|key| key.as_uuid()),
            reason: transition.reason.as_ref().map(Line::as_str),
        })
        .collect();
    let insert = diesel::insert_into(checkout_transitions::table).values(&rows);
    kept::insert(rows.len(), insert, connection)
        .await
        .map_err(store_error)?;
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
                    key: row.key_id.map(ApiKeyPubId::from_uuid),
                    reason: at.parse_if("reason", row.reason)?,
                },
            })
        })
        .collect()
}
