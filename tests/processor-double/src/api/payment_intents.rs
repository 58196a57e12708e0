//! Payments, captured at once or later.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::cards::{Decline, Use};
use crate::error::ApiError;
use crate::payments;
use crate::schedule::What;
use crate::spec::{Kind, Param, may, must};
use crate::store::{World, changed_metadata, metadata, number, text};

const AUTOMATIC: Kind = Kind::Group(&[
    may("enabled", Kind::Bool),
    may("allow_redirects", Kind::Enum(&["always", "never"])),
]);
const USAGE: Kind = Kind::Enum(&["on_session", "off_session"]);
const CAPTURE: Kind = Kind::Enum(&["automatic", "automatic_async", "manual"]);

const CREATE: &[Param] = &[
    must("amount", Kind::Int),
    must("currency", Kind::Text),
    may("automatic_payment_methods", AUTOMATIC),
    may("capture_method", CAPTURE),
    may("confirm", Kind::Bool),
    may("customer", Kind::Text),
    may("description", Kind::Text),
    may("error_on_requires_action", Kind::Bool),
    may("metadata", Kind::Metadata),
    may("off_session", Kind::Bool),
    may("payment_method", Kind::Text),
    may("payment_method_types", Kind::List(&Kind::Text)),
    may("receipt_email", Kind::Text),
    may("return_url", Kind::Text),
    may("setup_future_usage", USAGE),
    may("statement_descriptor_suffix", Kind::Text),
];

const UPDATE: &[Param] = &[
    may("amount", Kind::Int),
    may("description", Kind::Text),
    may("metadata", Kind::Metadata),
    may("receipt_email", Kind::Clearable),
    may("setup_future_usage", USAGE),
];

const CONFIRM: &[Param] = &[
    may("payment_method", Kind::Text),
    may("off_session", Kind::Bool),
    may("error_on_requires_action", Kind::Bool),
    may("return_url", Kind::Text),
    may("setup_future_usage", USAGE),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/payment_intents", CREATE, create),
    on(
        "GET",
        "/v1/payment_intents",
        &[may("customer", Kind::Text), LIMIT, AFTER, BEFORE],
        list,
    ),
    on(
        "GET",
        "/v1/payment_intents/search",
        &[QUERY, LIMIT, PAGE],
        search,
    ),
    on("GET", "/v1/payment_intents/*", &[], read),
    on("POST", "/v1/payment_intents/*", UPDATE, update),
    on("POST", "/v1/payment_intents/*/confirm", CONFIRM, confirm),
    on(
        "POST",
        "/v1/payment_intents/*/capture",
        &[
            may("amount_to_capture", Kind::Int),
            may("metadata", Kind::Metadata),
        ],
        capture,
    ),
    on(
        "POST",
        "/v1/payment_intents/*/cancel",
        &[may(
            "cancellation_reason",
            Kind::Enum(&[
                "abandoned",
                "duplicate",
                "fraudulent",
                "requested_by_customer",
            ]),
        )],
        cancel,
    ),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    let amount = number(params, "amount");
    let currency = context.text("currency").to_lowercase();
    if currency.len() != 3 {
        let message = format!("Invalid currency: {currency}.");
        return Err(ApiError::parameter(None, "currency", &message));
    }
    // What the processor charges at least, about half a dollar.
    let least = if matches!(currency.as_str(), "usd" | "eur" | "cad" | "aud") {
        50
    } else {
        1
    };
    if amount < least {
        let message = format!("Amount must be at least {least} {currency}.");
        return Err(ApiError::parameter(
            Some("amount_too_small"),
            "amount",
            &message,
        ));
    }
    if amount > 99_999_999 {
        let message = "Amount must be no more than 99999999.";
        return Err(ApiError::parameter(
            Some("amount_too_large"),
            "amount",
            message,
        ));
    }
    let confirmed = params["confirm"] == true;
    for name in ["off_session", "error_on_requires_action", "return_url"] {
        if !confirmed && params.get(name).is_some() {
            let message = format!("You cannot provide `{name}` without `confirm=true`.");
            return Err(ApiError::parameter(None, name, &message));
        }
    }
    let customer = params["customer"].as_str();
    if let Some(customer) = customer {
        context.world.named("customer", "customer", customer)?;
    }
    let method = match params["payment_method"].as_str() {
        None => Value::Null,
        Some(name) => payments::method(context.world, name, customer)?["id"].clone(),
    };
    let id = context.world.new_id("pi");
    let status = if method.is_null() {
        "requires_payment_method"
    } else {
        "requires_confirmation"
    };
    let intent = context.world.make(
        "payment_intent",
        &id,
        json!({
            "amount": amount, "amount_capturable": 0, "amount_received": 0,
            "automatic_payment_methods": params["automatic_payment_methods"], "canceled_at": null,
            "cancellation_reason": null, "client_secret": format!("{id}_secret_x"),
            "capture_method": params["capture_method"].as_str().unwrap_or("automatic"),
            "currency": currency, "customer": customer, "description": params["description"],
            "last_payment_error": null, "latest_charge": null, "metadata": metadata(params),
            "next_action": null, "payment_method": method, "payment_method_types": ["card"],
            "receipt_email": params["receipt_email"], "status": status,
            "setup_future_usage": params["setup_future_usage"]
        }),
    );
    context.world.emit("payment_intent.created", &intent);
    if confirmed {
        return carry_out(context.world, &id, params);
    }
    Ok(intent)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("payment_intent", "/v1/payment_intents", params, |intent| {
            fits(intent, params, "customer")
        })
}

fn search(context: &mut Context<'_>) -> Outcome {
    let url = "/v1/payment_intents/search";
    context.world.search("payment_intent", url, context.params)
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("payment_intent", context.id())
}

fn update(context: &mut Context<'_>) -> Outcome {
    let mut intent = context.world.at_path("payment_intent", context.id())?;
    for name in [
        "amount",
        "description",
        "receipt_email",
        "setup_future_usage",
    ] {
        if let Some(value) = context.params.get(name) {
            intent[name] = value.clone();
        }
    }
    intent["metadata"] = changed_metadata(&intent["metadata"], context.params);
    context.world.put(&intent);
    Ok(intent)
}

fn confirm(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let intent = context.world.at_path("payment_intent", &id)?;
    if let Some(name) = context.params["payment_method"].as_str() {
        let customer = intent["customer"].as_str();
        let method = payments::method(context.world, name, customer)?;
        context
            .world
            .set(&id, json!({ "payment_method": method["id"] }));
    }
    if let Some(usage) = context.params.get("setup_future_usage") {
        context
            .world
            .set(&id, json!({ "setup_future_usage": usage }));
    }
    carry_out(context.world, &id, context.params)
}

fn capture(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let intent = context.world.at_path("payment_intent", &id)?;
    expect(&intent, &["requires_capture"], "captured")?;
    let all = number(&intent, "amount_capturable");
    let amount = context.params["amount_to_capture"].as_i64().unwrap_or(all);
    if amount < 1 || amount > all {
        let message = "The amount to capture is greater than the authorized amount.";
        return Err(ApiError::parameter(
            Some("amount_too_large"),
            "amount_to_capture",
            message,
        ));
    }
    let charge = text(&intent, "latest_charge").to_owned();
    payments::take(context.world, &charge, amount);
    let captured = context.world.set(
        &id,
        json!({
            "status": "succeeded", "amount_capturable": 0, "amount_received": amount,
            "metadata": changed_metadata(&intent["metadata"], context.params)
        }),
    );
    context.world.emit_of("charge.captured", &charge);
    context.world.emit("payment_intent.succeeded", &captured);
    let method = text(&captured, "payment_method").to_owned();
    if context
        .world
        .cards
        .get(&method)
        .is_some_and(|card| card.contested)
    {
        payments::contest(context.world, &charge);
    }
    Ok(captured)
}

fn cancel(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let intent = context.world.at_path("payment_intent", &id)?;
    let open = [
        "requires_payment_method",
        "requires_confirmation",
        "requires_action",
        "requires_capture",
        "processing",
    ];
    expect(&intent, &open, "canceled")?;
    let held = intent["status"] == "requires_capture";
    let reason = context.params["cancellation_reason"].as_str();
    let canceled = end(context.world, &id, reason);
    if held {
        // What was held is given back, which shows as a refund of a charge that was
        // never captured.
        let charge = text(&intent, "latest_charge").to_owned();
        context.world.set(
            &charge,
            json!({ "refunded": true, "amount_refunded": intent["amount"] }),
        );
        context.world.emit_of("charge.refunded", &charge);
    }
    context.world.emit("payment_intent.canceled", &canceled);
    Ok(canceled)
}

/// The authorization lapses, unless the payment is over.
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
    world.emit_of("charge.expired", &charge);
    let canceled = end(world, id, Some("automatic"));
    world.emit("payment_intent.canceled", &canceled);
}

fn end(world: &mut World, id: &str, reason: Option<&str>) -> Value {
    let now = world.now;
    world.set(
        id,
        json!({
            "status": "canceled", "canceled_at": now, "cancellation_reason": reason,
            "amount_capturable": 0
        }),
    )
}

fn expect(intent: &Value, allowed: &[&str], what: &str) -> Result<(), ApiError> {
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

fn carry_out(world: &mut World, id: &str, params: &Value) -> Outcome {
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
    let setup = payments::setup_of(world, method);
    match (payments::charge_of(world, method), setup) {
        (Use::Declined(decline), _) => Err(declined(world, id, decline)),
        (_, Use::Declined(decline)) if keep => Err(declined(world, id, decline)),
        (Use::Authenticate, _) if off_session => {
            Err(declined(world, id, Decline::AUTHENTICATION_REQUIRED))
        }
        (Use::Authenticate, _) if params["error_on_requires_action"] == true => {
            let refused = Decline {
                code: "authentication_required",
                decline_code: Some("authentication_required"),
                message: "The payment method requires customer actions to complete, but \
                          error_on_requires_action was set.",
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

fn pay(world: &mut World, intent: &Value, method: &str, off_session: bool, keep: bool) -> Value {
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

fn declined(world: &mut World, id: &str, decline: Decline) -> ApiError {
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
