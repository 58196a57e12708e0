//! Invoices of subscriptions: made, paid, and what became of them.

use diesel::dsl::auto_type;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Invoice, InvoiceOutcome, Refusal};
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ledger::SubscriptionState;
use lessor_domain::ports::{Doubt, OurIds, ProcessorEvent, ProcessorFact};
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::desk::{Desk, close, connection, money, owner, query_doubt};
use super::email_tags::declined;
use crate::postgres::PgUnitOfWork;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::simulated_invoices as invoices;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

pub(super) const OPEN: &str = "open";
pub(super) const PAID: &str = "paid";
pub(super) const VOID: &str = "void";

/// What the simulated processor did by itself: a payment that it made, failed to make, or gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedInvoice {
    /// Its id; the same cycle has the same one, however often it is told.
    pub id: String,
    /// The lessor.
    pub organization_id: OrganizationId,
    pub checkout: CheckoutPubId,
    /// Which of the subscription's payments it is, from 1.
    pub cycle: u32,
    /// The day on which it was due, UTC.
    pub due_on: Day,
    pub invoice: Invoice,
    /// Why it was not paid.
    pub failure: Option<Refusal>,
}

impl SimulatedInvoice {
    /// The message that a processor would send of it. What a message does not say,
    /// why it failed, is [`failure`](Self::failure). With a first payment that was given up the
    /// subscription has ended.
    #[must_use]
    pub fn event(&self) -> ProcessorEvent {
        let fact = if self.invoice.outcome == InvoiceOutcome::Void {
            ProcessorFact::Subscription {
                subscription_id: self.invoice.subscription_id.clone(),
                state: SubscriptionState::Ended,
                ends_at: None,
            }
        } else {
            ProcessorFact::Invoice(self.invoice.clone())
        };
        ProcessorEvent {
            id: format!("evt_{}", self.id),
            at: self.invoice.at,
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
#[diesel(table_name = invoices, check_for_backend(diesel::pg::Pg))]
pub(super) struct Row {
    organization_id: i64,
    id: String,
    subscription_id: String,
    cycle: i32,
    due_on: Day,
    payment_intent_id: String,
    status: String,
    attempts: i32,
    failure_code: Option<String>,
    failure_message: Option<String>,
    since: Timestamp,
    #[diesel(select_expression = subscriptions::checkout_id)]
    checkout_id: Uuid,
    #[diesel(select_expression = subscriptions::amount_minor)]
    amount_minor: i64,
    #[diesel(select_expression = subscriptions::currency)]
    currency: String,
}

impl Row {
    pub(super) fn into_invoice(self) -> Result<SimulatedInvoice, Doubt> {
        let counted = |number: i32| u32::try_from(number).map_err(Doubt::failed);
        let failure = match (self.failure_code, self.failure_message) {
            (Some(code), Some(message)) => Some(Refusal { code, message }),
            _ => None,
        };
        let outcome = match self.status.as_str() {
            PAID => InvoiceOutcome::Paid,
            VOID => InvoiceOutcome::Void,
            _ => InvoiceOutcome::Failed {
                attempts: counted(self.attempts)?,
                refusal: failure.clone().unwrap_or_else(declined),
            },
        };
        Ok(SimulatedInvoice {
            organization_id: owner(self.organization_id)?,
            checkout: CheckoutPubId::from_uuid(self.checkout_id),
            cycle: counted(self.cycle)?,
            due_on: self.due_on,
            failure,
            invoice: Invoice {
                amount: money(&self.id, self.amount_minor, &self.currency)?,
                id: self.id.clone(),
                subscription_id: self.subscription_id,
                payment_intent_id: Some(self.payment_intent_id),
                is_cycle: true,
                outcome,
                at: self.since,
            },
            id: self.id,
        })
    }
}

/// The organization's invoices with the subscriptions that they are of.
#[auto_type]
pub(super) fn with_subscriptions(organization: i64) -> _ {
    invoices::table
        .inner_join(
            subscriptions::table.on(subscriptions::organization_id
                .eq(invoices::organization_id)
                .and(subscriptions::id.eq(invoices::subscription_id))),
        )
        .filter(invoices::organization_id.eq(organization))
}

/// A cycle that is to be billed.
pub(super) struct Cycle<'a> {
    pub(super) subscription: &'a str,
    pub(super) number: i32,
    pub(super) due_on: Day,
    pub(super) failure: Option<Refusal>,
    pub(super) at: Timestamp,
    /// When Lessor is told of it, if that is with the answer.
    pub(super) told_at: Option<Timestamp>,
}

/// Bills a cycle, once.
pub(super) async fn bill(
    work: &mut PgUnitOfWork,
    desk: &Desk,
    cycle: Cycle<'_>,
) -> Result<(), Doubt> {
    let failure = cycle.failure.as_ref();
    let status = if failure.is_none() { PAID } else { OPEN };
    diesel::insert_into(invoices::table)
        .values((
            invoices::id.eq(desk.id("in")),
            invoices::subscription_id.eq(cycle.subscription),
            invoices::cycle.eq(cycle.number),
            invoices::due_on.eq(cycle.due_on),
            invoices::payment_intent_id.eq(desk.id("pi")),
            invoices::status.eq(status),
            invoices::attempts.eq(1),
            invoices::failure_code.eq(failure.map(|failure| failure.code.as_str())),
            invoices::failure_message.eq(failure.map(|failure| failure.message.as_str())),
            invoices::since.eq(cycle.at),
            invoices::told_at.eq(cycle.told_at),
        ))
        .on_conflict((
            invoices::organization_id,
            invoices::subscription_id,
            invoices::cycle,
        ))
        .do_nothing()
        .kept()
        .execute(connection(work)?)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// The open invoices of the subscription are paid.
pub(super) async fn settle(
    work: &mut PgUnitOfWork,
    subscription: &str,
    now: Timestamp,
) -> Result<(), Doubt> {
    let open = invoices::table
        .filter(invoices::organization_id.eq(work.owner()))
        .filter(invoices::subscription_id.eq(subscription))
        .filter(invoices::status.eq(OPEN));
    diesel::update(open)
        .set((
            invoices::status.eq(PAID),
            invoices::failure_code.eq(None::<String>),
            invoices::failure_message.eq(None::<String>),
            invoices::since.eq(now),
            // It is told with the answer.
            invoices::told_at.eq(now),
        ))
        .execute(connection(work)?)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// The subscription's oldest open invoice was tried once more, without success. False when none
/// is open.
pub(super) async fn fail(
    work: &mut PgUnitOfWork,
    subscription: &str,
    refusal: &Refusal,
    now: Timestamp,
) -> Result<bool, Doubt> {
    let oldest: Option<String> = invoices::table
        .filter(invoices::organization_id.eq(work.owner()))
        .filter(invoices::subscription_id.eq(subscription))
        .filter(invoices::status.eq(OPEN))
        .order(invoices::cycle)
        .select(invoices::id)
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    let Some(id) = oldest else { return Ok(false) };
    diesel::update(invoices::table.find((work.owner(), id)))
        .set((
            invoices::attempts.eq(invoices::attempts + 1),
            invoices::failure_code.eq(&refusal.code),
            invoices::failure_message.eq(&refusal.message),
            invoices::since.eq(now),
        ))
        .kept()
        .execute(connection(work)?)
        .await
        .map_err(query_doubt)?;
    Ok(true)
}

/// All invoices of the subscription, oldest first.
pub(super) async fn of(work: &mut PgUnitOfWork, subscription: &str) -> Result<Vec<Invoice>, Doubt> {
    let rows: Vec<Row> = with_subscriptions(work.owner())
        .filter(invoices::subscription_id.eq(subscription))
        .order(invoices::cycle)
        .select(Row::as_select())
        .load(connection(work)?)
        .await
        .map_err(query_doubt)?;
    rows.into_iter()
        .map(|row| row.into_invoice().map(|told| told.invoice))
        .collect()
}

/// Why the payment of this invoice failed.
pub(super) async fn failure_of(
    desk: &Desk,
    organization: OrganizationId,
    invoice: &str,
) -> Result<Option<Refusal>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let found: Option<(Option<String>, Option<String>)> = invoices::table
        .find((work.owner(), invoice))
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

/// Whose invoice the payment pays.
pub(super) async fn owner_of_payment(
    desk: &Desk,
    payment: &str,
) -> Result<Option<OrganizationId>, Doubt> {
    let mut work = desk.begin_errand().await?;
    let known: Option<i64> = invoices::table
        .filter(invoices::payment_intent_id.eq(payment))
        .select(invoices::organization_id)
        .first(connection(&mut work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    close(work).await?;
    known.map(owner).transpose()
}

/// The invoice that the payment pays.
pub(super) async fn of_payment(
    desk: &Desk,
    organization: OrganizationId,
    payment: &str,
) -> Result<Option<Invoice>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let row: Option<Row> = with_subscriptions(work.owner())
        .filter(invoices::payment_intent_id.eq(payment))
        .select(Row::as_select())
        .first(connection(&mut work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    close(work).await?;
    row.map(|row| row.into_invoice().map(|told| told.invoice))
        .transpose()
}
