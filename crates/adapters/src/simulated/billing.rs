//! What time brings about: months that are billed, first payments that are given up, and what
//! Lessor is told of it.

use chrono::{NaiveTime, TimeDelta};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ports::Doubt;
use lessor_domain::time::{Day, Timestamp};

use super::desk::{Desk, close, connection, query_doubt};
use super::email_tags::{EmailTags, declined};
use super::invoices::{Cycle, OPEN, Row, SimulatedInvoice, VOID, bill};
use super::subscriptions::{ACTIVE, COMPLETED, EXPIRED, INCOMPLETE, PAST_DUE, day_of, end};
use crate::postgres::schema::simulated_invoices as invoices;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

/// Most subscriptions that are billed in one transaction.
const BATCH: i64 = 100;
/// Most invoices that are told at once.
const MOST_TOLD: i64 = 1_000;
/// When a first payment that was not made is given up.
const GIVEN_UP: TimeDelta = TimeDelta::hours(23);

#[derive(Queryable, Selectable)]
#[diesel(table_name = subscriptions, check_for_backend(diesel::pg::Pg))]
struct Running {
    id: String,
    email: String,
    anchor: Day,
    billed_cycles: i32,
    next_on: Day,
    ends_at: Timestamp,
    status: String,
}

/// Gives up the subscriptions whose first payment was not made in time.
async fn expire(desk: &Desk, now: Timestamp) -> Result<(), Doubt> {
    let late = now.checked_sub_signed(GIVEN_UP).unwrap_or(now);
    let mut work = desk.begin().await?;
    let late = subscriptions::table
        .filter(subscriptions::status.eq(INCOMPLETE))
        .filter(subscriptions::created_at.le(late));
    let expired: Vec<String> = diesel::update(late)
        .set((
            subscriptions::status.eq(EXPIRED),
            subscriptions::ended_at.eq(now),
        ))
        .returning(subscriptions::id)
        .get_results(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    let open = invoices::table
        .filter(invoices::subscription_id.eq_any(expired))
        .filter(invoices::status.eq(OPEN));
    diesel::update(open)
        .set((
            invoices::status.eq(VOID),
            invoices::since.eq(now),
            invoices::told_at.eq(None::<Timestamp>),
        ))
        .execute(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await
}

/// Bills every cycle that has come, each once, however many do so at a time; a
/// subscription whose end has come is completed.
async fn bill_due(desk: &Desk, now: Timestamp) -> Result<(), Doubt> {
    let today = now.date_naive();
    loop {
        let mut work = desk.begin().await?;
        let due: Vec<Running> = subscriptions::table
            .filter(subscriptions::status.eq_any([ACTIVE, PAST_DUE]))
            .filter(
                subscriptions::next_on
                    .le(today)
                    .or(subscriptions::ends_at.le(now)),
            )
            .order((subscriptions::next_on, subscriptions::id))
            .limit(BATCH)
            .select(Running::as_select())
            .for_update()
            .skip_locked()
            .load(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
        if due.is_empty() {
            return close(work).await;
        }
        for mut running in due {
            let ends_on = running.ends_at.date_naive();
            while running.next_on <= today && running.next_on < ends_on {
                let number = running.billed_cycles.saturating_add(1);
                let fails = EmailTags::of(&running.email).payment_fails(number);
                let cycle = Cycle {
                    subscription: &running.id,
                    number,
                    due_on: running.next_on,
                    failure: fails.then(declined),
                    at: running.next_on.and_time(NaiveTime::MIN).and_utc(),
                    told_at: None,
                };
                bill(connection(&mut work)?, desk, cycle).await?;
                if fails {
                    PAST_DUE.clone_into(&mut running.status);
                }
                running.billed_cycles = number;
                running.next_on = day_of(running.anchor, number.saturating_add(1))?;
            }
            diesel::update(subscriptions::table.find(&running.id))
                .set((
                    subscriptions::billed_cycles.eq(running.billed_cycles),
                    subscriptions::next_on.eq(running.next_on),
                    subscriptions::status.eq(&running.status),
                ))
                .execute(connection(&mut work)?)
                .await
                .map_err(query_doubt)?;
            if ends_on <= today {
                end(connection(&mut work)?, &running.id, COMPLETED, now).await?;
            }
        }
        close(work).await?;
    }
}

/// Bills what is due, gives up what is late, and answers what Lessor was not told yet, oldest
/// first.
pub(super) async fn due(desk: &Desk, now: Timestamp) -> Result<Vec<SimulatedInvoice>, Doubt> {
    expire(desk, now).await?;
    bill_due(desk, now).await?;
    let mut work = desk.begin().await?;
    let untold: Vec<Row> = invoices::table
        .inner_join(subscriptions::table.on(subscriptions::id.eq(invoices::subscription_id)))
        .filter(invoices::told_at.is_null())
        .order((invoices::due_on, invoices::id))
        .limit(MOST_TOLD)
        .select(Row::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    untold.into_iter().map(Row::into_invoice).collect()
}

/// Lessor was told of the invoice.
pub(super) async fn mark_told(desk: &Desk, invoice: &str, now: Timestamp) -> Result<(), Doubt> {
    let mut work = desk.begin().await?;
    diesel::update(
        invoices::table
            .find(invoice)
            .filter(invoices::told_at.is_null()),
    )
    .set(invoices::told_at.eq(now))
    .execute(connection(&mut work)?)
    .await
    .map_err(query_doubt)?;
    close(work).await
}
