//! What a subscription is of: prices that are offered, or made for it alone.

use serde_json::Value;

use super::Context;
use super::prices::{self, INLINE};
use crate::error::ApiError;
use crate::spec::{Kind, may};
use crate::store::{list as items, text};

/// An item that is asked for.
pub(crate) const ITEM: Kind = Kind::Group(&[
    may("price", Kind::Text),
    may("price_data", INLINE),
    may("quantity", Kind::Int),
    may("metadata", Kind::Metadata),
]);

/// The prices and quantities of the items that are asked for, and their currency.
pub(crate) fn priced(context: &mut Context<'_>) -> Result<(Vec<(Value, i64)>, Value), ApiError> {
    let mut lines = Vec::new();
    let mut currency = Value::Null;
    for (index, item) in items(context.params, "items").enumerate() {
        let param = format!("items[{index}][price]");
        let price = match (item["price"].as_str(), &item["price_data"]) {
            (Some(name), Value::Null) => offered(context, &param, name)?,
            (None, data @ Value::Object(_)) => {
                let param = format!("items[{index}][price_data]");
                on_sale(context, &format!("{param}[product]"), data)?;
                prices::inline(context.world, &param, data)?
            }
            _ => {
                // "One of price or price_data is required."
                let message = "One of price and price_data is needed.";
                return Err(ApiError::parameter(
                    Some("parameter_missing"),
                    &param,
                    message,
                ));
            }
        };
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

fn offered(context: &Context<'_>, param: &str, name: &str) -> Result<Value, ApiError> {
    let price = context.world.named("price", param, name)?;
    // "Whether the price can be used for new purchases."
    if price["active"] != true {
        let message = "The price specified is inactive. This field only accepts active prices.";
        return Err(ApiError::parameter(None, param, message));
    }
    on_sale(context, param, &price)?;
    Ok(price)
}

/// "If you want to disable a product so that it can't be added to new invoices or subscriptions,
/// you can archive it. If you archive a product, any existing subscriptions that use the product
/// remain active until they're canceled."
fn on_sale(context: &Context<'_>, param: &str, price: &Value) -> Result<(), ApiError> {
    let id = text(price, "product");
    let product = context.world.named("product", param, id)?;
    if product["active"] == true {
        return Ok(());
    }
    let message = format!(
        "The product {id} is marked as inactive, and thus no new subscriptions can be create to \
         any plans of this product."
    );
    Err(ApiError::parameter(None, param, &message))
}
