//! Identity verification sessions.

use serde_json::{Value, json};

use super::{AFTER, BEFORE, Context, LIMIT, Operation, Outcome, fits, on};
use crate::error::ApiError;
use crate::spec::{Kind, Param, may};
use crate::store::{Link, World, metadata, text};

pub(crate) const KIND: &str = "identity.verification_session";
/// Of the URL: "This URL expires after 48 hours and can only be used once", seconds.
const URL_LASTS: i64 = 48 * 3_600;

const CREATE: &[Param] = &[
    may("type", Kind::Enum(&["document", "id_number"])),
    may("client_reference_id", Kind::Text),
    may("metadata", Kind::Metadata),
    may(
        "provided_details",
        Kind::Group(&[may("email", Kind::Text), may("phone", Kind::Text)]),
    ),
    may("related_customer", Kind::Text),
    may("return_url", Kind::Text),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    on("POST", "/v1/identity/verification_sessions", CREATE, create),
    on(
        "GET",
        "/v1/identity/verification_sessions",
        &[
            may("client_reference_id", Kind::Text),
            may("status", Kind::Text),
            LIMIT,
            AFTER,
            BEFORE,
        ],
        list,
    ),
    on("GET", "/v1/identity/verification_sessions/*", &[], read),
    on(
        "POST",
        "/v1/identity/verification_sessions/*/cancel",
        &[],
        cancel,
    ),
];

fn create(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    if params["type"].is_null() {
        return Err(ApiError::parameter(
            Some("parameter_missing"),
            "type",
            "Missing required param: type.",
        ));
    }
    let id = context.world.new_id("vs");
    let url = new_link(context.world, &id);
    let session = context.world.make(
        KIND,
        &id,
        json!({
            "client_reference_id": params["client_reference_id"],
            "client_secret": format!("{id}_secret_x"), "last_error": null,
            "last_verification_report": null, "metadata": metadata(params), "options": {},
            "provided_details": params["provided_details"], "redaction": null,
            "related_customer": params["related_customer"], "status": "requires_input",
            "type": params["type"], "url": url
        }),
    );
    // The object does not show it.
    let back = params["return_url"].clone();
    context.world.wanted.insert(id, back);
    context
        .world
        .emit("identity.verification_session.created", &session);
    Ok(session)
}

fn list(context: &mut Context<'_>) -> Outcome {
    let params = context.params;
    let url = "/v1/identity/verification_sessions";
    context.world.list(KIND, url, params, |session| {
        fits(session, params, "client_reference_id") && fits(session, params, "status")
    })
}

/// "When the session status is requires_input, you can use this method to retrieve a valid client_secret or url to
/// allow re-submission."
fn read(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let session = context.world.at_path(KIND, &id)?;
    let now = context.world.now;
    let link = context.world.links.get(&id);
    let is_spent = link.is_some_and(|link| link.used || link.until <= now);
    if session["status"] == "requires_input" && is_spent {
        let url = new_link(context.world, &id);
        return Ok(context.world.set(&id, json!({ "url": url })));
    }
    Ok(session)
}

/// A new address of the session's page: those before are good no more.
fn new_link(world: &mut World, id: &str) -> String {
    let number = world.links.get(id).map_or(1, |link| link.number + 1);
    let link = Link {
        number,
        used: false,
        until: world.now + URL_LASTS,
    };
    world.links.insert(id.to_owned(), link);
    format!("{}/verify/{id}/{number}", world.pages)
}

fn cancel(context: &mut Context<'_>) -> Outcome {
    let id = context.id().to_owned();
    let session = context.world.at_path(KIND, &id)?;
    if text(&session, "status") != "requires_input" {
        let message = "Only a session that requires input can be canceled.";
        return Err(ApiError::invalid(None, message));
    }
    Ok(decide(context.world, &id, "canceled", None))
}

/// The session moves.
pub(crate) fn decide(world: &mut World, id: &str, status: &str, error: Option<&str>) -> Value {
    let error = error.map(|code| json!({ "code": code, "reason": "The check did not succeed." }));
    // The page is open only while there is something to hand in.
    let url = match status {
        "requires_input" => json!(new_link(world, id)),
        _ => Value::Null,
    };
    let members = json!({ "status": status, "last_error": error, "url": url });
    let session = world.set(id, members);
    world.emit(&format!("{KIND}.{status}"), &session);
    session
}
