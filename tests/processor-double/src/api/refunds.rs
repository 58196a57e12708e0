//! Refunds.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, fits, on};
use crate::currency;
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{World, changed_metadata, metadata, number, text};

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
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/refunds/*", &[], read),
    on(
        "POST",
        "/v1/refunds/*",
        &[may("metadata", Kind::Metadata)],
        update,
    ),
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
    if amount < 1 {
        return Err(currency::at_least_one("amount"));
    }
    // "This method will raise an error when called on an already-refunded charge, or when
    // trying to refund more money than is left on a charge."
    if amount > left {
        let message = format!(
            "Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
        );
        return Err(ApiError::parameter(None, "amount", &message));
    }
    currency::written("amount", amount, text(&charge, "currency"))?;
    let id = context.world.new_id("re");
    let status = if context.world.rules.refunds_pend {
        "pending"
    } else {
        "succeeded"
    };
    let refund = context.world.make(
        "refund",
        &id,
        json!({
            "amount": amount, "charge": charge_id, "currency": charge["currency"],
            "failure_balance_transaction": null, "metadata": metadata(params),
            "payment_intent": charge["payment_intent"], "reason": params["reason"],
            "status": status
        }),
    );
    let charge = count(context.world, &charge_id, amount);
    context.world.emit("refund.created", &refund);
    context.world.emit("charge.refunded", &charge);
    Ok(refund)
}

/// The refund ends: `succeeded`, or `failed` for a reason; one that succeeded can fail yet.
///
/// "Provides the reason for the refund failure. Possible values are: lost_or_stolen_card,
/// expired_or_canceled_card, charge_for_pending_refund_disputed, insufficient_funds, declined,
/// merchant_request, or unknown."
pub(crate) fn settle(world: &mut World, id: &str, failure: Option<&str>) {
    let refund = world.find("refund", id).unwrap_or_default();
    let Some(reason) = failure else {
        let done = world.set(id, json!({ "status": "succeeded" }));
        tell(world, &done);
        return;
    };
    let amount = number(&refund, "amount");
    let back = world.new_id("txn");
    // "If the refund failed, this balance transaction describes the adjustment made on your
    // account balance that reverses the initial balance transaction."
    world.make(
        "balance_transaction",
        &back,
        json!({
            "type": "refund_failure", "source": id, "amount": amount, "fee": 0, "net": amount,
            "currency": refund["currency"], "status": "available"
        }),
    );
    let failed = world.set(
        id,
        json!({
            "status": "failed", "failure_reason": reason, "failure_balance_transaction": back
        }),
    );
    count(world, text(&refund, "charge"), -amount);
    // "Occurs whenever a refund has failed."
    world.emit("refund.failed", &failed);
    tell(world, &failed);
}

fn tell(world: &mut World, refund: &Value) {
    // "Occurs whenever a refund is updated."
    world.emit("refund.updated", refund);
    // "Occurs whenever a refund is updated on selected payment methods."
    world.emit("charge.refund.updated", refund);
}

/// Counts what was refunded of the charge, or what was not after all.
fn count(world: &mut World, charge: &str, amount: i64) -> Value {
    let known = world.any(charge).cloned().unwrap_or_default();
    let refunded = number(&known, "amount_refunded") + amount;
    let all = refunded == number(&known, "amount_captured");
    world.set(
        charge,
        json!({ "amount_refunded": refunded, "refunded": all }),
    )
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

fn update(context: &mut Context<'_>) -> Outcome {
    let mut refund = context.world.at_path("refund", context.id())?;
    refund["metadata"] = changed_metadata(&refund["metadata"], context.params);
    context.world.put(&refund);
    tell(context.world, &refund);
    Ok(refund)
}
