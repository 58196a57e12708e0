//! Invoices of subscriptions: what they come to, and why they failed.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{Invoice, InvoiceOutcome, Refusal};
use lessor_domain::ports::Doubt;
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, refusal};
use super::wire::{Expandable, Page};
use super::wire_billing::{self as wire, InvoicePayment};
use super::{amount, lists};

/// What is read of each invoice of a list along with it.
pub(super) const EACH_WITH_PAYMENTS: [&str; 1] = ["data.payments"];
/// The invoices that are for a month of the term: the first, and those of each further period.
const CYCLES: [&str; 2] = ["subscription_create", "subscription_cycle"];

#[derive(Serialize)]
struct InvoicesOf<'a> {
    subscription: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct PaymentsOf<'a> {
    invoice: &'a str,
    limit: u8,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct InvoicesPaidBy<'a> {
    payment: PaidBy<'a>,
    limit: u8,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct PaidBy<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    payment_intent: &'a str,
}

/// All invoices of the subscription, oldest first, with the reason where one failed.
pub(super) async fn of(
    client: &Client,
    mode: Mode,
    subscription: &str,
) -> Result<Vec<Invoice>, Doubt> {
    let mut invoices = Vec::new();
    for invoice in list(client, mode, subscription, None).await? {
        let Some(mut invoice) = known(&invoice, None).map_err(Doubt::failed)? else {
            continue;
        };
        if let InvoiceOutcome::Failed { refusal, .. } = &mut invoice.outcome
            && let Some(told) = payment_failure(client, mode, &invoice.id).await?
        {
            *refusal = told;
        }
        invoices.push(invoice);
    }
    Ok(invoices)
}

/// Why the invoice was not paid the last time.
pub(super) async fn payment_failure(
    client: &Client,
    mode: Mode,
    invoice: &str,
) -> Result<Option<Refusal>, CallError> {
    let query = PaymentsOf {
        invoice,
        limit: 100,
        expand: ["data.payment.payment_intent"],
    };
    let page: Page<InvoicePayment> = client.get(mode, &["invoice_payments"], &query).await?;
    let error = page.data.iter().find_map(|paid| {
        let intent = paid.payment.payment_intent.as_ref()?.object()?;
        intent.last_payment_error.as_ref()
    });
    Ok(error.map(|error| refusal(Some(error))))
}

/// The invoice of a subscription that the payment pays.
pub(super) async fn of_payment(
    client: &Client,
    mode: Mode,
    payment_intent: &str,
) -> Result<Option<Invoice>, Doubt> {
    let query = InvoicesPaidBy {
        payment: PaidBy {
            kind: "payment_intent",
            payment_intent,
        },
        limit: 1,
        expand: ["data.invoice"],
    };
    let page: Page<InvoicePayment> = match client.get(mode, &["invoice_payments"], &query).await {
        // No such payment pays none.
        Err(CallError::Api(error)) if error.is_missing() => return Ok(None),
        other => other?,
    };
    let paid = page.data.into_iter().next();
    let invoice = paid.and_then(|paid| paid.invoice);
    let Some(invoice) = invoice.as_ref().and_then(Expandable::object) else {
        return Ok(None);
    };
    let invoice = known(invoice, None).map_err(Doubt::failed)?;
    Ok(invoice.map(|invoice| Invoice {
        payment_intent_id: Some(payment_intent.to_owned()),
        ..invoice
    }))
}

/// The invoice as the domain knows it; none when no subscription made it. Failures are as of `at`,
/// where that is known.
///
/// # Errors
/// What it holds that is not known here.
pub(super) fn known(
    invoice: &wire::Invoice,
    at: Option<Timestamp>,
) -> Result<Option<Invoice>, String> {
    let Some(subscription_id) = invoice.subscription_id() else {
        return Ok(None);
    };
    let moved = invoice.status_transitions.unwrap_or_default();
    let (outcome, since) = match invoice.status.as_deref() {
        Some("paid") => (InvoiceOutcome::Paid, moved.paid_at),
        Some("void") => (InvoiceOutcome::Void, moved.voided_at),
        Some("uncollectible") => (InvoiceOutcome::Void, moved.marked_uncollectible_at),
        Some("open") if invoice.attempt_count > 0 => {
            let failed = InvoiceOutcome::Failed {
                attempts: invoice.attempt_count,
                refusal: refusal(None),
            };
            (failed, at.map(|at| at.timestamp()).or(moved.finalized_at))
        }
        Some("draft" | "open") | None => (InvoiceOutcome::Open, moved.finalized_at),
        Some(other) => return Err(format!("the invoice {} is {other}", invoice.id)),
    };
    let units = match outcome {
        InvoiceOutcome::Paid => invoice.amount_paid,
        _ => invoice.amount_due,
    };
    let amount = amount::from_processor(units, &invoice.currency).ok_or_else(|| {
        format!(
            "the invoice {} is of {units} {}",
            invoice.id, invoice.currency
        )
    })?;
    let seconds = since.unwrap_or(invoice.created);
    let at = Timestamp::from_timestamp(seconds, 0)
        .ok_or_else(|| format!("the invoice {} is of the time {seconds}", invoice.id))?;
    Ok(Some(Invoice {
        id: invoice.id.clone(),
        subscription_id: subscription_id.to_owned(),
        payment_intent_id: invoice.payment_intent_id().map(ToOwned::to_owned),
        amount,
        is_cycle: is_cycle(invoice) && units > 0,
        outcome,
        at,
    }))
}

/// Whether it is for a whole month: not by hand, not for a change, not only for a part of a month.
fn is_cycle(invoice: &wire::Invoice) -> bool {
    let reason = invoice.billing_reason.as_deref();
    let lines = invoice.lines.as_ref().map(|page| page.data.as_slice());
    reason.is_some_and(|reason| CYCLES.contains(&reason))
        && lines.is_none_or(|lines| lines.iter().any(|line| !line.is_proration()))
}

/// The subscription's invoices, oldest first.
pub(super) async fn list(
    client: &Client,
    mode: Mode,
    subscription: &str,
    status: Option<&'static str>,
) -> Result<Vec<wire::Invoice>, CallError> {
    let query = InvoicesOf {
        subscription,
        status,
        expand: EACH_WITH_PAYMENTS,
    };
    let mut all: Vec<wire::Invoice> = lists::all(client, mode, &["invoices"], &query).await?;
    all.reverse();
    Ok(all)
}
