//! What customers do on the processor's own pages.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::setup_intents;
use crate::cards::{self, Decline};
use crate::store::{World, metadata, text};
use crate::{intents, payments};

/// What a customer does on a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Choice {
    /// Hands in a card that works.
    Pay,
    /// Hands in this test card, such as `pm_card_mastercard`; goes away when it wants
    /// authentication.
    PayWith {
        /// The card's name.
        card: String,
    },
    /// Hands in a card that is declined, and stays on the page.
    Declined,
    /// Hands in a card that wants 3-D Secure, and authenticates.
    Authenticate,
    /// Hands in such a card, and fails to authenticate; stays on the page.
    FailAuthentication,
    /// Goes back.
    Cancel,
    /// Closes the tab.
    Leave,
}

impl Choice {
    /// The choice of this name, as a button sends it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(json!({ "kind": name })).ok()
    }
}

/// Where a customer is after their choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// At this address.
    Sent(String),
    /// On the page still, which says this.
    Stays(String),
}

/// The customer does something on the page of the session.
///
/// # Errors
/// When the page is closed.
pub(crate) fn play(world: &mut World, id: &str, choice: &Choice) -> Result<Where, String> {
    let session = world
        .find("checkout.session", id)
        .ok_or_else(|| format!("there is no {id}"))?;
    if session["status"] != "open" {
        // "After it expires, a customer can't complete a Checkout Session and customers loading
        // the Checkout Session see a message saying the Checkout Session is expired."
        return Err(format!("{id} is {}", text(&session, "status")));
    }
    let (card, authenticates) = match choice {
        Choice::Pay => ("pm_card_visa", false),
        Choice::PayWith { card } => (card.as_str(), false),
        Choice::Declined => ("pm_card_chargeDeclined", false),
        Choice::Authenticate => ("pm_card_authenticationRequiredOnSetup", true),
        Choice::FailAuthentication => ("pm_card_authenticationRequired", false),
        Choice::Cancel => {
            // "If set, Checkout displays a back button and customers will be directed to this
            // URL if they decide to cancel payment and return to your website."
            return match session["cancel_url"].as_str() {
                Some(url) => Ok(Where::Sent(filled(url, id))),
                None => Ok(Where::Stays("There is no way back from here.".to_owned())),
            };
        }
        Choice::Leave => return Ok(Where::Stays("You may close this tab.".to_owned())),
    };
    let card = cards::named(card).ok_or_else(|| format!("{card} is no card"))?;
    let method = text(&payments::new_method(world, card), "id").to_owned();
    let fails = *choice == Choice::FailAuthentication;
    let outcome = if session["mode"] == "setup" {
        set_up(world, &session, &method, authenticates, fails)
    } else {
        pay(world, &session, &method, authenticates, fails)
    };
    match outcome {
        Ok(()) => {
            let done = world.any(id).cloned().unwrap_or_default();
            world.emit("checkout.session.completed", &done);
            Ok(Where::Sent(filled(text(&session, "success_url"), id)))
        }
        Err(message) => Ok(Where::Stays(message)),
    }
}

/// The address, with the session's id where it is asked for.
fn filled(url: &str, id: &str) -> String {
    url.replace("{CHECKOUT_SESSION_ID}", id)
        .replace("%7BCHECKOUT_SESSION_ID%7D", id)
}

fn pay(
    world: &mut World,
    session: &Value,
    method: &str,
    authenticates: bool,
    fails: bool,
) -> Result<(), String> {
    let intent = match session["payment_intent"].as_str() {
        Some(known) => known.to_owned(),
        None => payment(world, session),
    };
    world.set(
        &intent,
        json!({ "payment_method": method, "status": "requires_confirmation" }),
    );
    let asked = intents::carry_out(world, &intent, &json!({}))
        .map_err(|error| text(&error.members, "message").to_owned())?;
    if asked["status"] == "requires_action" {
        if fails {
            intents::declined(world, &intent, Decline::NOT_AUTHENTICATED);
            world.set(&intent, json!({ "next_action": null }));
            return Err(Decline::NOT_AUTHENTICATED.message.to_owned());
        }
        if !authenticates {
            return Err("Your bank wants to see that it is you.".to_owned());
        }
        let keep = !asked["setup_future_usage"].is_null();
        payments::authenticated(world, method, keep);
        intents::pay(world, &asked, method, false, keep);
    }
    let paid = world
        .any(&intent)
        .is_some_and(|known| known["status"] == "succeeded");
    // Money that is only held is not paid: "The payment funds are not yet available in your
    // account."
    let status = if paid { "paid" } else { "unpaid" };
    complete(world, session, json!({ "payment_status": status }));
    Ok(())
}

fn set_up(
    world: &mut World,
    session: &Value,
    method: &str,
    authenticates: bool,
    fails: bool,
) -> Result<(), String> {
    let setup = text(session, "setup_intent").to_owned();
    world.set(
        &setup,
        json!({ "payment_method": method, "status": "requires_confirmation" }),
    );
    let asked = setup_intents::carry_out(world, &setup)
        .map_err(|error| text(&error.members, "message").to_owned())?;
    if asked["status"] == "requires_action" {
        if fails {
            setup_intents::not_authenticated(world, &setup);
            return Err(Decline::NOT_AUTHENTICATED.message.to_owned());
        }
        if !authenticates {
            return Err("Your bank wants to see that it is you.".to_owned());
        }
        setup_intents::done(world, &setup);
        payments::authenticated(world, method, true);
    }
    complete(world, session, json!({}));
    Ok(())
}

/// Of the URL: "This value is only present when the session is active."
fn complete(world: &mut World, session: &Value, mut members: Value) {
    members["status"] = "complete".into();
    members["url"] = Value::Null;
    world.set(text(session, "id"), members);
}

fn payment(world: &mut World, session: &Value) -> String {
    let id = world.new_id("pi");
    let data = world
        .wanted
        .get(text(session, "id"))
        .cloned()
        .unwrap_or_default();
    let intent = world.make(
        "payment_intent",
        &id,
        json!({
            "amount": session["amount_total"], "amount_capturable": 0, "amount_received": 0,
            "automatic_payment_methods": null, "canceled_at": null, "cancellation_reason": null,
            "client_secret": format!("{id}_secret_x"),
            "capture_method": data["capture_method"].as_str().unwrap_or("automatic_async"),
            "currency": session["currency"], "customer": session["customer"],
            "description": data["description"], "last_payment_error": null,
            "latest_charge": null, "metadata": metadata(&data), "next_action": null,
            "payment_method": null, "payment_method_types": ["card"],
            "receipt_email": data["receipt_email"], "status": "requires_payment_method",
            "setup_future_usage": data["setup_future_usage"]
        }),
    );
    world.set(text(session, "id"), json!({ "payment_intent": id }));
    world.emit("payment_intent.created", &intent);
    id
}
