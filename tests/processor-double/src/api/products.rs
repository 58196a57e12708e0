//! Products, whose ids callers may choose.

use serde_json::json;

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, fits, on};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may, must};
use crate::store::{changed_metadata, metadata};

const CREATE: &[Param] = &[
    may("id", Kind::Text),
    must("name", Kind::Text),
    may("description", Kind::Text),
    may("active", Kind::Bool),
    may("images", Kind::List(&Kind::Text)),
    may("metadata", Kind::Metadata),
    may("tax_code", Kind::Text),
    may("url", Kind::Text),
];

const UPDATE: &[Param] = &[
    may("name", Kind::Text),
    may("description", Kind::Clearable),
    may("active", Kind::Bool),
    may("images", Kind::List(&Kind::Text)),
    may("metadata", Kind::Metadata),
    may("tax_code", Kind::Clearable),
    may("url", Kind::Clearable),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/products", CREATE, create),
    on(
        "GET",
        "/v1/products",
        &[may("active", Kind::Bool), LIMIT, AFTER, BEFORE],
        list,
    ),
    on("GET", "/v1/products/*", &[], read),
    on("POST", "/v1/products/*", UPDATE, update),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let id = match context.params["id"].as_str() {
        Some(id) => id.to_owned(),
        None => context.world.new_id("prod"),
    };
    if context.world.any(&id).is_some() {
        let message = "Product already exists.";
        return Err(ApiError::parameter(
            Some("resource_already_exists"),
            "id",
            message,
        ));
    }
    let params = context.params;
    let product = context.world.make(
        "product",
        &id,
        json!({
            "active": params["active"].as_bool().unwrap_or(true), "name": params["name"],
            "description": params["description"], "images": [], "type": "service",
            "default_price": null, "metadata": metadata(params), "url": params["url"],
            "updated": context.world.now
        }),
    );
    context.world.emit("product.created", &product);
    Ok(product)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .list("product", "/v1/products", params, |product| {
            fits(product, params, "active")
        })
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("product", context.id())
}

fn update(context: &mut Context<'_>) -> Outcome {
    let mut product = context.world.at_path("product", context.id())?;
    for name in ["name", "description", "active", "images", "url"] {
        if let Some(value) = context.params.get(name) {
            product[name] = value.clone();
        }
    }
    product["metadata"] = changed_metadata(&product["metadata"], context.params);
    product["updated"] = context.world.now.into();
    context.world.put(&product);
    context.world.emit("product.updated", &product);
    Ok(product)
}
