//! Disputes: a bank takes a payment back.

use serde_json::{Value, json};

use crate::store::{World, number, text};

/// The holder's bank contests the charge; answers the dispute's id.
///
/// It carries no metadata of the payment's. "ID of the charge that's disputed" and "ID of
/// the PaymentIntent that's disputed" are all that leads from it to what was paid.
pub(crate) fn open(world: &mut World, charge: &str) -> String {
    let known = world.any(charge).cloned().unwrap_or_default();
    let id = world.new_id("dp");
    let amount = number(&known, "amount_captured");
    let taken = movement(world, &id, &known, -amount);
    let dispute = world.make(
        "dispute",
        &id,
        json!({
            "charge": charge, "payment_intent": known["payment_intent"], "amount": amount,
            "currency": known["currency"], "metadata": {}, "reason": "fraudulent",
            "status": "needs_response", "is_charge_refundable": false,
            "balance_transactions": [taken],
            "evidence_details": {
                "due_by": world.now + 7 * 86_400, "has_evidence": false, "past_due": false,
                "submission_count": 0
            }
        }),
    );
    world.set(charge, json!({ "disputed": true }));
    // "Occurs whenever a customer disputes a charge with their bank."
    world.emit("charge.dispute.created", &dispute);
    // "Occurs when funds are removed from your account due to a dispute."
    world.emit("charge.dispute.funds_withdrawn", &dispute);
    id
}

/// The dispute moves, and ends with `won`, `lost` or `warning_closed`.
pub(crate) fn decide(world: &mut World, id: &str, status: &str) {
    let moved = world.set(id, json!({ "status": status }));
    if !matches!(status, "won" | "lost" | "warning_closed") {
        // "Occurs when the dispute is updated (usually with evidence)."
        world.emit("charge.dispute.updated", &moved);
        return;
    }
    // "Occurs when a dispute is closed and the dispute status changes to `lost`,
    // `warning_closed`, or `won`."
    world.emit("charge.dispute.closed", &moved);
    if status == "won" {
        let charge = world
            .any(text(&moved, "charge"))
            .cloned()
            .unwrap_or_default();
        let back = movement(world, id, &charge, number(&moved, "amount"));
        let mut moved = moved;
        if let Some(movements) = moved["balance_transactions"].as_array_mut() {
            movements.push(back);
        }
        world.put(&moved);
        // "Occurs when funds are reinstated to your account after a dispute is closed."
        world.emit("charge.dispute.funds_reinstated", &moved);
    }
}

fn movement(world: &mut World, dispute: &str, charge: &Value, amount: i64) -> Value {
    let id = world.new_id("txn");
    world.make(
        "balance_transaction",
        &id,
        json!({
            "type": "adjustment", "source": dispute, "amount": amount,
            "currency": charge["currency"], "fee": 0, "net": amount, "status": "available"
        }),
    )
}
