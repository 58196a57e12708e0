//! Refunds.

use serde_json::json;

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, fits, on};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{metadata, number, text};

const CREATE: &[Param] = &[
    may("amount", Kind::Int),
    may("charge", Kind::Text),
    may("metadata", Kind::Metadata),
    may("payment_intent", Kind::Text),
    may(
        "reason",
        Kind::Enum(&["duplicate", "fraudulent", "requested_by_customer"]),
    ),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/refunds", CREATE, create),
    on(
        "GET",
        "/v1/refunds",
        &[
            may("charge", Kind::Text),
            may("payment_intent", Kind::Text),
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/refunds/*", &[], read),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    let charge_id = match (params["payment_intent"].as_str(), params["charge"].as_str()) {
        (Some(intent), None) => {
            let intent = context
                .world
                .named("payment_intent", "payment_intent", intent)?;
            text(&intent, "latest_charge").to_owned()
        }
        (None, Some(charge)) => charge.to_owned(),
        _ => {
            let message = "One of payment_intent and charge is needed.";
            return Err(ApiError::invalid(Some("parameter_missing"), message));
        }
    };
    let charge = context.world.named("charge", "charge", &charge_id)?;
    if charge["refunded"] == true {
        let message = format!("Charge {charge_id} has already been refunded.");
        return Err(ApiError::invalid(Some("charge_already_refunded"), &message));
    }
    if charge["disputed"] == true {
        let message = format!("Charge {charge_id} has been charged back; cannot issue a refund.");
        return Err(ApiError::invalid(Some("charge_disputed"), &message));
    }
    if charge["captured"] != true {
        let message = "This PaymentIntent does not have a successful charge to refund.";
        return Err(ApiError::invalid(None, message));
    }
    let left = number(&charge, "amount_captured") - number(&charge, "amount_refunded");
    let amount = params["amount"].as_i64().unwrap_or(left);
    if amount < 1 || amount > left {
        let message = format!(
            "Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
        );
        return Err(ApiError::parameter(None, "amount", &message));
    }
    let id = context.world.new_id("re");
    let refund = context.world.make(
        "refund",
        &id,
        json!({
            "amount": amount, "charge": charge_id, "currency": charge["currency"],
            "metadata": metadata(params), "payment_intent": charge["payment_intent"],
            "reason": params["reason"], "status": "succeeded"
        }),
    );
    let refunded = number(&charge, "amount_refunded") + amount;
    let charge = context.world.set(
        &charge_id,
        json!({ "amount_refunded": refunded, "refunded": refunded == number(&charge, "amount_captured") }),
    );
    context.world.emit("refund.created", &refund);
    context.world.emit("charge.refunded", &charge);
    Ok(refund)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("refund", "/v1/refunds", params, |refund| {
            fits(refund, params, "charge") && fits(refund, params, "payment_intent")
        })
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("refund", context.id())
}
