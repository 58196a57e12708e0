//! Recurring payments: one subscription at a time for a checkout; another only after its end.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ledger::{Subscription, SubscriptionState};
use lessor_domain::ports::{Attempt, Doubt, SubscriptionRequest, Verdict};
use lessor_domain::time::{Day, Timestamp, add_months, add_months_at};
use uuid::Uuid;

use super::desk::{Desk, Entry, Opening, close, connection, money, query_doubt};
use super::email_tags::{EmailTags, declined, refusal, unknown};
use super::invoices::{self, Cycle};
use super::methods;
use crate::postgres::PgUnitOfWork;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

pub(super) const INCOMPLETE: &str = "incomplete";
pub(super) const ACTIVE: &str = "active";
pub(super) const PAST_DUE: &str = "pastDue";
const CANCELLED: &str = "cancelled";
pub(super) const COMPLETED: &str = "completed";
pub(super) const EXPIRED: &str = "expired";

#[derive(Queryable, Selectable)]
#[diesel(table_name = subscriptions, check_for_backend(diesel::pg::Pg))]
struct Row {
    id: String,
    checkout_id: Uuid,
    payment_method_id: String,
    amount_minor: i64,
    currency: String,
    ends_at: Timestamp,
    status: String,
    created_at: Timestamp,
    ended_at: Option<Timestamp>,
}

impl Row {
    /// As the domain knows it, with its invoices.
    async fn into_subscription(self, work: &mut PgUnitOfWork) -> Result<Subscription, Doubt> {
        let state = match self.status.as_str() {
            INCOMPLETE => SubscriptionState::Incomplete,
            ACTIVE => SubscriptionState::Active,
            PAST_DUE => SubscriptionState::PastDue,
            CANCELLED | COMPLETED | EXPIRED => SubscriptionState::Ended,
            other => return Err(Doubt::failed(format!("{} is {other}", self.id))),
        };
        Ok(Subscription {
            checkout: Some(CheckoutPubId::from_uuid(self.checkout_id)),
            state,
            monthly: money(&self.id, self.amount_minor, &self.currency)?,
            anchor: self.created_at,
            ends_at: Some(self.ends_at),
            invoices: invoices::of(work, &self.id).await?,
            id: self.id,
        })
    }
}

/// The day of the cycle, counted from the first one's, so that a day that a short
/// month lacks comes back in the next long one.
pub(super) fn day_of(anchor: Day, cycle: i32) -> Result<Day, Doubt> {
    u32::try_from(cycle.saturating_sub(1))
        .ok()
        .and_then(|months| add_months(anchor, months))
        .ok_or_else(|| Doubt::failed("the subscription runs beyond the calendar"))
}

/// Starts a subscription of the checkout, or answers the one that runs.
pub(super) async fn create(
    desk: &Desk,
    attempt: &Attempt,
    request: &SubscriptionRequest,
) -> Result<Verdict<Subscription>, Doubt> {
    // How many payments are left may be another number at a later try of the same work.
    let parameters = [
        request.checkout.to_string(),
        request.monthly.minor().to_string(),
        request.monthly.currency().to_string(),
    ];
    let answer = match desk
        .open(attempt, "createSubscription", &parameters)
        .await?
    {
        Opening::Answered(answer) => answer,
        Opening::New(entry) => start(desk, entry, attempt, request).await?,
    };
    answered(desk, attempt.organization_id, answer).await
}

async fn answered(
    desk: &Desk,
    organization: OrganizationId,
    answer: Verdict<String>,
) -> Result<Verdict<Subscription>, Doubt> {
    let id = match answer {
        Verdict::Done(id) => id,
        Verdict::Refused(refusal) => return Ok(Verdict::Refused(refusal)),
    };
    match read(desk, organization, &id).await? {
        Some(known) => Ok(Verdict::Done(known)),
        None => Err(Doubt::failed(format!("the subscription {id} is lost"))),
    }
}

async fn start(
    desk: &Desk,
    mut entry: Entry,
    attempt: &Attempt,
    request: &SubscriptionRequest,
) -> Result<Verdict<String>, Doubt> {
    let customer = &request.customer;
    methods::push_customer(entry.work(), desk, customer, attempt.now).await?;
    let wanted = request.payment_method.as_deref();
    let method =
        match methods::of_customer(entry.work(), desk, customer.id, wanted, attempt.now).await? {
            Ok(method) => method,
            Err(refusal) => return entry.close(Verdict::Refused(refusal)).await,
        };
    let id = desk.id("sub");
    let anchor = attempt.now.date_naive();
    let ends_at = add_months_at(attempt.now, u32::from(request.payments))
        .ok_or_else(|| Doubt::failed("the subscription runs beyond the calendar"))?;
    let started = diesel::insert_into(subscriptions::table)
        .values((
            subscriptions::id.eq(&id),
            subscriptions::checkout_id.eq(request.checkout.as_uuid()),
            subscriptions::email.eq(&customer.email),
            subscriptions::payment_method_id.eq(&method.id),
            subscriptions::amount_minor.eq(request.monthly.minor()),
            subscriptions::currency.eq(request.monthly.currency().code()),
            subscriptions::anchor.eq(anchor),
            subscriptions::billed_cycles.eq(1),
            subscriptions::next_on.eq(day_of(anchor, 2)?),
            subscriptions::ends_at.eq(ends_at),
            subscriptions::status.eq(INCOMPLETE),
            subscriptions::created_at.eq(attempt.now),
        ))
        .on_conflict_do_nothing()
        .kept()
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    if started == 0 {
        // One runs already: whatever the key, there is no second one.
        let running: String = subscriptions::table
            .filter(subscriptions::organization_id.eq(entry.owner()))
            .filter(subscriptions::checkout_id.eq(request.checkout.as_uuid()))
            .filter(subscriptions::ended_at.is_null())
            .select(subscriptions::id)
            .first(entry.connection()?)
            .await
            .map_err(query_doubt)?;
        return entry.close(Verdict::Done(running)).await;
    }
    let nth = entry.nth_try(request.checkout).await?;
    let fails = EmailTags::of(&customer.email).first_payment_fails(nth)
        || methods::is_declined(entry.work(), &method.id).await?;
    // The first payment is told with the answer.
    let first = Cycle {
        subscription: &id,
        number: 1,
        due_on: anchor,
        failure: fails.then(declined),
        at: attempt.now,
        told_at: Some(attempt.now),
    };
    invoices::bill(entry.work(), desk, first).await?;
    if !fails {
        set_status(entry.work(), &id, ACTIVE).await?;
    }
    entry.close(Verdict::Done(id)).await
}

/// The subscription with all its invoices.
pub(super) async fn read(
    desk: &Desk,
    organization: OrganizationId,
    id: &str,
) -> Result<Option<Subscription>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let row: Option<Row> = subscriptions::table
        .find((work.owner(), id))
        .select(Row::as_select())
        .first(connection(&mut work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    let known = match row {
        Some(row) => Some(row.into_subscription(&mut work).await?),
        None => None,
    };
    close(work).await?;
    Ok(known)
}

/// The checkout's subscriptions with their invoices, newest first.
pub(super) async fn of_checkout(
    desk: &Desk,
    organization: OrganizationId,
    checkout: CheckoutPubId,
) -> Result<Vec<Subscription>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let rows: Vec<Row> = subscriptions::table
        .filter(subscriptions::organization_id.eq(work.owner()))
        .filter(subscriptions::checkout_id.eq(checkout.as_uuid()))
        .order((subscriptions::created_at.desc(), subscriptions::id))
        .select(Row::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        all.push(row.into_subscription(&mut work).await?);
    }
    close(work).await?;
    Ok(all)
}

/// Has the subscription end at that instant. Like the real one it refuses that of one whose first
/// payment is not made, and of one that has ended.
pub(super) async fn set_end(
    desk: &Desk,
    attempt: &Attempt,
    id: &str,
    ends_at: Timestamp,
) -> Result<Verdict<()>, Doubt> {
    let parameters = [id.to_owned(), ends_at.to_rfc3339()];
    let answer = match desk.open(attempt, "setEnd", &parameters).await? {
        Opening::Answered(answer) => answer,
        Opening::New(mut entry) => {
            let known = locked(entry.work(), id).await?;
            let refused = match known.as_ref().map(|known| known.status.as_str()) {
                None => Some(unknown("subscription", id)),
                Some(ACTIVE | PAST_DUE) => None,
                Some(status) => Some(refusal(
                    "invalid_request_error",
                    &format!("A subscription that is {status} cannot be changed."),
                )),
            };
            if let Some(refusal) = refused {
                entry.close(Verdict::Refused(refusal)).await?
            } else {
                diesel::update(subscriptions::table.find((entry.owner(), id)))
                    .set(subscriptions::ends_at.eq(ends_at))
                    .kept()
                    .execute(entry.connection()?)
                    .await
                    .map_err(query_doubt)?;
                entry.close(Verdict::Done(id.to_owned())).await?
            }
        }
    };
    Ok(without_id(answer))
}

/// Has the subscription pay with the method from now on, and pays what is open with it.
pub(super) async fn pay(
    desk: &Desk,
    attempt: &Attempt,
    id: &str,
    method: &str,
) -> Result<Verdict<Subscription>, Doubt> {
    let parameters = [id.to_owned(), method.to_owned()];
    let answer = match desk.open(attempt, "payInvoices", &parameters).await? {
        Opening::Answered(answer) => answer,
        Opening::New(entry) => try_pay(entry, attempt, id, method).await?,
    };
    answered(desk, attempt.organization_id, answer).await
}

async fn try_pay(
    mut entry: Entry,
    attempt: &Attempt,
    id: &str,
    method: &str,
) -> Result<Verdict<String>, Doubt> {
    let Some(known) = locked(entry.work(), id).await? else {
        let refusal = unknown("subscription", id);
        return entry.close(Verdict::Refused(refusal)).await;
    };
    let before = &known.payment_method_id;
    if !methods::are_of_one(entry.work(), before, method).await? {
        let refusal = unknown("PaymentMethod", method);
        return entry.close(Verdict::Refused(refusal)).await;
    }
    let is_declined = methods::is_declined(entry.work(), method).await?;
    if is_declined && invoices::fail(entry.work(), id, &declined(), attempt.now).await? {
        return entry.close(Verdict::Refused(declined())).await;
    }
    if known.ended_at.is_none() {
        diesel::update(subscriptions::table.find((entry.owner(), id)))
            .set((
                subscriptions::payment_method_id.eq(method),
                subscriptions::status.eq(ACTIVE),
            ))
            .kept()
            .execute(entry.connection()?)
            .await
            .map_err(query_doubt)?;
    }
    invoices::settle(entry.work(), id, attempt.now).await?;
    entry.close(Verdict::Done(id.to_owned())).await
}

/// Ends a subscription at once; one that has ended stays as it is.
pub(super) async fn cancel(desk: &Desk, attempt: &Attempt, id: &str) -> Result<Verdict<()>, Doubt> {
    let answer = match desk
        .open(attempt, "cancelSubscription", &[id.to_owned()])
        .await?
    {
        Opening::Answered(answer) => answer,
        Opening::New(mut entry) => match locked(entry.work(), id).await? {
            None => {
                let refusal = unknown("subscription", id);
                entry.close(Verdict::Refused(refusal)).await?
            }
            Some(known) => {
                if known.ended_at.is_none() {
                    end(entry.work(), id, CANCELLED, attempt.now).await?;
                }
                entry.close(Verdict::Done(id.to_owned())).await?
            }
        },
    };
    Ok(without_id(answer))
}

fn without_id(answer: Verdict<String>) -> Verdict<()> {
    match answer {
        Verdict::Done(_) => Verdict::Done(()),
        Verdict::Refused(refusal) => Verdict::Refused(refusal),
    }
}

async fn locked(work: &mut PgUnitOfWork, id: &str) -> Result<Option<Row>, Doubt> {
    subscriptions::table
        .find((work.owner(), id))
        .select(Row::as_select())
        .for_update()
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn set_status(work: &mut PgUnitOfWork, id: &str, status: &str) -> Result<(), Doubt> {
    diesel::update(subscriptions::table.find((work.owner(), id)))
        .set(subscriptions::status.eq(status))
        .kept()
        .execute(connection(work)?)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

pub(super) async fn end(
    work: &mut PgUnitOfWork,
    id: &str,
    status: &str,
    at: Timestamp,
) -> Result<(), Doubt> {
    diesel::update(subscriptions::table.find((work.owner(), id)))
        .set((
            subscriptions::status.eq(status),
            subscriptions::ended_at.eq(at),
        ))
        .kept()
        .execute(connection(work)?)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}
