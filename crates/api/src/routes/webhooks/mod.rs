//! `/webhooks`: what others tell the service. They have no keys; they sign.

mod mail;
mod processor;
mod tracking;

use crate::http::routing::Routes;
use actix_web::http::header::HeaderMap;
use lessor_adapters::processor::standard_webhooks::{
    Headers, ID_HEADER, SIGNATURE_HEADER, SharedSecret, TIMESTAMP_HEADER, check_form, verify,
};
use lessor_domain::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::{Signature, SignedBody};

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(processor::take_processor_message)
        .service(processor::take_account_message)
        .service(tracking::take_tracking_message)
        .service(mail::take_mail_report);
}

/// The headers of a message that is signed as <https://www.standardwebhooks.com> says.
#[derive(Debug)]
struct StandardSignature {
    /// The message's id.
    id: String,
    timestamp: String,
    signature: String,
}

impl StandardSignature {
    fn headers(&self) -> Headers<'_> {
        Headers {
            id: &self.id,
            timestamp: &self.timestamp,
            signature: &self.signature,
        }
    }
}

impl Signature for StandardSignature {
    fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let header = |name: &str| {
            let value = headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let (Some(id), Some(timestamp), Some(signature)) = (
            header(ID_HEADER),
            header(TIMESTAMP_HEADER),
            header(SIGNATURE_HEADER),
        ) else {
            return Err(refused("a header is missing"));
        };
        let found = Self {
            id,
            timestamp,
            signature,
        };
        check_form(found.headers()).map_err(|error| refused(&error.to_string()))?;
        Ok(found)
    }
}

/// Sees to it that a message is signed with one of the secrets.
fn check(
    message: &SignedBody<StandardSignature>,
    secrets: &[SharedSecret],
    now: Timestamp,
) -> Result<(), ApiError> {
    let headers = message.signature.headers();
    verify(&message.raw, headers, secrets, now).map_err(|error| refused(&error.to_string()))
}

fn refused(why: &str) -> ApiError {
    tracing::warn!(why, "a message was refused");
    ApiError::unsigned()
}

/// The message was taken in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Received {
    /// Always `true`.
    received: bool,
}
