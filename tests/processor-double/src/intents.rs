//! What comes of payments: asked for, held, taken, declined, let go.

use serde_json::{Value, json};

use crate::api::Outcome;
use crate::cards::{Decline, Use};
use crate::error::ApiError;
use crate::payments;
use crate::schedule::What;
use crate::store::{World, text};

/// The checkout session that the payment or the setup is of.
pub(crate) fn session_of(world: &World, intent: &str) -> Option<String> {
    let sessions = world.all("checkout.session").iter();
    let of =
        |session: &&Value| session["payment_intent"] == intent || session["setup_intent"] == intent;
    let mut sessions = sessions.filter(of);
    sessions
        .next()
        .map(|session| text(session, "id").to_owned())
}

/// The money of a payment was taken: the session that it is of is paid. "You can use this
/// value to decide when to fulfill your customer's order."
pub(crate) fn captured(world: &mut World, intent: &str) {
    if let Some(session) = session_of(world, intent) {
        world.set(&session, json!({ "payment_status": "paid" }));
    }
}

/// The authorization lapses, unless the payment is over: "When using manual capture, a future
/// timestamp at which the charge will be automatically refunded if uncaptured."
pub(crate) fn lapse(world: &mut World, id: &str) {
    let Some(intent) = world.find("payment_intent", id) else {
        return;
    };
    if intent["status"] != "requires_capture" {
        return;
    }
    let charge = text(&intent, "latest_charge").to_owned();
    world.set(
        &charge,
        json!({ "refunded": true, "amount_refunded": intent["amount"] }),
    );
    // "Occurs whenever an uncaptured charge expires."
    world.emit_of("charge.expired", &charge);
    let canceled = end(world, id, Some("automatic"));
    world.emit("payment_intent.canceled", &canceled);
}

pub(crate) fn end(world: &mut World, id: &str, reason: Option<&str>) -> Value {
    let now = world.now;
    world.set(
        id,
        json!({
            "status": "canceled", "canceled_at": now, "cancellation_reason": reason,
            "amount_capturable": 0
        }),
    )
}

pub(crate) fn expect(intent: &Value, allowed: &[&str], what: &str) -> Result<(), ApiError> {
    let status = text(intent, "status");
    if allowed.contains(&status) {
        return Ok(());
    }
    let message = format!(
        "This PaymentIntent could not be {what} because it has a status of {status}. Only a \
         PaymentIntent with one of the following statuses may be {what}: {}.",
        allowed.join(", ")
    );
    let error = ApiError::invalid(Some("payment_intent_unexpected_state"), &message);
    Err(error.with("payment_intent", intent.clone()))
}

pub(crate) fn carry_out(world: &mut World, id: &str, params: &Value) -> Outcome {
    let intent = world.at_path("payment_intent", id)?;
    let open = [
        "requires_payment_method",
        "requires_confirmation",
        "requires_action",
    ];
    expect(&intent, &open, "confirmed")?;
    let Some(method) = intent["payment_method"].as_str() else {
        let message =
            "You cannot confirm this PaymentIntent because it's missing a payment method.";
        let error = ApiError::invalid(Some("payment_intent_unexpected_state"), message);
        return Err(error.with("payment_intent", intent));
    };
    let off_session = params["off_session"] == true;
    let keep = !intent["setup_future_usage"].is_null();
    let hold = intent["capture_method"] == "manual";
    let setup = payments::setup_of(world, method);
    match (payments::charge_of(world, method, off_session, hold), setup) {
        (Use::Declined(decline), _) => Err(declined(world, id, decline)),
        (_, Use::Declined(decline)) if keep => Err(declined(world, id, decline)),
        (Use::Authenticate, _) if off_session => {
            Err(declined(world, id, Decline::AUTHENTICATION_REQUIRED))
        }
        (Use::Authenticate, _) if params["error_on_requires_action"] == true => {
            // "Set to true to fail the payment attempt if the PaymentIntent transitions into
            // requires_action."
            let refused = Decline {
                message: "The payment method requires customer actions to complete, but \
                          error_on_requires_action was set.",
                ..Decline::AUTHENTICATION_REQUIRED
            };
            Err(declined(world, id, refused))
        }
        (Use::Authenticate, _) => {
            let next = json!({ "type": "use_stripe_sdk", "use_stripe_sdk": {} });
            let waiting = world.set(
                id,
                json!({ "status": "requires_action", "next_action": next }),
            );
            world.emit("payment_intent.requires_action", &waiting);
            Ok(waiting)
        }
        (Use::Works, _) => Ok(pay(world, &intent, method, off_session, keep)),
    }
}

pub(crate) fn pay(
    world: &mut World,
    intent: &Value,
    method: &str,
    off_session: bool,
    keep: bool,
) -> Value {
    let id = text(intent, "id");
    if let (true, Some(customer)) = (keep, intent["customer"].as_str()) {
        payments::keep(world, method, customer);
    }
    let held = intent["capture_method"] == "manual";
    let charge = payments::charge(world, intent, !held, off_session);
    let amount = intent["amount"].clone();
    if held {
        let members = json!({
            "status": "requires_capture", "amount_capturable": amount, "latest_charge": charge,
            "last_payment_error": null, "next_action": null
        });
        let intent = world.set(id, members);
        world.emit("payment_intent.amount_capturable_updated", &intent);
        let lasts = if off_session {
            world.rules.authorization_off_session
        } else {
            world.rules.authorization
        };
        world.schedule(world.now + lasts, What::Lapse, id);
        intent
    } else {
        let members = json!({
            "status": "succeeded", "amount_received": amount, "latest_charge": charge,
            "last_payment_error": null, "next_action": null
        });
        let intent = world.set(id, members);
        world.emit("payment_intent.succeeded", &intent);
        intent
    }
}

pub(crate) fn declined(world: &mut World, id: &str, decline: Decline) -> ApiError {
    let intent = world.find("payment_intent", id).unwrap_or_default();
    let method = world
        .any(text(&intent, "payment_method"))
        .cloned()
        .unwrap_or_default();
    let charge = payments::failed_charge(world, &intent, decline);
    let mut error = decline.member();
    error["charge"] = charge.as_str().into();
    error["payment_method"] = method.clone();
    let intent = world.set(
        id,
        json!({
            "status": "requires_payment_method", "latest_charge": charge,
            "last_payment_error": error, "payment_method": null
        }),
    );
    world.emit("payment_intent.payment_failed", &intent);
    decline
        .error()
        .with("charge", charge.into())
        .with("payment_method", method)
        .with("payment_intent", intent)
}
