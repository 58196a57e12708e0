//! Pages of the processor's own, where customers pay or leave a card.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, fits, on};
use crate::currency;
use crate::error::ApiError;
use crate::intents;
use crate::schedule::What;
use crate::spec::{Kind, Param, may, must};
use crate::store::{World, list as items, metadata, number, text};

const KIND: &str = "checkout.session";
/// "It can be anywhere from 30 minutes to 24 hours after Checkout Session creation. By default,
/// this value is 24 hours from creation", seconds.
const SHORTEST: i64 = 30 * 60;
const LONGEST: i64 = 24 * 3_600;

const PRICE: Kind = Kind::Group(&[
    must("currency", Kind::Text),
    must("unit_amount", Kind::Int),
    may("product", Kind::Text),
    may(
        "product_data",
        Kind::Group(&[
            must("name", Kind::Text),
            may("description", Kind::Text),
            may("images", Kind::List(&Kind::Text)),
            may("metadata", Kind::Metadata),
        ]),
    ),
]);

const CREATE: &[Param] = &[
    must("mode", Kind::Enum(&["payment", "setup"])),
    must("success_url", Kind::Text),
    // "A list of the types of payment methods (e.g., `card`) this Checkout Session can accept": what
    // `payment_method_types` was before 2026-09-30.
    may(
        "allowed_payment_method_types",
        Kind::List(&Kind::Enum(&["card"])),
    ),
    may("cancel_url", Kind::Text),
    may("client_reference_id", Kind::Text),
    may("currency", Kind::Text),
    may("customer", Kind::Text),
    may("customer_email", Kind::Text),
    may("expires_at", Kind::Int),
    may(
        "line_items",
        Kind::List(&Kind::Group(&[
            may("price", Kind::Text),
            may("price_data", PRICE),
            may("quantity", Kind::Int),
        ])),
    ),
    may("locale", Kind::Text),
    may("metadata", Kind::Metadata),
    may(
        "payment_intent_data",
        Kind::Group(&[
            may(
                "capture_method",
                Kind::Enum(&["automatic", "automatic_async", "manual"]),
            ),
            may("description", Kind::Text),
            may("metadata", Kind::Metadata),
            may("receipt_email", Kind::Text),
            may(
                "setup_future_usage",
                Kind::Enum(&["on_session", "off_session"]),
            ),
            may("statement_descriptor_suffix", Kind::Text),
        ]),
    ),
    may(
        "setup_intent_data",
        Kind::Group(&[
            may("description", Kind::Text),
            may("metadata", Kind::Metadata),
        ]),
    ),
    may(
        "submit_type",
        Kind::Enum(&["auto", "book", "donate", "pay"]),
    ),
    may("ui_mode", Kind::Enum(&["hosted_page"])),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/checkout/sessions", CREATE, create),
    on(
        "GET",
        "/v1/checkout/sessions",
        &[
            may("customer", Kind::Text),
            may("payment_intent", Kind::Text),
            may("status", Kind::Enum(&["complete", "expired", "open"])),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/checkout/sessions/*", &[], |context| {
        context.world.at_path(KIND, context.id())
    }),
    on("POST", "/v1/checkout/sessions/*/expire", &[], expire),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    if let Some(customer) = params["customer"].as_str() {
        context.world.named("customer", "customer", customer)?;
    }
    let ends = ends(context)?;
    let setup = params["mode"] == "setup";
    let (amount, currency) = if setup {
        modes(params, "line_items", "payment_intent_data", "setup")?;
        // "Required in `setup` mode when `allowed_payment_method_types` is not set."
        if params["currency"].is_null() && params["allowed_payment_method_types"].is_null() {
            return Err(missing("currency"));
        }
        (Value::Null, params["currency"].clone())
    } else {
        modes(params, "setup_intent_data", "setup_intent_data", "payment")?;
        total(context)?
    };
    let id = context.world.new_id(if context.world.live {
        "cs_live"
    } else {
        "cs_test"
    });
    let intent = setup.then(|| setup_intent(context));
    let url = format!("{}/pay/{id}", context.world.pages);
    let session = context.world.make(
        KIND,
        &id,
        json!({
            "amount_subtotal": amount, "amount_total": amount,
            "cancel_url": params["cancel_url"], "client_reference_id": params["client_reference_id"],
            "currency": currency, "customer": params["customer"], "expires_at": ends,
            "customer_details": { "email": params["customer_email"] },
            "customer_email": params["customer_email"],
            "locale": params["locale"],
            "metadata": metadata(params), "mode": params["mode"],
            // "A PaymentIntent is no longer created during Checkout Session creation in payment
            // mode. Instead, a PaymentIntent is created when the Session is confirmed."
            "payment_intent": null, "payment_method_types": ["card"],
            "payment_status": if setup { "no_payment_required" } else { "unpaid" },
            "setup_intent": intent, "status": "open", "success_url": params["success_url"],
            "ui_mode": "hosted_page", "url": url
        }),
    );
    let wanted = params["payment_intent_data"].clone();
    context.world.wanted.insert(id.clone(), wanted);
    context.world.schedule(ends, What::Expire, &id);
    Ok(session)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list(KIND, "/v1/checkout/sessions", params, |session| {
            ["customer", "payment_intent", "status"]
                .iter()
                .all(|name| fits(session, params, name))
        })
}

/// "A Checkout Session can be expired when it is in one of these statuses: open".
fn expire(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let session = context.world.at_path(KIND, &id)?;
    if session["status"] != "open" {
        let message = format!(
            "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout \
             Session has a status of {}.",
            text(&session, "status")
        );
        return Err(ApiError::invalid(None, &message));
    }
    close(context.world, &session);
    context.world.at_path(KIND, &id)
}

/// The page closes by itself, unless it did before.
pub(crate) fn lapse(world: &mut World, id: &str) {
    let session = world.find(KIND, id).unwrap_or_default();
    if session["status"] == "open" {
        close(world, &session);
    }
}

fn close(world: &mut World, session: &Value) {
    // Of the URL: "This value is only present when the session is active."
    let closed = world.set(
        text(session, "id"),
        json!({ "status": "expired", "url": null }),
    );
    if let Some(intent) = session["payment_intent"].as_str() {
        let canceled = intents::end(world, intent, Some("expired"));
        world.emit("payment_intent.canceled", &canceled);
    }
    if let Some(setup) = session["setup_intent"].as_str() {
        let canceled = world.set(setup, json!({ "status": "canceled" }));
        world.emit("setup_intent.canceled", &canceled);
    }
    // "Occurs when a Checkout Session is expired."
    world.emit("checkout.session.expired", &closed);
}

fn ends(context: &Context<'_>) -> Result<i64, ApiError> {
    let now = context.world.now;
    let Some(at) = context.params["expires_at"].as_i64() else {
        return Ok(now + LONGEST);
    };
    if (now + SHORTEST..=now + LONGEST).contains(&at) {
        return Ok(at);
    }
    let message = "The `expires_at` timestamp must be 30 minutes to 24 hours from Checkout Session \
                   creation.";
    Err(ApiError::parameter(None, "expires_at", message))
}

/// Parameters of the other mode are refused.
fn modes(params: &Value, one: &str, other: &str, mode: &str) -> Result<(), ApiError> {
    let given = [one, other]
        .into_iter()
        .find(|name| params.get(*name).is_some());
    match given {
        None => Ok(()),
        Some(name) => {
            let message = format!("You can not pass `{name}` in `{mode}` mode.");
            Err(ApiError::parameter(None, name, &message))
        }
    }
}

fn missing(param: &str) -> ApiError {
    let message = format!("Missing required param: {param}.");
    ApiError::parameter(Some("parameter_missing"), param, &message)
}

/// What is to be paid: "The parameter is required for payment and subscription mode."
fn total(context: &Context<'_>) -> Result<(Value, Value), ApiError> {
    let (mut sum, mut currency) = (0_i64, String::new());
    for (index, item) in items(context.params, "line_items").enumerate() {
        let at = format!("line_items[{index}]");
        let price = match (item["price"].as_str(), &item["price_data"]) {
            (Some(name), Value::Null) => {
                let param = format!("{at}[price]");
                let price = context.world.named("price", &param, name)?;
                if price["active"] != true || price["type"] != "one_time" {
                    let message = "The price specified is inactive, or is no one-time price.";
                    return Err(ApiError::parameter(None, &param, message));
                }
                price
            }
            (None, data @ Value::Object(_)) => {
                product_of(context, &format!("{at}[price_data]"), data)?;
                data.clone()
            }
            _ => return Err(missing(&format!("{at}[price]"))),
        };
        let (of, unit) = (
            text(&price, "currency").to_lowercase(),
            number(&price, "unit_amount"),
        );
        if !currency.is_empty() && currency != of {
            let message = "All prices have to be in one currency.";
            return Err(ApiError::parameter(None, "line_items", message));
        }
        currency = of;
        let count = item["quantity"].as_i64().unwrap_or(1);
        sum = sum.saturating_add(unit.saturating_mul(count));
    }
    if currency.is_empty() {
        return Err(missing("line_items"));
    }
    currency::chargeable("line_items", sum, &currency)?;
    Ok((sum.into(), currency.into()))
}

fn product_of(context: &Context<'_>, at: &str, data: &Value) -> Result<(), ApiError> {
    match (data["product"].as_str(), &data["product_data"]) {
        (Some(product), Value::Null) => {
            let param = format!("{at}[product]");
            let product = context.world.named("product", &param, product)?;
            if product["active"] != true {
                let message = "The product specified is inactive.";
                return Err(ApiError::parameter(None, &param, message));
            }
            Ok(())
        }
        (None, Value::Object(_)) => Ok(()),
        _ => Err(missing(&format!("{at}[product]"))),
    }
}

fn setup_intent(context: &mut Context<'_>) -> String {
    let id = context.world.new_id("seti");
    let params = context.params;
    let data = &params["setup_intent_data"];
    let setup = context.world.make(
        "setup_intent",
        &id,
        json!({
            "client_secret": format!("{id}_secret_x"), "customer": params["customer"],
            "description": data["description"], "last_setup_error": null,
            "metadata": metadata(data), "payment_method": null, "cancellation_reason": null,
            "next_action": null, "status": "requires_payment_method", "usage": "off_session"
        }),
    );
    context.world.emit("setup_intent.created", &setup);
    id
}
