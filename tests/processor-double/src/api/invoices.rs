//! Invoices, their payments, what is prorated; charges and events, which are only read.

use serde_json::json;

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, fits, on};
use crate::billing::{self, subscription_of};
use crate::error::ApiError;
use crate::payments;
use crate::spec::{Kind, may};
use crate::store::text;

pub(crate) const OPERATIONS: &[Operation] = &[
    on(
        "GET",
        "/v1/invoices",
        &[
            may("customer", Kind::Text),
            may("status", Kind::Text),
            may("subscription", Kind::Text),
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
    on(
        "GET",
        "/v1/invoice_payments",
        &[
            may("invoice", Kind::Text),
            may("status", Kind::Text),
            LIMIT,
            AFTER,
            BEFORE,
        ],
        |context| {
            let params = context.params;
            context
                .world
                .list("invoice_payment", "/v1/invoice_payments", params, |paid| {
                    fits(paid, params, "invoice") && fits(paid, params, "status")
                })
        },
    ),
    on(
        "GET",
        "/v1/invoiceitems",
        &[may("customer", Kind::Text), LIMIT, AFTER, BEFORE],
        |context| {
            let params = context.params;
            context
                .world
                .list("invoiceitem", "/v1/invoiceitems", params, |item| {
                    fits(item, params, "customer")
                })
        },
    ),
    on(
        "GET",
        "/v1/charges",
        &[
            may("customer", Kind::Text),
            may("payment_intent", Kind::Text),
            LIMIT,
            AFTER,
            BEFORE,
        ],
        |context| {
            let params = context.params;
            context
                .world
                .list("charge", "/v1/charges", params, |charge| {
                    fits(charge, params, "customer") && fits(charge, params, "payment_intent")
                })
        },
    ),
    on("GET", "/v1/charges/*", &[], |context| {
        context.world.at_path("charge", context.id())
    }),
    on(
        "GET",
        "/v1/events",
        &[may("type", Kind::Text), LIMIT, AFTER, BEFORE],
        |context| {
            let params = context.params;
            context.world.list("event", "/v1/events", params, |event| {
                fits(event, params, "type")
            })
        },
    ),
    on("GET", "/v1/events/*", &[], |context| {
        context.world.at_path("event", context.id())
    }),
];

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("invoice", "/v1/invoices", params, |invoice| {
            fits(invoice, params, "customer")
                && fits(invoice, params, "status")
                && params
                    .get("subscription")
                    .is_none_or(|wanted| wanted == subscription_of(invoice))
        })
}

fn pay(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let invoice = context.world.at_path("invoice", &id)?;
    if invoice["status"] != "open" {
        let message = "Invoice is already paid, or not open.";
        return Err(ApiError::invalid(Some("invoice_not_editable"), message));
    }
    let customer = text(&invoice, "customer").to_owned();
    let method = match context.params["payment_method"].as_str() {
        None => None,
        Some(name) => {
            let method = payments::method(context.world, name, Some(&customer))?;
            Some(text(&method, "id").to_owned())
        }
    };
    match billing::pay(context.world, &id, method.as_deref()) {
        Ok(()) => context.world.at_path("invoice", &id),
        Err(decline) => Err(decline.error().with("invoice", json!(id))),
    }
}
