//! `POST /webhooks/processor`: the payment processor tells what happened there.

use actix_web::web::Json;
use actix_web::{HttpRequest, post};
use lessor_adapters::processor::{SIGNATURE_HEADER, parse_event_head};
use lessor_domain::access::Mode;
use lessor_domain::cause::chain;
use lessor_domain::ports::InboxMessage;
use lessor_domain::services::Error;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Received;
use crate::http::error::ApiError;
use crate::idempotency::Tries;
use crate::request::RawBody;
use crate::state::AppState;
use crate::state::settle::within_patience;
use crate::telemetry::MESSAGES_REFUSED;

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
/// For the payment processor. Signed with a secret of `LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS` or
/// `LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS`, which opens its own mode alone. A message is kept before
/// it is answered, and takes effect once, whatever order they come in and however often.
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
    let signed = authenticated(&request, &state, &body.0)?;
    // Not acknowledged, so that the processor keeps it, shows it, and sends it again.
    let head = parse_event_head(&body.0).map_err(|error| {
        tracing::warn!(%error, mode = signed.as_str(), "a signed message of the processor is none");
        metrics::counter!(MESSAGES_REFUSED, "why" => "unreadable").increment(1);
        ApiError::invalid_request(error.to_string())
    })?;
    if head.mode != signed {
        tracing::warn!(
            id = head.id,
            mode = head.mode.as_str(),
            signed = signed.as_str(),
            "a message in the processor's name was refused: it is signed with the other mode's secret"
        );
        metrics::counter!(MESSAGES_REFUSED, "why" => "otherMode").increment(1);
        return Err(ApiError::unsigned());
    }
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

/// The mode whose secret signed the body.
fn authenticated(request: &HttpRequest, state: &AppState, body: &[u8]) -> Result<Mode, ApiError> {
    let refuse = |why: &str| {
        tracing::warn!(why, "a message in the processor's name was refused");
        metrics::counter!(MESSAGES_REFUSED, "why" => "unsigned").increment(1);
        ApiError::unsigned()
    };
    let header = request
        .headers()
        .get(SIGNATURE_HEADER)
        .and_then(|value| value.to_str().ok())
        .ok_or_else(|| refuse("the signature is missing"))?;
    let secrets = &state.settings.processor_secrets;
    secrets
        .mode_of(body, header, state.ports.clock.now())
        .map_err(|error| refuse(&error.to_string()))
}
