//! Subscriptions that are paid by the month.

use chrono::{DateTime, Months, Utc};
use serde_json::{Value, json};

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::billing::{self, Period, amount_of};
use crate::error::ApiError;
use crate::schedule::What;
use crate::spec::{Kind, Param, may, must};
use crate::store::{World, changed_metadata, list as items, metadata, number, text};

/// When a first payment that was not made is given up, seconds.
const GIVE_UP: i64 = 23 * 3_600;

const BEHAVIOR: Kind = Kind::Enum(&[
    "allow_incomplete",
    "default_incomplete",
    "error_if_incomplete",
    "pending_if_incomplete",
]);
const PRORATION: Kind = Kind::Enum(&["always_invoice", "create_prorations", "none"]);

const CREATE: &[Param] = &[
    must("customer", Kind::Text),
    must(
        "items",
        Kind::List(&Kind::Group(&[
            must("price", Kind::Text),
            may("quantity", Kind::Int),
            may("metadata", Kind::Metadata),
        ])),
    ),
    may("cancel_at", Kind::Int),
    may("cancel_at_period_end", Kind::Bool),
    may("collection_method", Kind::Enum(&["charge_automatically"])),
    may("currency", Kind::Text),
    may("default_payment_method", Kind::Text),
    may("description", Kind::Text),
    may("metadata", Kind::Metadata),
    may("off_session", Kind::Bool),
    may("payment_behavior", BEHAVIOR),
    may("proration_behavior", PRORATION),
];

const UPDATE: &[Param] = &[
    may("cancel_at", Kind::ClearableInt),
    may("cancel_at_period_end", Kind::Bool),
    may("default_payment_method", Kind::Text),
    may("description", Kind::Clearable),
    may("metadata", Kind::Metadata),
    may("off_session", Kind::Bool),
    may("payment_behavior", BEHAVIOR),
    may("proration_behavior", PRORATION),
];

const CANCEL: &[Param] = &[
    may("invoice_now", Kind::Bool),
    may("prorate", Kind::Bool),
    may(
        "cancellation_details",
        Kind::Group(&[
            may("comment", Kind::Clearable),
            may("feedback", Kind::Clearable),
        ]),
    ),
];

const LIST: &[Param] = &[
    may("customer", Kind::Text),
    may("price", Kind::Text),
    may(
        "status",
        Kind::Enum(&[
            "active",
            "all",
            "canceled",
            "ended",
            "incomplete",
            "incomplete_expired",
            "past_due",
            "paused",
            "trialing",
            "unpaid",
        ]),
    ),
    LIMIT,
    AFTER,
    BEFORE,
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/subscriptions", CREATE, create),
    on("GET", "/v1/subscriptions", LIST, list),
    on(
        "GET",
        "/v1/subscriptions/search",
        &[QUERY, LIMIT, PAGE],
        search,
    ),
    on("GET", "/v1/subscriptions/*", &[], read),
    on("POST", "/v1/subscriptions/*", UPDATE, update),
    on("DELETE", "/v1/subscriptions/*", CANCEL, cancel),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    let customer = context.text("customer").to_owned();
    context.world.named("customer", "customer", &customer)?;
    let (lines, currency) = lines(context)?;
    let method = default_method(context, &customer)?;
    let id = context.world.new_id("sub");
    let start = context.world.now;
    let end = boundary(start, 1);
    let data: Vec<_> = lines
        .into_iter()
        .map(|(price, quantity)| {
            let item = context.world.new_id("si");
            json!({
                "id": item, "object": "subscription_item", "created": start, "subscription": id,
                "price": price, "quantity": quantity, "metadata": {},
                "current_period_start": start, "current_period_end": end
            })
        })
        .collect();
    let draft = json!({
        "customer": customer, "default_payment_method": method, "currency": currency,
        "items": { "object": "list", "has_more": false, "url": format!("/v1/subscription_items?subscription={id}"), "data": data }
    });
    let behavior = params["payment_behavior"]
        .as_str()
        .unwrap_or("allow_incomplete");
    let outlook = billing::outlook(context.world, &draft);
    match &outlook {
        Err(None) if behavior != "default_incomplete" => {
            let message = "This customer has no attached payment source or default payment method.";
            return Err(ApiError::invalid(Some("resource_missing"), message));
        }
        Err(Some(decline)) if behavior == "error_if_incomplete" => return Err(decline.error()),
        _ => {}
    }
    context.world.make("subscription", &id, draft);
    let cancel_at = params["cancel_at"].as_i64();
    let cancel_at = match params["cancel_at_period_end"] == true {
        true => Some(end),
        false => cancel_at,
    };
    let subscription = context.world.set(
        &id,
        json!({
            "billing_cycle_anchor": start, "cancel_at": null,
            "cancel_at_period_end": params["cancel_at_period_end"] == true, "canceled_at": null,
            "collection_method": "charge_automatically", "description": params["description"],
            "ended_at": null, "latest_invoice": null, "metadata": metadata(params),
            "start_date": start, "status": "incomplete"
        }),
    );
    let amount = amount_of(&subscription);
    let period = Period {
        begin: start,
        end,
        amount,
        prorated: false,
    };
    let invoice = billing::first_invoice(context.world, &subscription, &period);
    context.world.set(&id, json!({ "latest_invoice": invoice }));
    if let Some(at) = cancel_at {
        set_end(context, &id, at)?;
    }
    context.world.emit_of("customer.subscription.created", &id);
    if behavior != "default_incomplete" {
        // A first payment that fails leaves the subscription incomplete.
        let _paid = billing::pay(context.world, &invoice, None);
    }
    context.world.schedule(end, What::Cycle, &id);
    context.world.schedule(start + GIVE_UP, What::GiveUp, &id);
    context.world.at_path("subscription", &id)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context.world.list(
        "subscription",
        "/v1/subscriptions",
        params,
        |subscription| {
            let status = text(subscription, "status");
            let shown = match text(params, "status") {
                "all" => true,
                "" => status != "canceled",
                "ended" => matches!(status, "canceled" | "incomplete_expired"),
                wanted => status == wanted,
            };
            let priced = params.get("price").is_none_or(|wanted| {
                items(&subscription["items"], "data").any(|item| item["price"]["id"] == *wanted)
            });
            shown && priced && fits(subscription, params, "customer")
        },
    )
}

fn search(context: &mut Context<'_>) -> Outcome {
    let url = "/v1/subscriptions/search";
    context.world.search("subscription", url, context.params)
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("subscription", context.id())
}

fn update(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let mut subscription = context.world.at_path("subscription", &id)?;
    if has_ended(&subscription) {
        let message =
            "A canceled subscription can only update its cancellation_details and metadata.";
        return Err(ApiError::invalid(None, message));
    }
    let customer = text(&subscription, "customer").to_owned();
    if !context.params["default_payment_method"].is_null() {
        subscription["default_payment_method"] = default_method(context, &customer)?.into();
    }
    if let Some(description) = context.params.get("description") {
        subscription["description"] = description.clone();
    }
    subscription["metadata"] = changed_metadata(&subscription["metadata"], context.params);
    context.world.put(&subscription);
    match context.params.get("cancel_at") {
        Some(Value::Number(at)) => {
            let at = at.as_i64().unwrap_or_default();
            set_end(context, &id, at)?;
        }
        Some(_) => {
            context.world.set(&id, json!({ "cancel_at": null }));
        }
        None => {}
    }
    if let Some(wanted) = context.params["cancel_at_period_end"].as_bool() {
        let end = wanted.then(|| period_end(&subscription));
        context.world.set(
            &id,
            json!({ "cancel_at_period_end": wanted, "cancel_at": end }),
        );
    }
    context.world.emit_of("customer.subscription.updated", &id);
    context.world.at_path("subscription", &id)
}

fn cancel(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let subscription = context.world.at_path("subscription", &id)?;
    if has_ended(&subscription) {
        return Err(ApiError::not_found("subscription", &id));
    }
    if context.params["prorate"] == true {
        credit(context.world, &subscription, context.world.now);
    }
    Ok(finish(context.world, &id))
}

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
        finish(world, id);
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
    let period = Period {
        begin,
        end,
        amount,
        prorated,
    };
    billing::next_invoice(world, &renewed, &period);
    world.emit_of("customer.subscription.updated", id);
    world.schedule(end, What::Cycle, id);
}

/// A subscription whose first payment was never made is over.
pub(crate) fn give_up(world: &mut World, id: &str) {
    if world
        .any(id)
        .is_some_and(|known| known["status"] == "incomplete")
    {
        let now = world.now;
        let members = json!({ "status": "incomplete_expired", "ended_at": now });
        let over = world.set(id, members);
        if let Some(invoice) = over["latest_invoice"].as_str() {
            let invoice = invoice.to_owned();
            let void = world.set(&invoice, json!({ "status": "void" }));
            world.emit("invoice.voided", &void);
        }
        world.emit("customer.subscription.updated", &over);
    }
}

fn finish(world: &mut World, id: &str) -> Value {
    let now = world.now;
    let members = json!({ "status": "canceled", "canceled_at": now, "ended_at": now });
    let over = world.set(id, members);
    world.emit("customer.subscription.deleted", &over);
    over
}

/// Sets the end. One that is no boundary of the months counted from the anchor
/// prorates: a coming period always, the running one unless it is asked not to.
fn set_end(context: &mut Context<'_>, id: &str, at: i64) -> Result<(), ApiError> {
    let subscription = context.world.at_path("subscription", id)?;
    if at <= context.world.now {
        let message = "The cancel_at has to be in the future.";
        return Err(ApiError::parameter(None, "cancel_at", message));
    }
    let anchor = number(&subscription, "billing_cycle_anchor");
    let within = at < period_end(&subscription);
    let asked = context.params["proration_behavior"] != "none";
    if within && asked {
        credit(context.world, &subscription, at);
    } else if !within && following(anchor, at - 1) != at {
        prorated(context.world, &subscription, at);
    }
    context.world.set(id, json!({ "cancel_at": at }));
    context.world.schedule(at, What::Cycle, id);
    Ok(())
}

/// What was paid for the rest of the running period is given back.
fn credit(world: &mut World, subscription: &Value, at: i64) {
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
    prorated(world, subscription, at);
}

/// Notes that the subscription does not charge whole months.
fn prorated(world: &mut World, subscription: &Value, at: i64) {
    let id = world.new_id("double");
    world.make(
        "double.proration",
        &id,
        json!({ "subscription": subscription["id"], "at": at, "metadata": subscription["metadata"] }),
    );
}

fn lines(context: &mut Context<'_>) -> Result<(Vec<(Value, i64)>, Value), ApiError> {
    let mut lines = Vec::new();
    let mut currency = Value::Null;
    for (index, item) in items(context.params, "items").enumerate() {
        let param = format!("items[{index}][price]");
        let price = context.world.named("price", &param, text(item, "price"))?;
        if price["active"] != true {
            let message = "The price specified is inactive. This field only accepts active prices.";
            return Err(ApiError::parameter(None, &param, message));
        }
        let monthly =
            price["recurring"]["interval"] == "month" && price["recurring"]["interval_count"] == 1;
        if !monthly {
            let message = "The double bills by the month and nothing else.";
            return Err(ApiError::parameter(None, &param, message));
        }
        currency = price["currency"].clone();
        lines.push((price, item["quantity"].as_i64().unwrap_or(1)));
    }
    if lines.is_empty() {
        let message = "Missing required param: items.";
        return Err(ApiError::parameter(
            Some("parameter_missing"),
            "items",
            message,
        ));
    }
    Ok((lines, currency))
}

/// The method that a subscription names has to be the customer's.
fn default_method(context: &mut Context<'_>, customer: &str) -> Result<Option<String>, ApiError> {
    let Some(name) = context.params["default_payment_method"].as_str() else {
        return Ok(None);
    };
    let method = context
        .world
        .named("payment_method", "default_payment_method", name)?;
    if method["customer"] != customer {
        let message = format!(
            "The customer does not have a payment method with the ID {name}. The payment method \
             must be attached to the customer."
        );
        return Err(ApiError::parameter(
            Some("resource_missing"),
            "default_payment_method",
            &message,
        ));
    }
    Ok(Some(name.to_owned()))
}

fn has_ended(subscription: &Value) -> bool {
    matches!(
        text(subscription, "status"),
        "canceled" | "incomplete_expired"
    )
}

fn period_end(subscription: &Value) -> i64 {
    items(&subscription["items"], "data")
        .map(|item| number(item, "current_period_end"))
        .min()
        .unwrap_or_default()
}

/// So many months after the anchor, counted from the anchor's own day.
fn boundary(anchor: i64, months: u32) -> i64 {
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
