//! Refunds: of deposits that were captured, and of months that were paid.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ledger::{Refund, RefundState};
use lessor_domain::money::Money;
use lessor_domain::ports::{Attempt, Doubt, Verdict};
use lessor_domain::time::Timestamp;

use super::deposits::unexpected_state;
use super::desk::{Desk, Entry, Opening, close, connection, money, query_doubt};
use super::email_tags::{refusal, unknown};
use super::invoices::with_subscriptions;
use crate::postgres::PgUnitOfWork;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::simulated_invoices as invoices;
use crate::postgres::schema::simulated_payment_intents as intents;
use crate::postgres::schema::simulated_refunds as refunds;
use crate::postgres::schema::simulated_subscriptions as subscriptions;

/// What is kept of a call that found nothing left.
const NOTHING: &str = "";

/// A payment, of a deposit or of an invoice: its status, amount and currency.
type Paid = (String, i64, String);

/// Pays back so much of a payment, or what is left of it.
pub(super) async fn refund(
    desk: &Desk,
    attempt: &Attempt,
    payment: &str,
    at_most: Money,
) -> Result<Verdict<Option<Refund>>, Doubt> {
    // What is owed by now may be less than at the first try: the work is the same.
    let answer = match desk.open(attempt, "refund", &[payment.to_owned()]).await? {
        Opening::Answered(answer) => answer,
        Opening::New(entry) => try_refund(desk, entry, attempt, payment, at_most).await?,
    };
    match answer {
        Verdict::Refused(refusal) => Ok(Verdict::Refused(refusal)),
        Verdict::Done(id) if id == NOTHING => Ok(Verdict::Done(None)),
        Verdict::Done(id) => {
            let made = known(desk, attempt.organization_id, id).await?;
            Ok(Verdict::Done(Some(made)))
        }
    }
}

async fn try_refund(
    desk: &Desk,
    mut entry: Entry,
    attempt: &Attempt,
    payment: &str,
    at_most: Money,
) -> Result<Verdict<String>, Doubt> {
    let Some((status, amount, currency)) = locked(entry.work(), payment).await? else {
        let refusal = unknown("payment", payment);
        return entry.close(Verdict::Refused(refusal)).await;
    };
    if !matches!(status.as_str(), "captured" | "paid") {
        let refusal = unexpected_state(payment, &status, "refunded");
        return entry.close(Verdict::Refused(refusal)).await;
    }
    if at_most.currency().code() != currency {
        let refusal = refusal("invalid_amount", "The payment is of another currency.");
        return entry.close(Verdict::Refused(refusal)).await;
    }
    let refunded: Vec<i64> = refunds::table
        .filter(refunds::organization_id.eq(entry.owner()))
        .filter(refunds::payment_intent_id.eq(payment))
        .select(refunds::amount_minor)
        .load(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    let left = refunded.into_iter().fold(amount, i64::saturating_sub);
    let paid_back = at_most.minor().min(left);
    if paid_back < 1 {
        return entry.close(Verdict::Done(NOTHING.to_owned())).await;
    }
    let id = desk.id("re");
    diesel::insert_into(refunds::table)
        .values((
            refunds::id.eq(&id),
            refunds::payment_intent_id.eq(payment),
            refunds::amount_minor.eq(paid_back),
            refunds::currency.eq(currency),
            refunds::created_at.eq(attempt.now),
        ))
        .kept()
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Verdict::Done(id)).await
}

/// The payment, locked, so that two refunds of it come one after the other.
async fn locked(work: &mut PgUnitOfWork, payment: &str) -> Result<Option<Paid>, Doubt> {
    let deposit: Option<Paid> = intents::table
        .find((work.owner(), payment))
        .select((intents::status, intents::amount_minor, intents::currency))
        .for_update()
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    if deposit.is_some() {
        return Ok(deposit);
    }
    with_subscriptions(work.owner())
        .filter(invoices::payment_intent_id.eq(payment))
        .select((
            invoices::status,
            subscriptions::amount_minor,
            subscriptions::currency,
        ))
        .for_update()
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn known(desk: &Desk, organization: OrganizationId, id: String) -> Result<Refund, Doubt> {
    let mut work = desk.begin(organization).await?;
    let (payment_intent_id, amount, currency, at): (String, i64, String, Timestamp) =
        refunds::table
            .find((work.owner(), &id))
            .select((
                refunds::payment_intent_id,
                refunds::amount_minor,
                refunds::currency,
                refunds::created_at,
            ))
            .first(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
    close(work).await?;
    Ok(Refund {
        amount: money(&id, amount, &currency)?,
        id,
        payment_intent_id,
        state: RefundState::Succeeded,
        failure: None,
        at,
    })
}
