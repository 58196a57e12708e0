//! Payment methods.

use serde_json::json;

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, fits, on};
use crate::cards::{self, Use};
use crate::error::ApiError;
use crate::payments;
use crate::spec::{Kind, may, must};

pub(crate) const OPERATIONS: &[Operation] = &[
    on(
        "POST",
        "/v1/payment_methods",
        &[
            must("type", Kind::Enum(&["card"])),
            may("card", Kind::Group(&[must("token", Kind::Text)])),
            may("metadata", Kind::Metadata),
        ],
        create,
    ),
    on(
        "GET",
        "/v1/payment_methods",
        &[
            may("customer", Kind::Text),
            may("type", Kind::Text),
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/payment_methods/*", &[], read),
    on(
        "POST",
        "/v1/payment_methods/*/attach",
        &[must("customer", Kind::Text)],
        attach,
    ),
    on("POST", "/v1/payment_methods/*/detach", &[], detach),
];

fn create(context: &mut Context<'_>) -> Outcome {
    // `tok_visa` and its like stand for the cards that methods are named after.
    let token = context.params["card"]["token"]
        .as_str()
        .unwrap_or("tok_visa");
    let name = token.replacen("tok_", "pm_card_", 1);
    let card = cards::named(&name)
        .filter(|_| !context.world.live)
        .ok_or_else(|| ApiError::missing("token", "card[token]", token))?;
    Ok(payments::new_method(context.world, card))
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("payment_method", "/v1/payment_methods", params, |method| {
            method["customer"].is_string()
                && fits(method, params, "customer")
                && fits(method, params, "type")
        })
}

fn read(context: &mut Context<'_>) -> Outcome {
    match cards::named(context.id()).filter(|_| !context.world.live) {
        Some(card) => Ok(payments::new_method(context.world, card)),
        None => context.world.at_path("payment_method", context.id()),
    }
}

fn attach(context: &mut Context<'_>) -> Outcome {
    let customer = context.text("customer").to_owned();
    context.world.named("customer", "customer", &customer)?;
    let name = context.id().to_owned();
    let method = payments::method(context.world, &name, Some(&customer))?;
    let id = method["id"].as_str().unwrap_or_default().to_owned();
    if let Use::Declined(decline) = payments::setup_of(context.world, &id) {
        return Err(decline.error());
    }
    payments::keep(context.world, &id, &customer);
    context.world.at_path("payment_method", &id)
}

/// "Detachment is permanent and irreversible — once detached, a PaymentMethod can no longer be
/// used for payments or re-attached to a Customer."
fn detach(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let method = context.world.at_path("payment_method", &id)?;
    if method["customer"].is_null() {
        let message = "The payment method you provided is not attached to a customer so \
                       detachment is impossible.";
        return Err(ApiError::invalid(None, message));
    }
    let method = context.world.set(&id, json!({ "customer": null }));
    context.world.spent.insert(id);
    context.world.emit("payment_method.detached", &method);
    Ok(method)
}
