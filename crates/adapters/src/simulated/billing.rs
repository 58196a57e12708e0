//! What time brings about: months that are billed, first payments that are given up, and what
//! Lessor is told of it.

use std::collections::BTreeSet;

use chrono::{NaiveTime, TimeDelta};
use diesel::dsl::auto_type;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::Doubt;
use lessor_domain::time::{Day, Timestamp};

use super::desk::{Desk, close, connection, owner, query_doubt};
use super::email_tags::{EmailTags, declined};
use super::invoices::{Cycle, OPEN, Row, SimulatedInvoice, VOID, bill, with_subscriptions};
use super::subscriptions::{ACTIVE, COMPLETED, EXPIRED, INCOMPLETE, PAST_DUE, day_of, end};
use crate::postgres::schema::simulated_invoices as invoices;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

/// Most subscriptions that are billed in one transaction.
const BATCH: i64 = 100;
/// Most invoices that are told at once.
const MOST_TOLD: usize = 1_000;
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

/// Those whose first payment was not made in time.
#[auto_type]
fn is_late(now: Timestamp) -> _ {
    let incomplete: &'static str = INCOMPLETE;
    let begun_by: Timestamp = now.checked_sub_signed(GIVEN_UP).unwrap_or(now);
    subscriptions::status
        .eq(incomplete)
        .and(subscriptions::created_at.le(begun_by))
}

/// Those of which a cycle has come, or the end.
#[auto_type]
fn is_due(now: Timestamp) -> _ {
    let running: [&'static str; 2] = [ACTIVE, PAST_DUE];
    let today: Day = now.date_naive();
    subscriptions::status.eq_any(running).and(
        subscriptions::next_on
            .le(today)
            .or(subscriptions::ends_at.le(now)),
    )
}

/// Who has something to be given up, to be billed or to be told.
async fn owners(desk: &Desk, now: Timestamp) -> Result<Vec<OrganizationId>, Doubt> {
    let mut work = desk.begin_errand().await?;
    let late_or_due: Vec<i64> = subscriptions::table
        .filter(is_late(now).or(is_due(now)))
        .select(subscriptions::organization_id)
        .distinct()
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    let untold: Vec<i64> = invoices::table
        .filter(invoices::told_at.is_null())
        .select(invoices::organization_id)
        .distinct()
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    let all: BTreeSet<i64> = late_or_due.into_iter().chain(untold).collect();
    all.into_iter().map(owner).collect()
}

/// Gives up the organization's subscriptions whose first payment was not made in time.
async fn expire(desk: &Desk, organization: OrganizationId, now: Timestamp) -> Result<(), Doubt> {
    let mut work = desk.begin(organization).await?;
    let late = subscriptions::table
        .filter(subscriptions::organization_id.eq(work.owner()))
        .filter(is_late(now));
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
        .filter(invoices::organization_id.eq(work.owner()))
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

/// Bills every cycle of the organization's that has come, each once, however many do so at a
/// time; a subscription whose end has come is completed.
async fn bill_due(desk: &Desk, organization: OrganizationId, now: Timestamp) -> Result<(), Doubt> {
    let today = now.date_naive();
    loop {
        let mut work = desk.begin(organization).await?;
        let due: Vec<Running> = subscriptions::table
            .filter(subscriptions::organization_id.eq(work.owner()))
            .filter(is_due(now))
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
                bill(&mut work, desk, cycle).await?;
                if fails {
                    PAST_DUE.clone_into(&mut running.status);
                }
                running.billed_cycles = number;
                running.next_on = day_of(running.anchor, number.saturating_add(1))?;
            }
            let billed = subscriptions::table.find((work.owner(), &running.id));
            diesel::update(billed)
                .set((
                    subscriptions::billed_cycles.eq(running.billed_cycles),
                    subscriptions::next_on.eq(running.next_on),
                    subscriptions::status.eq(&running.status),
                ))
                .execute(connection(&mut work)?)
                .await
                .map_err(query_doubt)?;
            if ends_on <= today {
                end(&mut work, &running.id, COMPLETED, now).await?;
            }
        }
        close(work).await?;
    }
}

/// So many of the organization's invoices that Lessor was not told of, oldest first.
async fn untold(
    desk: &Desk,
    organization: OrganizationId,
    limit: usize,
) -> Result<Vec<SimulatedInvoice>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let untold: Vec<Row> = with_subscriptions(work.owner())
        .filter(invoices::told_at.is_null())
        .order((invoices::due_on, invoices::id))
        .limit(i64::try_from(limit).map_err(Doubt::failed)?)
        .select(Row::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    untold.into_iter().map(Row::into_invoice).collect()
}

/// Bills what is due, gives up what is late, and answers what Lessor was not told yet, oldest
/// first, of each organization in its own name.
pub(super) async fn due(desk: &Desk, now: Timestamp) -> Result<Vec<SimulatedInvoice>, Doubt> {
    let owners = owners(desk, now).await?;
    let mut all = Vec::new();
    for (served, organization) in owners.iter().copied().enumerate() {
        expire(desk, organization, now).await?;
        bill_due(desk, organization, now).await?;
        // However many one has, the others get their part; what it has no use for they share.
        let room = MOST_TOLD.saturating_sub(all.len());
        let share = room.div_ceil(owners.len().saturating_sub(served).max(1));
        all.extend(untold(desk, organization, share).await?);
    }
    all.sort_by(|one, other| (one.due_on, &one.id).cmp(&(other.due_on, &other.id)));
    Ok(all)
}

/// Lessor was told of the invoice.
pub(super) async fn mark_told(
    desk: &Desk,
    invoice: &SimulatedInvoice,
    now: Timestamp,
) -> Result<(), Doubt> {
    let mut work = desk.begin(invoice.organization_id).await?;
    let untold = invoices::table
        .find((work.owner(), &invoice.id))
        .filter(invoices::told_at.is_null());
    diesel::update(untold)
        .set(invoices::told_at.eq(now))
        .execute(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await
}
