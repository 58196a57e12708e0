//! Subscriptions that are paid by the month.

use serde_json::{Value, json};

use super::subscription_items::{ITEM, priced};
use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::billing::{self, Period, amount_of};
use crate::collection::{self, Attempt};
use crate::error::ApiError;
use crate::schedule::What;
use crate::spec::{Kind, Param, may, must};
use crate::store::{changed_metadata, list as items, metadata, text};
use crate::terms::{self, boundary, has_ended, period_end};

/// When a first payment that was not made is given up, seconds.
const GIVE_UP: i64 = 23 * 3_600;

const BEHAVIOR: Kind = Kind::Enum(&[
    "allow_incomplete",
    "default_incomplete",
    "error_if_incomplete",
    "pending_if_incomplete",
]);
const PRORATION: Kind = Kind::Enum(&["always_invoice", "create_prorations", "none"]);

const PAUSE: Kind = Kind::ClearableGroup(&[
    must(
        "behavior",
        Kind::Enum(&["keep_as_draft", "mark_uncollectible", "void"]),
    ),
    may("resumes_at", Kind::Int),
]);

const CREATE: &[Param] = &[
    must("customer", Kind::Text),
    must("items", Kind::List(&ITEM)),
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
    may("default_source", Kind::Clearable),
    may("description", Kind::Clearable),
    may("metadata", Kind::Metadata),
    may("off_session", Kind::Bool),
    may("pause_collection", PAUSE),
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
    CREATED,
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
    on(
        "POST",
        "/v1/subscriptions/*/resume",
        &[may("proration_behavior", PRORATION)],
        resume,
    ),
    on("DELETE", "/v1/subscriptions/*", CANCEL, cancel),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    let customer = context.text("customer").to_owned();
    context.world.named("customer", "customer", &customer)?;
    let method = default_method(context, &customer)?;
    if let Some(at) = params["cancel_at"].as_i64() {
        terms::is_to_come(context.world, at)?;
    }
    let (lines, currency) = priced(context)?;
    // "Indicates if a customer is on or off-session while an invoice payment is attempted.
    // Defaults to false (on-session)."
    let off_session = params["off_session"] == true;
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
    let outlook = collection::outlook(context.world, &draft, off_session);
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
            "cancellation_details": { "comment": null, "feedback": null, "reason": null },
            "ended_at": null, "latest_invoice": null, "metadata": metadata(params),
            "pause_collection": null, "start_date": start, "status": "incomplete"
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
        terms::set_end(context.world, &id, at, prorates(params));
    }
    context.world.emit_of("customer.subscription.created", &id);
    if behavior != "default_incomplete" {
        // A first payment that fails leaves the subscription incomplete.
        let attempt = Attempt {
            off_session,
            automatic: true,
            method: None,
        };
        let _paid = collection::pay(context.world, &invoice, &attempt);
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
        // "After it's canceled, the subscription is largely immutable. You can still update its
        // metadata and cancellation_details."
        let message =
            "A canceled subscription can only update its cancellation_details and metadata.";
        return Err(ApiError::invalid(None, message));
    }
    if subscription["status"] == "incomplete" {
        metadata_only(context)?;
    }
    if let Some(at) = context.params["cancel_at"].as_i64() {
        terms::is_to_come(context.world, at)?;
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
            terms::set_end(context.world, &id, at, prorates(context.params));
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
    match context.params.get("pause_collection") {
        Some(Value::Null) => {
            context.world.set(&id, json!({ "pause_collection": null }));
        }
        Some(pause) => {
            let until = pause["resumes_at"].as_i64();
            terms::pause_collection(context.world, &id, text(pause, "behavior"), until);
        }
        None => {}
    }
    context.world.emit_of("customer.subscription.updated", &id);
    context.world.at_path("subscription", &id)
}

/// "For collection_method=charge_automatically a subscription moves into incomplete if the
/// initial payment attempt fails. A subscription in this status can only have metadata and
/// default_source updated."
fn metadata_only(context: &Context<'_>) -> Result<(), ApiError> {
    let given = context.params.as_object().into_iter().flatten();
    let mut others = given
        .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "default_source" | "expand"));
    match others.next() {
        None => Ok(()),
        Some((name, _)) => {
            let message = "A subscription that is `incomplete` can only have metadata and \
                           default_source updated.";
            Err(ApiError::parameter(None, name, message))
        }
    }
}

/// Whether the request leaves prorations on.
fn prorates(params: &Value) -> bool {
    params["proration_behavior"] != "none"
}

/// "Initiates resumption of a paused subscription […] If Stripe doesn't generate a resumption
/// invoice, the subscription becomes active immediately."
fn resume(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let subscription = context.world.at_path("subscription", &id)?;
    if subscription["status"] != "paused" {
        let message = "Only a subscription that is paused can be resumed.";
        return Err(ApiError::invalid(None, message));
    }
    let resumed = context.world.set(&id, json!({ "status": "active" }));
    context
        .world
        .emit("customer.subscription.resumed", &resumed);
    context
        .world
        .emit("customer.subscription.updated", &resumed);
    Ok(resumed)
}

fn cancel(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let subscription = context.world.at_path("subscription", &id)?;
    if has_ended(&subscription) {
        return Err(ApiError::not_found("subscription", &id));
    }
    if context.params["prorate"] == true {
        terms::credit(context.world, &subscription, context.world.now);
    }
    Ok(terms::finish(
        context.world,
        &id,
        Some("cancellation_requested"),
    ))
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
