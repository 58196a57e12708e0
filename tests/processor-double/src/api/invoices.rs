//! Invoices of subscriptions, and their payments.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, fits, on};
use crate::billing::{self, subscription_of};
use crate::collection::{self, Attempt};
use crate::error::ApiError;
use crate::spec::{Kind, may, must};
use crate::store::text;

const STATUS: Kind = Kind::Enum(&["draft", "open", "paid", "uncollectible", "void"]);

pub(crate) const OPERATIONS: &[Operation] = &[
    on(
        "GET",
        "/v1/invoices",
        &[
            may(
                "collection_method",
                Kind::Enum(&["charge_automatically", "send_invoice"]),
            ),
            may("customer", Kind::Text),
            may("status", STATUS),
            may("subscription", Kind::Text),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/invoices/*", &[], |context| {
        context.world.at_path("invoice", context.id())
    }),
    on(
        "POST",
        "/v1/invoices/*/pay",
        &[
            may("payment_method", Kind::Text),
            may("off_session", Kind::Bool),
        ],
        pay,
    ),
    on("POST", "/v1/invoices/*/finalize", &[], finalize),
    on("POST", "/v1/invoices/*/void", &[], void),
    on(
        "POST",
        "/v1/invoices/*/mark_uncollectible",
        &[],
        mark_uncollectible,
    ),
    on(
        "GET",
        "/v1/invoice_payments",
        &[
            may("invoice", Kind::Text),
            may("status", Kind::Enum(&["canceled", "open", "paid"])),
            may(
                "payment",
                Kind::Group(&[
                    must("type", Kind::Enum(&["payment_intent", "payment_record"])),
                    may("payment_intent", Kind::Text),
                ]),
            ),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        payments,
    ),
    on(
        "GET",
        "/v1/invoiceitems",
        &[may("customer", Kind::Text), CREATED, LIMIT, AFTER, BEFORE],
        |context| {
            let params = context.params;
            context
                .world
                .list("invoiceitem", "/v1/invoiceitems", params, |item| {
                    fits(item, params, "customer")
                })
        },
    ),
];

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("invoice", "/v1/invoices", params, |invoice| {
            ["collection_method", "customer", "status"]
                .iter()
                .all(|name| fits(invoice, params, name))
                && params
                    .get("subscription")
                    .is_none_or(|wanted| wanted == subscription_of(invoice))
        })
}

/// "Only return invoice payments associated by this payment intent ID": the way from a
/// payment, or from its dispute, to what was paid.
fn payments(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("invoice_payment", "/v1/invoice_payments", params, |paid| {
            let wanted = &params["payment"];
            let of = wanted.is_null()
                || (fits(&paid["payment"], wanted, "type")
                    && fits(&paid["payment"], wanted, "payment_intent"));
            of && fits(paid, params, "invoice") && fits(paid, params, "status")
        })
}

fn pay(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let invoice = context.world.at_path("invoice", &id)?;
    match text(&invoice, "status") {
        // One that nobody was thought to pay any more can be paid all the same.
        "open" | "uncollectible" => {}
        "paid" => return Err(ApiError::invalid(None, "Invoice is already paid")),
        status => {
            let message = format!("Invoices that are {status} cannot be paid.");
            return Err(ApiError::invalid(Some("invoice_not_editable"), &message));
        }
    }
    let method = method(context, &invoice)?;
    let attempt = Attempt {
        method,
        // "Indicates if a customer is on or off-session while an invoice payment is
        // attempted. Defaults to true (off-session)."
        off_session: context.params["off_session"].as_bool().unwrap_or(true),
        automatic: false,
    };
    match collection::pay(context.world, &id, &attempt) {
        Ok(()) => context.world.at_path("invoice", &id),
        Err(decline) => Err(decline.error().with("invoice", json!(id))),
    }
}

/// "The PaymentMethod must be the ID of a PaymentMethod belonging to the customer associated
/// with the invoice being paid."
fn method(context: &Context<'_>, invoice: &Value) -> Result<Option<String>, ApiError> {
    let Some(name) = context.params["payment_method"].as_str() else {
        return Ok(None);
    };
    let method = context
        .world
        .named("payment_method", "payment_method", name)?;
    if method["customer"] != invoice["customer"] {
        let message = format!(
            "The customer does not have a payment method with the ID {name}. The payment method \
             must be attached to the customer."
        );
        return Err(ApiError::parameter(
            Some("resource_missing"),
            "payment_method",
            &message,
        ));
    }
    Ok(Some(name.to_owned()))
}

/// "Stripe automatically finalizes drafts before sending and attempting payment on invoices.
/// However, if you'd like to finalize a draft invoice manually, you can do so using this method."
fn finalize(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    allow(context, "finalize", &["draft"])?;
    billing::open(context.world, &id);
    context.world.at_path("invoice", &id)
}

fn void(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    allow(context, "void", &["open", "uncollectible"])?;
    collection::void(context.world, &id);
    context.world.at_path("invoice", &id)
}

fn mark_uncollectible(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    allow(context, "mark as uncollectible", &["open"])?;
    collection::write_off(context.world, &id);
    context.world.at_path("invoice", &id)
}

fn allow(context: &Context<'_>, what: &str, allowed: &[&str]) -> Result<(), ApiError> {
    let invoice = context.world.at_path("invoice", context.id())?;
    if allowed.contains(&text(&invoice, "status")) {
        return Ok(());
    }
    let message = format!(
        "You can only {what} an invoice that is {}.",
        allowed.join(" or ")
    );
    Err(ApiError::invalid(Some("invoice_not_editable"), &message))
}
