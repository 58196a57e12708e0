//! What becomes of subscriptions as months pass: periods, ends, pauses.

use chrono::{DateTime, Months, Utc};
use serde_json::{Value, json};

use crate::billing::{self, Period, amount_of};
use crate::collection;
use crate::error::ApiError;
use crate::schedule::What;
use crate::store::{World, list as items, number, text};

/// The period of the subscription ends, unless it did or something else came first.
pub(crate) fn cycle(world: &mut World, id: &str, at: i64) {
    let Some(subscription) = world.find("subscription", id) else {
        return;
    };
    if has_ended(&subscription) {
        return;
    }
    if subscription["cancel_at"]
        .as_i64()
        .is_some_and(|end| end <= at)
    {
        finish(world, id, Some("cancellation_requested"));
        return;
    }
    let begin = period_end(&subscription);
    if begin != at || subscription["status"] == "incomplete" {
        return;
    }
    let anchor = number(&subscription, "billing_cycle_anchor");
    let next = following(anchor, begin);
    let (end, amount, prorated) = match subscription["cancel_at"].as_i64() {
        Some(end) if end < next => {
            let amount = amount_of(&subscription);
            (end, amount * (end - begin) / (next - begin), true)
        }
        _ => (next, amount_of(&subscription), false),
    };
    let mut renewed = subscription;
    for item in renewed["items"]["data"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        item["current_period_start"] = begin.into();
        item["current_period_end"] = end.into();
    }
    world.put(&renewed);
    if prorated {
        note_part(world, &renewed, end);
    }
    let period = Period {
        begin,
        end,
        amount,
        prorated,
    };
    // "A paused subscription doesn't generate invoices and can be resumed after your customer
    // adds their payment method."
    if renewed["status"] != "paused" {
        billing::next_invoice(world, &renewed, &period);
    }
    world.emit_of("customer.subscription.updated", id);
    world.schedule(end, What::Cycle, id);
}

/// A subscription whose first payment was never made is over: "If the first invoice is not
/// paid within 23 hours, the subscription transitions to incomplete_expired. This is a terminal
/// status, the open invoice will be voided and no further invoices will be generated."
pub(crate) fn give_up(world: &mut World, id: &str) {
    if world
        .any(id)
        .is_some_and(|known| known["status"] == "incomplete")
    {
        let now = world.now;
        let members = json!({ "status": "incomplete_expired", "ended_at": now });
        let over = world.set(id, members);
        if let Some(invoice) = over["latest_invoice"].as_str() {
            collection::void(world, invoice);
        }
        world.emit("customer.subscription.updated", &over);
    }
}

/// The subscription is over.
pub(crate) fn finish(world: &mut World, id: &str, reason: Option<&str>) -> Value {
    let now = world.now;
    let details = json!({ "comment": null, "feedback": null, "reason": reason });
    let members = json!({
        "status": "canceled", "canceled_at": now, "ended_at": now, "cancellation_details": details
    });
    let over = world.set(id, members);
    // "Occurs whenever a customer's subscription ends."
    world.emit("customer.subscription.deleted", &over);
    over
}

/// The subscription's invoices are left as they come: "Note that the subscription status will
/// be unchanged and will not be updated to paused."
pub(crate) fn pause_collection(world: &mut World, id: &str, behavior: &str, until: Option<i64>) {
    let pause = json!({ "behavior": behavior, "resumes_at": until });
    world.set(id, json!({ "pause_collection": pause }));
    if let Some(at) = until {
        world.schedule(at, What::Collect, id);
    }
}

/// They are collected again, when it was to be at that time.
pub(crate) fn collect_again(world: &mut World, id: &str, at: i64) {
    let due = world
        .any(id)
        .is_some_and(|known| known["pause_collection"]["resumes_at"] == at);
    if due {
        world.set(id, json!({ "pause_collection": null }));
        world.emit_of("customer.subscription.updated", id);
    }
}

/// Whether a subscription can end at that time.
pub(crate) fn is_to_come(world: &World, at: i64) -> Result<(), ApiError> {
    // "A date in the future at which the subscription will automatically get canceled".
    if at > world.now {
        return Ok(());
    }
    let message = "The cancel_at has to be in the future.";
    Err(ApiError::parameter(None, "cancel_at", message))
}

/// Sets the end. "If set to a date before the current period ends, this will cause a proration
/// if prorations have been enabled using proration_behavior. If set during a future period,
/// this will always cause a proration for that period": when that period comes, so that an end which
/// is mended before causes none.
pub(crate) fn set_end(world: &mut World, id: &str, at: i64, asked: bool) {
    let subscription = world.find("subscription", id).unwrap_or_default();
    if asked && at < period_end(&subscription) {
        credit(world, &subscription, at);
    }
    world.set(id, json!({ "cancel_at": at }));
    world.schedule(at, What::Cycle, id);
}

/// What was paid for the rest of the running period is given back.
pub(crate) fn credit(world: &mut World, subscription: &Value, at: i64) {
    let end = period_end(subscription);
    let begin = items(&subscription["items"], "data")
        .map(|item| number(item, "current_period_start"))
        .max()
        .unwrap_or(end);
    let rest = (end - at).max(0) * amount_of(subscription) / (end - begin).max(1);
    let id = world.new_id("ii");
    let item = world.make(
        "invoiceitem",
        &id,
        json!({
            "amount": -rest, "currency": subscription["currency"],
            "customer": subscription["customer"], "proration": true,
            "parent": { "type": "subscription_details", "subscription_details": { "subscription": subscription["id"] } }
        }),
    );
    world.emit("invoiceitem.created", &item);
    note_part(world, subscription, at);
}

/// Notes that the subscription does not charge whole months.
fn note_part(world: &mut World, subscription: &Value, at: i64) {
    let id = world.new_id("double");
    world.make(
        "double.proration",
        &id,
        json!({ "subscription": subscription["id"], "at": at, "metadata": subscription["metadata"] }),
    );
}

/// Whether nothing more comes of the subscription.
pub(crate) fn has_ended(subscription: &Value) -> bool {
    matches!(
        text(subscription, "status"),
        "canceled" | "incomplete_expired"
    )
}

/// When the running period ends.
pub(crate) fn period_end(subscription: &Value) -> i64 {
    items(&subscription["items"], "data")
        .map(|item| number(item, "current_period_end"))
        .min()
        .unwrap_or_default()
}

/// So many months after the anchor, counted from the anchor's own day.
pub(crate) fn boundary(anchor: i64, months: u32) -> i64 {
    DateTime::<Utc>::from_timestamp(anchor, 0)
        .and_then(|at| at.checked_add_months(Months::new(months)))
        .map_or(i64::MAX, |at| at.timestamp())
}

/// The first boundary after that time.
fn following(anchor: i64, after: i64) -> i64 {
    (1..)
        .map(|months| boundary(anchor, months))
        .find(|end| *end > after)
        .unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(date: &str) -> i64 {
        date.parse::<DateTime<Utc>>().expect("a time").timestamp()
    }

    #[test]
    fn months_clamp_and_come_back() {
        let anchor = seconds("2026-01-31T10:00:00Z");
        let ends: Vec<_> = (1..=4).map(|months| boundary(anchor, months)).collect();
        let expected = [
            "2026-02-28T10:00:00Z",
            "2026-03-31T10:00:00Z",
            "2026-04-30T10:00:00Z",
            "2026-05-31T10:00:00Z",
        ];
        assert_eq!(ends, expected.map(seconds));
        assert_eq!(
            following(anchor, seconds(expected[1])),
            seconds(expected[2])
        );
        assert_eq!(
            following(anchor, seconds(expected[1]) - 1),
            seconds(expected[1])
        );
    }
}
