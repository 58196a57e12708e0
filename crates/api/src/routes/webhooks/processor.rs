//! `POST /webhooks/processor`: the payment processor tells what happened there; with an organization's id
//! behind it, at that organization's own account.

use actix_web::http::header::HeaderMap;
use actix_web::web::Json;
use actix_web::{HttpRequest, post};
use lessor_adapters::processor::signature::{WebhookSecret, check_form};
use lessor_adapters::processor::{SIGNATURE_HEADER, parse_event_head};
use lessor_domain::access::Mode;
use lessor_domain::ids::{IdRef, OrganizationId, OrganizationPubId};
use lessor_domain::ports::{InboxMessage, Reach};
use lessor_domain::services::Error;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Received;
use crate::http::error::ApiError;
use crate::idempotency::Tries;
use crate::request::{Segment, Signature, SignedBody};
use crate::state::settle::within_patience;
use crate::state::{AppState, ProcessorSecrets};
use crate::telemetry::{MESSAGES, MESSAGES_REFUSED, outage};

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
/// `LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS`, which opens its own mode alone, and tells nothing of organizations
/// that have an account of the mode of their own. A message is kept before
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
    body: Result<SignedBody<ProcessorSignature>, ApiError>,
) -> Result<Json<Received>, ApiError> {
    let state = AppState::of(&request)?.clone();
    let secrets = &state.settings.processor_secrets;
    let checked = body.and_then(|body| {
        let signed = mode_of(&body, secrets, &state)?;
        Ok((body, signed))
    });
    let (body, signed) = state.unproven(&request).settle(checked)?;
    take(&state, &body.raw, signed, None).await
}

/// Tell what happened at an organization's own account at the payment processor.
///
/// For the payment processor, of accounts that `lessor org processor set` gave to the organization. Signed
/// with a secret of one of its accounts, which opens that account's mode alone; a message says nothing of
/// what other organizations have. A message is kept before it is answered, and takes effect once, whatever
/// order they come in and however often.
#[utoipa::path(
    tag = "Webhooks",
    params(
        ("organizationId" = String, Path, description = "Public id of the organization, `org_…`"),
        (
            "Stripe-Signature" = String,
            Header,
            description = "`t=<Unix seconds>,v1=<hex>`, where `v1` is HMAC-SHA256 over `<t>.<body>`; within five \
                           minutes, several `v1` during a rotation."
        )
    ),
    request_body = ProcessorMessage,
    responses((status = 200, body = Received, description = "The message is kept."))
)]
#[post("/webhooks/processor/{organizationId}")]
pub(super) async fn take_account_message(
    request: HttpRequest,
    organization: Segment,
    body: Result<SignedBody<ProcessorSignature>, ApiError>,
) -> Result<Json<Received>, ApiError> {
    let state = AppState::of(&request)?.clone();
    let unproven = state.unproven(&request);
    let proved = async {
        // Nobody is looked up for who brings no signature.
        let body = body?;
        unproven.may_look_up()?;
        let account = Accounts::of(&state, &organization.0).await?;
        let signed = mode_of(&body, &account.secrets, &state)?;
        Ok::<_, ApiError>((body, signed, account.organization))
    };
    let proved = proved.await;
    let (body, signed, organization) = unproven.settle(proved)?;
    take(&state, &body.raw, signed, Some(organization)).await
}

/// The accounts of an organization's own, by what their messages are signed with.
struct Accounts {
    organization: OrganizationId,
    secrets: ProcessorSecrets,
}

impl Accounts {
    /// # Errors
    /// 401 where there is no such organization, or it has no account: whoever asks hears no more than of a
    /// signature that is not good.
    async fn of(state: &AppState, organization: &str) -> Result<Self, ApiError> {
        let unknown = || refused("the organization has no account of its own");
        let id: OrganizationPubId = organization.parse().map_err(|_| unknown())?;
        let mut view = state.engine.database.read(Reach::Server).await?;
        let found = view.organizations().find(IdRef::Public(id)).await?;
        let organization = found.ok_or_else(unknown)?.id;
        view.enter(organization).await?;
        let mut secrets = ProcessorSecrets::default();
        for mode in Mode::ALL {
            let account = view.processor_accounts().get(organization, mode).await?;
            let known = account.map(|account| account.webhook_secrets);
            let read = known
                .iter()
                .flatten()
                .filter_map(|secret| WebhookSecret::new(secret.expose()).ok())
                .collect();
            match mode {
                Mode::Live => secrets.live = read,
                Mode::Sandbox => secrets.sandbox = read,
            }
        }
        if secrets.live.is_empty() && secrets.sandbox.is_empty() {
            return Err(unknown());
        }
        Ok(Self {
            organization,
            secrets,
        })
    }
}

/// Keeps a message that is signed with a secret of the mode, and does what it says.
async fn take(
    state: &AppState,
    body: &[u8],
    signed: Mode,
    own_account_of: Option<OrganizationId>,
) -> Result<Json<Received>, ApiError> {
    // Not acknowledged, so that the processor keeps it, shows it, and sends it again.
    let head = parse_event_head(body).map_err(|error| {
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
        source: InboxMessage::processor_source(own_account_of),
        id: head.id,
        mode: head.mode,
        organization_id: own_account_of,
        body: body.to_vec(),
        received_at: state.engine.clock.now(),
    };
    let inbox = state.engine.inbox();
    let (message, is_new) = state
        .mutations
        .run({
            let inbox = inbox.clone();
            async move {
                let is_new = inbox.keep(&message).await?;
                Ok::<_, Error>((message, is_new))
            }
        })
        .await?;
    let verdict = if is_new { "new" } else { "repeated" };
    metrics::counter!(MESSAGES, "verdict" => verdict).increment(1);
    // From here on it cannot be lost: what is not handled now, a worker handles.
    within_patience(state, "the processor's message", async move {
        let mut tries = Tries::default();
        loop {
            match inbox.handle(&message).await {
                Err(error) if tries.again(&error) => {}
                Err(error) => {
                    let span = tracing::info_span!("message", id = message.id);
                    span.in_scope(|| outage::hinders("a message is left to the worker", &error));
                    return;
                }
                Ok(_) => return,
            }
        }
    })
    .await;
    Ok(Json(Received { received: true }))
}

/// The header that the processor signs with.
#[derive(Debug)]
pub(super) struct ProcessorSignature(String);

impl Signature for ProcessorSignature {
    fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let header = headers
            .get(SIGNATURE_HEADER)
            .and_then(|value| value.to_str().ok())
            .ok_or_else(|| refused("the signature is missing"))?;
        check_form(header).map_err(|error| refused(&error.to_string()))?;
        Ok(Self(header.to_owned()))
    }
}

/// The mode whose secret a message is signed with.
fn mode_of(
    message: &SignedBody<ProcessorSignature>,
    secrets: &ProcessorSecrets,
    state: &AppState,
) -> Result<Mode, ApiError> {
    secrets
        .mode_of(&message.raw, &message.signature.0, state.engine.clock.now())
        .map_err(|error| refused(&error.to_string()))
}

fn refused(why: &str) -> ApiError {
    tracing::warn!(why, "a message in the processor's name was refused");
    metrics::counter!(MESSAGES_REFUSED, "why" => "unsigned").increment(1);
    ApiError::unsigned()
}
