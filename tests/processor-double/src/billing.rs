//! Invoices of subscriptions: made, and finalized.

use serde_json::{Value, json};

use crate::collection::{self, Attempt};
use crate::schedule::What;
use crate::store::{World, list, number, text};
use crate::terms;

/// How long an invoice of a new period waits before it is finalized, seconds.
const DRAFT: i64 = 3_600;

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
    match text(&subscription["pause_collection"], "behavior") {
        // "All invoices created before the resumes_at date are immediately marked as void."
        "void" => collection::void(world, &id),
        "mark_uncollectible" => collection::write_off(world, &id),
        _ if keeps_drafts(subscription) => {
            world.set(&id, json!({ "auto_advance": false }));
        }
        _ => world.schedule(world.now + DRAFT, What::Finalize, &id),
    }
}

/// Finalizes a draft and charges it, unless the subscription's invoices are left as they are.
pub(crate) fn finalize(world: &mut World, id: &str) {
    let invoice = world.find("invoice", id).unwrap_or_default();
    let subscription = world
        .find("subscription", subscription_of(&invoice))
        .unwrap_or_default();
    let left = keeps_drafts(&subscription) || invoice["auto_advance"] == false;
    if invoice["status"] == "draft" && !left && !terms::has_ended(&subscription) {
        open(world, id);
        let _paid = collection::pay(world, id, &Attempt::AUTOMATIC);
    }
}

/// Whether invoices of the subscription stay drafts: "no subsequent invoices will be
/// attempted" of one that is `unpaid`, and those of one whose collection is paused so "remain
/// in draft state and auto_advance is set to false".
fn keeps_drafts(subscription: &Value) -> bool {
    subscription["status"] == "unpaid"
        || subscription["pause_collection"]["behavior"] == "keep_as_draft"
}

/// The subscription that made the invoice.
pub(crate) fn subscription_of(invoice: &Value) -> &str {
    invoice["parent"]["subscription_details"]["subscription"]
        .as_str()
        .unwrap_or_default()
}

/// The newest invoice of the subscription that is no draft any more.
pub(crate) fn newest_finalized(world: &World, subscription: &str) -> Option<String> {
    let invoices = world.all("invoice").iter().rev();
    let mut finalized = invoices.filter(|invoice| {
        subscription_of(invoice) == subscription
            && matches!(text(invoice, "status"), "open" | "paid" | "uncollectible")
    });
    finalized
        .next()
        .map(|invoice| text(invoice, "id").to_owned())
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
            "attempted": false, "auto_advance": true, "billing_reason": reason, "collection_method": "charge_automatically",
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

pub(crate) fn open(world: &mut World, id: &str) {
    let invoice = world.set(id, json!({ "status": "open" }));
    world.emit("invoice.finalized", &invoice);
}

/// The payment of an invoice, which stays the same from one try to the next.
pub(crate) fn payment_of(world: &mut World, invoice: &Value, method: Option<&str>) -> String {
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

pub(crate) fn settle_payment(world: &mut World, invoice: &str, status: &str, amount: i64) {
    let known = world
        .all("invoice_payment")
        .iter()
        .find(|paid| paid["invoice"] == invoice)
        .map(|paid| text(paid, "id").to_owned());
    if let Some(id) = known {
        world.set(&id, json!({ "status": status, "amount_paid": amount }));
    }
}

/// What a subscription costs each period.
pub(crate) fn amount_of(subscription: &Value) -> i64 {
    list(&subscription["items"], "data")
        .map(|item| number(&item["price"], "unit_amount") * number(item, "quantity"))
        .sum()
}
