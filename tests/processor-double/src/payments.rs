//! Payment methods in use: found by name, kept by customers, charged.

use serde_json::{Value, json};

use crate::cards::{self, Card, Decline, Use};
use crate::error::ApiError;
use crate::store::{World, number, text};

/// The payment method that a parameter names: a test name makes a new one.
pub(crate) fn method(
    world: &mut World,
    name: &str,
    customer: Option<&str>,
) -> Result<Value, ApiError> {
    if let Some(card) = cards::named(name).filter(|_| !world.live) {
        return Ok(new_method(world, card));
    }
    let method = world.named("payment_method", "payment_method", name)?;
    match method["customer"].as_str() {
        Some(holder) if customer != Some(holder) => Err(ApiError::parameter(
            None,
            "payment_method",
            &format!(
                "The customer does not have a payment method with the ID {name}. The payment \
                 method must be attached to the customer."
            ),
        )),
        _ => Ok(method),
    }
}

/// A new payment method of this card, nobody's yet.
pub(crate) fn new_method(world: &mut World, card: Card) -> Value {
    let id = world.new_id("pm");
    world.cards.insert(id.clone(), card);
    let members = json!({
        "type": "card", "card": card.member(), "customer": null, "metadata": {},
        "allow_redisplay": "unspecified",
        "billing_details": { "address": null, "email": null, "name": null, "phone": null }
    });
    world.make("payment_method", &id, members)
}

/// Makes the method the customer's, without asking the bank.
pub(crate) fn keep(world: &mut World, method: &str, customer: &str) {
    let before = world.find("payment_method", method).unwrap_or_default();
    if before["customer"].is_null() {
        world.set(method, json!({ "customer": customer }));
        world.emit_of("payment_method.attached", method);
    }
}

/// What becomes of setting the method up for later.
pub(crate) fn setup_of(world: &World, method: &str) -> Use {
    world
        .cards
        .get(method)
        .map_or(Use::Works, |card| card.setup)
}

/// What becomes of charging the method.
pub(crate) fn charge_of(world: &World, method: &str) -> Use {
    world
        .cards
        .get(method)
        .map_or(Use::Works, |card| card.charge)
}

/// The charge of a payment that went well, captured or not.
pub(crate) fn charge(
    world: &mut World,
    intent: &Value,
    capture: bool,
    off_session: bool,
) -> String {
    let lasts = if off_session {
        world.rules.authorization_off_session
    } else {
        world.rules.authorization
    };
    let capture_before = if capture {
        Value::Null
    } else {
        (world.now + lasts).into()
    };
    let id = new_charge(world, intent, capture_before);
    if capture {
        take(world, &id, number(intent, "amount"));
    }
    world.emit_of("charge.succeeded", &id);
    let contested = world
        .cards
        .get(text(intent, "payment_method"))
        .is_some_and(|card| card.contested);
    if contested && capture {
        contest(world, &id);
    }
    id
}

/// The charge of a payment that was declined.
pub(crate) fn failed_charge(world: &mut World, intent: &Value, decline: Decline) -> String {
    let id = new_charge(world, intent, Value::Null);
    world.set(
        &id,
        json!({
            "status": "failed", "paid": false,
            "failure_code": decline.code, "failure_message": decline.message
        }),
    );
    world.emit_of("charge.failed", &id);
    id
}

/// Moves the money of a charge.
pub(crate) fn take(world: &mut World, charge: &str, amount: i64) {
    let currency = world.any(charge).map(|known| known["currency"].clone());
    let id = world.new_id("txn");
    let fee = amount * 29 / 1_000 + 30;
    world.make(
        "balance_transaction",
        &id,
        json!({
            "type": "charge", "source": charge, "amount": amount, "currency": currency,
            "fee": fee, "net": amount - fee, "status": "pending"
        }),
    );
    world.set(
        charge,
        json!({ "captured": true, "amount_captured": amount, "balance_transaction": id }),
    );
}

/// The holder's bank contests the charge; answers the dispute's id.
pub(crate) fn contest(world: &mut World, charge: &str) -> String {
    let known = world.any(charge).cloned().unwrap_or_default();
    let id = world.new_id("dp");
    let dispute = world.make(
        "dispute",
        &id,
        json!({
            "charge": charge, "payment_intent": known["payment_intent"],
            "amount": known["amount"], "currency": known["currency"], "metadata": {},
            "reason": "fraudulent", "status": "needs_response", "is_charge_refundable": false
        }),
    );
    world.set(charge, json!({ "disputed": true }));
    world.emit("charge.dispute.created", &dispute);
    id
}

fn new_charge(world: &mut World, intent: &Value, capture_before: Value) -> String {
    let method = text(intent, "payment_method").to_owned();
    let card = world.any(&method).map(|known| known["card"].clone());
    let id = world.new_id("ch");
    let mut details = json!({ "type": "card", "card": card });
    if let Value::Object(card) = &mut details["card"] {
        card.insert("capture_before".to_owned(), capture_before);
    }
    world.make(
        "charge",
        &id,
        json!({
            "amount": intent["amount"], "amount_captured": 0, "amount_refunded": 0,
            "balance_transaction": null, "captured": false, "currency": intent["currency"],
            "customer": intent["customer"], "description": intent["description"],
            "disputed": false, "failure_code": null, "failure_message": null,
            "metadata": intent["metadata"], "paid": true, "payment_intent": intent["id"],
            "payment_method": method, "payment_method_details": details,
            "refunded": false, "status": "succeeded"
        }),
    );
    id
}
