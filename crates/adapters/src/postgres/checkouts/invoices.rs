//! What is known of the invoices of a checkout's subscription.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::{InvoiceNews, InvoiceOutcome, Refusal};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::{Place, counted};
use crate::postgres::error::store_error;
use crate::postgres::schema::{checkout_invoices, checkouts};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_invoices, primary_key(organization_id, checkout_id, invoice_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
struct InvoiceRow {
    organization_id: i64,
    checkout_id: Uuid,
    invoice_id: String,
    paid: bool,
    failed_attempts: i32,
    failure_code: Option<String>,
    failure_message: Option<String>,
    at: Timestamp,
}

impl InvoiceRow {
    fn of(
        (organization_id, checkout_id): (i64, Uuid),
        news: &InvoiceNews,
    ) -> Result<Self, StoreError> {
        let (paid, attempts, refusal) = match news.outcome.clone() {
            InvoiceOutcome::Paid => (true, 0, None),
            InvoiceOutcome::Failed { attempts, refusal } => (false, attempts, Some(refusal)),
        };
        let (failure_code, failure_message) = refusal
            .map(|refusal| (refusal.code, refusal.message))
            .unzip();
        Ok(Self {
            organization_id,
            checkout_id,
            invoice_id: news.invoice_id.clone(),
            paid,
            failed_attempts: counted(attempts)?,
            failure_code,
            failure_message,
            at: news.at,
        })
    }

    fn read(self) -> Result<InvoiceNews, StoreError> {
        let at = Place::new("checkout_invoices", &self.invoice_id);
        let outcome = match (self.paid, self.failure_code, self.failure_message) {
            (true, None, None) => InvoiceOutcome::Paid,
            (false, Some(code), Some(message)) => InvoiceOutcome::Failed {
                attempts: at.count("failed_attempts", self.failed_attempts)?,
                refusal: Refusal { code, message },
            },
            _ => return Err(at.corrupt("failure_code", "comes with each invoice that failed")),
        };
        Ok(InvoiceNews {
            outcome,
            at: self.at,
            invoice_id: self.invoice_id,
        })
    }
}

/// Keeps the news in the place of what was known of the invoice.
pub(super) async fn put(
    connection: &mut AsyncPgConnection,
    checkout: (i64, Uuid),
    news: &InvoiceNews,
) -> Result<(), StoreError> {
    let row = InvoiceRow::of(checkout, news)?;
    diesel::insert_into(checkout_invoices::table)
        .values(&row)
        .on_conflict((
            checkout_invoices::organization_id,
            checkout_invoices::checkout_id,
            checkout_invoices::invoice_id,
        ))
        .do_update()
        .set(&row)
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(store_error)
}

/// What is known of each.
pub(super) async fn of(
    connection: &mut AsyncPgConnection,
    id: CheckoutPubId,
) -> Result<Vec<InvoiceNews>, StoreError> {
    let of_checkout = checkout_invoices::organization_id
        .eq(checkouts::organization_id)
        .and(checkout_invoices::checkout_id.eq(checkouts::id));
    let rows: Vec<InvoiceRow> = checkouts::table
        .inner_join(checkout_invoices::table.on(of_checkout))
        .filter(checkouts::id.eq(id.as_uuid()))
        .order((checkout_invoices::at, checkout_invoices::invoice_id))
        .select(InvoiceRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(InvoiceRow::read).collect()
}
