//! Customers.

use serde_json::json;

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, PAGE, QUERY, fits, on};
use crate::spec::{Kind, Param, may};
use crate::store::{changed_metadata, metadata};

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
        &[may("email", Kind::Text), LIMIT, AFTER, BEFORE],
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
    let mut customer = context.world.at_path("customer", context.id())?;
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
    context.world.at_path("customer", &id)?;
    let gone = context.world.set(&id, json!({ "deleted": true }));
    context.world.emit("customer.deleted", &gone);
    Ok(json!({ "id": id, "object": "customer", "deleted": true }))
}

fn methods(context: &mut Context<'_>) -> Outcome {
    let (id, params) = (context.id().to_owned(), context.params);
    context.world.at_path("customer", &id)?;
    let url = format!("/v1/customers/{id}/payment_methods");
    context
        .world
        .list("payment_method", &url, params, |method| {
            method["customer"] == id.as_str() && fits(method, params, "type")
        })
}
