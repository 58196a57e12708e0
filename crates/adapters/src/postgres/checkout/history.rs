//! What happened to a checkout: its moves, and the invoices of its subscription.

use diesel::dsl::max;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, SingleValue, SqlType};
use diesel::upsert::excluded;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::{PaymentFailure, Transition};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{InvoiceNews, InvoiceOutcome, InvoiceTally, Stamped, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::{Place, counted};
use crate::postgres::error::store_error;
use crate::postgres::schema::{checkout_invoices, checkout_transitions};

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

#[derive(Insertable)]
#[diesel(table_name = checkout_invoices, treat_none_as_default_value = false)]
struct InvoiceRow<'a> {
    checkout_id: Uuid,
    invoice_id: &'a str,
    paid: bool,
    failed_attempts: i32,
    failure_code: Option<&'a str>,
    failure_message: Option<&'a str>,
    at: Timestamp,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = checkout_invoices, check_for_backend(diesel::pg::Pg))]
struct KnownInvoice {
    paid: bool,
    failed_attempts: i32,
    failure_code: Option<String>,
    failure_message: Option<String>,
    at: Timestamp,
}

#[diesel::declare_sql_function]
extern "SQL" {
    fn coalesce<T: SqlType + SingleValue>(x: Nullable<T>, y: T) -> T;
}

/// Adds to the history. The checkout's row is locked by whoever moved it.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    id: CheckoutPubId,
    transitions: &[Transition],
) -> Result<(), StoreError> {
    for transition in transitions {
        let last = checkout_transitions::table
            .filter(checkout_transitions::checkout_id.eq(id.as_uuid()))
            .select(max(checkout_transitions::sequence))
            .single_value();
        diesel::insert_into(checkout_transitions::table)
            .values((
                checkout_transitions::checkout_id.eq(id.as_uuid()),
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
    id: CheckoutPubId,
) -> Result<Vec<Stamped>, StoreError> {
    let rows = checkout_transitions::table
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
            Ok(Stamped {
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

/// Takes in the news of an invoice and tells what all of them come to.
pub(super) async fn record_invoice(
    connection: &mut AsyncPgConnection,
    id: CheckoutPubId,
    news: &InvoiceNews,
) -> Result<InvoiceTally, StoreError> {
    use checkout_invoices as c;
    let (paid, attempts, refusal) = match &news.outcome {
        InvoiceOutcome::Paid => (true, 0, None),
        InvoiceOutcome::Failed { attempts, refusal } => (false, *attempts, Some(refusal)),
    };
    let row = InvoiceRow {
        checkout_id: id.as_uuid(),
        invoice_id: &news.invoice_id,
        paid,
        failed_attempts: counted(attempts)?,
        failure_code: refusal.map(|refusal| refusal.code.as_str()),
        failure_message: refusal.map(|refusal| refusal.message.as_str()),
        at: news.at,
    };
    let write = diesel::insert_into(c::table)
        .values(&row)
        .on_conflict((c::checkout_id, c::invoice_id))
        .do_update()
        .set((
            c::paid.eq(excluded(c::paid)),
            c::failed_attempts.eq(excluded(c::failed_attempts)),
            c::failure_code.eq(excluded(c::failure_code)),
            c::failure_message.eq(excluded(c::failure_message)),
            c::at.eq(excluded(c::at)),
        ));
    let is_news = c::paid.eq(false).and(
        excluded(c::paid)
            .eq(true)
            .or(excluded(c::failed_attempts).gt(c::failed_attempts)),
    );
    // Named in full: two traits have a method of this name.
    diesel::query_dsl::methods::FilterDsl::filter(write, is_news)
        .execute(connection)
        .await
        .map_err(store_error)?;
    let known = c::table
        .filter(c::checkout_id.eq(id.as_uuid()))
        .order((c::at, c::invoice_id))
        .select(KnownInvoice::as_select())
        .load(connection)
        .await
        .map_err(store_error)?;
    let at = Place::new("checkout_invoices", &id);
    let mut tally = InvoiceTally::default();
    for invoice in known {
        if invoice.paid {
            tally.paid = tally.paid.saturating_add(1);
            continue;
        }
        let attempts = at.count("failed_attempts", invoice.failed_attempts)?;
        tally.failed_attempts = tally.failed_attempts.saturating_add(attempts);
        let (Some(code), Some(message)) = (invoice.failure_code, invoice.failure_message) else {
            return Err(at.corrupt("failure_code", "is missing from an invoice that failed"));
        };
        tally.last_failure = Some(PaymentFailure {
            message,
            code,
            at: invoice.at,
        });
    }
    Ok(tally)
}
