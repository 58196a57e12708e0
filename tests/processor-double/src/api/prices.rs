//! Prices. They never change but for their name and whether they are offered.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, fits, on};
use crate::currency;
use crate::error::ApiError;
use crate::spec::{Kind, Param, may, must};
use crate::store::{World, changed_metadata, list as items, metadata, number, text};

const CREATE: &[Param] = &[
    must("currency", Kind::Text),
    must("product", Kind::Text),
    must("unit_amount", Kind::Int),
    may("active", Kind::Bool),
    may("lookup_key", Kind::Text),
    may("transfer_lookup_key", Kind::Bool),
    may("nickname", Kind::Text),
    may("metadata", Kind::Metadata),
    may(
        "recurring",
        Kind::Group(&[
            must("interval", Kind::Enum(EVERY)),
            may("interval_count", Kind::Int),
        ]),
    ),
];

const EVERY: &[&str] = &["day", "week", "month", "year"];

/// "Data used to generate a new Price object inline."
pub(crate) const INLINE: Kind = Kind::Group(&[
    must("currency", Kind::Text),
    must("product", Kind::Text),
    must("unit_amount", Kind::Int),
    must(
        "recurring",
        Kind::Group(&[
            must("interval", Kind::Enum(EVERY)),
            may("interval_count", Kind::Int),
        ]),
    ),
]);

const UPDATE: &[Param] = &[
    may("active", Kind::Bool),
    may("lookup_key", Kind::Clearable),
    may("transfer_lookup_key", Kind::Bool),
    may("nickname", Kind::Clearable),
    may("metadata", Kind::Metadata),
];

const LIST: &[Param] = &[
    may("active", Kind::Bool),
    may("currency", Kind::Text),
    may("lookup_keys", Kind::List(&Kind::Text)),
    may("product", Kind::Text),
    may("type", Kind::Enum(&["one_time", "recurring"])),
    CREATED,
    LIMIT,
    AFTER,
    BEFORE,
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/prices", CREATE, create),
    on("GET", "/v1/prices", LIST, list),
    on("GET", "/v1/prices/*", &[], read),
    on("POST", "/v1/prices/*", UPDATE, update),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    context
        .world
        .named("product", "product", context.text("product"))?;
    name(context, None)?;
    let price = make(context.world, "unit_amount", params)?;
    context.world.emit("price.created", &price);
    Ok(price)
}

/// A price that is of one subscription alone: it is not offered, and no list shows it, for that
/// "returns a list of your active prices, excluding inline prices".
pub(crate) fn inline(world: &mut World, param: &str, data: &Value) -> Outcome {
    let made = make(world, &format!("{param}[unit_amount]"), data)?;
    let id = text(&made, "id").to_owned();
    world.inline.insert(id.clone());
    Ok(world.set(&id, json!({ "active": false })))
}

fn make(world: &mut World, param: &str, params: &Value) -> Outcome {
    let (amount, currency) = (
        number(params, "unit_amount"),
        text(params, "currency").to_lowercase(),
    );
    if amount < 0 {
        let message = "This value must be greater than or equal to 0.";
        return Err(ApiError::parameter(
            Some("parameter_invalid_integer"),
            param,
            message,
        ));
    }
    currency::written(param, amount, &currency)?;
    let recurring = match &params["recurring"] {
        Value::Null => Value::Null,
        given => json!({
            "interval": given["interval"], "meter": null, "usage_type": "licensed",
            "interval_count": given["interval_count"].as_i64().unwrap_or(1)
        }),
    };
    let id = world.new_id("price");
    Ok(world.make(
        "price",
        &id,
        json!({
            "active": params["active"].as_bool().unwrap_or(true), "billing_scheme": "per_unit",
            "currency": currency, "product": params["product"],
            "lookup_key": params["lookup_key"], "nickname": params["nickname"],
            "metadata": metadata(params), "unit_amount": amount,
            "unit_amount_decimal": amount.to_string(),
            "type": if recurring.is_null() { "one_time" } else { "recurring" },
            "recurring": recurring
        }),
    ))
}

fn list(context: &mut Context<'_>) -> Outcome {
    let (params, world) = (context.params, &*context.world);
    world.list("price", "/v1/prices", params, |price| {
        if world.inline.contains(text(price, "id")) {
            return false;
        }
        let named = params.get("lookup_keys").is_none()
            || items(params, "lookup_keys").any(|key| *key == price["lookup_key"]);
        named
            && ["active", "currency", "product", "type"]
                .iter()
                .all(|name| fits(price, params, name))
    })
}

fn read(context: &mut Context<'_>) -> Outcome {
    context.world.at_path("price", context.id())
}

fn update(context: &mut Context<'_>) -> Outcome {
    let mut price = context.world.at_path("price", context.id())?;
    let id = context.id().to_owned();
    if context.world.inline.contains(&id) {
        let message = "Prices that were made inline cannot be updated.";
        return Err(ApiError::invalid(None, message));
    }
    name(context, Some(&id))?;
    for name in ["active", "lookup_key", "nickname"] {
        if let Some(value) = context.params.get(name) {
            price[name] = value.clone();
        }
    }
    price["metadata"] = changed_metadata(&price["metadata"], context.params);
    context.world.put(&price);
    context.world.emit("price.updated", &price);
    Ok(price)
}

/// A name belongs to one active price; it moves when it is asked to.
fn name(context: &mut Context<'_>, own: Option<&str>) -> Result<(), ApiError> {
    let wanted = context.text("lookup_key").to_owned();
    if wanted.is_empty() {
        return Ok(());
    }
    let holder = context
        .world
        .all("price")
        .iter()
        .find(|price| price["lookup_key"] == wanted.as_str() && Some(text(price, "id")) != own)
        .map(|price| text(price, "id").to_owned());
    match holder {
        None => Ok(()),
        Some(holder) if context.params["transfer_lookup_key"] == true => {
            context.world.set(&holder, json!({ "lookup_key": null }));
            Ok(())
        }
        Some(holder) => Err(ApiError::parameter(
            None,
            "lookup_key",
            &format!("A price (`{holder}`) already uses that lookup key."),
        )),
    }
}
