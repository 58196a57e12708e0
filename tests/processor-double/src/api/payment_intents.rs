//! Payments, captured at once or later.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::error::ApiError;
use crate::intents::{self, carry_out, expect};
use crate::spec::{Kind, Param, may, must};
use crate::store::{changed_metadata, metadata, number, text};
use crate::{currency, disputes, payments};

const AUTOMATIC: Kind = Kind::Group(&[
    may("enabled", Kind::Bool),
    may("allow_redirects", Kind::Enum(&["always", "never"])),
]);
const USAGE: Kind = Kind::Enum(&["on_session", "off_session"]);
const CAPTURE: Kind = Kind::Enum(&["automatic", "automatic_async", "manual"]);

const CREATE: &[Param] = &[
    must("amount", Kind::Int),
    must("currency", Kind::Text),
    may("allowed_payment_method_types", Kind::List(&Kind::Text)),
    may("automatic_payment_methods", AUTOMATIC),
    may("capture_method", CAPTURE),
    may("confirm", Kind::Bool),
    may("customer", Kind::Text),
    may("description", Kind::Text),
    may("error_on_requires_action", Kind::Bool),
    may("metadata", Kind::Metadata),
    may("off_session", Kind::Bool),
    may("payment_method", Kind::Text),
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
        &[may("customer", Kind::Text), CREATED, LIMIT, AFTER, BEFORE],
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
    if amount < 1 {
        return Err(currency::at_least_one("amount"));
    }
    currency::chargeable("amount", amount, &currency)?;
    let confirmed = params["confirm"] == true;
    // "This parameter can only be used with confirm=true."
    for name in ["off_session", "error_on_requires_action", "return_url"] {
        if !confirmed && params.get(name).is_some() {
            let message = format!("You cannot provide `{name}` without `confirm=true`.");
            return Err(ApiError::parameter(None, name, &message));
        }
    }
    if confirmed {
        payments::may_confirm(params, params)?;
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
    if let Some(amount) = context.params["amount"].as_i64() {
        let open = [
            "requires_payment_method",
            "requires_confirmation",
            "requires_action",
        ];
        expect(&intent, &open, "updated")?;
        currency::chargeable("amount", amount, text(&intent, "currency"))?;
    }
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
    // "You can't confirm or cancel the PaymentIntent for a Checkout Session."
    if intents::session_of(context.world, &id).is_some() {
        let message = "You cannot confirm the PaymentIntent of a Checkout Session.";
        return Err(ApiError::invalid(None, message));
    }
    payments::may_confirm(&intent, context.params)?;
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
    currency::written("amount_to_capture", amount, text(&intent, "currency"))?;
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
    intents::captured(context.world, &id);
    let method = text(&captured, "payment_method").to_owned();
    if context
        .world
        .cards
        .get(&method)
        .is_some_and(|card| card.contested)
    {
        disputes::open(context.world, &charge);
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
    // "You can directly cancel the PaymentIntent for a Checkout Session only when the
    // PaymentIntent has a status of requires_capture. Otherwise, you must expire the
    // Checkout Session."
    if !held && intents::session_of(context.world, &id).is_some() {
        let message = "You cannot cancel the PaymentIntent of a Checkout Session.";
        return Err(ApiError::invalid(None, message));
    }
    let reason = context.params["cancellation_reason"].as_str();
    let canceled = intents::end(context.world, &id, reason);
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
