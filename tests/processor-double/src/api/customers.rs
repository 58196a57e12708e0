//! Customers.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{changed_metadata, metadata, text};
use crate::terms;

const PARAMS: &[Param] = &[
    may("description", Kind::Clearable),
    may("email", Kind::Clearable),
    may("name", Kind::Clearable),
    may("phone", Kind::Clearable),
    may(
        "invoice_settings",
        Kind::Group(&[may("default_payment_method", Kind::Clearable)]),
    ),
    may("metadata", Kind::Metadata),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/customers", PARAMS, create),
    on(
        "GET",
        "/v1/customers",
        &[may("email", Kind::Text), CREATED, LIMIT, AFTER, BEFORE],
        list,
    ),
    on("GET", "/v1/customers/search", &[QUERY, LIMIT, PAGE], search),
    on("GET", "/v1/customers/*", &[], read),
    on("POST", "/v1/customers/*", PARAMS, update),
    on("DELETE", "/v1/customers/*", &[], delete),
    on(
        "GET",
        "/v1/customers/*/payment_methods",
        &[may("type", Kind::Text), LIMIT, AFTER, BEFORE],
        methods,
    ),
];

fn create(context: &mut Context<'_>) -> Outcome {
    usual_method(context, None)?;
    let id = context.world.new_id("cus");
    let params = context.params;
    let customer = context.world.make(
        "customer",
        &id,
        json!({
            "description": params["description"], "email": params["email"],
            "name": params["name"], "phone": params["phone"], "delinquent": false,
            "balance": 0, "currency": null, "metadata": metadata(params),
            "invoice_settings": {
                "default_payment_method": params["invoice_settings"]["default_payment_method"]
            }
        }),
    );
    context.world.emit("customer.created", &customer);
    Ok(customer)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("customer", "/v1/customers", params, |customer| {
            customer["deleted"] != true && fits(customer, params, "email")
        })
}

fn search(context: &mut Context<'_>) -> Outcome {
    context
        .world
        .search("customer", "/v1/customers/search", context.params)
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("customer", context.id())
}

fn update(context: &mut Context<'_>) -> Outcome {
    let mut customer = living(context)?;
    usual_method(context, Some(context.id()))?;
    for name in ["description", "email", "name", "phone"] {
        if let Some(value) = context.params.get(name) {
            customer[name] = value.clone();
        }
    }
    if let Some(method) = context.params["invoice_settings"].get("default_payment_method") {
        customer["invoice_settings"]["default_payment_method"] = method.clone();
    }
    customer["metadata"] = changed_metadata(&customer["metadata"], context.params);
    context.world.put(&customer);
    context.world.emit("customer.updated", &customer);
    Ok(customer)
}

fn delete(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    living(context)?;
    // "Permanently deletes a customer. It cannot be undone. Also immediately cancels any active
    // subscriptions on the customer."
    let theirs = |subscription: &&Value| {
        subscription["customer"] == id.as_str() && !terms::has_ended(subscription)
    };
    let running: Vec<_> = context
        .world
        .all("subscription")
        .iter()
        .filter(theirs)
        .cloned()
        .collect();
    for subscription in running {
        let id = text(&subscription, "id");
        terms::finish(context.world, id, Some("cancellation_requested"));
    }
    let gone = context.world.set(&id, json!({ "deleted": true }));
    context.world.emit("customer.deleted", &gone);
    Ok(json!({ "id": id, "object": "customer", "deleted": true }))
}

/// The customer in the path, unless it was deleted.
fn living(context: &Context<'_>) -> Outcome {
    let customer = context.world.at_path("customer", context.id())?;
    if customer["deleted"] == true {
        return Err(ApiError::not_found("customer", context.id()));
    }
    Ok(customer)
}

/// The method that pays by default has to be the customer's.
fn usual_method(context: &Context<'_>, customer: Option<&str>) -> Result<(), ApiError> {
    let wanted = &context.params["invoice_settings"]["default_payment_method"];
    let Some(name) = wanted.as_str() else {
        return Ok(());
    };
    let param = "invoice_settings[default_payment_method]";
    let method = context.world.named("payment_method", param, name)?;
    if customer.is_some() && method["customer"].as_str() == customer {
        return Ok(());
    }
    let message = format!(
        "The customer does not have a payment method with the ID {name}. The payment method must \
         be attached to the customer."
    );
    Err(ApiError::parameter(
        Some("resource_missing"),
        param,
        &message,
    ))
}

fn methods(context: &mut Context<'_>) -> Outcome {
    let (id, params) = (context.id().to_owned(), context.params);
    living(context)?;
    let url = format!("/v1/customers/{id}/payment_methods");
    context
        .world
        .list("payment_method", &url, params, |method| {
            method["customer"] == id.as_str() && fits(method, params, "type")
        })
}
