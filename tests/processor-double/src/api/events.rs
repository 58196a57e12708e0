//! Events that were missed are listed.

use serde_json::Value;

use super::{AFTER, BEFORE, CREATED, Context, LIMIT, Operation, Outcome, on};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{World, list as items, number, text};

/// "List events, going back up to 30 days", seconds.
const KEPT: i64 = 30 * 86_400;
/// "An array of up to 20 strings containing specific event names."
const MOST_TYPES: usize = 20;

const LIST: &[Param] = &[
    may("delivery_success", Kind::Bool),
    may("type", Kind::Text),
    may("types", Kind::List(&Kind::Text)),
    CREATED,
    LIMIT,
    AFTER,
    BEFORE,
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("GET", "/v1/events", LIST, list),
    on("GET", "/v1/events/*", &[], read),
];

fn list(context: &mut Context<'_>) -> Outcome {
    let (params, world) = (context.params, &*context.world);
    // "You may pass either type or types, but not both."
    if params.get("type").is_some() && params.get("types").is_some() {
        let message = "You may only specify one of these parameters: type, types.";
        return Err(ApiError::parameter(
            Some("parameters_exclusive"),
            "types",
            message,
        ));
    }
    let types: Vec<_> = items(params, "types").chain(params.get("type")).collect();
    if types.len() > MOST_TYPES {
        let message = "There are at most 20 types.";
        return Err(ApiError::parameter(None, "types", message));
    }
    world.list("event", "/v1/events", params, |event| {
        let typed = types.is_empty()
            || types
                .iter()
                .any(|wanted| is_type(text(event, "type"), wanted.as_str().unwrap_or_default()));
        // "Filter events by whether all webhooks were successfully delivered. If false,
        // events which are still pending or have failed all delivery attempts to a webhook
        // endpoint will be returned."
        let delivered = params["delivery_success"]
            .as_bool()
            .is_none_or(|wanted| wanted == (number(event, "pending_webhooks") == 0));
        typed && delivered && is_kept(world, event)
    })
}

/// "Retrieves the details of an event if it was created in the last 30 days."
fn read(context: &mut Context<'_>) -> Outcome {
    let event = context.world.at_path("event", context.id())?;
    if is_kept(context.world, &event) {
        Ok(event)
    } else {
        Err(ApiError::not_found("event", context.id()))
    }
}

fn is_kept(world: &World, event: &Value) -> bool {
    number(event, "created") > world.now - KEPT
}

/// "A string containing a specific event name, or group of events using * as a wildcard."
fn is_type(name: &str, wanted: &str) -> bool {
    match wanted.split_once('*') {
        None => name == wanted,
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
    }
}
