//! Recurring payments: one subscription for a checkout, ever; its cycles are billed
//! as time passes.

use chrono::NaiveTime;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::cause::tried;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::money::{Currency, CurrencyError, Money};
use lessor_domain::ports::{
    Answer, Call, Doubt, OurIds, ProcessorEvent, ProcessorFact, Subscription, SubscriptionRequest,
};
use lessor_domain::time::{Day, Timestamp, add_months};
use uuid::Uuid;

use super::desk::{Desk, Entry, Opened, close, connection, query_doubt};
use super::methods;
use super::outcomes::{Outcomes, declined, unknown};
use crate::postgres::schema::simulated_invoices as invoices;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

/// Most subscriptions that are billed in one transaction.
const BATCH: i64 = 100;
/// Most invoices that are told at once.
const MOST_TOLD: i64 = 1_000;

const ACTIVE: &str = "active";
const CANCELLED: &str = "cancelled";
const COMPLETED: &str = "completed";

/// A payment that the simulated processor made, or failed to make, by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedInvoice {
    /// Its id; the same cycle has the same one, however often it is told.
    pub id: String,
    /// The checkout.
    pub checkout: CheckoutPubId,
    /// The subscription.
    pub subscription_id: String,
    /// Which of the subscription's payments it is, from 1.
    pub cycle: u32,
    /// The day on which it was due, UTC.
    pub due_on: Day,
    /// How much.
    pub amount: Money,
    /// Whether it was made.
    pub paid: bool,
    /// Why it was not.
    pub failure: Option<Refusal>,
}

impl SimulatedInvoice {
    /// The message that a processor would send of it. What a message does not say,
    /// why it failed, is [`failure`](Self::failure).
    #[must_use]
    pub fn event(&self) -> ProcessorEvent {
        let subscription_id = self.subscription_id.clone();
        let invoice_id = self.id.clone();
        let fact = if self.paid {
            ProcessorFact::InvoicePaid {
                subscription_id,
                invoice_id,
                amount: self.amount,
                first: self.cycle == 1,
            }
        } else {
            ProcessorFact::InvoiceFailed {
                subscription_id,
                invoice_id,
                attempts: 1,
                first: self.cycle == 1,
            }
        };
        ProcessorEvent {
            id: format!("evt_{}", self.id),
            at: self.due_on.and_time(NaiveTime::MIN).and_utc(),
            mode: Mode::Sandbox,
            about: OurIds {
                checkout: Some(self.checkout),
                ..OurIds::default()
            },
            fact,
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = subscriptions, check_for_backend(diesel::pg::Pg))]
struct Running {
    id: String,
    email: String,
    cycles: i32,
    anchor: Day,
    billed_cycles: i32,
    next_on: Day,
}

/// The day of the cycle, counted from the first one's, so that a day that a short
/// month lacks comes back in the next long one.
fn day_of(anchor: Day, cycle: i32) -> Result<Day, Doubt> {
    u32::try_from(cycle.saturating_sub(1))
        .ok()
        .and_then(|months| add_months(anchor, months))
        .ok_or_else(|| Doubt::failed("the subscription runs beyond the calendar"))
}

/// Starts the checkout's subscription, or answers the one that it has.
pub(super) async fn create(
    desk: &Desk,
    call: &Call,
    request: &SubscriptionRequest,
) -> Result<Answer<Subscription>, Doubt> {
    let parameters = [
        request.checkout.to_string(),
        request.monthly.minor().to_string(),
        request.monthly.currency().to_string(),
        request.months.to_string(),
    ];
    let answer = match desk.open(call, "createSubscription", &parameters).await? {
        Opened::Answered(answer) => answer,
        Opened::New(entry) => start(desk, entry, call, request).await?,
    };
    let id = match answer {
        Answer::Done(id) => id,
        Answer::Refused(refusal) => return Ok(Answer::Refused(refusal)),
    };
    of_checkout(desk, request.checkout)
        .await?
        .into_iter()
        .find(|subscription| subscription.id == id)
        .map(Answer::Done)
        .ok_or_else(|| Doubt::failed(format!("the subscription {id} is lost")))
}

async fn start(
    desk: &Desk,
    mut entry: Entry,
    call: &Call,
    request: &SubscriptionRequest,
) -> Result<Answer<String>, Doubt> {
    let customer = &request.customer;
    methods::push_customer(entry.connection()?, desk, customer, call.now).await?;
    let wanted = request.payment_method.as_deref();
    let method =
        match methods::of_customer(entry.connection()?, desk, customer.id, wanted, call.now).await?
        {
            Ok(method) => method,
            Err(refusal) => return entry.close(Answer::Refused(refusal)).await,
        };
    let id = desk.id("sub");
    let anchor = call.now.date_naive();
    let started = diesel::insert_into(subscriptions::table)
        .values((
            subscriptions::id.eq(&id),
            subscriptions::checkout_id.eq(request.checkout.as_uuid()),
            subscriptions::email.eq(&customer.email),
            subscriptions::payment_method_id.eq(&method.id),
            subscriptions::amount_minor.eq(request.monthly.minor()),
            subscriptions::currency.eq(request.monthly.currency().code()),
            subscriptions::cycles.eq(i32::from(request.months.get())),
            subscriptions::anchor.eq(anchor),
            subscriptions::billed_cycles.eq(1),
            subscriptions::next_on.eq(day_of(anchor, 2)?),
            subscriptions::status.eq(ACTIVE),
            subscriptions::created_at.eq(call.now),
        ))
        .on_conflict(subscriptions::checkout_id)
        .do_nothing()
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    if started == 0 {
        let existing: String = subscriptions::table
            .filter(subscriptions::checkout_id.eq(request.checkout.as_uuid()))
            .select(subscriptions::id)
            .first(entry.connection()?)
            .await
            .map_err(query_doubt)?;
        return entry.close(Answer::Done(existing)).await;
    }
    // The first payment is told with the answer.
    bill(entry.connection()?, desk, &id, 1, anchor, None, call.now).await?;
    diesel::update(invoices::table.filter(invoices::subscription_id.eq(&id)))
        .set(invoices::told_at.eq(call.now))
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Answer::Done(id)).await
}

async fn bill(
    connection: &mut AsyncPgConnection,
    desk: &Desk,
    subscription: &str,
    cycle: i32,
    due_on: Day,
    failure: Option<&Refusal>,
    now: Timestamp,
) -> Result<(), Doubt> {
    diesel::insert_into(invoices::table)
        .values((
            invoices::id.eq(desk.id("in")),
            invoices::subscription_id.eq(subscription),
            invoices::cycle.eq(cycle),
            invoices::due_on.eq(due_on),
            invoices::paid.eq(failure.is_none()),
            invoices::failure_code.eq(failure.map(|failure| failure.code.as_str())),
            invoices::failure_message.eq(failure.map(|failure| failure.message.as_str())),
            invoices::billed_at.eq(now),
        ))
        .on_conflict((invoices::subscription_id, invoices::cycle))
        .do_nothing()
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// Ends a subscription at once; one that has ended stays as it is.
pub(super) async fn cancel(desk: &Desk, call: &Call, id: &str) -> Result<Answer<()>, Doubt> {
    let answer = match desk
        .open(call, "cancelSubscription", &[id.to_owned()])
        .await?
    {
        Opened::Answered(answer) => answer,
        Opened::New(mut entry) => {
            let status: Option<String> = subscriptions::table
                .find(id)
                .select(subscriptions::status)
                .for_update()
                .first(entry.connection()?)
                .await
                .optional()
                .map_err(query_doubt)?;
            match status.as_deref() {
                None => {
                    entry
                        .close(Answer::Refused(unknown("subscription", id)))
                        .await?
                }
                Some(ACTIVE) => {
                    end(entry.connection()?, id, CANCELLED, call.now).await?;
                    entry.close(Answer::Done(id.to_owned())).await?
                }
                Some(_) => entry.close(Answer::Done(id.to_owned())).await?,
            }
        }
    };
    Ok(match answer {
        Answer::Done(_) => Answer::Done(()),
        Answer::Refused(refusal) => Answer::Refused(refusal),
    })
}

async fn end(
    connection: &mut AsyncPgConnection,
    id: &str,
    status: &str,
    at: Timestamp,
) -> Result<(), Doubt> {
    diesel::update(subscriptions::table.find(id))
        .set((
            subscriptions::status.eq(status),
            subscriptions::ended_at.eq(at),
        ))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// The checkout's subscriptions: one at the most.
pub(super) async fn of_checkout(
    desk: &Desk,
    checkout: CheckoutPubId,
) -> Result<Vec<Subscription>, Doubt> {
    let mut work = desk.begin().await?;
    let found: Vec<(String, Day, String, String, bool)> = subscriptions::table
        .inner_join(invoices::table.on(invoices::subscription_id.eq(subscriptions::id)))
        .filter(subscriptions::checkout_id.eq(checkout.as_uuid()))
        .filter(invoices::cycle.eq(1))
        .select((
            subscriptions::id,
            subscriptions::anchor,
            subscriptions::status,
            invoices::id,
            invoices::paid,
        ))
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    Ok(found
        .into_iter()
        .map(|(id, start, status, invoice, paid)| Subscription {
            id,
            start,
            first_invoice_id: Some(invoice),
            first_payment_paid: paid,
            first_payment_failure: (!paid).then(declined),
            ended: status != ACTIVE,
        })
        .collect())
}

/// Why the payment of this invoice failed.
pub(super) async fn failure_of(desk: &Desk, invoice: &str) -> Result<Option<Refusal>, Doubt> {
    let mut work = desk.begin().await?;
    let found: Option<(Option<String>, Option<String>)> = invoices::table
        .find(invoice)
        .select((invoices::failure_code, invoices::failure_message))
        .first(connection(&mut work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    close(work).await?;
    Ok(match found {
        Some((Some(code), Some(message))) => Some(Refusal { code, message }),
        _ => None,
    })
}

/// Bills every cycle that has come, each once, however many do so at a time; a
/// subscription whose cycles are all billed is completed a month after the last.
async fn bill_due(desk: &Desk, now: Timestamp) -> Result<(), Doubt> {
    let today = now.date_naive();
    loop {
        let mut work = desk.begin().await?;
        let due: Vec<Running> = subscriptions::table
            .filter(subscriptions::status.eq(ACTIVE))
            .filter(subscriptions::next_on.le(today))
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
            while running.next_on <= today && running.billed_cycles < running.cycles {
                let cycle = running.billed_cycles.saturating_add(1);
                let failure = Outcomes::of(&running.email)
                    .payment_fails(cycle)
                    .then(declined);
                bill(
                    connection(&mut work)?,
                    desk,
                    &running.id,
                    cycle,
                    running.next_on,
                    failure.as_ref(),
                    now,
                )
                .await?;
                running.billed_cycles = cycle;
                running.next_on = day_of(running.anchor, cycle.saturating_add(1))?;
            }
            diesel::update(subscriptions::table.find(&running.id))
                .set((
                    subscriptions::billed_cycles.eq(running.billed_cycles),
                    subscriptions::next_on.eq(running.next_on),
                ))
                .execute(connection(&mut work)?)
                .await
                .map_err(query_doubt)?;
            if running.next_on <= today {
                end(connection(&mut work)?, &running.id, COMPLETED, now).await?;
            }
        }
        close(work).await?;
    }
}

/// Bills what is due and answers what Lessor was not told yet, oldest first.
pub(super) async fn due(desk: &Desk, now: Timestamp) -> Result<Vec<SimulatedInvoice>, Doubt> {
    bill_due(desk, now).await?;
    let mut work = desk.begin().await?;
    let untold: Vec<InvoiceRow> = invoices::table
        .inner_join(subscriptions::table.on(subscriptions::id.eq(invoices::subscription_id)))
        .filter(invoices::told_at.is_null())
        .order((invoices::due_on, invoices::id))
        .limit(MOST_TOLD)
        .select(InvoiceRow::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    untold.into_iter().map(InvoiceRow::into_invoice).collect()
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = invoices, check_for_backend(diesel::pg::Pg))]
struct InvoiceRow {
    id: String,
    subscription_id: String,
    cycle: i32,
    due_on: Day,
    paid: bool,
    failure_code: Option<String>,
    failure_message: Option<String>,
    #[diesel(select_expression = subscriptions::checkout_id)]
    checkout_id: Uuid,
    #[diesel(select_expression = subscriptions::amount_minor)]
    amount_minor: i64,
    #[diesel(select_expression = subscriptions::currency)]
    currency: String,
}

impl InvoiceRow {
    fn into_invoice(self) -> Result<SimulatedInvoice, Doubt> {
        let unreadable = || format!("the invoice {} cannot be read", self.id);
        let currency: Currency = self
            .currency
            .parse()
            .map_err(|error: CurrencyError| Doubt::failed(tried(unreadable(), error)))?;
        let cycle =
            u32::try_from(self.cycle).map_err(|error| Doubt::failed(tried(unreadable(), error)))?;
        let failure = match (self.failure_code, self.failure_message) {
            (Some(code), Some(message)) => Some(Refusal { code, message }),
            _ => None,
        };
        Ok(SimulatedInvoice {
            cycle,
            id: self.id,
            checkout: CheckoutPubId::from_uuid(self.checkout_id),
            subscription_id: self.subscription_id,
            due_on: self.due_on,
            amount: Money::from_minor(self.amount_minor, currency),
            paid: self.paid,
            failure,
        })
    }
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
