//! `/webhooks`: what others tell the service. They have no keys; they sign.

mod mail;
mod processor;
mod tracking;

use actix_web::HttpRequest;
use lessor_adapters::processor::standard_webhooks::{
    Headers, ID_HEADER, SIGNATURE_HEADER, SharedSecret, TIMESTAMP_HEADER, verify,
};
use lessor_domain::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(processor::take_processor_message)
        .service(processor::take_account_message)
        .service(tracking::take_tracking_message)
        .service(mail::take_mail_report);
}

/// The id of a message whose signature is good. Its headers are looked at before anything is computed.
fn signed(
    request: &HttpRequest,
    body: &[u8],
    secrets: &[SharedSecret],
    now: Timestamp,
    what: &str,
) -> Result<String, ApiError> {
    let header = |name: &str| {
        let value = request.headers().get(name)?;
        value.to_str().ok()
    };
    let refuse = |why: &str| {
        tracing::warn!(why, what, "a message was refused");
        ApiError::unsigned()
    };
    let (Some(id), Some(timestamp), Some(signature)) = (
        header(ID_HEADER),
        header(TIMESTAMP_HEADER),
        header(SIGNATURE_HEADER),
    ) else {
        return Err(refuse("a header is missing"));
    };
    let headers = Headers {
        id,
        timestamp,
        signature,
    };
    verify(body, headers, secrets, now).map_err(|error| refuse(&error.to_string()))?;
    Ok(id.to_owned())
}

/// The message was taken in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Received {
    /// Always `true`.
    received: bool,
}
