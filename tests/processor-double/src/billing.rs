//! Invoices of subscriptions: made, charged, charged again.

use serde_json::{Value, json};

use crate::cards::{Decline, Use};
use crate::payments;
use crate::schedule::What;
use crate::store::{World, list, number, text};

/// How long an invoice of a new period waits before it is finalized, seconds.
const DRAFT: i64 = 3_600;
/// When an unpaid invoice is charged again, seconds after the try before.
const RETRIES: [i64; 3] = [3 * 86_400, 5 * 86_400, 7 * 86_400];

/// A period of a subscription that is to be paid.
pub(crate) struct Period {
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) amount: i64,
    pub(crate) prorated: bool,
}

/// The invoice that a subscription starts with, not charged yet.
pub(crate) fn first_invoice(world: &mut World, subscription: &Value, period: &Period) -> String {
    let id = new_invoice(world, subscription, period, "subscription_create");
    open(world, &id);
    id
}

/// The invoice of a further period.
pub(crate) fn next_invoice(world: &mut World, subscription: &Value, period: &Period) {
    let id = new_invoice(world, subscription, period, "subscription_cycle");
    world.set(text(subscription, "id"), json!({ "latest_invoice": id }));
    world.schedule(world.now + DRAFT, What::Finalize, &id);
}

/// Finalizes a draft and charges it.
pub(crate) fn finalize(world: &mut World, id: &str) {
    if is(world, id, "draft") && !has_ended(world, id) {
        open(world, id);
        let _paid = pay(world, id, None);
    }
}

/// Charges an invoice that was not paid.
pub(crate) fn retry(world: &mut World, id: &str) {
    if is(world, id, "open") && !has_ended(world, id) {
        let _paid = pay(world, id, None);
    }
}

/// What the subscription's bank would say of a charge now.
pub(crate) fn outlook(world: &World, subscription: &Value) -> Result<String, Option<Decline>> {
    let method = paying(world, subscription).ok_or(None)?;
    match payments::charge_of(world, &method) {
        Use::Works => Ok(method),
        Use::Declined(decline) => Err(Some(decline)),
        Use::Authenticate => Err(Some(Decline::AUTHENTICATION_REQUIRED)),
    }
}

/// Charges an open invoice, to this method or to the subscription's.
pub(crate) fn pay(world: &mut World, id: &str, method: Option<&str>) -> Result<(), Decline> {
    let invoice = world.find("invoice", id).unwrap_or_default();
    let subscription_id = subscription_of(&invoice).to_owned();
    let subscription = world
        .find("subscription", &subscription_id)
        .unwrap_or_default();
    let outlook = match method {
        None => outlook(world, &subscription),
        Some(method) => match payments::charge_of(world, method) {
            Use::Works => Ok(method.to_owned()),
            Use::Declined(decline) => Err(Some(decline)),
            Use::Authenticate => Err(Some(Decline::AUTHENTICATION_REQUIRED)),
        },
    };
    let attempts = number(&invoice, "attempt_count") + 1;
    let paying = paying(world, &subscription);
    let intent_id = payment_of(world, &invoice, paying.as_deref());
    match outlook {
        Ok(method) => {
            let intent = world.set(&intent_id, json!({ "payment_method": method }));
            let charge = payments::charge(world, &intent, true, true);
            let intent = world.set(
                &intent_id,
                json!({
                    "status": "succeeded", "latest_charge": charge, "last_payment_error": null,
                    "amount_received": intent["amount"]
                }),
            );
            world.emit("payment_intent.succeeded", &intent);
            let paid = world.set(
                id,
                json!({
                    "status": "paid", "amount_paid": invoice["amount_due"], "amount_remaining": 0,
                    "attempt_count": attempts, "attempted": true, "next_payment_attempt": null,
                    "status_transitions": { "paid_at": world.now }
                }),
            );
            settle_payment(world, id, "paid", number(&invoice, "amount_due"));
            world.emit("invoice.paid", &paid);
            world.emit("invoice.payment_succeeded", &paid);
            become_status(world, &subscription_id, "active");
            Ok(())
        }
        Err(decline) => {
            let decline = decline.unwrap_or(Decline::GENERIC);
            let intent = world.find("payment_intent", &intent_id).unwrap_or_default();
            let charge = payments::failed_charge(world, &intent, decline);
            let intent = world.set(
                &intent_id,
                json!({
                    "status": "requires_payment_method", "latest_charge": charge,
                    "last_payment_error": decline.member()
                }),
            );
            world.emit("payment_intent.payment_failed", &intent);
            let next = usize::try_from(attempts - 1)
                .ok()
                .and_then(|tries| RETRIES.get(tries))
                .map(|pause| world.now + pause);
            let first = invoice["billing_reason"] == "subscription_create";
            let next = next.filter(|_| !first);
            let failed = world.set(
                id,
                json!({ "attempt_count": attempts, "attempted": true, "next_payment_attempt": next }),
            );
            world.emit("invoice.payment_failed", &failed);
            let status = if first { "incomplete" } else { "past_due" };
            become_status(world, &subscription_id, status);
            if let Some(at) = next {
                world.schedule(at, What::Retry, id);
            }
            Err(decline)
        }
    }
}

/// The subscription that made the invoice.
pub(crate) fn subscription_of(invoice: &Value) -> &str {
    invoice["parent"]["subscription_details"]["subscription"]
        .as_str()
        .unwrap_or_default()
}

/// The subscription gets another status, and says so.
pub(crate) fn become_status(world: &mut World, id: &str, status: &str) {
    let before = world.find("subscription", id).unwrap_or_default();
    let over = matches!(text(&before, "status"), "canceled" | "incomplete_expired");
    if before["status"] != status && !over {
        world.set(id, json!({ "status": status }));
        world.emit_of("customer.subscription.updated", id);
    }
}

fn paying(world: &World, subscription: &Value) -> Option<String> {
    let own = subscription["default_payment_method"].as_str();
    let customer = world.any(text(subscription, "customer"));
    let usual = customer
        .and_then(|customer| customer["invoice_settings"]["default_payment_method"].as_str());
    own.or(usual).map(ToOwned::to_owned)
}

fn new_invoice(world: &mut World, subscription: &Value, period: &Period, reason: &str) -> String {
    let id = world.new_id("in");
    let line = world.new_id("il");
    let details = json!({
        "metadata": subscription["metadata"], "subscription": subscription["id"]
    });
    let invoice = world.make(
        "invoice",
        &id,
        json!({
            "customer": subscription["customer"], "currency": subscription["currency"],
            "amount_due": period.amount, "amount_paid": 0, "amount_remaining": period.amount,
            "total": period.amount, "subtotal": period.amount, "attempt_count": 0,
            "attempted": false, "billing_reason": reason, "collection_method": "charge_automatically",
            "lines": { "object": "list", "has_more": false, "url": format!("/v1/invoices/{id}/lines"), "data": [{
                "id": line, "object": "line_item", "amount": period.amount,
                "currency": subscription["currency"], "metadata": subscription["metadata"],
                "period": { "start": period.begin, "end": period.end },
                "parent": { "type": "subscription_item_details", "subscription_item_details": { "proration": period.prorated, "subscription": subscription["id"] } }
            }] },
            "metadata": {}, "next_payment_attempt": null,
            "parent": { "type": "subscription_details", "subscription_details": details, "quote_details": null },
            "period_start": period.begin, "period_end": period.end, "status": "draft",
            "status_transitions": { "finalized_at": null, "paid_at": null }
        }),
    );
    world.emit("invoice.created", &invoice);
    id
}

fn open(world: &mut World, id: &str) {
    let invoice = world.set(id, json!({ "status": "open" }));
    world.emit("invoice.finalized", &invoice);
}

/// The payment of an invoice, which stays the same from one try to the next.
fn payment_of(world: &mut World, invoice: &Value, method: Option<&str>) -> String {
    let id = text(invoice, "id");
    let known = world
        .all("invoice_payment")
        .iter()
        .find(|paid| paid["invoice"] == id)
        .map(|paid| text(&paid["payment"], "payment_intent").to_owned());
    if let Some(known) = known {
        return known;
    }
    let intent_id = world.new_id("pi");
    // Payments of invoices carry no metadata of the subscription.
    let intent = world.make(
        "payment_intent",
        &intent_id,
        json!({
            "amount": invoice["amount_due"], "amount_capturable": 0, "amount_received": 0,
            "cancellation_reason": null, "capture_method": "automatic", "currency": invoice["currency"],
            "customer": invoice["customer"], "description": "Subscription", "last_payment_error": null,
            "latest_charge": null, "metadata": {}, "payment_method": method,
            "setup_future_usage": null, "status": "requires_confirmation"
        }),
    );
    world.emit("payment_intent.created", &intent);
    let paid = world.new_id("inpay");
    world.make(
        "invoice_payment",
        &paid,
        json!({
            "invoice": id, "amount_requested": invoice["amount_due"], "amount_paid": null,
            "currency": invoice["currency"], "is_default": true, "status": "open",
            "payment": { "type": "payment_intent", "payment_intent": intent_id }
        }),
    );
    intent_id
}

fn settle_payment(world: &mut World, invoice: &str, status: &str, amount: i64) {
    let known = world
        .all("invoice_payment")
        .iter()
        .find(|paid| paid["invoice"] == invoice)
        .map(|paid| text(paid, "id").to_owned());
    if let Some(id) = known {
        world.set(&id, json!({ "status": status, "amount_paid": amount }));
    }
}

fn is(world: &World, id: &str, status: &str) -> bool {
    world.any(id).is_some_and(|known| known["status"] == status)
}

fn has_ended(world: &World, invoice: &str) -> bool {
    let invoice = world.any(invoice).cloned().unwrap_or_default();
    world
        .any(subscription_of(&invoice))
        .is_some_and(|known| known["status"] == "canceled")
}

/// What a subscription costs each period.
pub(crate) fn amount_of(subscription: &Value) -> i64 {
    list(&subscription["items"], "data")
        .map(|item| number(&item["price"], "unit_amount") * number(item, "quantity"))
        .sum()
}
