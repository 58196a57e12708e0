//! Invoices are collected: charged, charged again, given up.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::billing::{newest_finalized, payment_of, settle_payment, subscription_of};
use crate::cards::{self, Decline, Use};
use crate::payments;
use crate::schedule::What;
use crate::store::{World, number, text};
use crate::terms;

/// When an unpaid invoice is charged again, seconds after the try before.
const RETRIES: [i64; 3] = [3 * 86_400, 5 * 86_400, 7 * 86_400];

/// Nothing is there that could pay: "or to the lack of a stored payment method".
const NOTHING_PAYS: Decline = Decline {
    code: "resource_missing",
    decline_code: None,
    advice_code: None,
    message: "Cannot charge a customer that has no active card",
};

/// What becomes of a subscription when all retries of an invoice failed: "Once Stripe has
/// exhausted all payment retry attempts, the subscription will become canceled or unpaid
/// (depending on your subscriptions settings)", or stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterRetries {
    /// It stays `past_due`.
    #[default]
    LeavePastDue,
    /// It becomes `unpaid`.
    Unpaid,
    /// It is cancelled.
    Cancel,
}

/// One try to collect an invoice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempt {
    /// What is charged; the subscription's method when there is none.
    pub(crate) method: Option<String>,
    /// Whether the customer is away.
    pub(crate) off_session: bool,
    /// Whether it is of the processor's own schedule.
    pub(crate) automatic: bool,
}

impl Attempt {
    pub(crate) const AUTOMATIC: Self = Self {
        method: None,
        off_session: true,
        automatic: true,
    };
}

/// What the subscription's bank would say of a charge now.
pub(crate) fn outlook(
    world: &World,
    subscription: &Value,
    off_session: bool,
) -> Result<String, Option<Decline>> {
    let method = paying(world, subscription).ok_or(None)?;
    charged(world, method, off_session).map_err(Some)
}

/// Charges an open invoice.
pub(crate) fn pay(world: &mut World, id: &str, attempt: &Attempt) -> Result<(), Decline> {
    let invoice = world.find("invoice", id).unwrap_or_default();
    let subscription = world
        .find("subscription", subscription_of(&invoice))
        .unwrap_or_default();
    let method = attempt
        .method
        .clone()
        .or_else(|| paying(world, &subscription));
    let intent = payment_of(world, &invoice, method.as_deref());
    let outlook = match method.clone() {
        None => Err(NOTHING_PAYS),
        Some(method) => charged(world, method, attempt.off_session),
    };
    let before = number(&invoice, "attempt_count");
    // "Any payment attempt counts as the first attempt, and subsequently only automatic
    // retries increment the attempt count. In other words, manual payment attempts after the
    // first attempt do not affect the retry schedule."
    let counts = attempt.automatic || before == 0;
    let attempts = before + i64::from(counts);
    world.set(
        id,
        json!({ "attempt_count": attempts, "attempted": true, "auto_advance": true }),
    );
    match outlook {
        Ok(method) => {
            succeed(world, id, &intent, &method, attempt.off_session);
            Ok(())
        }
        Err(decline) => {
            fail(world, id, &intent, method.as_deref(), decline, counts);
            Err(decline)
        }
    }
}

/// Charges an invoice that was not paid, as the schedule says.
///
/// "If a failure is returned with a non-retryable return code, the invoice can no longer be
/// retried unless a new payment method is obtained. Retries will continue to be scheduled, and
/// attempt_count will continue to increment, but retries will only be executed if a new
/// payment method is obtained."
pub(crate) fn retry(world: &mut World, id: &str) {
    let invoice = world.find("invoice", id).unwrap_or_default();
    let subscription = world
        .find("subscription", subscription_of(&invoice))
        .unwrap_or_default();
    // "By default, upon subscription cancellation, Stripe stops automatic collection of all
    // finalized invoices for the customer."
    if invoice["status"] != "open" || terms::has_ended(&subscription) {
        return;
    }
    let method = paying(world, &subscription);
    let intent = payment_of(world, &invoice, method.as_deref());
    let error = world
        .any(&intent)
        .map(|known| known["last_payment_error"].clone())
        .unwrap_or_default();
    let refused = cards::is_hard(text(&error, "decline_code"))
        && error["payment_method"]["id"].as_str() == method.as_deref();
    if refused {
        let attempts = number(&invoice, "attempt_count") + 1;
        let skipped = world.set(id, json!({ "attempt_count": attempts }));
        schedule(world, id, attempts);
        world.emit("invoice.updated", &skipped);
    } else {
        let _paid = pay(world, id, &Attempt::AUTOMATIC);
    }
}

/// Nobody has to pay the invoice any more.
pub(crate) fn void(world: &mut World, id: &str) {
    let void = world.set(
        id,
        json!({ "status": "void", "next_payment_attempt": null }),
    );
    // "Occurs whenever an invoice is voided."
    world.emit("invoice.voided", &void);
}

/// Nobody is thought to pay the invoice any more.
pub(crate) fn write_off(world: &mut World, id: &str) {
    let members = json!({ "status": "uncollectible", "next_payment_attempt": null });
    let lost = world.set(id, members);
    // "Occurs whenever an invoice is marked uncollectible."
    world.emit("invoice.marked_uncollectible", &lost);
}

/// The subscription gets another status, and says so.
pub(crate) fn become_status(world: &mut World, id: &str, status: &str) {
    let before = world.find("subscription", id).unwrap_or_default();
    if before["status"] != status && !terms::has_ended(&before) {
        world.set(id, json!({ "status": status }));
        world.emit_of("customer.subscription.updated", id);
    }
}

fn charged(world: &World, method: String, off_session: bool) -> Result<String, Decline> {
    match payments::charge_of(world, &method, off_session, false) {
        Use::Works => Ok(method),
        Use::Declined(decline) => Err(decline),
        Use::Authenticate => Err(Decline::AUTHENTICATION_REQUIRED),
    }
}

fn succeed(world: &mut World, id: &str, intent: &str, method: &str, off_session: bool) {
    let paying = world.set(intent, json!({ "payment_method": method }));
    let charge = payments::charge(world, &paying, true, off_session);
    let paying = world.set(
        intent,
        json!({
            "status": "succeeded", "latest_charge": charge, "last_payment_error": null,
            "amount_received": paying["amount"]
        }),
    );
    world.emit("payment_intent.succeeded", &paying);
    let due = number(&paying, "amount");
    let paid = world.set(
        id,
        json!({
            "status": "paid", "amount_paid": due, "amount_remaining": 0,
            "next_payment_attempt": null, "status_transitions": { "paid_at": world.now }
        }),
    );
    settle_payment(world, id, "paid", due);
    world.emit("invoice.paid", &paid);
    world.emit("invoice.payment_succeeded", &paid);
    let subscription = subscription_of(&paid);
    // "past_due: Payment on the latest finalized invoice either failed or wasn't attempted":
    // an older one that is paid mends nothing.
    let mended = newest_finalized(world, subscription).is_some_and(|newest| newest == id);
    let paused = world
        .any(subscription)
        .is_some_and(|known| known["status"] == "paused");
    if mended && !paused {
        become_status(world, subscription, "active");
    }
}

fn fail(
    world: &mut World,
    id: &str,
    intent: &str,
    method: Option<&str>,
    decline: Decline,
    scheduled: bool,
) {
    let known = world.set(intent, json!({ "payment_method": method }));
    let mut error = decline.member();
    let mut members = json!({ "status": "requires_payment_method" });
    if let Some(method) = method {
        let charge = payments::failed_charge(world, &known, decline);
        error["charge"] = charge.as_str().into();
        error["payment_method"] = world.any(method).cloned().unwrap_or_default();
        members["latest_charge"] = charge.into();
    }
    members["last_payment_error"] = error;
    let failed = world.set(intent, members);
    world.emit("payment_intent.payment_failed", &failed);
    let invoice = world.find("invoice", id).unwrap_or_default();
    let first = invoice["billing_reason"] == "subscription_create";
    // The first invoice of a subscription is never charged again by itself.
    let exhausted = scheduled && !first && !schedule(world, id, number(&invoice, "attempt_count"));
    // "Occurs whenever an invoice payment attempt fails, due to either a declined payment,
    // including soft decline, or to the lack of a stored payment method."
    world.emit_of("invoice.payment_failed", id);
    if decline.code == "authentication_required" {
        // "Occurs whenever an invoice payment attempt requires further user action to
        // complete."
        world.emit_of("invoice.payment_action_required", id);
    }
    let subscription = subscription_of(&invoice).to_owned();
    let status = world
        .any(&subscription)
        .map(|known| text(known, "status").to_owned())
        .unwrap_or_default();
    match status.as_str() {
        "unpaid" | "paused" => {}
        _ if first => become_status(world, &subscription, "incomplete"),
        _ => become_status(world, &subscription, "past_due"),
    }
    if exhausted {
        give_up(world, &subscription);
    }
}

/// Has the invoice charged again, if it was not charged often enough.
fn schedule(world: &mut World, id: &str, attempts: i64) -> bool {
    let next = usize::try_from(attempts - 1)
        .ok()
        .and_then(|tries| RETRIES.get(tries))
        .map(|pause| world.now + pause);
    world.set(id, json!({ "next_payment_attempt": next }));
    if let Some(at) = next {
        world.schedule(at, What::Retry, id);
    }
    next.is_some()
}

fn give_up(world: &mut World, subscription: &str) {
    match world.rules.after_retries {
        AfterRetries::LeavePastDue => {}
        AfterRetries::Unpaid => become_status(world, subscription, "unpaid"),
        AfterRetries::Cancel => {
            terms::finish(world, subscription, Some("payment_failed"));
        }
    }
}

/// What pays: "This takes precedence over default_source. If neither are set, invoices will
/// use the customer's invoice_settings.default_payment_method or default_source."
fn paying(world: &World, subscription: &Value) -> Option<String> {
    let own = subscription["default_payment_method"].as_str();
    let customer = world.any(text(subscription, "customer"));
    let usual = customer
        .and_then(|customer| customer["invoice_settings"]["default_payment_method"].as_str());
    own.or(usual)
        .filter(|method| !world.spent.contains(*method))
        .map(ToOwned::to_owned)
}
