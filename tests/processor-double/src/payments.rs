//! Payment methods in use: found by name, kept by customers, charged.

use serde_json::{Value, json};

use crate::cards::{self, Card, Decline, Use};
use crate::disputes;
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
    if world.spent.contains(name) {
        return Err(spent());
    }
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

/// "Detachment is permanent and irreversible — once detached, a PaymentMethod can no longer
/// be used for payments or re-attached to a Customer." One that was charged without being a
/// customer's is used up in the same way.
fn spent() -> ApiError {
    let message = "The provided PaymentMethod was previously used with a PaymentIntent without \
                   Customer attachment or was detached from a Customer. It may not be used again.";
    ApiError::parameter(None, "payment_method", message)
}

/// Whether a payment or a setup can be confirmed: methods that send customers elsewhere have to
/// know where to send them back, whichever method it is that pays. Without
/// `automatic_payment_methods` those count that the account has, which are cards here.
pub(crate) fn may_confirm(intent: &Value, params: &Value) -> Result<(), ApiError> {
    let automatic = &intent["automatic_payment_methods"];
    let redirects = automatic["enabled"] == true && automatic["allow_redirects"] != "never";
    if !redirects || params["return_url"].is_string() {
        return Ok(());
    }
    let message = "A `return_url` must be specified because this Payment Intent is configured to \
                   automatically accept the payment methods enabled in the Dashboard, some of \
                   which may require a full page redirect to succeed. If you do not want to accept \
                   redirect-based payment methods, set `automatic_payment_methods[enabled]` to \
                   `true` and `automatic_payment_methods[allow_redirects]` to `never` when creating \
                   Setup Intents and Payment Intents.";
    Err(ApiError::invalid(None, message))
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

/// What becomes of charging the method, or of holding money on it.
pub(crate) fn charge_of(world: &World, method: &str, off_session: bool, hold: bool) -> Use {
    world
        .cards
        .get(method)
        .map_or(Use::Works, |card| card.charged(off_session, hold))
}

/// The customer authenticated the method; was it set up for later, some banks do not ask for
/// them again.
pub(crate) fn authenticated(world: &mut World, method: &str, kept: bool) {
    if let Some(card) = world.cards.get_mut(method)
        && kept
        && card.learns
    {
        card.off_session = Some(Use::Works);
    }
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
    let method = text(intent, "payment_method");
    let kept = world
        .any(method)
        .is_some_and(|known| known["customer"].is_string());
    if !kept {
        world.spent.insert(method.to_owned());
    }
    let contested = world
        .cards
        .get(text(intent, "payment_method"))
        .is_some_and(|card| card.contested);
    if contested && capture {
        disputes::open(world, &id);
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
