//! Setups of payment methods for payments while the customer is away.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, fits, on};
use crate::cards::{Decline, Use};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{World, metadata, text};
use crate::{intents, payments};

const AUTOMATIC: Kind = Kind::Group(&[
    may("enabled", Kind::Bool),
    may("allow_redirects", Kind::Enum(&["always", "never"])),
]);

const CREATE: &[Param] = &[
    may("allowed_payment_method_types", Kind::List(&Kind::Text)),
    may("automatic_payment_methods", AUTOMATIC),
    may("confirm", Kind::Bool),
    may("customer", Kind::Text),
    may("description", Kind::Text),
    may("metadata", Kind::Metadata),
    may("payment_method", Kind::Text),
    may("return_url", Kind::Text),
    may("usage", Kind::Enum(&["on_session", "off_session"])),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/setup_intents", CREATE, create),
    on(
        "GET",
        "/v1/setup_intents",
        &[
            may("customer", Kind::Text),
            may("payment_method", Kind::Text),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/setup_intents/*", &[], read),
    on(
        "POST",
        "/v1/setup_intents/*/confirm",
        &[
            may("payment_method", Kind::Text),
            may("return_url", Kind::Text),
        ],
        confirm,
    ),
    on("POST", "/v1/setup_intents/*/cancel", &[], cancel),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    if params["confirm"] == true {
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
    let id = context.world.new_id("seti");
    let status = if method.is_null() {
        "requires_payment_method"
    } else {
        "requires_confirmation"
    };
    let setup = context.world.make(
        "setup_intent",
        &id,
        json!({
            "automatic_payment_methods": params["automatic_payment_methods"],
            "client_secret": format!("{id}_secret_x"), "customer": customer, "description": params["description"],
            "last_setup_error": null, "metadata": metadata(params), "payment_method": method,
            "cancellation_reason": null, "next_action": null, "status": status,
            "usage": params["usage"].as_str().unwrap_or("off_session")
        }),
    );
    context.world.emit("setup_intent.created", &setup);
    if params["confirm"] == true {
        return carry_out(context.world, &id);
    }
    Ok(setup)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("setup_intent", "/v1/setup_intents", params, |setup| {
            fits(setup, params, "customer") && fits(setup, params, "payment_method")
        })
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("setup_intent", context.id())
}

fn confirm(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let setup = context.world.at_path("setup_intent", &id)?;
    of_no_session(context.world, &id)?;
    payments::may_confirm(&setup, context.params)?;
    if let Some(name) = context.params["payment_method"].as_str() {
        let customer = setup["customer"].as_str();
        let method = payments::method(context.world, name, customer)?;
        context
            .world
            .set(&id, json!({ "payment_method": method["id"] }));
    }
    carry_out(context.world, &id)
}

fn cancel(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let setup = context.world.at_path("setup_intent", &id)?;
    expect_open(&setup)?;
    of_no_session(context.world, &id)?;
    let setup = context.world.set(&id, json!({ "status": "canceled" }));
    context.world.emit("setup_intent.canceled", &setup);
    Ok(setup)
}

/// "You can't confirm or cancel the SetupIntent for a Checkout Session. To cancel, expire the
/// Checkout Session instead."
fn of_no_session(world: &World, id: &str) -> Result<(), ApiError> {
    if intents::session_of(world, id).is_none() {
        return Ok(());
    }
    let message = "You cannot confirm or cancel the SetupIntent of a Checkout Session.";
    Err(ApiError::invalid(None, message))
}

fn expect_open(setup: &Value) -> Result<(), ApiError> {
    let status = text(setup, "status");
    if matches!(status, "succeeded" | "canceled") {
        let message = format!("This SetupIntent is {status} already.");
        let error = ApiError::invalid(Some("setup_intent_unexpected_state"), &message);
        return Err(error.with("setup_intent", setup.clone()));
    }
    Ok(())
}

pub(crate) fn carry_out(world: &mut World, id: &str) -> Outcome {
    let setup = world.at_path("setup_intent", id)?;
    expect_open(&setup)?;
    let Some(method) = setup["payment_method"].as_str() else {
        let message = "A payment method is needed to confirm this SetupIntent.";
        return Err(ApiError::invalid(Some("parameter_missing"), message));
    };
    match payments::setup_of(world, method) {
        Use::Works => Ok(done(world, id)),
        Use::Authenticate => {
            let next = json!({ "type": "use_stripe_sdk", "use_stripe_sdk": {} });
            let waiting = world.set(
                id,
                json!({ "status": "requires_action", "next_action": next }),
            );
            world.emit("setup_intent.requires_action", &waiting);
            Ok(waiting)
        }
        Use::Declined(decline) => {
            let failed = world.set(
                id,
                json!({
                    "status": "requires_payment_method", "last_setup_error": decline.member(),
                    "payment_method": null
                }),
            );
            world.emit("setup_intent.setup_failed", &failed);
            Err(decline.error().with("setup_intent", failed))
        }
    }
}

/// The setup is done: the method is the customer's.
pub(crate) fn done(world: &mut World, id: &str) -> Value {
    let setup = world.find("setup_intent", id).unwrap_or_default();
    if let Some(customer) = setup["customer"].as_str() {
        payments::keep(world, text(&setup, "payment_method"), customer);
    }
    let done = world.set(
        id,
        json!({ "status": "succeeded", "last_setup_error": null, "next_action": null }),
    );
    world.emit("setup_intent.succeeded", &done);
    done
}

/// The setup failed at the authentication of the customer.
pub(crate) fn not_authenticated(world: &mut World, id: &str) {
    let decline = Decline {
        code: "setup_intent_authentication_failure",
        ..Decline::NOT_AUTHENTICATED
    };
    let failed = world.set(
        id,
        json!({
            "status": "requires_payment_method", "last_setup_error": decline.member(),
            "payment_method": null, "next_action": null
        }),
    );
    world.emit("setup_intent.setup_failed", &failed);
}
