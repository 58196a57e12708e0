//! `POST /webhooks/processor`: the payment processor tells what happened there.

use actix_web::web::Json;
use actix_web::{HttpRequest, post};
use lessor_adapters::processor::signature::verify;
use lessor_adapters::processor::{SIGNATURE_HEADER, parse_event_head};
use lessor_domain::cause::chain;
use lessor_domain::ports::InboxMessage;
use lessor_domain::services::Error;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Received;
use crate::body::RawBody;
use crate::error::ApiError;
use crate::settle::within_patience;
use crate::state::AppState;
use crate::transaction::Tries;

/// Who the messages are kept from.
const SOURCE: &str = "processor";

/// What the processor sends. Its other members are its own.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; the adapter reads it")]
struct ProcessorMessage {
    /// The processor's id of the message.
    id: String,
    /// What happened, such as `invoice.paid`. A type that means nothing here is taken in as well.
    r#type: String,
    /// When it happened, Unix seconds.
    created: i64,
    /// Whether it is of live mode.
    livemode: bool,
    /// What it happened to.
    data: serde_json::Value,
}

/// Tell what happened at the payment processor.
///
/// For the payment processor. Signed with a secret of `LESSOR_PROCESSOR_WEBHOOK_SECRETS`. A message is
/// kept before it is answered, and takes effect once, whatever order they come in and however often.
#[utoipa::path(
    tag = "Webhooks",
    params((
        "Stripe-Signature" = String,
        Header,
        description = "`t=<Unix seconds>,v1=<hex>`, where `v1` is HMAC-SHA256 over `<t>.<body>`; within five \
                       minutes, several `v1` during a rotation."
    )),
    request_body = ProcessorMessage,
    responses((status = 200, body = Received, description = "The message is kept."))
)]
#[post("/webhooks/processor")]
pub(super) async fn take_processor_message(
    request: HttpRequest,
    body: RawBody,
) -> Result<Json<Received>, ApiError> {
    let state = AppState::of(&request)?.clone();
    authenticated(&request, &state, &body.0)?;
    let head =
        parse_event_head(&body.0).map_err(|error| ApiError::invalid_request(error.to_string()))?;
    let message = InboxMessage {
        source: SOURCE.to_owned(),
        id: head.id,
        mode: head.mode,
        body: body.0.to_vec(),
        received_at: state.ports.clock.now(),
    };
    let inbox = state.inbox();
    let message = state
        .mutations
        .run({
            let inbox = inbox.clone();
            async move {
                inbox.keep(&message).await?;
                Ok::<_, Error>(message)
            }
        })
        .await?;
    // From here on it cannot be lost: what is not handled now, a worker handles.
    within_patience(&state, "the processor's message", async move {
        let mut tries = Tries::default();
        loop {
            match inbox.handle(&message).await {
                Err(error) if tries.again(&error) => {}
                Err(error) => {
                    tracing::warn!(id = message.id, error = %chain(&error), "a message is left to the worker");
                    return;
                }
                Ok(_) => return,
            }
        }
    })
    .await;
    Ok(Json(Received { received: true }))
}

fn authenticated(request: &HttpRequest, state: &AppState, body: &[u8]) -> Result<(), ApiError> {
    let refuse = |why: &str| {
        tracing::warn!(why, "a message in the processor's name was refused");
        ApiError::unsigned()
    };
    let header = request
        .headers()
        .get(SIGNATURE_HEADER)
        .and_then(|value| value.to_str().ok())
        .ok_or_else(|| refuse("the signature is missing"))?;
    let secrets = &state.settings.processor_secrets;
    verify(body, header, secrets, state.ports.clock.now())
        .map_err(|error| refuse(&error.to_string()))
}
